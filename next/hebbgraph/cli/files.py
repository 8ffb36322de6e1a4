"""Files of chunks and of text: find them and read them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from hebbgraph.errors import ParameterError
from hebbgraph.records import Chunk
from hebbgraph.splitter import Splitter

__all__ = ["STDIN", "document_name", "find_files", "holds_chunks", "read_chunks", "split_file"]

STDIN = Path("-")
_TEXTS = frozenset({".md", ".markdown", ".txt"})


def holds_chunks(file: Path) -> bool:
    """Return whether a file holds chunks, one a line, as standard input does."""
    return file == STDIN or file.suffix.lower() == ".jsonl"


def find_files(paths: Iterable[Path], index: str) -> tuple[list[Path], list[Path]]:
    """Return the files that can be read, and the others; nothing hidden, and no index."""
    place = Path(index).resolve()
    found = (_below(path, place) if path.is_dir() else [path] for path in paths)
    known, others = dict[Path, None](), dict[Path, None]()
    for file in chain.from_iterable(found):
        can_read = holds_chunks(file) or file.suffix.lower() in _TEXTS
        (known if can_read else others)[file] = None
    return list(known), list(others)


def _below(root: Path, index: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        here = Path(folder)
        visible = sorted(name for name in folders if not name.startswith("."))
        folders[:] = [name for name in visible if (here / name).resolve() != index]
        yield from (here / name for name in sorted(names) if not name.startswith("."))


def read_chunks(file: Path) -> Iterator[Chunk]:
    """Yield the chunks of a file of JSON lines; an error gives the number of the first bad line."""
    number = 1
    try:
        with sys.stdin if file == STDIN else file.open(encoding="utf-8-sig") as lines:
            for line in lines:
                if line.strip():
                    yield Chunk.of(json.loads(line))
                number += 1
    except (ValueError, RecursionError) as error:
        raise ParameterError(f"{file}, line {number}: {error}") from error


def split_file(file: Path) -> list[Chunk]:
    """Return the chunks of a text file, which is a document by its :func:`document_name`."""
    name = document_name(file)
    return Splitter().split(
        _text(file.read_bytes()), document_id=name, metadata={"source": name}, address=name
    )


def document_name(file: Path) -> str:
    """Return the path of a file: relative to the current directory if it lies below it."""
    absolute, here = Path(os.path.abspath(file)), Path.cwd()
    return (absolute.relative_to(here) if absolute.is_relative_to(here) else absolute).as_posix()


def _text(data: bytes) -> str:
    r"""Decode UTF-8, UTF-16 with a mark, or else Windows-1252.

    >>> _text("\ufeffcafé".encode()), _text("café".encode("cp1252")), _text("é".encode("utf-16"))
    ('café', 'café', 'é')
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")
