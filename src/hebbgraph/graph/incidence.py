"""Which chunk holds which tag: compressed arrays and a small delta on top."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hebbgraph.graph.arrays import concatenated_ranges, transpose
from hebbgraph.typing import BoolArray, IntArray

__all__ = ["Incidence", "Postings"]

_NO_INTS = np.empty(0, dtype=np.int32)
_NO_BOOLS = np.empty(0, dtype=np.bool_)


class Postings(NamedTuple):
    """Compressed rows: the tags of each chunk.

    ``tags[indptr[i]:indptr[i + 1]]`` are those of chunk ``i``, ascending and different;
    ``is_title`` tells which of them are the chunk's own title.
    """

    indptr: NDArray[np.int64]
    tags: NDArray[np.int32]
    is_title: NDArray[np.bool_]

    @classmethod
    def empty(cls) -> Self:
        """No chunk."""
        return cls(np.zeros(1, dtype=np.int64), _NO_INTS, _NO_BOOLS)


class Incidence:
    """The bipartite graph chunk – tag, changeable row by row.

    Chunks and tags are small integers. Rows of the base arrays that were set again or
    cleared are marked stale and skipped; what they now hold lies in dictionaries, small
    because the owner folds them into new base arrays (:meth:`postings`) in time.
    """

    def __init__(self, base: Postings, n_tags: int) -> None:
        self._base = base
        n_rows = len(base.indptr) - 1
        self._column_indptr, self._column_chunks, order = transpose(base.indptr, base.tags, n_tags)
        self._column_is_title = base.is_title[order]
        self._stale = np.zeros(n_rows, dtype=np.bool_)
        self._any_stale = False
        self._rows: dict[int, tuple[NDArray[np.int32], NDArray[np.bool_]]] = {}
        self._columns: dict[int, dict[int, bool]] = {}
        self._df = np.diff(self._column_indptr).astype(np.int32)

    @property
    def delta_size(self) -> int:
        """How many rows differ from the base arrays."""
        return len(self._rows)

    def df(self, tags: IntArray) -> NDArray[np.int32]:
        """Return how many chunks hold each tag."""
        known = tags < len(self._df)
        if known.all():
            return self._df[tags]
        if not len(self._df):
            return np.zeros(len(tags), dtype=np.int32)
        return np.where(known, self._df[np.where(known, tags, 0)], 0).astype(np.int32)

    def set_row(self, chunk: int, tags: NDArray[np.int32], is_title: NDArray[np.bool_]) -> None:
        """Give a chunk these tags (ascending, different) in place of what it had."""
        self.clear_row(chunk)
        if len(tags) and tags[-1] >= len(self._df):
            grown = np.zeros(max(int(tags[-1]) + 1, len(self._df) * 5 // 4), dtype=np.int32)
            grown[: len(self._df)] = self._df
            self._df = grown
        self._df[tags] += 1
        self._rows[chunk] = (tags, is_title)
        for tag, own in zip(tags.tolist(), is_title.tolist(), strict=True):
            self._columns.setdefault(tag, {})[chunk] = own

    def clear_row(self, chunk: int) -> None:
        """Take all tags from a chunk."""
        tags, _ = self.row(chunk)
        self._df[tags] -= 1
        if chunk in self._rows:
            del self._rows[chunk]
            for tag in tags.tolist():
                column = self._columns[tag]
                del column[chunk]
                if not column:
                    del self._columns[tag]
        if chunk < len(self._stale):
            self._stale[chunk] = self._any_stale = True

    def row(self, chunk: int) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """Return the tags of one chunk and which are its title."""
        if (held := self._rows.get(chunk)) is not None:
            return held
        if chunk >= len(self._stale) or self._stale[chunk]:
            return _NO_INTS, _NO_BOOLS
        here = slice(self._base.indptr[chunk], self._base.indptr[chunk + 1])
        return self._base.tags[here], self._base.is_title[here]

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
        in_base = chunks < len(self._stale)
        if self._any_stale or not in_base.all():
            safe = np.where(in_base, chunks, 0)
            in_base &= ~self._stale[safe] if len(self._stale) else False
        positions = np.flatnonzero(in_base)
        rows = chunks[positions]
        starts = self._base.indptr[rows]
        counts = self._base.indptr[rows + 1] - starts
        at = concatenated_ranges(starts, counts)
        owner = np.repeat(positions, counts)
        tags = self._base.tags[at]
        is_title = self._base.is_title[at]
        if len(positions) == len(chunks):
            return owner, tags, is_title
        parts = [(owner, tags, is_title)]
        parts += [
            (np.full(len(held[0]), position), *held)
            for position in np.flatnonzero(~in_base).tolist()
            if (held := self._rows.get(int(chunks[position]))) is not None
        ]
        return _concatenate(parts)

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
        n_columns = len(self._column_indptr) - 1
        in_base = tags < n_columns
        columns = np.where(in_base, tags, 0)
        starts = self._column_indptr[columns]
        counts = (
            np.where(in_base, self._column_indptr[columns + 1] - starts, 0)
            if n_columns
            else (np.zeros(len(tags), dtype=np.int64))
        )
        at = concatenated_ranges(starts, counts)
        owner = np.repeat(np.arange(len(tags)), counts)
        chunks = self._column_chunks[at]
        is_title = self._column_is_title[at]
        if not self._rows and not self._any_stale:
            return owner, chunks, is_title
        fresh = ~self._stale[chunks]
        parts = [(owner[fresh], chunks[fresh], is_title[fresh])]
        for position, tag in enumerate(tags.tolist()):
            if column := self._columns.get(tag):
                held = np.fromiter(column, dtype=np.int32, count=len(column))
                own = np.fromiter(column.values(), dtype=np.bool_, count=len(column))
                parts.append((np.full(len(held), position), held, own))
        return _concatenate(parts)

    def postings(self, chunks: IntArray) -> Postings:
        """Return the rows of these chunks, in this order, as new base arrays."""
        return _compress(len(chunks), *self.tags_of(chunks))

    def merged(
        self,
        n_chunks: int,
        n_tags: int,
        kept: IntArray,
        changed: IntArray,
        postings: Postings,
    ) -> Incidence:
        """Return the graph with many rows set at once, and nothing in its delta.

        Parameters
        ----------
        n_chunks, n_tags : int
            The new size.
        kept : ndarray of int64
            Chunks whose rows stay as they are; those neither kept nor changed end up empty.
        changed : ndarray of int64
        postings : Postings
            The rows of ``changed``.
        """
        owner, tags, is_title = self.tags_of(kept)
        new_owner = np.repeat(changed, np.diff(postings.indptr))
        base = _compress(
            n_chunks,
            np.concatenate((kept[owner], new_owner)),
            np.concatenate((tags, postings.tags)),
            np.concatenate((is_title, postings.is_title)),
        )
        return Incidence(base, n_tags)


def _compress(n_rows: int, owner: IntArray, tags: IntArray, is_title: BoolArray) -> Postings:
    order = np.lexsort((tags, owner))
    indptr = np.zeros(n_rows + 1, dtype=np.int64)
    np.cumsum(np.bincount(owner, minlength=n_rows), out=indptr[1:])
    return Postings(indptr, tags[order].astype(np.int32), is_title[order])


def _concatenate(
    parts: Sequence[tuple[IntArray, IntArray, BoolArray]],
) -> tuple[IntArray, IntArray, BoolArray]:
    owners, values, flags = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.argsort(owners, kind="stable")
    return owners[order], values[order], flags[order]
