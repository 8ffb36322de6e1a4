"""Why no chunk passes a filter, where the filter itself is the likely mistake."""

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

_NO_KIND = "null"
#: Operators that hold only for values of the kind that they are given.
_OF_ONE_KIND = frozenset({"$eq", "$gt", "$gte", "$lt", "$lte", "$in", "$any", "$all"})


def misfit(where: Filter, reader: FieldReader) -> str | None:
    """Say why no chunk passes, if a field is missing everywhere or has values of another kind."""
    if isinstance(where, AllOf | AnyOf):
        return next(filter(None, (misfit(part, reader) for part in where.parts)), None)
    if not isinstance(where, Condition) or where.field in SPECIAL_FIELDS:
        return None
    stored: set[str] = set()

    def note(value: Any) -> bool:
        stored.update(map(_kind, elements(value)))
        return False

    reader.where(where.field, note)
    stored -= {_NO_KIND}
    if not stored:
        return None if where.predicate(MISSING) else f"no chunk has a field {where.field!r}"
    compared = {_kind(one) for one in elements(where.operand)} - {_NO_KIND}
    if where.operator not in _OF_ONE_KIND or not compared or compared & stored:
        return None
    given, kept = " or ".join(sorted(compared)), " or ".join(sorted(stored))
    return (
        f"{where.field!r} is compared with a value of type {given}, but its values are of type "
        f"{kept}"
    )


def _kind(value: Any) -> str:
    """Return what JSON calls a value of this kind."""
    if value is MISSING or value is None:
        return _NO_KIND
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return "object" if isinstance(value, Mapping) else "string"
