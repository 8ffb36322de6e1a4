"""Limits on how deep metadata may nest: checked on the way in, cut on the way out.

JSON parsers give up at some depth (pydantic's at 200, Python's at the end of its stack). A record
that cannot be read back would break every answer it is part of. Nothing here recurses.
"""

from __future__ import annotations

import re
from typing import Any

from hebbgraph.held_json import read_json
from hebbgraph.limits import MAX_METADATA_DEPTH

__all__ = ["CutMetadata", "read_metadata", "too_deep"]

_WHAT = "metadata of a chunk"

_PARTS_SHOWN = 6
_MARK = f"(nested deeper than {MAX_METADATA_DEPTH} levels, not shown)"
#: What opens and closes a level; a string is taken as a whole, brackets and all.
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)


class CutMetadata(dict[str, Any]):
    """Metadata that an older version accepted, without what is nested too deep."""


def too_deep(metadata: object) -> str | None:
    """Return where metadata is nested too deep; None if it is not.

    Parameters
    ----------
    metadata : dict
        Of anything. Each object is visited once per level, so cycles are found, too.

    Examples
    --------
    >>> too_deep({"a": [{"b": 1}]}) is None
    True
    >>> value = 1
    >>> for _ in range(200):
    ...     value = [value]
    >>> too_deep({"a": {"b": value}})
    'a.b.0.0.0.0…: lists and objects nest deeper than 128 levels'
    """
    level: dict[int, tuple[tuple[object, ...], Any]] = {id(metadata): ((), metadata)}
    for _ in range(MAX_METADATA_DEPTH):
        level = {
            id(inner): ((*path, key), inner)
            for path, outer in level.values()
            for key, inner in _items(outer)
            if isinstance(inner, dict | list | tuple)
        }
        if not level:
            return None
    path, _ = next(iter(level.values()))
    shown = ".".join(f"{part!s:.80}" for part in path[:_PARTS_SHOWN])
    return f"{shown}…: lists and objects nest deeper than {MAX_METADATA_DEPTH} levels"


def _items(value: Any) -> Any:
    return value.items() if isinstance(value, dict) else enumerate(value)


def read_metadata(text: str) -> dict[str, Any]:
    """Read a metadata column; replace what is nested too deep by a mark that says so.

    Parameters
    ----------
    text : str
        A JSON object, possibly written by an older version.

    Returns
    -------
    dict
        A :class:`CutMetadata` if something was cut.

    Examples
    --------
    >>> read_metadata('{"kind": "ship", "deep": ' + "[" * 300 + "]" * 300 + "}")["kind"]
    'ship'
    """
    # As many brackets as that are rare; only then is it worth a closer look.
    if isinstance(text, str) and text.count("[") + text.count("{") > MAX_METADATA_DEPTH:
        shallow = _cut(text)
        if shallow is not text:
            return CutMetadata(read_json(shallow, dict, _WHAT))
    metadata: dict[str, Any] = read_json(text, dict, _WHAT)
    return metadata


def _cut(text: str) -> str:
    kept: list[str] = []
    depth = start = 0
    for token in _TOKEN.finditer(text):
        if token[0] in "[{":
            depth += 1
            if depth == MAX_METADATA_DEPTH + 1:
                kept += text[start : token.start()], f'"{_MARK}"'
        elif token[0] in "]}":
            if depth == MAX_METADATA_DEPTH + 1:
                start = token.end()
            depth -= 1
    return "".join([*kept, text[start:]]) if kept else text
