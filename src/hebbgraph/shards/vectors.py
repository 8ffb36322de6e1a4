"""The vectors of several shards as one table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import BoolArray, GrowableArray, IntArray
from hebbgraph.store.embeddings import EmbeddingState
from hebbgraph.store.history import NOTHING
from hebbgraph.vectors.products import highest
from hebbgraph.vectors.table import Nearest, VectorTable

__all__ = ["JoinedVectors"]


class JoinedVectors(VectorTable):
    """Several tables, one after the other, as they are now.

    Parameters
    ----------
    state : EmbeddingState
    parts : sequence of VectorTable
        In the order of their rows.
    """

    def __init__(self, state: EmbeddingState, parts: Sequence[VectorTable]) -> None:
        self.state = state
        self.commit = NOTHING
        self.parts = tuple(parts)
        self.sizes = tuple(len(part.rows) for part in parts)
        self._ends = np.cumsum(self.sizes, dtype=np.int64)
        self._rows = GrowableArray(np.int64, np.concatenate([part.rows for part in parts]))
        self.last_row = max((part.last_row for part in parts), default=-1)

    @property
    def matrix(self) -> NDArray[np.float32]:
        """All vectors, copied into one matrix."""
        return np.concatenate([part.matrix for part in self.parts])

    def nearest(self, query: NDArray[np.float32], limit: int, allowed: BoolArray) -> Nearest:
        """Return the nearest of all: each part's nearest are among them, or below its last."""
        starts = (self._ends - self.sizes).tolist()
        found = [
            part.nearest(query, limit, allowed[start:end])
            for part, start, end in zip(self.parts, starts, self._ends.tolist(), strict=True)
        ]
        positions = np.concatenate(
            [one.positions + start for one, start in zip(found, starts, strict=True)]
        )
        cosines = np.concatenate([one.cosines for one in found])
        best = highest(cosines, limit)
        every = [one.every for one in found if one.every is not None]
        known = len(every) == len(found)
        return Nearest(positions[best], cosines[best], np.concatenate(every) if known else None)

    def products_at(self, query: NDArray[np.float32], at: IntArray) -> NDArray[np.float32]:
        result = np.empty(len(at), dtype=np.float32)
        holder = self._ends.searchsorted(at, "right")
        for number in np.unique(holder).tolist():
            mine = np.flatnonzero(holder == number)
            start = int(self._ends[number]) - self.sizes[number]
            result[mine] = self.parts[number].products_at(query, at[mine] - start)
        return result
