"""Metadata filters: what callers write, to the rows that pass.

A filter is a dict in the style of MongoDB, as in most vector stores::

    {"lang": "en"}                                    equality
    {"year": {"$gte": 2020, "$lt": 2024}}             comparison
    {"topic": {"$in": ["optics", "acoustics"]}}       membership
    {"$or": [{"lang": "en"}, {"$not": {"draft": True}}]}

Operators: ``$eq $ne $gt $gte $lt $lte $in $nin $exists $contains $any $all $text_match
$text_match_insensitive $is_empty``; ``$and $or $not`` combine filters. A key names a metadata
field; a dotted key (``"author.name"``) reaches into nested objects. ``$id``, ``$document_id`` and
``$digest`` are the chunk's own. Of a list, equality, comparison and membership hold if they hold
for any element; ``$ne`` and ``$nin`` if they hold for all, and for chunks without the field.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from reprlib import repr as _brief
from typing import Any

import numpy as np

from hebbgraph.arrays import BoolArray, IntArray, is_in_sorted
from hebbgraph.errors import FilterError
from hebbgraph.records import plain, storable
from hebbgraph.store.chunks import comparable
from hebbgraph.store.database import LONG, Session

_DEEPEST = 30  # each is two levels of JSON
_MOST_CONDITIONS = 500  # each reads all rows that it passes
_COMPARISONS = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
_NEGATED = {"$ne": "$eq", "$nin": "$in"}
_COLUMNS = {"$id": "id", "$document_id": "document_id", "$digest": "digest"}
_OPERATORS = (
    "$eq $ne $gt $gte $lt $lte $in $nin $exists $contains $any $all $text_match "
    "$text_match_insensitive $is_empty"
)


@dataclass(frozen=True, eq=False)
class Rows:
    """A set of chunks: some rows, ascending, or all but these."""

    rows: IntArray
    all_but: bool = False

    def __call__(self, rows: IntArray, /) -> BoolArray:
        return is_in_sorted(rows, self.rows) ^ self.all_but

    def count(self, n_chunks: int) -> int:
        return n_chunks - len(self.rows) if self.all_but else len(self.rows)

    def __invert__(self) -> Rows:
        return Rows(self.rows, not self.all_but)

    def __and__(self, other: Rows) -> Rows:
        if self.all_but and other.all_but:
            return Rows(np.union1d(self.rows, other.rows), True)
        some, others = (other, self) if self.all_but else (self, other)
        return Rows(some.rows[others(some.rows)])

    def __or__(self, other: Rows) -> Rows:
        return ~(~self & ~other)


_ALL = Rows(np.empty(0, np.int64), all_but=True)


def rows_passing(session: Session, where: Mapping[str, Any]) -> tuple[Rows, list[str]]:
    """Return the chunks that pass a filter, and the fields in it."""
    evaluation = _Evaluation(session)
    return evaluation.rows(where, 0), list(evaluation.fields)


def exists(session: Session, field: str) -> bool:
    """Return whether any chunk has a field."""
    sql = "SELECT 1 FROM $fact WHERE key = ANY(?) OR (key >= ? AND key < ?) LIMIT 1"
    return bool(session.rows(sql, [field, f"{field}[]"], f"{field}.", f"{field}/"))


class _Evaluation:
    def __init__(self, session: Session) -> None:
        self._session = session
        self.fields: dict[str, None] = {}
        self._n_conditions = 0

    def rows(self, where: object, depth: int) -> Rows:
        """Evaluate one level of a filter."""
        if not isinstance(where, Mapping):
            raise FilterError(f"a filter is a dict, got {_brief(where)}")
        if depth > _DEEPEST:
            raise FilterError(f"filters nest at most {_DEEPEST} levels deep")
        passing = _ALL
        for key, value in where.items():
            if not isinstance(key, str):
                raise FilterError(f"a filter's keys are field names, got {_brief(key)}")
            if key in ("$and", "$or"):
                passing &= self._combined(key, value, depth)
            elif key == "$not":
                passing &= ~self.rows(value, depth + 1)
            elif key.startswith("$") and key not in _COLUMNS:
                raise FilterError(
                    f"unknown operator {key!r}; $and, $or and $not combine filters, and $id, "
                    "$document_id and $digest are fields"
                )
            else:
                passing &= self._field(key, value)
        return passing

    def _combined(self, name: str, parts: object, depth: int) -> Rows:
        if not isinstance(parts, list | tuple) or not parts:
            raise FilterError(f"{name} takes a list of filters, got {_brief(parts)}")
        join = operator.and_ if name == "$and" else operator.or_
        return reduce(join, (self.rows(part, depth + 1) for part in parts))

    def _field(self, field: str, value: object) -> Rows:
        field = storable(field)
        if field not in _COLUMNS:
            self.fields[field] = None
        conditions = {"$eq": value}
        if isinstance(value, Mapping):
            conditions = dict(value) or {"{}": None}  # of which none is true: not all pass
            if wrong := [name for name in conditions if name not in _OPERATORS.split()]:
                raise FilterError(
                    f"unknown operator {_brief(wrong[0])} for {field!r}; known are {_OPERATORS}; "
                    f"a nested field is written {field + '.name'!r}"
                )
        passing = _ALL
        for name, operand in conditions.items():
            try:
                value = plain(operand)
            except ValueError as error:
                raise FilterError(f"{field!r} cannot be compared: {error}") from error
            passing &= self._condition(field, name, value)
        return passing

    def _condition(self, field: str, name: str, operand: Any) -> Rows:
        if name in _NEGATED:
            return ~self._condition(field, _NEGATED[name], operand)
        self._n_conditions += 1
        if self._n_conditions > _MOST_CONDITIONS:
            raise FilterError(f"a filter has at most {_MOST_CONDITIONS} conditions; use $in")
        if name == "$eq":
            return self._equal(field, [operand])
        if name in ("$in", "$any"):
            return self._equal(field, _list(field, operand))
        if name in _COMPARISONS:
            return self._compared(field, name, operand)
        if name == "$all":
            items = _list(field, operand)
            passing = self._equal(field, items) if items else _ALL
            for item in items:
                if not len(passing.rows):
                    break  # a list of thousands costs no query each
                passing &= self._condition(field, "$eq", item)
            return passing
        if name in ("$exists", "$is_empty"):
            if not isinstance(operand, bool):
                raise FilterError(f"{name} takes True or False, got {_brief(operand)}")
            found = self._existing(field) if name == "$exists" else self._empty(field)
            return found if operand else ~found
        return self._text(field, name, operand)

    # -- conditions ---------------------------------------------------------------------

    def _select(self, field: str, condition: str, *operands: Any) -> Rows:
        """Return the rows of facts of a field, or of a column, for which a condition holds."""
        if field in _COLUMNS:
            text = condition.replace("string", _COLUMNS[field]).replace("number", "NULL")
            return self._found(f"SELECT row FROM $chunk WHERE {text}", *operands)
        sql = f"SELECT row FROM $fact WHERE key = ANY(?) AND {condition}"
        return self._found(sql, [field, f"{field}[]"], *operands)

    def _found(self, sql: str, *operands: Any) -> Rows:
        rows = [row for (row,) in self._session.rows(sql, *operands)]
        return Rows(np.unique(np.array(rows, np.int64)))

    def _equal(self, field: str, operands: list[Any]) -> Rows:
        texts = [item for item in operands if isinstance(item, str)]
        flags = [int(item) for item in operands if isinstance(item, bool)]
        numbers = [
            comparable(item)
            for item in operands
            if isinstance(item, int | float) and not isinstance(item, bool)
        ]
        if any(isinstance(item, list | dict) for item in operands):
            raise FilterError(
                f"{field!r} is compared with a list or an object; elements are compared by $in, "
                f"$any and $all, nested fields by {field + '.name'!r}"
            )
        passing = ~_ALL
        if texts:
            passing |= self._texts(field, "= ANY(?)", texts, {len(text) > LONG for text in texts})
        if field in _COLUMNS:
            return passing | self._select(field, "string IS NULL") if None in operands else passing
        if numbers:
            passing |= self._select(field, "number = ANY(?) AND string IS NULL", numbers)
        if flags:
            passing |= self._select(field, "number = ANY(?) AND string = 'bool'", flags)
        if None in operands:
            passing |= self._select(field, "number IS NULL AND string IS NULL")
        return passing

    def _texts(self, field: str, condition: str, operand: Any, are_long: set[bool]) -> Rows:
        """Return the rows with a text of some sizes for which a condition holds."""
        passing = ~_ALL
        for is_long in are_long:  # each size has an index
            size = f"length(string) {'>' if is_long else '<='} {LONG}"
            passing |= self._select(
                field, f"string {condition} AND number IS NULL AND {size}", operand
            )
        return passing

    def _compared(self, field: str, name: str, operand: Any) -> Rows:
        sign = _COMPARISONS[name]
        if isinstance(operand, str):
            return self._texts(field, f"{sign} ?", operand, {False, True})
        if isinstance(operand, bool) or not isinstance(operand, int | float):
            raise FilterError(
                f"{field!r} is compared with {_brief(operand)}; {name} takes a number, text or a "
                "date"
            )
        return self._select(field, f"number {sign} ? AND string IS NULL", comparable(operand))

    def _text(self, field: str, name: str, operand: Any) -> Rows:
        if name == "$contains" and not isinstance(operand, str):
            return self._equal(f"{field}[]", [operand])
        if not isinstance(operand, str):
            raise FilterError(f"{name} takes a str for {field!r}, got {_brief(operand)}")
        if name == "$text_match_insensitive":
            wanted = operand.casefold()
            rows = [row for row, text in self._strings(field) if wanted in text.casefold()]
            return Rows(np.unique(np.array(rows, np.int64)))
        # Only texts that hold the operand change when it is replaced; all hold the empty one.
        holds = "replace(string, ?, '') <> string" if operand else "string IS NOT NULL AND ? = ''"
        holds += " AND number IS NULL"
        if name == "$text_match" or field in _COLUMNS:
            return self._select(field, holds, operand)
        inside = self._found(f"SELECT row FROM $fact WHERE key = ? AND {holds}", field, operand)
        return inside | self._equal(f"{field}[]", [operand])

    def _strings(self, field: str) -> list[tuple[int, str]]:
        """Return the row of each text of a field, and the text."""
        if field in _COLUMNS:
            column = _COLUMNS[field]
            return self._session.rows(f"SELECT row, {column} FROM $chunk WHERE {column} <> ''")
        sql = "SELECT row, string FROM $fact WHERE key = ANY(?) AND number IS NULL AND string <> ''"
        return self._session.rows(sql, [field, f"{field}[]"])

    def _existing(self, field: str) -> Rows:
        if field in _COLUMNS:
            return self._select(field, "string IS NOT NULL")
        found = self._select(field, "row IS NOT NULL")
        for start in (field, f"{field}[]"):  # objects, and those in lists
            sql = "SELECT row FROM $fact WHERE key >= ? AND key < ?"
            found |= self._found(sql, f"{start}.", f"{start}/")
        return found

    def _empty(self, field: str) -> Rows:
        condition = "(string IS NULL OR string = '') AND number IS NULL"
        if field in _COLUMNS:
            return self._select(field, condition)
        blank = self._found(f"SELECT row FROM $fact WHERE key = ? AND {condition}", field)
        return ~self._existing(field) | blank


def _list(field: str, operand: Any) -> list[Any]:
    if not isinstance(operand, list):
        raise FilterError(f"a list of values fits {field!r}, got {_brief(operand)}")
    return operand
