"""The one module that knows :mod:`hebbgraph.documents`: files to passages."""

from __future__ import annotations

import posixpath
from typing import Any

from hebbgraph import Chunk, HebbianIndex
from hebbgraph.errors import ConversionError
from hebbgraph.splitter import Splitter

__all__ = ["kinds", "place_of", "read_file", "read_folder"]


def place_of(name: str) -> str:
    r"""Return a document's place: a relative path, whatever the browser or shell called it.

    >>> place_of("./guide\\setup.md"), place_of("/etc/../a.md"), place_of("../../b.md")
    ('guide/setup.md', 'a.md', 'b.md')
    """
    return posixpath.normpath("/" + name.replace("\\", "/").strip()).strip("/")


def read_file(data: bytes, place: str) -> tuple[str, list[Chunk]]:
    """Return the title and the passages of a file; the converter has limits of its own.

    Raises
    ------
    ConversionError
        If it cannot be read; the message says why.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise ConversionError(f"{place} is no text") from error
    chunks = Splitter().split(text, document_id=place, address=place)
    if not chunks:
        raise ConversionError(f"{place} holds no text")
    return chunks[0].title or place, chunks


def read_folder(index: HebbianIndex, folder: str, *, delete_missing: bool) -> Any:
    """Read a folder again: files that changed are replaced."""
    raise NotImplementedError


def kinds() -> list[str]:
    """Return the endings of files that can be read here."""
    return [".md", ".txt"]
