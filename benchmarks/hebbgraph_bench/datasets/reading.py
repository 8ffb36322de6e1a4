"""Read lines and fields; errors name the file, the line and what was expected."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hebbgraph.errors import DatasetError, InvalidChunkError
from hebbgraph.records import Chunk

__all__ = ["Row", "build_chunk", "clean", "read_json_lines", "read_json_list", "read_text"]

_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]")
_SURROGATES = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """Replace characters that no chunk may hold; published sets contain stray controls."""
    if text.isascii() and text.isprintable():
        return text
    return _SURROGATES.sub("\ufffd", _CONTROLS.sub(" ", text))


@dataclass(frozen=True, slots=True)
class Row:
    """A JSON object and its place (``file:line``)."""

    place: str
    fields: Mapping[str, Any]

    def fault(self, expected: str) -> DatasetError:
        """Return the error for this place."""
        return DatasetError(f"{self.place}: expected {expected}")

    def get_text(self, *names: str, default: str | None = None) -> str:
        """Return the first of ``names`` that has a value; an integer is read as text.

        Raises
        ------
        DatasetError
            If the value is neither text nor an integer, or is absent without a default.
        """
        for name in names:
            value = self.fields.get(name)
            if value is None:
                continue
            if isinstance(value, str):
                return clean(value)
            if isinstance(value, int) and not isinstance(value, bool):
                return str(value)
            raise self.fault(f"text in {name!r}, got {_show(value)}")
        if default is not None:
            return default
        raise self.fault(f"a field {' or '.join(map(repr, names))}, got {_keys(self.fields)}")

    def get_id(self, *names: str) -> str:
        """Return an id, which must not be empty."""
        value = self.get_text(*names)
        if not value.strip():
            raise self.fault(f"an id in {names[0]!r}, got {value!r}")
        return value

    def get_texts(self, name: str, *, required: bool = False) -> tuple[str, ...]:
        """Return a list of texts; an absent field is empty unless ``required``."""
        value = self.fields.get(name)
        if value is None and not required:
            return ()
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.fault(f"a list of texts in {name!r}, got {_show(value)}")
        return tuple(clean(item) for item in value)

    def get_list(self, name: str) -> list[Any]:
        """Return a list."""
        value = self.fields.get(name)
        if not isinstance(value, list):
            raise self.fault(f"a list in {name!r}, got {_show(value)}")
        return value


def read_text(path: Path) -> str:
    """Read a whole UTF-8 file.

    Raises
    ------
    DatasetError
        If it cannot be read or is not UTF-8.
    """
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise DatasetError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DatasetError(
            f"{path}: expected UTF-8 text, got byte 0x{error.object[error.start]:02x}"
            f" at position {error.start}"
        ) from error


def read_json_lines(path: Path) -> Iterator[Row]:
    """Yield the objects of a JSON Lines file; blank lines are skipped."""
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if line.strip():
            yield _row(f"{path}:{number}", line)


def read_json_list(path: Path) -> Iterator[Row]:
    """Yield the objects of a file that is one JSON list; the place names the entry."""
    try:
        content = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise DatasetError(
            f"{path}:{error.lineno}: expected a JSON list, got {error.msg}"
        ) from error
    if not isinstance(content, list):
        raise DatasetError(f"{path}:1: expected a JSON list of questions, got {_show(content)}")
    for number, value in enumerate(content, 1):
        row = Row(f"{path}: entry {number}", value if isinstance(value, dict) else {})
        if not isinstance(value, dict):
            raise row.fault(f"a JSON object, got {_show(value)}")
        yield row


def build_chunk(row: Row, chunk_id: str, title: str, text: str, **extra: Any) -> Chunk:
    """Build a chunk of a row; ``url`` and ``links`` become its address and references.

    Raises
    ------
    DatasetError
        If the id, title or text does not fit a chunk.
    """
    fields = {
        "id": chunk_id,
        "title": clean(title),
        "text": clean(text),
        "addresses": [url] if (url := row.get_text("url", default="")).strip() else [],
        "references": row.get_texts("links"),
        "metadata": extra,
    }
    try:
        return Chunk.coerce(fields)
    except InvalidChunkError as error:
        raise DatasetError(f"{row.place}: expected a chunk that can be kept: {error}") from error


def _row(place: str, line: str) -> Row:
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        raise DatasetError(
            f"{place}: expected one JSON object on the line: {error.msg} at column {error.colno}"
        ) from error
    if not isinstance(value, dict):
        raise DatasetError(f"{place}: expected one JSON object on the line, got {_show(value)}")
    return Row(place, value)


def _show(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _keys(fields: Mapping[str, Any]) -> str:
    return f"the fields {', '.join(map(repr, fields))}" if fields else "an empty object"
