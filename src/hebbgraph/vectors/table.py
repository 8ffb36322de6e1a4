"""The vectors of a namespace as one matrix, and exact search over them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import BoolArray, IntArray
from hebbgraph.artifacts import Stamp, remove
from hebbgraph.store.embeddings import EmbeddingState
from hebbgraph.store.history import NOTHING, Commit
from hebbgraph.store.truth import Truth
from hebbgraph.vectors.approximate import ApproximateNeighbours
from hebbgraph.vectors.codes import Codes
from hebbgraph.vectors.file import VectorFile
from hebbgraph.vectors.ivf import InvertedLists
from hebbgraph.vectors.products import highest, products
from hebbgraph.vectors.quantized import QuantizedVectors
from hebbgraph.vectors.searching import VectorSearch

__all__ = ["VectorTable"]

#: Of a chunk without a vector.
UNKNOWN_COSINE = -1.0
_FEW_SURVIVORS = 10_000
_APPENDED_AT_ONCE = 1 << 14
#: Fewer vectors are looked at whole; codes are fitted anew when there are so many times more.
_FEWEST_CODED = 5_000
_REFIT = 4
_SEARCH_FILES = ("vectors.ivf.json", "vectors.ivf", "vectors.json", "vectors.usearch")
_CODES: dict[VectorSearch, Callable[[NDArray[np.float32]], Codes]] = {
    "quantized": QuantizedVectors,
    "ivf": InvertedLists,
}


class Nearest(NamedTuple):
    """Positions by cosine, best first; and the cosine of every vector, if all were computed."""

    positions: NDArray[np.int64]
    cosines: NDArray[np.float64]
    every: NDArray[np.float32] | None = None


class VectorTable:
    """Unit vectors by row of the truth, rows ascending.

    Rows of deleted chunks stay until :meth:`kept`; the caller masks them.
    """

    def __init__(self, state: EmbeddingState, file: VectorFile | None = None) -> None:
        self.state = state
        self.commit = NOTHING
        self._file = file
        self._rows = np.empty(0, dtype=np.int64)
        self._data = np.empty((0, state.dimension), dtype=np.float32)
        self._size = 0
        #: The highest row that was looked at, with or without a vector.
        self.last_row = -1
        #: Names candidates when there are many vectors; None searches all of them.
        self.approximate: ApproximateNeighbours | None = None
        #: Names those that may be among the nearest; None looks at all of them.
        self.codes: Codes | None = None
        self._search: VectorSearch = "exact"
        self._fitted = 0

    @classmethod
    def load(
        cls,
        truth: Truth,
        state: EmbeddingState,
        rows: IntArray,
        file: VectorFile | None = None,
        commit: Commit = NOTHING,
    ) -> Self:
        """Read the vectors of these rows, those that lie in a file from there.

        Parameters
        ----------
        truth : Truth
        state : EmbeddingState
        rows : ndarray of int64, ascending
            All that are known; those that are gone have no vector.
        file : VectorFile, optional
            It is appended to, and takes the place of memory.
        commit : Commit
            Of the truth, that led to these rows.
        """
        table = cls(state, file)
        table.extend(truth, rows, commit)
        return table

    @classmethod
    def of(cls, file: VectorFile, state: EmbeddingState) -> Self:
        """Return what lies in a file, to look at it."""
        table = cls(state, file)
        table._adopt(file, file.last_row)
        return table

    def _adopt(self, file: VectorFile, last_row: int) -> None:
        """Take over what the file holds up to a row; others may have come further."""
        self._rows, self._data = file.rows, file.matrix
        self._size = int(np.searchsorted(file.rows, last_row, "right"))
        self.last_row = min(file.last_row, last_row)

    @property
    def rows(self) -> NDArray[np.int64]:
        """The rows that have a vector, ascending."""
        return self._rows[: self._size]

    @property
    def matrix(self) -> NDArray[np.float32]:
        """Their vectors, shape (n, dimension)."""
        return self._data[: self._size]

    def extend(self, truth: Truth, rows: IntArray, commit: Commit = NOTHING) -> bool:
        """Read the vectors of those rows that were not looked at yet.

        Parameters
        ----------
        truth : Truth
        rows : ndarray of int64, ascending
            All that are known, and not only new ones: should the file be gone, they are
            read again.
        commit : Commit
            That led to these rows.

        Returns
        -------
        bool
            False if the file no longer goes on from what is held here, because another
            process has compacted it, or it was lost. Nothing has changed then;
            :meth:`load` a table anew.
        """
        if not len(rows):
            return True
        first = self._size
        if self._file is None:
            self._take(truth, rows[np.searchsorted(rows, self.last_row, "right") :])
        elif not self._append(self._file, truth, rows, commit):
            return False
        self.commit = commit
        if self.approximate is not None:
            fresh = slice(first, self._size)
            self.approximate.add(self._rows[fresh], self._data[fresh])
        if self.codes is not None:
            self.codes.extend(self._data[first : self._size])
        return True

    def _take(self, truth: Truth, rows: IntArray) -> None:
        if not len(rows):
            return
        self._reserve(len(rows))
        self.last_row = int(rows[-1])
        kind = np.dtype(self.state.dtype)
        for row, held in truth.embeddings.vectors(rows, self.state.epoch):
            self._rows[self._size] = row
            self._data[self._size] = np.frombuffer(held, dtype=kind)
            self._size += 1

    def _append(self, file: VectorFile, truth: Truth, rows: IntArray, commit: Commit) -> bool:
        name = file.name
        file.refresh()  # another process may have been there first
        if file.name != name or len(file.rows) < self._size:
            return False
        missing = rows[np.searchsorted(rows, file.last_row, "right") :]
        for start in range(0, len(missing), _APPENDED_AT_ONCE):
            page = VectorTable(self.state)
            page._take(truth, missing[start : start + _APPENDED_AT_ONCE])
            file.append(page.rows, page.matrix, last_row=page.last_row, commit=commit)
        self._adopt(file, int(rows[-1]))
        return True

    def search_by(
        self,
        name: VectorSearch,
        directory: Path | None = None,
        knows: Callable[[Commit], bool] = lambda commit: False,
    ) -> None:
        """Search in this way from now on; slow, where there are many vectors.

        Parameters
        ----------
        name : {"exact", "quantized", "ivf", "usearch"}
        directory : Path, optional
            Where :meth:`save_search` may have left what it needs.
        knows : callable
            Tells whether a commit led to the truth as it is: what was left counts only
            then.
        """
        self._search = name
        state = self.state
        many = self._size >= _FEWEST_CODED

        def fits(stamp: Stamp) -> bool:
            return stamp["state"] == list(state) and knows(Commit(*stamp["commit"]))

        if name == "usearch":
            saved = None
            if directory is not None:
                saved = ApproximateNeighbours.load(directory, state.dimension, fits, self.rows)
            self.approximate = saved or ApproximateNeighbours(state.dimension)
            first = np.searchsorted(self.rows, self.approximate.last_row, "right")
            self.approximate.add(self.rows[first:], self.matrix[first:])
        elif name == "ivf" and directory is not None and many:
            held = InvertedLists.load(directory, state.dimension, fits, self.rows)
            if held is not None:
                self._fitted = held.n_fitted
                held.extend(self.matrix[len(held) :])
                self.codes = held
        if (codes := self.codes_anew()) is not None:
            self.use(codes)

    def save_search(self, directory: Path) -> None:
        """Keep what the way of searching took long to make."""
        stamp: Stamp = {"state": list(self.state), "commit": list(self.commit)}
        if self.approximate is not None:
            self.approximate.save(directory, stamp, self.rows)
        elif isinstance(self.codes, InvertedLists):
            self.codes.save(directory, stamp, self.rows)

    @staticmethod
    def discard_search(directory: Path) -> None:
        """Remove what :meth:`save_search` kept, in whichever way was searched."""
        for name in _SEARCH_FILES:
            remove(directory / name)

    def codes_anew(self) -> Codes | None:
        """Return codes of all vectors if those that are there no longer fit; slow.

        None if codes are not wanted, or do. It changes nothing: readers go on meanwhile.
        """
        coded = 0 if self.codes is None else self._fitted * _REFIT
        if self._search not in _CODES or self._size < max(_FEWEST_CODED, coded + 1):
            return None
        return _CODES[self._search](self.matrix)

    def use(self, codes: Codes) -> None:
        """Look at these codes first from now on."""
        self.codes, self._fitted = codes, self._size

    def _reserve(self, extra: int) -> None:
        needed = self._size + extra
        if needed > len(self._rows):
            capacity = max(needed, len(self._rows) * 5 // 4)
            rows = np.empty(capacity, dtype=np.int64)
            rows[: self._size] = self.rows
            data = np.empty((capacity, self.state.dimension), dtype=np.float32)
            data[: self._size] = self.matrix
            self._rows, self._data = rows, data

    def kept(self, rows: IntArray, commit: Commit = NOTHING) -> VectorTable:
        """Return a table of only these rows (ascending)."""
        keep = np.isin(self.rows, rows, assume_unique=True)
        held, matrix = self.rows[keep], self.matrix[keep]
        if self._file is not None:
            file = self._file.rewritten(held, matrix, last_row=self.last_row, commit=commit)
            table = VectorTable(self.state, file)
            table._adopt(file, self.last_row)
        else:
            table = VectorTable(self.state)
            table._rows, table._data = held, matrix
            table._size, table.last_row = len(held), self.last_row
        table.commit = commit
        table.search_by(self._search)
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
        matrix = self.matrix
        if self.codes is not None:
            survivors = self.codes.may_be_nearest(
                query, limit, allowed, lambda at: products(matrix, query, at)
            )
        elif (n_allowed := np.count_nonzero(allowed)) > len(allowed) // 2 and not self.approximate:
            every = products(matrix, query)
            partial = n_allowed < len(every)
            best = highest(np.where(allowed, every, -np.inf) if partial else every, limit)
            if partial:
                best = best[allowed[best]]
            return Nearest(best, every[best].astype(np.float64), every)
        else:
            survivors = np.flatnonzero(allowed)
            if self.approximate is not None and len(survivors) > _FEW_SURVIVORS:
                survivors = self._approximate_survivors(query, limit, allowed)
        cosines = products(matrix, query, survivors)
        best = highest(cosines, limit)
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
        if not self._size:
            return np.full(len(rows), UNKNOWN_COSINE)
        at = np.searchsorted(self.rows, rows)
        at[at == self._size] = 0
        return self.cosines_at(query, np.where(self.rows[at] == rows, at, -1))

    def cosines_at(
        self,
        query: NDArray[np.float32],
        positions: IntArray,
        every: NDArray[np.float32] | None = None,
    ) -> NDArray[np.float64]:
        """Return the cosine of the vector at each position; -1 where that is negative.

        Parameters
        ----------
        query : ndarray of float32, shape (dimension,), unit length
        positions : ndarray of int, shape (n,)
        every : ndarray of float32, optional
            What :meth:`nearest` returned of it.
        """

        def of(at: IntArray) -> NDArray[np.float32]:
            return products(self.matrix, query, at) if every is None else every[at]

        known = positions >= 0
        if known.all():
            return of(positions).astype(np.float64)
        result = np.full(len(positions), UNKNOWN_COSINE)
        result[known] = of(positions[known])
        return result
