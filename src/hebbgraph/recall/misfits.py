"""Why no chunk passes a filter, if the filter itself is the likely mistake."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hebbgraph.filter_operators import elements
from hebbgraph.filters import (
    MISSING,
    SPECIAL_FIELDS,
    AllOf,
    AnyOf,
    Condition,
    FieldReader,
    Filter,
)

__all__ = ["misfit"]

_NULL = "null"
#: Operators that match only values of the type of their operand.
_TYPED = frozenset({"$eq", "$gt", "$gte", "$lt", "$lte", "$in", "$any", "$all"})


def misfit(where: Filter, reader: FieldReader) -> str | None:
    """Say that a field is missing everywhere, or has only values of another type."""
    if isinstance(where, AllOf | AnyOf):
        return next(filter(None, (misfit(part, reader) for part in where.parts)), None)
    if not isinstance(where, Condition) or where.field in SPECIAL_FIELDS:
        return None
    stored: set[str] = set()

    def note(value: Any) -> bool:
        stored.update(map(_json_type, elements(value)))
        return False

    reader.where(where.field, note)
    stored -= {_NULL}
    if not stored:
        return None if where.predicate(MISSING) else f"no chunk has a field {where.field!r}"
    compared = set(map(_json_type, elements(where.operand))) - {_NULL}
    if where.operator not in _TYPED or not compared or compared & stored:
        return None
    return (
        f"{where.field!r} is compared with a value of type {' or '.join(sorted(compared))}, but "
        f"its values are of type {' or '.join(sorted(stored))}"
    )


def _json_type(value: Any) -> str:
    """Return what JSON calls the type of a value."""
    if value is MISSING or value is None:
        return _NULL
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return "object" if isinstance(value, Mapping) else "string"
