"""The incidence graph of chunks and tags: compressed rows and columns, in a few levels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import (
    BoolArray,
    IntArray,
    all_of,
    flatnonzero,
    prefix_sums,
    row_positions,
    transpose,
    unique,
)

__all__ = ["Incidence", "Postings", "TagColumns"]

_NO_INTS = np.empty(0, dtype=np.int32)
_NO_BOOLS = np.empty(0, dtype=np.bool_)
_NOWHERE = -1
#: A level is merged into the one below once it has more than one in this many of its rows. This
#: keeps levels few, and each row moves a bounded number of times.
_MERGE_SHARE = 8


class Postings(NamedTuple):
    """The tags of each chunk, as compressed sparse rows.

    ``tags[indptr[i]:indptr[i + 1]]`` are the tags of chunk ``i``, strictly ascending;
    ``is_title`` marks the chunk's own titles among them.
    """

    indptr: NDArray[np.int64]
    tags: NDArray[np.int32]
    is_title: NDArray[np.bool_]

    @classmethod
    def empty(cls) -> Self:
        """Return postings of no chunk."""
        return cls(np.zeros(1, dtype=np.int64), _NO_INTS, _NO_BOOLS)

    def take(self, rows: IntArray) -> Postings:
        """Return some rows, in the given order."""
        counts, at = row_positions(self.indptr, rows)
        return Postings(prefix_sums(counts), self.tags[at], self.is_title[at])

    def columns(self, n_tags: int) -> TagColumns:
        """Return the transpose."""
        indptr, chunks, order = transpose(self.indptr, self.tags, n_tags)
        return TagColumns(indptr, chunks, self.is_title[order])


class TagColumns(NamedTuple):
    """The chunks of each tag, as compressed sparse columns: the inverted postings.

    Chunks ascend within a tag; ``is_title`` marks those whose title the tag is.
    """

    indptr: NDArray[np.int64]
    chunks: NDArray[np.int32]
    is_title: NDArray[np.bool_]


class _Level(NamedTuple):
    """Rows set at about the same time.

    ``slots`` and ``tags`` name the rows and columns; None means 0, 1, 2, …
    """

    slots: NDArray[np.int64] | None
    rows: Postings
    tags: NDArray[np.int64] | None
    columns: TagColumns

    @property
    def n_rows(self) -> int:
        return len(self.rows.indptr) - 1

    @classmethod
    def of(cls, slots: NDArray[np.int64], rows: Postings) -> _Level:
        """Build a level from rows whose slots ascend."""
        tags, codes = np.unique(rows.tags, return_inverse=True)
        indptr, owners, order = transpose(rows.indptr, codes, len(tags))
        columns = TagColumns(indptr, slots[owners].astype(np.int32), rows.is_title[order])
        return cls(slots, rows, tags.astype(np.int64), columns)


class Incidence:
    """The bipartite graph chunk – tag. Immutable; :meth:`updated` returns a new one.

    Chunks and tags are small integers. The base level, possibly memory-mapped, holds rows
    from 0 on; each level above holds rows that were set later. Each chunk belongs to one
    level, and its rows in lower levels are ignored.

    Parameters
    ----------
    base : Postings
    n_tags : int
    columns : TagColumns, optional
        The transpose of ``base``, if known.
    """

    def __init__(self, base: Postings, n_tags: int, columns: TagColumns | None = None) -> None:
        if columns is None:
            columns = base.columns(n_tags)
        n_rows = len(base.indptr) - 1
        self._levels: list[_Level] = [_Level(None, base, None, columns)]
        self._level_of = np.zeros(n_rows, dtype=np.int8)
        self._all_in_base = True
        self._df = np.diff(columns.indptr).astype(np.int32)

    @property
    def frequencies(self) -> NDArray[np.int32]:
        """The document frequency of the first tags; no chunk has any of the others."""
        return self._df

    def df(self, tags: IntArray) -> NDArray[np.int32]:
        """Return the document frequency of each tag."""
        known = tags < len(self._df)
        if all_of(known):
            return self._df[tags]
        if not len(self._df):
            return np.zeros(len(tags), dtype=np.int32)
        return np.where(known, self._df[np.where(known, tags, 0)], 0).astype(np.int32)

    # -- reading --------------------------------------------------------------------

    def row(self, chunk: int) -> tuple[IntArray, BoolArray]:
        """Return the tags of one chunk, and which of them are its titles."""
        _, tags, is_title = self.tags_of(np.array([chunk]))
        return tags, is_title

    def tags_of(self, chunks: IntArray) -> tuple[IntArray, IntArray, BoolArray]:
        """Gather the rows of several chunks.

        Parameters
        ----------
        chunks : ndarray of int, shape (n,)

        Returns
        -------
        owner : ndarray of int64, shape (nnz,)
            Position in ``chunks``, ascending.
        tags : ndarray of int32, shape (nnz,)
        is_title : ndarray of bool, shape (nnz,)
        """
        if self._all_in_base and all_of(chunks < len(self._level_of)):
            base = self._levels[0].rows
            owner, at = _owned_positions(base.indptr, chunks)
            return owner, base.tags[at], base.is_title[at]
        level_of = self._levels_of(chunks)
        parts = []
        for number, level in enumerate(self._levels):
            at = flatnonzero(level_of == number)
            if not len(at):
                continue
            rows = chunks[at]
            if level.slots is not None:
                rows = level.slots.searchsorted(rows)
            owner, elements = _owned_positions(level.rows.indptr, rows)
            parts.append((at[owner], level.rows.tags[elements], level.rows.is_title[elements]))
        return _concatenate(parts)

    def _levels_of(self, chunks: IntArray) -> IntArray:
        known = chunks < len(self._level_of)
        if all_of(known):
            return self._level_of[chunks]
        if not len(self._level_of):
            return np.full(len(chunks), _NOWHERE)
        return np.where(known, self._level_of[np.where(known, chunks, 0)], _NOWHERE)

    def chunks_of(self, tags: IntArray) -> tuple[IntArray, IntArray, BoolArray]:
        """Gather the columns of several tags.

        Parameters
        ----------
        tags : ndarray of int, shape (n,)

        Returns
        -------
        owner : ndarray of int64, shape (nnz,)
            Position in ``tags``, ascending.
        chunks : ndarray of int32, shape (nnz,)
        is_title : ndarray of bool, shape (nnz,)
            Whether the tag is the chunk's own title.
        """
        if self._all_in_base and all_of(tags < len(self._levels[0].columns.indptr) - 1):
            base = self._levels[0].columns
            owner, at = _owned_positions(base.indptr, tags)
            return owner, base.chunks[at], base.is_title[at]
        parts = []
        for number, level in enumerate(self._levels):
            n_columns = len(level.columns.indptr) - 1
            if level.tags is None:
                at = flatnonzero(tags < n_columns)
                columns = tags[at]
            elif n_columns:
                columns = np.minimum(np.searchsorted(level.tags, tags), n_columns - 1)
                at = np.flatnonzero(level.tags[columns] == tags)
                columns = columns[at]
            else:
                continue
            owner, elements = _owned_positions(level.columns.indptr, columns)
            owner = at[owner]
            chunks, is_title = level.columns.chunks[elements], level.columns.is_title[elements]
            if not self._all_in_base:
                is_current = self._level_of[chunks] == number
                owner, chunks, is_title = (
                    owner[is_current],
                    chunks[is_current],
                    is_title[is_current],
                )
            parts.append((owner, chunks, is_title))
        return _concatenate(parts)

    def postings(self, chunks: IntArray) -> Postings:
        """Return the rows of these chunks, in the given order."""
        owner, tags, is_title = self.tags_of(chunks)
        indptr = prefix_sums(np.bincount(owner, minlength=len(chunks)))
        return Postings(indptr, tags.astype(np.int32), is_title)

    @property
    def base(self) -> tuple[Postings, TagColumns] | None:
        """The rows and columns of the base level, or None if there are other levels."""
        return (self._levels[0].rows, self._levels[0].columns) if self._all_in_base else None

    # -- changing -------------------------------------------------------------------

    def updated(
        self, n_chunks: int, n_tags: int, removed: IntArray, changed: IntArray, rows: Postings
    ) -> Incidence:
        """Return a graph with some rows cleared and others replaced.

        The new graph shares unchanged arrays with this one, which stays valid for its readers.

        Parameters
        ----------
        n_chunks, n_tags : int
            The new size, at least the old one.
        removed : ndarray of int64
            Chunks whose rows are cleared.
        changed : ndarray of int64, distinct
            Chunks whose rows are replaced.
        rows : Postings
            The new rows of ``changed``.
        """
        order = np.argsort(changed, kind="stable")
        replaced, rows = changed[order].astype(np.int64), rows.take(order)
        if not any(level.n_rows for level in self._levels):
            return Incidence(_rows_at(replaced, rows, n_chunks), n_tags)
        cleared = np.concatenate((removed, replaced))
        df = np.zeros(max(n_tags, len(self._df)), dtype=np.int32)
        df[: len(self._df)] = self._df
        np.subtract.at(df, self.tags_of(cleared)[1], 1)
        np.add.at(df, rows.tags, 1)
        level_of = np.full(max(n_chunks, len(self._level_of)), _NOWHERE, dtype=np.int8)
        level_of[: len(self._level_of)] = self._level_of
        level_of[cleared] = _NOWHERE

        result = object.__new__(Incidence)
        result._df, result._level_of = df, level_of
        result._levels = list(self._levels)
        result._all_in_base = False  # postings() of a merge must look at all levels
        if len(replaced):
            level_of[replaced] = len(result._levels)
            result._levels.append(_Level.of(replaced, rows))
        while result._is_due_for_merging():
            result._merge()
        result._all_in_base = len(result._levels) == 1 and not (level_of != 0).any()
        return result

    def _is_due_for_merging(self) -> bool:
        if len(self._levels) == 1:
            return False
        *_, below, last = self._levels
        return last.n_rows * _MERGE_SHARE > below.n_rows

    def _merge(self) -> None:
        """Merge the last two levels."""
        number = len(self._levels) - 2
        below = self._levels[number]
        if below.slots is None:
            within: NDArray[np.int64] = np.flatnonzero(self._level_of >= number)
        else:
            both = [level.slots for level in self._levels[number:] if level.slots is not None]
            within = unique(np.concatenate(both)).astype(np.int64)
            within = within[self._level_of[within] >= number]
        rows = self.postings(within)
        if below.slots is None:
            base = _rows_at(within, rows, len(self._level_of))
            merged = _Level(None, base, None, base.columns(len(self._df)))
            self._level_of[:] = 0
        else:
            merged = _Level.of(within, rows)
            self._level_of[within] = number
        self._levels[number:] = [merged]


def _rows_at(slots: NDArray[np.int64], rows: Postings, n: int) -> Postings:
    """Return n rows: these in ascending slots, and empty ones between."""
    counts = np.zeros(n, dtype=np.int64)
    counts[slots] = np.diff(rows.indptr)
    return Postings(prefix_sums(counts), rows.tags, rows.is_title)


def _owned_positions(indptr: NDArray[np.int64], rows: IntArray) -> tuple[IntArray, IntArray]:
    """Return the position in ``rows`` and the index of each element of some compressed rows."""
    counts, at = row_positions(indptr, rows)
    return np.arange(len(rows)).repeat(counts), at


def _concatenate(
    parts: Sequence[tuple[IntArray, IntArray, BoolArray]],
) -> tuple[IntArray, IntArray, BoolArray]:
    """Concatenate parts of (owner, value, flag) by owner."""
    if not parts:
        return np.empty(0, dtype=np.int64), _NO_INTS, _NO_BOOLS
    if len(parts) == 1:
        return parts[0]
    owners, values, flags = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(owners, kind="stable")
    return owners[order], values[order], flags[order]
