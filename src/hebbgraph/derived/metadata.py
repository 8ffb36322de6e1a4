"""Metadata by field, for filters.

Only fields that some filter has named are read from the truth. A field has its distinct values and
a code per chunk, so a predicate is called once per value.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import GrowableArray
from hebbgraph.filter_operators import MISSING, Predicate
from hebbgraph.filters import Cover, value_at
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.store.facts import DOCUMENT, fact, is_plain
from hebbgraph.store.truth import Truth
from hebbgraph.stored_json import read_json

__all__ = ["MetadataFields"]

_MAX_FIELDS = 64
#: Looking up a fact takes a few microseconds.
_MAX_FACTS = 128


class _Field:
    """One field: its distinct values, and the code of each slot's value."""

    def __init__(self) -> None:
        self.values: list[Any] = [MISSING]
        self._codes_by_value: dict[str, int] = {}
        self.codes = GrowableArray(np.int32)

    def encode(self, value: Any) -> int:
        if value is MISSING:
            return 0
        # JSON text: lists and objects have no hash, and true is not 1.
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
        stale: Callable[[], NDArray[np.bool_] | None] = lambda: None,
    ) -> None:
        self._truth = truth
        self._colony_of = colony_of
        self._stale = stale
        self.graph = graph
        self._fields: OrderedDict[str, _Field] = OrderedDict()

    def all(self) -> NDArray[np.bool_]:
        """Return True for each slot."""
        return np.ones(self.graph.n_slots, dtype=np.bool_)

    def where(self, field: str, predicate: Predicate) -> NDArray[np.bool_]:
        """Return for each slot whether the predicate holds for its value."""
        if field == "$colony" and self._colony_of is not None:
            numbers, codes = np.unique(self._colony_of(), return_inverse=True)
            passing = [predicate(MISSING if n < 0 else n) for n in numbers.tolist()]
            return np.array(passing, dtype=np.bool_)[codes]
        if field == "$stale":
            stale = self._stale()
            if stale is None:
                stale = np.zeros(self.graph.n_slots, dtype=np.bool_)
            return np.where(stale, predicate(True), predicate(False))
        column = self._field(field)
        passes = np.fromiter(map(predicate, column.values), np.bool_, len(column.values))
        mask: NDArray[np.bool_] = passes[column.codes.view]
        return mask

    def cover(self, field: str, predicate: Predicate) -> Cover | None:
        """Return the facts of the chunks for which the predicate holds.

        None if some of these chunks may have no fact, or there are too many facts.
        """
        if "." in field or (field.startswith("$") and field != DOCUMENT):
            return None
        column = self._field(field)
        passing = [code for code, value in enumerate(column.values) if predicate(value)]
        values = [column.values[code] for code in passing]
        if len(values) > _MAX_FACTS or not all(map(is_plain, values)):
            return None
        counts = np.bincount(column.codes.view, minlength=len(column.values))
        return Cover(frozenset(fact(field, value) for value in values), int(counts[passing].sum()))

    def _field(self, field: str) -> _Field:
        """Return a field, read up to the last slot."""
        column = self._fields.setdefault(field, _Field())
        self._fields.move_to_end(field)
        while len(self._fields) > _MAX_FIELDS:
            self._fields.popitem(last=False)
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
    return value_at(field, read_json(metadata, dict, "metadata of a chunk"))
