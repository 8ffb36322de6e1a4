"""Filters as masks over the slots of a graph, and why no chunk passes one."""

from __future__ import annotations

import json
import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import BoolArray
from hebbgraph.derived.metadata import MetadataFields
from hebbgraph.filter_operators import elements
from hebbgraph.filters import (
    MISSING,
    SPECIAL_FIELDS,
    AllOf,
    AnyOf,
    Condition,
    Cover,
    FieldReader,
    Filter,
    parse_filter,
)
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.records import Chunk
from hebbgraph.store.truth import Truth

__all__ = ["Masks", "PassingChunks", "Where"]

Where: TypeAlias = Mapping[str, Any] | Callable[[Chunk], bool] | None

_CACHE_SIZE = 32
_NULL = "null"
#: Operators that match only values of the type of their operand.
_TYPED = frozenset({"$eq", "$gt", "$gte", "$lt", "$lte", "$in", "$any", "$all"})

logger = logging.getLogger(__name__)


class PassingChunks(NamedTuple):
    """The chunks that pass a filter.

    ``cover`` is what all of them have, if known. ``whole`` is True if no live chunk is excluded.
    ``misfit`` says why none passes, if that follows from the type of the stored values.
    """

    mask: BoolArray
    cover: Cover | None = None
    whole: bool = False
    misfit: str | None = None

    def within(self, mask: BoolArray) -> PassingChunks:
        """Return the same with a narrower mask."""
        return self if mask is self.mask else self._replace(mask=mask, whole=False)


class Masks:
    """A cache of the masks of recent filters."""

    def __init__(
        self,
        truth: Truth,
        colony_of: Callable[[], NDArray[np.int64]] | None = None,
        stale: Callable[[], BoolArray | None] = lambda: None,
    ) -> None:
        self._truth = truth
        self._colony_of = colony_of
        self._stale = stale
        self._columns: MetadataFields | None = None
        self._masks: OrderedDict[str, tuple[TagGraph, tuple[int, int], PassingChunks]] = (
            OrderedDict()
        )

    def passing(self, graph: TagGraph, where: Mapping[str, Any] | None) -> PassingChunks:
        """Return which slots hold a live chunk that passes the filter."""
        if where is None:
            return PassingChunks(graph.alive, whole=True)
        condition = parse_filter(where)  # first: as JSON, {5: ...} and {"5": ...} look alike
        try:
            key = json.dumps(where, sort_keys=True)
        except (TypeError, ValueError, RecursionError):
            key = None
        if key is not None and ('"$colony"' in key or '"$stale"' in key):
            key = None  # these may change while the graph does not
        cached = None if key is None else self._masks.get(key)
        if key is not None and cached and cached[0] is graph and cached[1] == graph.state:
            self._masks.move_to_end(key)
            return cached[2]
        if self._columns is None or self._columns.graph is not graph:
            self._columns = MetadataFields(self._truth, graph, self._colony_of, self._stale)
        mask = condition.mask(self._columns) & graph.alive
        mask.flags.writeable = False
        passing = PassingChunks(mask, condition.cover(self._columns))
        if graph.n_chunks and not mask.any():
            passing = passing._replace(misfit=_misfit(condition, self._columns))
            if passing.misfit is not None:
                logger.warning("no chunk passes a filter: %s", passing.misfit)
        if key is not None:
            self._masks[key] = (graph, graph.state, passing)
            if len(self._masks) > _CACHE_SIZE:
                self._masks.popitem(last=False)
        return passing


def _misfit(where: Filter, reader: FieldReader) -> str | None:
    """Say that a field is missing everywhere, or has only values of another type."""
    if isinstance(where, AllOf | AnyOf):
        return next(filter(None, (_misfit(part, reader) for part in where.parts)), None)
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
