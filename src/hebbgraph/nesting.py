"""How deep metadata may nest: looked at on its way in, and cut on its way out.

Readers of JSON give up at some depth (pydantic's at 200, Python's where its stack ends),
and a record that cannot be read again makes every answer that it is part of fail. Nothing
here recurses, so nothing here gives up.
"""

from __future__ import annotations

import re
from typing import Any

from pydantic_core import from_json

from hebbgraph.limits import MAX_METADATA_DEPTH

__all__ = ["CutMetadata", "read_metadata", "too_deep"]

_PARTS_SHOWN = 6
_MARK = f"(nested deeper than {MAX_METADATA_DEPTH} levels, not shown)"
#: What opens and closes a level; a string is taken as a whole, brackets and all.
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)


class CutMetadata(dict[str, Any]):
    """Metadata of a chunk that an older version took, without what lies too deep in it."""


def too_deep(metadata: object) -> str | None:
    """Say where metadata nests deeper than it may; None if it does not.

    Parameters
    ----------
    metadata : dict
        Of anything; each object is looked at once a level, so a cycle is found too.

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
    """Read a metadata column; what lies too deep gives way to a mark that says so.

    Parameters
    ----------
    text : str
        A JSON object, as an older version may have written it too.

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
    if text.count("[") + text.count("{") > MAX_METADATA_DEPTH:
        shallow = _cut(text)
        if shallow is not text:
            return CutMetadata(from_json(shallow))
    metadata: dict[str, Any] = from_json(text)
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
