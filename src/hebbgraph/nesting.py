"""How deep metadata may nest.

JSON parsers give up at some depth (pydantic's at 200, Python's at the end of its stack). A record
that cannot be read back would break every answer it is part of. Nothing here recurses.
"""

from __future__ import annotations

from typing import Any

from hebbgraph.limits import MAX_METADATA_DEPTH

__all__ = ["too_deep"]

_PARTS_SHOWN = 6


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
