"""Metadata filters: parse what callers write, and evaluate it to a mask over chunks.

A filter is a dict in the style of MongoDB, as in most vector stores::

    {"lang": "en"}                                    equality
    {"year": {"$gte": 2020, "$lt": 2024}}             comparison
    {"topic": {"$in": ["optics", "acoustics"]}}       membership
    {"$or": [{"lang": "en"}, {"$not": {"draft": True}}]}

Operators: ``$eq $ne $gt $gte $lt $lte $in $nin $exists $contains $any $all
$text_match $text_match_insensitive $is_empty``; ``$and $or $not`` combine filters. A key
names a top-level metadata field; a dotted key (``"author.name"``) reaches into nested
objects. ``$id`` and ``$document_id`` are the chunk's own ids, ``$colony`` is its community
(``HebbianIndex.inspect.colonies``), and ``$stale`` says whether it was superseded or has expired.
On list values, equality, comparison and membership hold if they hold for the list itself or any
element; ``$ne`` and ``$nin`` hold if they hold for all. Values are converted like those of metadata
(:mod:`hebbgraph.plain_values`), so a date matches dates.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hebbgraph.errors import FilterError
from hebbgraph.filter_operators import MAX_DEPTH, MISSING, OPERATORS, Predicate, brief

__all__ = [
    "MISSING",
    "SPECIAL_FIELDS",
    "AllOf",
    "AnyOf",
    "Condition",
    "Cover",
    "FieldReader",
    "Filter",
    "joined",
    "parse_filter",
    "value_at",
]

SPECIAL_FIELDS = ("$id", "$document_id", "$colony", "$stale")
_MAX_CONDITIONS = 1000


class Cover(NamedTuple):
    """Terms such that every passing chunk has at least one; a cheap prefilter.

    ``n_chunks`` is an upper bound on the chunks that have one.
    """

    terms: frozenset[str]
    n_chunks: int


class FieldReader(Protocol):
    """Evaluates a predicate on one field of every chunk."""

    def where(self, field: str, predicate: Predicate) -> NDArray[np.bool_]:
        """Return a mask of the chunks whose value, or MISSING, satisfies the predicate."""
        ...

    def cover(self, field: str, predicate: Predicate) -> Cover | None:
        """Return a cover of the chunks that satisfy the predicate, or None if unknown."""
        ...

    def all(self) -> NDArray[np.bool_]:
        """Return a mask of all chunks."""
        ...


class Filter(Protocol):
    """A parsed filter."""

    def mask(self, reader: FieldReader, /) -> NDArray[np.bool_]:
        """Return a mask of the chunks that pass."""
        ...

    def cover(self, reader: FieldReader, /) -> Cover | None:
        """Return a cover of the chunks that pass, or None if unknown."""
        ...


@dataclass(frozen=True, slots=True)
class Condition:
    """One predicate on one field."""

    field: str
    predicate: Predicate
    operator: str
    operand: Any

    def mask(self, reader: FieldReader, /) -> NDArray[np.bool_]:
        """Return a mask of the chunks that pass."""
        return reader.where(self.field, self.predicate)

    def cover(self, reader: FieldReader, /) -> Cover | None:
        """Return a cover of the chunks that pass, or None if unknown."""
        return reader.cover(self.field, self.predicate)


@dataclass(frozen=True, slots=True)
class AllOf:
    """Passes chunks that pass every part."""

    parts: tuple[Filter, ...]

    def mask(self, reader: FieldReader, /) -> NDArray[np.bool_]:
        return reduce(operator.and_, (part.mask(reader) for part in self.parts), reader.all())

    def cover(self, reader: FieldReader, /) -> Cover | None:
        known = [cover for part in self.parts if (cover := part.cover(reader)) is not None]
        return min(known, key=lambda cover: cover.n_chunks, default=None)


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Passes chunks that pass at least one part."""

    parts: tuple[Filter, ...]

    def mask(self, reader: FieldReader, /) -> NDArray[np.bool_]:
        return reduce(operator.or_, (part.mask(reader) for part in self.parts), ~reader.all())

    def cover(self, reader: FieldReader, /) -> Cover | None:
        known = [cover for part in self.parts if (cover := part.cover(reader)) is not None]
        if len(known) < len(self.parts):
            return None
        terms = frozenset().union(*(cover.terms for cover in known))
        return Cover(terms, sum(cover.n_chunks for cover in known))


@dataclass(frozen=True, slots=True)
class _Not:
    part: Filter

    def mask(self, reader: FieldReader, /) -> NDArray[np.bool_]:
        return reader.all() & ~self.part.mask(reader)

    def cover(self, reader: FieldReader, /) -> None:
        return None


def parse_filter(where: Mapping[str, Any]) -> Filter:
    """Parse a filter.

    Raises
    ------
    FilterError
        If an operator, field or value is invalid; the message names it.

    Examples
    --------
    >>> parse_filter({"year": {"$gt": 1999}}).field
    'year'
    >>> parse_filter({"year": {"$near": 1999}})
    Traceback (most recent call last):
    hebbgraph.errors.FilterError: unknown operator '$near' for 'year'; known are ...
    """
    budget = [_MAX_CONDITIONS]
    return _parse(where, 0, budget)


def joined(first: Any, second: Any) -> Any:
    """Return a filter for chunks that pass both filters; None passes everything.

    Parameters
    ----------
    first, second : dict, callable that takes a chunk, or None

    Examples
    --------
    >>> joined({"lang": "en"}, {"year": 2024})
    {'$and': [{'lang': 'en'}, {'year': 2024}]}
    """
    if first is None or second is None:
        return second if first is None else first
    if not (callable(first) or callable(second)):
        return {"$and": [first, second]}
    predicates = [
        where if callable(where) else _as_predicate(parse_filter(where))
        for where in (first, second)
    ]
    return lambda chunk: all(passes(chunk) for passes in predicates)


def value_at(field: str, metadata: Mapping[str, Any]) -> Any:
    """Return the value of a metadata field, by its name or by a dotted path; MISSING if none.

    Examples
    --------
    >>> value_at("author.name", {"author": {"name": "Ida"}})
    'Ida'
    """
    if field in metadata:
        return metadata[field]
    value: Any = metadata
    for name in field.split("."):
        if not isinstance(value, Mapping) or name not in value:
            return MISSING
        value = value[name]
    return value


def _as_predicate(where: Filter) -> Callable[[Any], bool]:
    return lambda chunk: bool(where.mask(_ChunkFields(chunk))[0])


@dataclass(frozen=True, slots=True)
class _ChunkFields:
    """Reads the fields of one chunk."""

    chunk: Any

    def where(self, field: str, predicate: Predicate) -> NDArray[np.bool_]:
        return np.array([predicate(self._value(field))])

    def _value(self, field: str) -> Any:
        if field == "$id":
            return self.chunk.id
        if field == "$document_id":
            return MISSING if self.chunk.document_id is None else self.chunk.document_id
        if field in SPECIAL_FIELDS:
            raise FilterError(f"{field} cannot be joined with a callable; write both as dicts")
        return value_at(field, self.chunk.metadata)

    def cover(self, field: str, predicate: Predicate) -> None:
        return None

    def all(self) -> NDArray[np.bool_]:
        return np.ones(1, dtype=np.bool_)


def _parse(where: object, depth: int, budget: list[int]) -> Filter:
    if not isinstance(where, Mapping):
        raise FilterError(f"a filter must be a dict, got {type(where).__name__}")
    if depth > MAX_DEPTH:
        raise FilterError(f"filters may nest at most {MAX_DEPTH} levels deep")
    parts: list[Filter] = []
    for key, value in where.items():
        if not isinstance(key, str):
            raise FilterError(f"a filter's keys are field names, got {brief(key)}")
        if key in ("$and", "$or"):
            if not isinstance(value, list | tuple) or not value:
                raise FilterError(f"{key} takes a list of filters, got {brief(value)}")
            inner = tuple(_parse(part, depth + 1, budget) for part in value)
            parts.append(AllOf(inner) if key == "$and" else AnyOf(inner))
        elif key == "$not":
            parts.append(_Not(_parse(value, depth + 1, budget)))
        elif key.startswith("$") and key not in SPECIAL_FIELDS:
            raise FilterError(
                f"unknown operator {key!r}; combine filters with $and, $or and $not; "
                f"special fields are {', '.join(SPECIAL_FIELDS)}"
            )
        else:
            parts.extend(_conditions(key, value, budget))
    return parts[0] if len(parts) == 1 else AllOf(tuple(parts))


def _conditions(field: str, value: object, budget: list[int]) -> list[Filter]:
    is_operators = (
        isinstance(value, Mapping)
        and bool(value)
        and all(isinstance(key, str) and key.startswith("$") for key in value)
    )
    if isinstance(value, Mapping) and value and all(f"${key}" in OPERATORS for key in value):
        name = next(iter(value))
        raise FilterError(
            f"{field!r} is compared by '${name}', got {name!r}; if it is an object with such a "
            f"field, write {{'$eq': {brief(value)}}}"
        )
    operators = value if is_operators else {"$eq": value}
    assert isinstance(operators, Mapping)
    conditions: list[Filter] = []
    for name, operand in operators.items():
        budget[0] -= 1
        if budget[0] < 0:
            raise FilterError(f"a filter may have at most {_MAX_CONDITIONS} conditions")
        maker = OPERATORS.get(name)
        if maker is None:
            known = " ".join(OPERATORS)
            raise FilterError(f"unknown operator {name!r} for {field!r}; known are {known}")
        conditions.append(Condition(field, maker(field, operand), name, operand))
    return conditions
