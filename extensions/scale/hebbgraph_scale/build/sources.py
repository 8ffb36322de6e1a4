"""Files of chunks to partitions: JSON lines by byte ranges, Parquet by row groups.

fsspec opens paths with ``://``, such as ``s3://…``, ``gs://…`` and ``hdfs://…``.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any

from hebbgraph.errors import ParameterError
from hebbgraph.extras import require
from hebbgraph.ingest import UnreadableChunk
from hebbgraph.records import Chunk

from hebbgraph_scale.build.recipe import Partition
from hebbgraph_scale.storage import file_system

__all__ = ["JsonLines", "ParquetRows", "is_table", "partitions_of", "share_of"]

_LEAST, _MOST = 2 << 20, 32 << 20  # bytes of a partition
_BLOCK = 1 << 20
_PARTITIONS = 256  # beyond about this many, partitions grow instead
_FIELDS = frozenset(Chunk.model_fields)
_JSON_LINES = (".jsonl", ".ndjson")
_PARQUET = (".parquet", ".pq")


@dataclass
class JsonLines(Partition):
    """The lines of a file that begin in a byte range: each holds a chunk's fields as JSON.

    Other fields become metadata.

    Attributes
    ----------
    path : str
    stamp : (int, str)
        The size of the file, and a mark that changes with its content.
    start, size : int
        The byte range.
    """

    path: str
    stamp: tuple[int, str]
    start: int
    size: int
    first: int = 0

    def identity(self) -> list[Any]:
        """Return file, stamp and range."""
        return ["jsonl", self.path, *self.stamp, self.start, self.start + self.size]

    def read(self) -> Iterator[Any]:
        """Yield the fields of each chunk."""
        with _open(self.path) as file:
            at = self.start
            if at:
                file.seek(at - 1)
                at += len(file.readline()) - 1  # a line belongs to the range where it begins
            first, stop = at, self.start + self.size
            number, before = 0, -1  # the lines before this range are counted once
            while at < stop and (line := file.readline()):
                number += 1
                if line.strip():
                    chunk = _fields(line)
                    if isinstance(chunk, str):
                        before = _lines_before(self.path, first) if before < 0 else before
                        yield UnreadableChunk(f"{self.path}, line {before + number}: {chunk}")
                    else:
                        yield chunk
                at += len(line)


@dataclass
class ParquetRows(Partition):
    """Row groups of a Parquet file: columns are a chunk's fields; others become metadata."""

    path: str
    stamp: tuple[int, str]
    groups: list[int]
    size: int
    first: int = 0

    def identity(self) -> list[Any]:
        """Return file, stamp and row groups."""
        return ["parquet", self.path, *self.stamp, self.groups]

    def read(self) -> Iterator[Any]:
        """Yield the fields of each chunk."""
        with _open(self.path) as file, _parquet_errors(self.path):
            table = _parquet().ParquetFile(file)
            for batch in table.iter_batches(batch_size=1000, row_groups=self.groups):
                for row in batch.to_pylist():
                    yield _as_chunk({name: v for name, v in row.items() if v is not None})


def is_table(path: str) -> bool:
    """Return whether a file holds chunks, by its suffix; others are documents.

    Examples
    --------
    >>> is_table("s3://bucket/part-0.parquet"), is_table("notes.md")
    (True, False)
    """
    return path.lower().endswith(_JSON_LINES + _PARQUET)


def share_of(total: int) -> int:
    """Return the size of a partition, from the size of all, in bytes.

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
        If a path has an unknown suffix.
    OSError
        If a file cannot be read.
    """
    stamps = [_stamp(path) for path in paths]
    share = share_of(sum(size for size, _ in stamps))
    partitions: list[JsonLines | ParquetRows] = []
    for path, stamp in zip(paths, stamps, strict=True):
        if not is_table(path):
            raise ParameterError(
                f"chunks come from {', '.join(_JSON_LINES + _PARQUET)}, got {path!r}"
            )
        if path.lower().endswith(_JSON_LINES):
            starts = range(0, stamp[0], share)
            partitions += [JsonLines(path, stamp, at, min(share, stamp[0] - at)) for at in starts]
        else:
            partitions += _row_groups(path, stamp, share)
    return partitions


def _row_groups(path: str, stamp: tuple[int, str], share: int) -> Iterator[ParquetRows]:
    with _open(path) as file, _parquet_errors(path):
        metadata = _parquet().ParquetFile(file).metadata
        sizes = [metadata.row_group(at).total_byte_size for at in range(metadata.num_row_groups)]
    groups: list[int] = []
    size = 0
    for number, group_size in enumerate(sizes):
        if groups and size + group_size > share:
            yield ParquetRows(path, stamp, groups, size)
            groups, size = [], 0
        groups.append(number)
        size += group_size
    if groups:
        yield ParquetRows(path, stamp, groups, size)


def _fields(line: bytes) -> dict[str, Any] | str:
    """Return the fields of a chunk, or a message about the line."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        return f"no JSON: {error}"
    if not isinstance(record, dict):
        return f"a line holds the fields of a chunk as a JSON object, got {type(record).__name__}"
    return _as_chunk(record)


def _lines_before(path: str, end: int) -> int:
    """Count the lines that end before a position in a file."""
    lines = 0
    with _open(path) as file:
        while end > 0 and (block := file.read(min(end, _BLOCK))):
            lines += block.count(b"\n")
            end -= len(block)
    return lines


def _as_chunk(record: dict[str, Any]) -> dict[str, Any]:
    others = {name: value for name, value in record.items() if name not in _FIELDS}
    if not others:
        return record
    chunk = {name: value for name, value in record.items() if name in _FIELDS}
    metadata = chunk.get("metadata") or {}
    chunk["metadata"] = others | metadata if isinstance(metadata, dict) else metadata
    return chunk


def _parquet() -> Any:
    return require("pyarrow.parquet", extra="build", purpose="reading Parquet")


@contextlib.contextmanager
def _parquet_errors(path: str) -> Iterator[None]:
    arrow = require("pyarrow", extra="build", purpose="reading Parquet")
    try:
        yield
    except OSError:
        raise  # of the file system
    except arrow.ArrowException as error:
        raise ParameterError(
            f"{path} is no Parquet file, or a damaged one: {error}; write it anew, or leave it out"
        ) from error


def _open(path: str) -> IO[bytes]:
    if "://" in path:
        system, inside = file_system(path, extra="build", purpose=f"reading {path}")
        file: IO[bytes] = system.open(inside, "rb")
        return file
    return open(path, "rb")


def _stamp(path: str) -> tuple[int, str]:
    """Return the size of a file, and a mark that changes with its content."""
    if "://" in path:
        system, inside = file_system(path, extra="build", purpose=f"reading {path}")
        info = system.info(inside)
        marks = (info.get(name, "") for name in ("ETag", "etag", "mtime", "LastModified"))
        return int(info["size"]), " ".join(map(str, marks)).strip()
    status = os.stat(path)
    return status.st_size, str(status.st_mtime_ns)
