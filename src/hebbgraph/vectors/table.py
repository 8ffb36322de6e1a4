"""The vectors of a namespace as one matrix, and those nearest to a query."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import BoolArray, GrowableArray, IntArray
from hebbgraph.artifacts import remove
from hebbgraph.protocols import (
    SavedVectorSearch,
    VectorSearch,
    VectorSearchFactory,
    VectorSearchName,
)
from hebbgraph.store.chunks import pages
from hebbgraph.store.embeddings import EmbeddingState
from hebbgraph.store.history import NOTHING, Commit
from hebbgraph.store.truth import Truth
from hebbgraph.vectors.file import MANIFEST, VectorFile
from hebbgraph.vectors.products import highest, products
from hebbgraph.vectors.scattered import ScatteredVectors
from hebbgraph.vectors.searches import search_factory

__all__ = ["VectorTable"]

#: The cosine of a chunk without a vector.
UNKNOWN_COSINE = -1.0
_APPENDED_AT_ONCE = 1 << 14
_PUBLISHED_AT_ONCE = 1 << 11  # readers wait meanwhile
#: Fewer vectors are searched exactly, unless the caller brought a search.
_FEWEST_SEARCHED = 5_000
#: A search is rebuilt when there are more than this many times the vectors it was fitted to.
_REFIT = 4


class Nearest(NamedTuple):
    """Positions by cosine, best first, and the cosine of every vector if all were computed."""

    positions: NDArray[np.int64]
    cosines: NDArray[np.float64]
    every: NDArray[np.float32] | None = None


class VectorTable:
    """Unit vectors by row of the truth, rows ascending.

    Rows of deleted chunks stay until :meth:`kept` drops them; callers mask them.
    """

    def __init__(self, state: EmbeddingState, file: VectorFile | None = None) -> None:
        self.state = state
        self.commit = NOTHING
        self._file = file
        self._rows = GrowableArray(np.int64)
        self._data = GrowableArray(np.float32, np.empty((0, state.dimension), np.float32))
        #: Random access to the vectors, if they lie in a file.
        self._scattered: ScatteredVectors | None = None
        #: The highest row read so far, with or without a vector.
        self.last_row = -1
        #: Names candidates; without it every allowed vector is one.
        self._search: VectorSearch | None = None
        self._search_kind: VectorSearchName | VectorSearchFactory = "exact"
        self._n_fitted = 0
        #: The search that was saved, and its number of vectors then.
        self._saved: tuple[VectorSearch | None, int] = None, 0

    @classmethod
    def load(
        cls,
        truth: Truth,
        state: EmbeddingState,
        rows: IntArray,
        file: VectorFile | None = None,
        commit: Commit = NOTHING,
    ) -> Self:
        """Read the vectors of some rows, from a file if it holds them.

        Parameters
        ----------
        truth : Truth
        state : EmbeddingState
        rows : ndarray of int64, ascending
            All known rows; deleted ones have no vector.
        file : VectorFile, optional
            Mapped instead of read into memory; missing vectors are appended to it.
        commit : Commit
            The commit that led to these rows.
        """
        table = cls(state, file)
        table.extend(truth, rows, commit)
        return table

    @classmethod
    def of(cls, file: VectorFile, state: EmbeddingState) -> Self:
        """Return a table over a file as it is."""
        table = cls(state, file)
        table._use_file(file, file.last_row)
        return table

    def _use_file(self, file: VectorFile, last_row: int) -> None:
        """Use a file up to a row; another process may have appended more."""
        size = int(np.searchsorted(file.rows, last_row, "right"))
        self._set(file.rows[:size], file.matrix[:size], min(file.last_row, last_row))
        self._scattered = file.scattered

    def _set(self, rows: NDArray[np.int64], matrix: NDArray[np.float32], last_row: int) -> None:
        self._rows, self._data = GrowableArray(np.int64, rows), GrowableArray(np.float32, matrix)
        self.last_row = last_row

    @property
    def rows(self) -> NDArray[np.int64]:
        """The rows that have a vector, ascending."""
        return self._rows.view

    @property
    def matrix(self) -> NDArray[np.float32]:
        """The vectors of these rows, shape (n, dimension)."""
        return self._data.view

    def extend(
        self,
        truth: Truth,
        rows: IntArray,
        commit: Commit = NOTHING,
        *,
        held: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> bool:
        """Read the vectors of rows that were not read yet.

        Parameters
        ----------
        truth : Truth
        rows : ndarray of int64, ascending
            All known rows, not only new ones: if the file is gone, they are read again.
        commit : Commit
            The commit that led to these rows.
        held : callable, optional
            Returns the lock on this table. It is held while some thousand vectors at a time are
            published to readers, not while they are read and written, which takes longer.

        Returns
        -------
        bool
            False if the file does not continue this table, because another process compacted it
            or it was lost. Nothing has changed; :meth:`load` a new table.
        """
        if not len(rows):
            return True
        if self._file is None:
            missing = rows[np.searchsorted(rows, self.last_row, "right") :]
            for start in range(0, len(missing), _PUBLISHED_AT_ONCE):
                page = VectorTable(self.state)
                page._read(truth, missing[start : start + _PUBLISHED_AT_ONCE])
                with held():
                    self._rows.extend(page.rows)
                    self._data.extend(page.matrix)
                    self.last_row = page.last_row
                    self._extend_search(page.matrix)
        elif not self._append(self._file, truth, rows, commit, held):
            return False
        self.commit = commit
        return True

    def _read(self, truth: Truth, rows: IntArray) -> None:
        kind = np.dtype(self.state.dtype)
        for page in pages(truth.embeddings.vectors(rows, self.state.epoch)):
            self._rows.extend([row for row, _ in page])
            vectors = np.frombuffer(b"".join(vector for _, vector in page), kind)
            self._data.extend(vectors.reshape(len(page), self.state.dimension))
        if len(rows):
            self.last_row = int(rows[-1])

    def _append(
        self,
        file: VectorFile,
        truth: Truth,
        rows: IntArray,
        commit: Commit,
        held: Callable[[], AbstractContextManager[object]],
    ) -> bool:
        name = file.name
        file.refresh()  # another process may have been there first
        if file.name != name or len(file.rows) < len(self._rows):
            return False
        missing = rows[np.searchsorted(rows, file.last_row, "right") :]
        for start in range(0, len(missing), _APPENDED_AT_ONCE):
            page = VectorTable(self.state)
            page._read(truth, missing[start : start + _APPENDED_AT_ONCE])
            file.append(page.rows, page.matrix, last_row=page.last_row, commit=commit)
        # Publish to readers a part at a time.
        last, end = int(rows[-1]), len(self._rows)
        while end < len(file.rows) and file.rows[end] <= last:
            first, end = end, min(end + _PUBLISHED_AT_ONCE, len(file.rows))
            with held():
                self._use_file(file, min(int(file.rows[end - 1]), last))
                self._extend_search(self.matrix[first:])
        with held():
            self._use_file(file, last)
        return True

    def _extend_search(self, more: NDArray[np.float32]) -> None:
        if self._search is not None:
            self._search.extend(more)

    def search_by(
        self,
        search: VectorSearchName | VectorSearchFactory,
        directory: Path | None = None,
        knows: Callable[[Commit], bool] = lambda commit: False,
    ) -> None:
        """Use a search from now on; building it is slow with many vectors.

        Parameters
        ----------
        search : {"exact", "quantized", "ivf"} or callable
        directory : Path, optional
            Where :meth:`save_search` may have saved one.
        knows : callable
            Returns whether a commit is part of the truth's history; else a saved one is ignored.
        """
        self._search_kind, self._search = search, None

        def fits(facts: dict[str, Any]) -> bool:
            return facts["state"] == list(self.state) and knows(Commit(*facts["commit"]))

        is_large = len(self._rows) >= _FEWEST_SEARCHED and search != "exact"
        load = getattr(search_factory(search), "load", None) if is_large else None
        if load is not None and directory is not None:
            saved = load(directory, self.state.dimension, fits, self.rows)
            if saved is not None:
                self._saved = saved, len(saved)
                saved.extend(self.matrix[len(saved) :])
                self._search, self._n_fitted = saved, saved.n_fitted
        if (built := self.rebuilt_search()) is not None:
            self.use(built)

    def save_search(self, directory: Path) -> None:
        """Save the search if it can be saved, and has changed."""
        search = self._search
        if isinstance(search, SavedVectorSearch) and self._saved != (search, len(search)):
            facts = {"state": list(self.state), "commit": list(self.commit)}
            search.save(directory, facts, self.rows)
            self._saved = search, len(search)

    @staticmethod
    def discard_search(directory: Path) -> None:
        """Remove saved searches of any kind."""
        for path in directory.glob("vectors.*"):
            if path.name != MANIFEST:
                remove(path)

    def rebuilt_search(self) -> VectorSearch | None:
        """Return a search built from all vectors if the present one no longer fits, else None.

        This is slow and changes nothing, so readers continue; then :meth:`use` it.
        """
        fewest = 1 if callable(self._search_kind) else _FEWEST_SEARCHED
        needed = max(fewest, self._n_fitted * _REFIT + 1)
        if self._search_kind == "exact" or len(self._rows) < needed:
            return None
        return search_factory(self._search_kind)(self.matrix)

    def use(self, search: VectorSearch) -> None:
        """Use a search for candidates from now on."""
        self._search, self._n_fitted = search, len(self._rows)

    def kept(self, rows: IntArray, commit: Commit = NOTHING) -> VectorTable:
        """Return a table of only some rows, ascending; its file is rewritten."""
        keep = np.isin(self.rows, rows, assume_unique=True)
        kept_rows, matrix = self.rows[keep], self.matrix[keep]
        if self._file is not None:
            file = self._file.rewritten(kept_rows, matrix, last_row=self.last_row, commit=commit)
            table = VectorTable(self.state, file)
            table._use_file(file, self.last_row)
        else:
            table = VectorTable(self.state)
            table._set(kept_rows, matrix, self.last_row)
        table.commit = commit
        table.search_by(self._search_kind)
        return table

    def replaced(self, rows: IntArray, vectors: NDArray[np.float32]) -> VectorTable:
        """Return a table, searched exactly, with other vectors for some rows, ascending.

        Rows that have no vector in this table get none.
        """
        table = VectorTable(self.state)
        matrix = np.array(self.matrix, dtype=np.float32)
        if len(rows) and len(matrix):
            at = np.minimum(np.searchsorted(rows, self.rows), len(rows) - 1)
            known = rows[at] == self.rows
            matrix[known] = vectors[at[known]]
        table._set(self.rows, matrix, self.last_row)
        return table

    def nearest(self, query: NDArray[np.float32], limit: int, allowed: BoolArray) -> Nearest:
        """Return the vectors with the highest cosine among the allowed ones.

        Parameters
        ----------
        query : ndarray of float32, shape (dimension,), unit length
        limit : int
        allowed : ndarray of bool, shape (n,)
        """
        matrix = self.matrix
        if self._search is None:
            at = np.flatnonzero(allowed)
        else:
            at = self._search.candidates(
                query, limit, allowed, lambda positions: self.products_at(query, positions)
            )
        if 2 * len(at) <= len(matrix):
            cosines, every = self.products_at(query, at), None
        else:  # one product with all vectors costs less than gathering that many
            every = products(matrix, query)
            cosines = every if len(at) == len(matrix) else every[at]
        best = highest(cosines, limit)
        return Nearest(at[best], cosines[best].astype(np.float64), every)

    def products_at(self, query: NDArray[np.float32], at: IntArray) -> NDArray[np.float32]:
        """Return the inner products of a query with the vectors at some positions."""
        if self._scattered is None:
            return products(self.matrix, query, at)
        self._scattered.fetch(at)
        return products(self._scattered.matrix, query, at)

    def cosines(self, query: NDArray[np.float32], rows: IntArray) -> NDArray[np.float64]:
        """Return the cosine of each row's vector; -1 for a row that has none."""
        if not len(self._rows):
            return np.full(len(rows), UNKNOWN_COSINE)
        at = np.searchsorted(self.rows, rows)
        at[at == len(self._rows)] = 0
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
            As :meth:`nearest` returned it for this query.
        """

        def of(at: IntArray) -> NDArray[np.float32]:
            return self.products_at(query, at) if every is None else every[at]

        known = positions >= 0
        if known.all():
            return of(positions).astype(np.float64)
        result = np.full(len(positions), UNKNOWN_COSINE)
        result[known] = of(positions[known])
        return result
