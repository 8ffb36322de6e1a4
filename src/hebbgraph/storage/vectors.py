"""The vectors of a namespace as one matrix, and exact search over them."""

from __future__ import annotations

from typing import Literal, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hebbgraph.storage.approximate import ApproximateNeighbours
from hebbgraph.storage.embedding import EmbeddingState
from hebbgraph.storage.quantized import QuantizedVectors
from hebbgraph.storage.truth import Truth
from hebbgraph.storage.vector_file import VectorFile
from hebbgraph.typing import BoolArray, IntArray

__all__ = ["VectorSearch", "VectorTable"]

VectorSearch: TypeAlias = Literal["exact", "quantized", "usearch"]

_UNKNOWN_COSINE = -1.0
_FEW_SURVIVORS = 10_000
_APPENDED_AT_ONCE = 1 << 14
#: Fewer vectors are looked at whole; codes are fitted anew when there are so many times more.
_FEWEST_QUANTIZED = 5_000
_REFIT = 4


class Nearest(NamedTuple):
    """Positions by cosine, best first."""

    positions: NDArray[np.int64]
    cosines: NDArray[np.float64]


class VectorTable:
    """Unit vectors by row of the truth, rows ascending.

    Rows of deleted chunks stay until :meth:`kept`; the caller masks them.
    """

    def __init__(self, state: EmbeddingState, file: VectorFile | None = None) -> None:
        self.state = state
        self._file = file
        self._rows = np.empty(0, dtype=np.int64)
        self._data = np.empty((0, state.dimension), dtype=np.float32)
        self._size = 0
        #: The highest row that was looked at, with or without a vector.
        self.last_row = -1
        #: Names candidates when there are many vectors; None searches all of them.
        self.approximate: ApproximateNeighbours | None = None
        #: Names those that may be among the nearest; None looks at all of them.
        self.quantized: QuantizedVectors | None = None
        self._quantizes = False
        self._fitted = 0

    @classmethod
    def load(
        cls,
        truth: Truth,
        state: EmbeddingState,
        rows: IntArray,
        file: VectorFile | None = None,
        generation: int = 0,
    ) -> Self:
        """Read the vectors of these rows, those that lie in a file from there.

        Parameters
        ----------
        truth : Truth
        state : EmbeddingState
        rows : ndarray of int64, ascending
        file : VectorFile, optional
            It is appended to, and takes the place of memory.
        generation : int
            Of the truth; see :class:`VectorFile`.
        """
        table = cls(state, file)
        table._adopt()
        table.extend(truth, rows[np.searchsorted(rows, table.last_row, "right") :], generation)
        return table

    def _adopt(self) -> None:
        """Take over what the file holds."""
        if self._file is not None:
            self._rows, self._data = self._file.rows, self._file.matrix
            self._size, self.last_row = len(self._rows), self._file.last_row

    @property
    def rows(self) -> NDArray[np.int64]:
        """The rows that have a vector, ascending."""
        return self._rows[: self._size]

    @property
    def matrix(self) -> NDArray[np.float32]:
        """Their vectors, shape (n, dimension)."""
        return self._data[: self._size]

    def extend(self, truth: Truth, rows: IntArray, generation: int = 0) -> None:
        """Read the vectors of further rows, all above those that are here."""
        if not len(rows):
            return
        first = self._size
        if self._file is None:
            self._take(truth, rows)
        else:
            self._append(self._file, truth, rows, generation)
        if self.approximate is not None:
            fresh = slice(first, self._size)
            self.approximate.add(self._rows[fresh], self._data[fresh])
        if self._quantizes:
            self._quantize(first)

    def _take(self, truth: Truth, rows: IntArray) -> None:
        self._reserve(len(rows))
        self.last_row = int(rows[-1])
        kind = np.dtype(self.state.dtype)
        for row, held in truth.embeddings.vectors(rows, self.state.epoch):
            self._rows[self._size] = row
            self._data[self._size] = np.frombuffer(held, dtype=kind)
            self._size += 1

    def _append(self, file: VectorFile, truth: Truth, rows: IntArray, generation: int) -> None:
        file.refresh(generation)  # another process may have been there first
        rows = rows[np.searchsorted(rows, file.last_row, "right") :]
        for start in range(0, len(rows), _APPENDED_AT_ONCE):
            page = VectorTable(self.state)
            page._take(truth, rows[start : start + _APPENDED_AT_ONCE])
            file.append(page.rows, page.matrix, last_row=page.last_row, generation=generation)
        self._adopt()

    def use_approximate_search(self, saved: ApproximateNeighbours | None) -> None:
        """Search approximately from now on, going on from what was saved."""
        self.approximate = saved or ApproximateNeighbours(self.state.dimension)
        first = np.searchsorted(self.rows, self.approximate.last_row, "right")
        self.approximate.add(self.rows[first:], self.matrix[first:])

    def use_quantized_search(self) -> None:
        """Look at eight-bit codes first from now on; the result stays the same."""
        self._quantizes = True
        self._quantize(0)

    def _quantize(self, first: int) -> None:
        if self._size < _FEWEST_QUANTIZED:
            return
        if self.quantized is None or self._size > self._fitted * _REFIT:
            self.quantized = QuantizedVectors(self.matrix)
            self._fitted = self._size
        else:
            self.quantized.extend(self._data[first : self._size])

    def _reserve(self, extra: int) -> None:
        needed = self._size + extra
        if needed > len(self._rows):
            capacity = max(needed, len(self._rows) * 5 // 4)
            rows = np.empty(capacity, dtype=np.int64)
            rows[: self._size] = self.rows
            data = np.empty((capacity, self.state.dimension), dtype=np.float32)
            data[: self._size] = self.matrix
            self._rows, self._data = rows, data

    def kept(self, rows: IntArray, generation: int = 0) -> VectorTable:
        """Return a table of only these rows (ascending)."""
        keep = np.isin(self.rows, rows, assume_unique=True)
        if self._file is not None:
            table = VectorTable(self.state, self._file.rewritten(keep, generation))
            table._adopt()
        else:
            table = VectorTable(self.state)
            table._rows, table._data = self.rows[keep], self.matrix[keep]
            table._size = len(table._rows)
            table.last_row = self.last_row
        if self._quantizes:
            table.use_quantized_search()
        return table

    def replaced(self, rows: IntArray, vectors: NDArray[np.float32]) -> VectorTable:
        """Return a table with other vectors for some rows (ascending); searched exactly.

        Rows that have no vector here get none.
        """
        table = VectorTable(self.state)
        table._rows, table._data = self.rows, np.array(self.matrix, dtype=np.float32)
        table._size, table.last_row = self._size, self.last_row
        if len(rows) and self._size:
            at = np.minimum(np.searchsorted(rows, self.rows), len(rows) - 1)
            known = rows[at] == self.rows
            table._data[known] = vectors[at[known]]
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
        if self.quantized is not None:
            matrix = self.matrix
            survivors = self.quantized.may_be_nearest(
                query, limit, allowed, lambda at: matrix[at] @ query
            )
            cosines = matrix[survivors] @ query
        elif (n_allowed := np.count_nonzero(allowed)) > len(allowed) // 2 and not self.approximate:
            cosines = self.matrix @ query
            survivors = np.arange(len(cosines))
            if n_allowed < len(cosines):
                cosines[~allowed] = -np.inf
                limit = min(limit, int(n_allowed))
        else:
            survivors = np.flatnonzero(allowed)
            if self.approximate is not None and len(survivors) > _FEW_SURVIVORS:
                survivors = self._approximate_survivors(query, limit, allowed)
            cosines = self.matrix[survivors] @ query
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
