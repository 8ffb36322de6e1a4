"""The operators of metadata filters: each makes a predicate on the value of a field."""

from __future__ import annotations

import operator
import reprlib
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from hebbgraph.errors import FilterError
from hebbgraph.plain_values import is_missing, plain

__all__ = ["MAX_DEPTH", "MISSING", "OPERATORS", "Predicate", "brief", "elements"]

#: Levels that filters and their values may nest.
MAX_DEPTH = 32

MISSING = object()
"""The value of a field that a chunk does not have."""

#: For messages, since input may be long or nest too deep for ``repr``.
brief = reprlib.repr

Predicate: TypeAlias = Callable[[Any], bool]


def _json_equal(value: Any, operand: Any) -> bool:
    # Unlike in Python, true and 1 differ in JSON.
    if isinstance(value, bool) is not isinstance(operand, bool):
        return False
    return bool(value == operand)


def _comparable(field: str, operand: Any, depth: int = 0) -> Any:
    """Convert an operand like metadata; raise FilterError for values that metadata cannot hold."""
    if depth > MAX_DEPTH:
        raise FilterError(f"values of a filter may nest at most {MAX_DEPTH} levels deep")
    if isinstance(operand, list | tuple):
        return [_comparable(field, item, depth + 1) for item in operand]
    if isinstance(operand, Mapping):
        return {name: _comparable(field, item, depth + 1) for name, item in operand.items()}
    if is_missing(operand):
        raise FilterError(
            f"{field!r} is compared with {operand}, and metadata keep no such value; chunks "
            f"without one are found by {{{field!r}: {{'$exists': False}}}}"
        )
    try:
        return plain(operand, field)
    except ValueError as error:
        hint = "; convert it with .tolist()" if getattr(operand, "ndim", 0) else ""
        raise FilterError(f"{field!r} cannot be compared: {error}{hint}") from error


def _one_of(field: str, operand: Any) -> Predicate:
    """Hold for values equal to one of a list, in constant time for strings."""
    items = [_comparable(field, item) for item in _as_list(field, operand)]
    texts = frozenset(item for item in items if isinstance(item, str))
    others = [item for item in items if not isinstance(item, str)]

    def holds(value: Any) -> bool:
        if isinstance(value, str) and value in texts:
            return True
        return any(_json_equal(value, item) for item in others)

    return holds


def _any_element(test: Predicate) -> Predicate:
    """Hold for a value that passes the test, or a list with an element that does."""

    def holds(value: Any) -> bool:
        if value is MISSING:
            return False
        return test(value) or (isinstance(value, list) and any(map(test, value)))

    return holds


def _equal(field: str, operand: Any) -> Predicate:
    wanted = _comparable(field, operand)
    return _any_element(lambda value: _json_equal(value, wanted))


def _inverse(maker: Callable[[str, Any], Predicate]) -> Callable[[str, Any], Predicate]:
    def make(field: str, operand: Any) -> Predicate:
        holds = maker(field, operand)
        return lambda value: not holds(value)

    return make


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[str, Any], Predicate]:
    def make(field: str, operand: Any) -> Predicate:
        operand = _comparable(field, operand)
        if isinstance(operand, bool) or not isinstance(operand, int | float | str):
            raise FilterError(
                f"{field!r} can be compared with a number or a str, got {brief(operand)}"
            )
        family: type | tuple[type, ...] = str if isinstance(operand, str) else (int, float)

        def test(value: Any) -> bool:
            comparable = isinstance(value, family) and not isinstance(value, bool)
            return comparable and compare(value, operand)

        return _any_element(test)

    return make


def _as_list(field: str, operand: Any) -> list[Any]:
    if not isinstance(operand, list | tuple | set | frozenset):
        raise FilterError(f"a list of values fits {field!r}, got {brief(operand)}")
    return list(operand)


def _member(field: str, operand: Any) -> Predicate:
    return _any_element(_one_of(field, operand))


def elements(value: Any) -> list[Any]:
    """Return a list unchanged, and any other value as a list of one."""
    return value if isinstance(value, list) else [value]


def _contains(field: str, operand: Any) -> Predicate:
    wanted = _comparable(field, operand)

    def holds(value: Any) -> bool:
        if isinstance(value, str) and isinstance(wanted, str):
            return wanted in value
        if isinstance(value, list):
            return any(_json_equal(element, wanted) for element in value)
        return isinstance(value, dict) and isinstance(wanted, str) and wanted in value

    return holds


def _overlaps(field: str, operand: Any) -> Predicate:
    is_wanted = _one_of(field, operand)
    return lambda value: value is not MISSING and any(map(is_wanted, elements(value)))


def _covers(field: str, operand: Any) -> Predicate:
    items = [_comparable(field, item) for item in _as_list(field, operand)]
    return lambda value: (
        value is not MISSING
        and all(any(_json_equal(element, item) for element in elements(value)) for item in items)
    )


def _exists(field: str, operand: Any) -> Predicate:
    if not isinstance(operand, bool):
        raise FilterError(f"$exists takes True or False, got {brief(operand)} for {field!r}")
    return lambda value: (value is not MISSING) is operand


def _is_empty(field: str, operand: Any) -> Predicate:
    if not isinstance(operand, bool):
        raise FilterError(f"$is_empty takes True or False, got {brief(operand)} for {field!r}")
    return lambda value: (value is MISSING or value in (None, "", [], {})) is operand


def _text_match(fold: bool) -> Callable[[str, Any], Predicate]:
    def make(field: str, operand: Any) -> Predicate:
        if not isinstance(operand, str):
            raise FilterError(f"a str is looked for in {field!r}, got {brief(operand)}")
        wanted = operand.casefold() if fold else operand
        return _any_element(
            lambda value: isinstance(value, str) and wanted in (value.casefold() if fold else value)
        )

    return make


OPERATORS: Mapping[str, Callable[[str, Any], Predicate]] = {
    "$eq": _equal,
    "$ne": _inverse(_equal),
    "$gt": _ordered(operator.gt),
    "$gte": _ordered(operator.ge),
    "$lt": _ordered(operator.lt),
    "$lte": _ordered(operator.le),
    "$in": _member,
    "$nin": _inverse(_member),
    "$exists": _exists,
    "$contains": _contains,
    "$any": _overlaps,
    "$all": _covers,
    "$text_match": _text_match(fold=False),
    "$text_match_insensitive": _text_match(fold=True),
    "$is_empty": _is_empty,
}
