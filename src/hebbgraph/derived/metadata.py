"""Metadata by field: what a filter is evaluated on.

Derived from the truth, for those fields alone that some filter has named. A field keeps
each different value once and a number for each chunk, so that a predicate is called
once a value.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import GrowableArray
from hebbgraph.filters import MISSING, Cover, Predicate
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.nesting import read_metadata
from hebbgraph.store.facts import DOCUMENT, fact, is_plain
from hebbgraph.store.truth import Truth

__all__ = ["MetadataFields"]

_MAX_FIELDS = 64
#: Looking up a fact takes some microseconds.
_MAX_FACTS = 128


class _Column:
    """One field: its different values, and which of them each slot has."""

    def __init__(self) -> None:
        self.values: list[Any] = [MISSING]
        self._codes_by_value: dict[str, int] = {}
        self.codes = GrowableArray(np.int32)

    def encode(self, value: Any) -> int:
        if value is MISSING:
            return 0
        # As JSON text: lists and objects have no hash, and true is not 1.
        key = json.dumps(value, sort_keys=True)
        code = self._codes_by_value.setdefault(key, len(self.values))
        if code == len(self.values):
            self.values.append(value)
        return code


class MetadataFields:
    """The metadata fields of a graph's chunks, by slot."""

    def __init__(
        self,
        truth: Truth,
        graph: TagGraph,
        colony_of: Callable[[], NDArray[np.int64]] | None = None,
    ) -> None:
        self._truth = truth
        self._colony_of = colony_of
        self.graph = graph
        self._columns: OrderedDict[str, _Column] = OrderedDict()

    def all(self) -> NDArray[np.bool_]:
        """Return True for each slot."""
        return np.ones(self.graph.n_slots, dtype=np.bool_)

    def where(self, field: str, predicate: Predicate) -> NDArray[np.bool_]:
        """Return, for each slot, whether the predicate holds for its value."""
        if field == "$colony" and self._colony_of is not None:
            numbers, codes = np.unique(self._colony_of(), return_inverse=True)
            found = [predicate(MISSING if one < 0 else one) for one in numbers.tolist()]
            return np.array(found, dtype=np.bool_)[codes]
        column = self._column(field)
        holds = np.fromiter(
            (predicate(value) for value in column.values), np.bool_, len(column.values)
        )
        mask: NDArray[np.bool_] = holds[column.codes.view]
        return mask

    def cover(self, field: str, predicate: Predicate) -> Cover | None:
        """Return the facts that chunks have for which the predicate holds.

        None if some may have none, or there are too many to look up.
        """
        if "." in field or (field.startswith("$") and field != DOCUMENT):
            return None
        column = self._column(field)
        holding = [code for code, value in enumerate(column.values) if predicate(value)]
        values = [column.values[code] for code in holding]
        if len(values) > _MAX_FACTS or not all(map(is_plain, values)):
            return None
        counts = np.bincount(column.codes.view, minlength=len(column.values))
        return Cover(frozenset(fact(field, value) for value in values), int(counts[holding].sum()))

    def _column(self, field: str) -> _Column:
        column = self._columns.setdefault(field, _Column())
        self._columns.move_to_end(field)
        while len(self._columns) > _MAX_FIELDS:
            self._columns.popitem(last=False)
        start, end = len(column.codes), self.graph.n_slots
        if start < end:
            rows = self.graph.rows[start:end]
            codes = np.zeros(end - start, dtype=np.int32)
            for row, id_, document_id, metadata in self._truth.metadata(rows):
                value = _read(field, id_, document_id, metadata)
                codes[np.searchsorted(rows, row)] = column.encode(value)
            column.codes.extend(codes)
        return column


def _read(field: str, id_: str, document_id: str | None, metadata: str) -> Any:
    if field == "$id":
        return id_
    if field == "$document_id":
        return MISSING if document_id is None else document_id
    value: Any = read_metadata(metadata)
    if field in value:
        return value[field]
    for name in field.split("."):
        if not isinstance(value, dict) or name not in value:
            return MISSING
        value = value[name]
    return value
