"""The graph as spreading reads it: incidence, and weighted edges between tags."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol, Self

import numpy as np

from hebbgraph.arrays import BoolArray, FloatArray, IntArray, concatenated_ranges

__all__ = ["EdgeSet", "IncidenceView", "LinkKind"]

_NO_INTS, _NO_FLOATS = np.empty(0, np.int64), np.empty(0, np.float64)


class LinkKind(IntEnum):
    """The kinds of tags: a phrase, an address, any place on a page, or an edge by metadata."""

    PHRASE = 0
    ADDRESS = 1
    PAGE = 2
    EDGE = 3


class IncidenceView(Protocol):
    """The bipartite graph chunk – tag, read row by row and column by column.

    Chunks and tags are small integers. Owners ascend; within one owner, order is free.
    """

    @property
    def n_chunks(self) -> int:
        """Number of chunks, for the specificity of tags."""
        ...

    def tags_of(self, chunks: IntArray, /) -> tuple[IntArray, IntArray, BoolArray]:
        """Return (position in ``chunks``, tag, whether it is the chunk's own title)."""
        ...

    def mentions_of(
        self, chunks: IntArray, /
    ) -> tuple[IntArray, IntArray, BoolArray, IntArray, BoolArray]:
        """Return everything that chunks mention, incidental phrases included.

        As ``tags_of``, plus the number of chunks that mention each phrase, and whether the
        phrase is a tag.
        """
        ...

    def chunks_of(self, tags: IntArray, /) -> tuple[IntArray, IntArray, BoolArray]:
        """Return (position in ``tags``, chunk, whether the tag is that chunk's title)."""
        ...

    def df(self, tags: IntArray, /) -> IntArray:
        """Return the document frequency of each tag."""
        ...

    @property
    def has_links(self) -> bool:
        """Whether any tag is an address or an edge by metadata."""
        ...

    def link_kinds(self, tags: IntArray, /) -> IntArray:
        """Return the :class:`LinkKind` of each tag."""
        ...


@dataclass(frozen=True)
class EdgeSet:
    """Weighted directed edges, grouped by source.

    Parameters
    ----------
    sources : ndarray of int, shape (n_edges,), ascending
    targets : ndarray of int, shape (n_edges,)
    weights : ndarray of float, shape (n_edges,), in [0, 1]
        Share of the source's mass that passes.

    Examples
    --------
    >>> weights = np.array([0.5, 0.2, 0.1])
    >>> edges = EdgeSet.from_arrays(np.array([7, 2, 7]), np.array([1, 3, 4]), weights)
    >>> owner, targets, weights = edges.edges_from(np.array([7, 9]))
    >>> owner.tolist(), targets.tolist(), weights.tolist()
    ([0, 0], [1, 4], [0.5, 0.1])
    """

    sources: IntArray
    targets: IntArray
    weights: FloatArray

    @classmethod
    def empty(cls) -> Self:
        """Return a set without edges."""
        return cls(_NO_INTS, _NO_INTS, _NO_FLOATS)

    @classmethod
    def from_arrays(cls, sources: IntArray, targets: IntArray, weights: FloatArray) -> Self:
        """Build a set from edges in any order."""
        order = np.argsort(sources, kind="stable")
        return cls(sources[order], targets[order], weights[order])

    def __len__(self) -> int:
        return len(self.sources)

    def edges_from(self, sources: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
        """Return (position in ``sources``, target, weight) of their outgoing edges."""
        first = self.sources.searchsorted(sources, side="left")
        counts = self.sources.searchsorted(sources, side="right") - first
        if not counts.any():  # the common case
            return _NO_INTS, _NO_INTS, _NO_FLOATS
        owner = np.repeat(np.arange(len(sources)), counts)
        at = concatenated_ranges(first, counts)
        return owner, self.targets[at], self.weights[at]
