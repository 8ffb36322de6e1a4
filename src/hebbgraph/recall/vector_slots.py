"""The vectors of a table as slots of a graph, with what follows from both."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import BoolArray, IntArray, evenly_chosen
from hebbgraph.formulas.dense_share import Likeness, likeness
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.vectors.table import VectorTable

__all__ = ["VectorSlots"]

#: Chunks whose mean cosine to the question stands for that of all.
_SAMPLE = 500
#: Vectors that show how an embedder sees texts; 256 take two milliseconds.
_LIKENESS_SAMPLE = 256


class VectorSlots:
    """Maps the vectors of a table to slots of a graph and back, with what follows from both."""

    def __init__(self, graph: TagGraph, table: VectorTable) -> None:
        self._graph, self._table = graph, table
        self._sizes = (graph.n_slots, len(table.rows))
        #: The slot of each vector, and which vectors have one; the vector of each slot, -1 for
        #: none. None if vectors and slots have the same numbers.
        self._slots: tuple[NDArray[np.int64], BoolArray] | None = None
        self._positions: NDArray[np.int64] | None = None
        #: Latest results, each with the mask that it was computed from.
        self._mask: tuple[BoolArray, BoolArray] | None = None
        self._sample: tuple[BoolArray, NDArray[np.int64]] | None = None
        self._likeness: tuple[BoolArray, Likeness] | None = None
        if np.array_equal(graph.rows, table.rows):
            return
        slots = np.minimum(np.searchsorted(graph.rows, table.rows), graph.n_slots - 1)
        known = graph.rows[slots] == table.rows
        self._slots = slots, known
        self._positions = np.full(graph.n_slots, -1)
        self._positions[slots[known]] = np.flatnonzero(known)

    def fits(self, graph: TagGraph, table: VectorTable) -> bool:
        """Return whether this maps between the two as they are now."""
        # Graph and table only ever append rows.
        return (
            self._graph is graph
            and self._table is table
            and self._sizes == (graph.n_slots, len(table.rows))
        )

    def mask(self, allowed: BoolArray) -> BoolArray:
        """Return a mask of the vectors of allowed slots."""
        if self._slots is None:
            return allowed
        if self._mask is None or self._mask[0] is not allowed or allowed.flags.writeable:
            slots, known = self._slots
            mask = known & allowed[slots]
            mask.flags.writeable = False
            self._mask = allowed, mask
        return self._mask[1]

    def sample(self, alive: BoolArray) -> NDArray[np.int64]:
        """Return the positions of some vectors; they depend only on which chunks are alive."""
        if self._sample is None or self._sample[0] is not alive or alive.flags.writeable:
            self._sample = alive, evenly_chosen(self.mask(alive), _SAMPLE)
        return self._sample[1]

    def likeness(self, alive: BoolArray, table: VectorTable) -> Likeness:
        """Return how alike the vectors of live chunks are."""
        if self._likeness is None or self._likeness[0] is not alive or alive.flags.writeable:
            positions = evenly_chosen(self.mask(alive), _LIKENESS_SAMPLE)
            self._likeness = alive, likeness(table.matrix[positions])
        return self._likeness[1]

    def slots_of(self, positions: IntArray) -> IntArray:
        """Return the slots of vectors that have one."""
        return positions if self._slots is None else self._slots[0][positions]

    def positions_of(self, slots: IntArray) -> IntArray:
        """Return the vectors of slots, -1 for none."""
        return slots if self._positions is None else self._positions[slots]
