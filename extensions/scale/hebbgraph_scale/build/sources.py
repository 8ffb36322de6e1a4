"""Files of chunks to partitions: JSON lines by ranges of bytes, Parquet by row groups.

A path with ``://`` is opened by fsspec, if that is installed: ``s3://…``, ``gs://…``, ``hdfs://…``.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import IO, Any

from hebbgraph.errors import ParameterError
from hebbgraph.extras import require
from hebbgraph.ingest import Unreadable
from hebbgraph.records import Chunk

from hebbgraph_scale.storage import file_system

__all__ = ["JsonLines", "ParquetRows", "is_table", "partitions_of", "share_of"]

_LEAST, _MOST = 2 << 20, 32 << 20  # bytes of a partition
_BLOCK = 1 << 20
_PARTITIONS = 256  # at about this many, partitions grow instead
_FIELDS = frozenset(Chunk.model_fields)
_JSON_LINES = (".jsonl", ".ndjson")
_PARQUET = (".parquet", ".pq")


class _File:
    """What both kinds of files have in common."""

    def notes(self) -> dict[str, Any]:
        """Return nothing: chunks of a table belong to no file of their own."""
        return {}


@dataclass
class JsonLines(_File):
    """The lines of a file that begin in a range of bytes: each a chunk's fields as JSON.

    Fields that a chunk does not have become metadata.

    Attributes
    ----------
    path : str
    stamp : (int, str)
        Size of the file, and what tells whether it was changed.
    start, stop : int
    """

    path: str
    stamp: tuple[int, str]
    start: int
    stop: int
    first: int = 0

    @property
    def size(self) -> int:
        """Bytes of the range."""
        return self.stop - self.start

    def identity(self) -> list[Any]:
        """Return file, state and range."""
        return ["jsonl", self.path, *self.stamp, self.start, self.stop]

    def read(self) -> Iterator[Any]:
        """Yield the fields of each chunk."""
        with _opened(self.path) as file:
            at = self.start
            if at:
                file.seek(at - 1)
                at += len(file.readline()) - 1  # a line belongs where it begins
            first, before, number = at, 0, 0  # lines before are counted when one is wrong
            while at < self.stop and (line := file.readline()):
                number += 1
                if line.strip():
                    held = _fields(line)
                    if isinstance(held, str):
                        before = before or _lines_before(self.path, first) + 1
                        where = f"{self.path}, line {before + number - 1}"
                        yield Unreadable(f"{where}: {held}")
                    else:
                        yield held
                at += len(line)


@dataclass
class ParquetRows(_File):
    """Row groups of a Parquet file: columns are a chunk's fields; others become metadata."""

    path: str
    stamp: tuple[int, str]
    groups: list[int]
    size: int
    first: int = 0

    def identity(self) -> list[Any]:
        """Return file, state and row groups."""
        return ["parquet", self.path, *self.stamp, self.groups]

    def read(self) -> Iterator[Any]:
        """Yield the fields of each chunk."""
        with _opened(self.path) as file, _read_as_parquet(self.path):
            table = _parquet().ParquetFile(file)
            for batch in table.iter_batches(batch_size=1000, row_groups=self.groups):
                for row in batch.to_pylist():
                    yield _as_chunk({name: held for name, held in row.items() if held is not None})


def is_table(path: str) -> bool:
    """Return whether a source holds chunks, by its suffix; others are documents.

    Examples
    --------
    >>> is_table("s3://bucket/part-0.parquet"), is_table("notes.md")
    (True, False)
    """
    return path.lower().endswith(_JSON_LINES + _PARQUET)


def share_of(total: int) -> int:
    """Return how many bytes a partition of so many in all has.

    Examples
    --------
    >>> share_of(100_000_000) // 2**20, share_of(10**12) // 2**20
    (2, 32)
    """
    return min(max(total // _PARTITIONS, _LEAST), _MOST)


def partitions_of(paths: Sequence[str]) -> list[JsonLines | ParquetRows]:
    """Divide files of chunks.

    Raises
    ------
    ParameterError
        If a path has another suffix.
    OSError
        If a file cannot be read.
    """
    stamps = [_stamp(path) for path in paths]
    share = share_of(sum(size for size, _ in stamps))
    found: list[JsonLines | ParquetRows] = []
    for path, stamp in zip(paths, stamps, strict=True):
        if path.lower().endswith(_JSON_LINES):
            bounds = [*range(0, stamp[0], share), stamp[0]]
            found += [JsonLines(path, stamp, start, stop) for start, stop in pairwise(bounds)]
        elif is_table(path):
            found += _row_groups(path, stamp, share)
        else:
            raise ParameterError(
                f"chunks come from {', '.join(_JSON_LINES + _PARQUET)}, got {path!r}"
            )
    return found


def _row_groups(path: str, stamp: tuple[int, str], share: int) -> Iterator[ParquetRows]:
    with _opened(path) as file, _read_as_parquet(path):
        metadata = _parquet().ParquetFile(file).metadata
        sizes = [metadata.row_group(at).total_byte_size for at in range(metadata.num_row_groups)]
    groups: list[int] = []
    size = 0
    for number, more in enumerate(sizes):
        if groups and size + more > share:
            yield ParquetRows(path, stamp, groups, size)
            groups, size = [], 0
        groups.append(number)
        size += more
    if groups:
        yield ParquetRows(path, stamp, groups, size)


def _fields(line: bytes) -> dict[str, Any] | str:
    """Return the fields of a chunk, or what is wrong with the line."""
    try:
        held = json.loads(line)
    except (ValueError, RecursionError) as error:
        return f"no JSON: {error}"
    if not isinstance(held, dict):
        return f"a line holds the fields of a chunk as a JSON object, got {type(held).__name__}"
    return _as_chunk(held)


def _lines_before(path: str, end: int) -> int:
    """Return how many lines end before a place in a file."""
    lines = 0
    with _opened(path) as file:
        while end > 0 and (block := file.read(min(end, _BLOCK))):
            lines += block.count(b"\n")
            end -= len(block)
    return lines


def _as_chunk(record: dict[str, Any]) -> dict[str, Any]:
    others = {name: held for name, held in record.items() if name not in _FIELDS}
    if not others:
        return record
    chunk = {name: held for name, held in record.items() if name in _FIELDS}
    metadata = chunk.get("metadata") or {}
    chunk["metadata"] = others | metadata if isinstance(metadata, dict) else metadata
    return chunk


def _parquet() -> Any:
    return require("pyarrow.parquet", extra="build", purpose="reading Parquet")


@contextlib.contextmanager
def _read_as_parquet(path: str) -> Iterator[None]:
    arrow = require("pyarrow", extra="build", purpose="reading Parquet")
    try:
        yield
    except OSError:
        raise  # the file system fails
    except arrow.ArrowException as error:
        raise ParameterError(
            f"{path} is no Parquet file, or a damaged one: {error}; write it anew, or leave it out"
        ) from error


def _opened(path: str) -> IO[bytes]:
    if "://" in path:
        system, inside = file_system(path, extra="build", purpose=f"reading {path}")
        file: IO[bytes] = system.open(inside, "rb")
        return file
    return open(path, "rb")


def _stamp(path: str) -> tuple[int, str]:
    """Return the size of a file, and what changes when it does."""
    if "://" in path:
        system, inside = file_system(path, extra="build", purpose=f"reading {path}")
        info = system.info(inside)
        marks = (info.get(name, "") for name in ("ETag", "etag", "mtime", "LastModified"))
        return int(info["size"]), " ".join(map(str, marks)).strip()
    status = os.stat(path)
    return status.st_size, str(status.st_mtime_ns)
