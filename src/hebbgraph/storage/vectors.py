"""The vectors of a namespace in memory, and exact search over them."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hebbgraph.storage.approximate import ApproximateNeighbours
from hebbgraph.storage.embedding import EmbeddingState
from hebbgraph.storage.truth import Truth
from hebbgraph.typing import BoolArray, IntArray

__all__ = ["VectorTable"]

_UNKNOWN_COSINE = -1.0
_FEW_SURVIVORS = 10_000


class Nearest(NamedTuple):
    """Positions by cosine, best first."""

    positions: NDArray[np.int64]
    cosines: NDArray[np.float64]


class VectorTable:
    """Unit vectors by row of the truth, rows ascending.

    Rows of deleted chunks stay until :meth:`kept`; the caller masks them.
    """

    def __init__(self, state: EmbeddingState) -> None:
        self.state = state
        self._rows = np.empty(0, dtype=np.int64)
        self._data = np.empty((0, state.dimension), dtype=np.float32)
        self._size = 0
        #: The highest row that was looked at, with or without a vector.
        self.last_row = -1
        #: Names candidates when there are many vectors; None searches all of them.
        self.approximate: ApproximateNeighbours | None = None

    @classmethod
    def load(cls, truth: Truth, state: EmbeddingState, rows: IntArray) -> Self:
        """Read the vectors of these rows."""
        table = cls(state)
        table.extend(truth, rows)
        return table

    @property
    def rows(self) -> NDArray[np.int64]:
        """The rows that have a vector, ascending."""
        return self._rows[: self._size]

    @property
    def matrix(self) -> NDArray[np.float32]:
        """Their vectors, shape (n, dimension)."""
        return self._data[: self._size]

    def extend(self, truth: Truth, rows: IntArray) -> None:
        """Read the vectors of further rows, all above those that are here."""
        if not len(rows):
            return
        self._reserve(len(rows))
        self.last_row = int(rows[-1])
        first = self._size
        kind = np.dtype(self.state.dtype)
        for row, held in truth.embeddings.vectors(rows, self.state.epoch):
            self._rows[self._size] = row
            self._data[self._size] = np.frombuffer(held, dtype=kind)
            self._size += 1
        if self.approximate is not None:
            fresh = slice(first, self._size)
            self.approximate.add(self._rows[fresh], self._data[fresh])

    def use_approximate_search(self, saved: ApproximateNeighbours | None) -> None:
        """Search approximately from now on, going on from what was saved."""
        self.approximate = saved or ApproximateNeighbours(self.state.dimension)
        first = np.searchsorted(self.rows, self.approximate.last_row, "right")
        self.approximate.add(self.rows[first:], self.matrix[first:])

    def _reserve(self, extra: int) -> None:
        needed = self._size + extra
        if needed > len(self._rows):
            capacity = max(needed, len(self._rows) * 5 // 4)
            rows = np.empty(capacity, dtype=np.int64)
            rows[: self._size] = self.rows
            data = np.empty((capacity, self.state.dimension), dtype=np.float32)
            data[: self._size] = self.matrix
            self._rows, self._data = rows, data

    def kept(self, rows: IntArray) -> VectorTable:
        """Return a table of only these rows (ascending)."""
        table = VectorTable(self.state)
        keep = np.isin(self.rows, rows, assume_unique=True)
        table._rows, table._data = self.rows[keep], self.matrix[keep]
        table._size = len(table._rows)
        table.last_row = self.last_row
        return table

    def nearest(self, query: NDArray[np.float32], limit: int, allowed: BoolArray) -> Nearest:
        """Return the vectors with the highest cosine among those allowed.

        With :attr:`approximate` search, and unless few are allowed, it names the
        candidates, asked for more until enough are allowed.

        Parameters
        ----------
        query : ndarray of float32, shape (dimension,), unit length
        limit : int
        allowed : ndarray of bool, shape (n,)
        """
        survivors = np.flatnonzero(allowed)
        if self.approximate is not None and len(survivors) > _FEW_SURVIVORS:
            survivors = self._approximate_survivors(query, limit, allowed)
        if len(survivors) < len(allowed) // 2:
            cosines = self.matrix[survivors] @ query
        else:
            cosines = (self.matrix @ query)[survivors]
        if len(cosines) > limit:
            best = np.argpartition(cosines, len(cosines) - limit)[-limit:]
        else:
            best = np.arange(len(cosines))
        best = best[np.lexsort((survivors[best], -cosines[best]))]
        return Nearest(survivors[best], cosines[best].astype(np.float64))

    def _approximate_survivors(
        self, query: NDArray[np.float32], limit: int, allowed: BoolArray
    ) -> NDArray[np.int64]:
        assert self.approximate is not None
        wanted = limit
        while True:
            found = np.searchsorted(self.rows, np.sort(self.approximate.search(query, wanted)))
            found = found[found < self._size]
            survivors: NDArray[np.int64] = found[allowed[found]]
            if len(survivors) >= limit or wanted >= len(self.approximate):
                return survivors
            wanted *= 4

    def cosines(self, query: NDArray[np.float32], rows: IntArray) -> NDArray[np.float64]:
        """Return the cosine of each row's vector; -1 for a row that has none."""
        result = np.full(len(rows), _UNKNOWN_COSINE)
        if self._size:
            at = np.searchsorted(self.rows, rows)
            at[at == self._size] = 0
            known = self.rows[at] == rows
            result[known] = self.matrix[at[known]] @ query
        return result
