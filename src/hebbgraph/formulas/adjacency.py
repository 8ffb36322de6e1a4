"""The graph as spreading reads it: incidence, and sets of weighted edges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol, Self, TypeAlias

import numpy as np

from hebbgraph.arrays import BoolArray, FloatArray, IntArray

__all__ = [
    "EdgeRow",
    "EdgeSet",
    "Edges",
    "GateOf",
    "GatedEdges",
    "IncidenceView",
    "LinkKind",
    "PlasticEdges",
    "edge_arrays",
]

_NO_INTS, _NO_FLOATS = np.empty(0, np.int64), np.empty(0, np.float64)


EdgeRow: TypeAlias = Sequence[tuple[int, float]]
"""Targets and weights of the edges leaving one node."""
GateOf: TypeAlias = Callable[[IntArray], FloatArray]
"""From chunks to their direct evidence."""


def edge_arrays(
    edges: Sequence[tuple[int, int, float]],
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return sources, targets and weights of edges as arrays.

    >>> [column.tolist() for column in edge_arrays([(0, 4, 0.5), (2, 1, 0.25)])]
    [[0, 2], [4, 1], [0.5, 0.25]]
    """
    if not edges:
        return _NO_INTS, _NO_INTS, _NO_FLOATS
    sources, targets, weights = zip(*edges, strict=True)
    return np.array(sources), np.array(targets), np.array(weights)


class LinkKind(IntEnum):
    """What a tag is: a phrase, an address, any place of a page, or an edge by metadata."""

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
        """Number of chunks, for the idf."""
        ...

    def tags_of(self, chunks: IntArray, /) -> tuple[IntArray, IntArray, BoolArray]:
        """Return (position in ``chunks``, tag, whether it is the chunk's own title)."""
        ...

    def mentions_of(
        self, chunks: IntArray, /
    ) -> tuple[IntArray, IntArray, BoolArray, IntArray, BoolArray]:
        """Return all that chunks mention, phrases that are no tags of theirs included.

        As ``tags_of``, and the number of chunks that mention each phrase, and whether it is
        a tag.
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
        """Whether any tag is not a phrase, but an address or an edge by metadata."""
        ...

    def link_kinds(self, tags: IntArray, /) -> IntArray:
        """Return the :class:`LinkKind` of each tag."""
        ...


class Edges(Protocol):
    """Weighted directed edges, read by source; see :class:`EdgeSet`."""

    def __len__(self) -> int: ...
    def of(self, sources: IntArray, /) -> tuple[IntArray, IntArray, FloatArray]:
        """Return (position in ``sources``, target, weight) of their outgoing edges."""
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
    >>> owner, targets, weights = edges.of(np.array([7, 9]))
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

    def of(self, sources: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
        """Return (position in ``sources``, target, weight) of their outgoing edges."""
        if not len(self.sources):
            return _NO_INTS, _NO_INTS, _NO_FLOATS
        first = self.sources.searchsorted(sources, side="left")
        counts = self.sources.searchsorted(sources, side="right") - first
        if not counts.any():  # the common case
            return _NO_INTS, _NO_INTS, _NO_FLOATS
        owner = np.repeat(np.arange(len(sources)), counts)
        ends = np.cumsum(counts)
        at = np.arange(int(counts.sum())) + np.repeat(first - ends + counts, counts)
        return owner, self.targets[at], self.weights[at]


@dataclass(frozen=True)
class GatedEdges:
    """Edges whose weights are scaled when read: by a factor, and by a gate on their targets.

    Examples
    --------
    >>> edges = EdgeSet(np.array([1, 1]), np.array([4, 5]), np.array([0.5, 0.5]))
    >>> gated = GatedEdges(edges, 2.0, lambda targets: np.where(targets == 4, 1.0, 0.1))
    >>> [column.tolist() for column in gated.of(np.array([0, 1]))]
    [[1, 1], [4, 5], [1.0, 0.1]]
    """

    edges: EdgeSet
    gain: float
    gate: GateOf

    def __len__(self) -> int:
        return len(self.edges)

    def of(self, sources: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
        """Return (position in ``sources``, target, weight) of their outgoing edges."""
        owner, targets, weights = self.edges.of(sources)
        return owner, targets, self.gain * weights * self.gate(targets)


_NO_EDGES = EdgeSet.empty()


@dataclass(frozen=True)
class PlasticEdges:
    """Learned edges that spreading follows beside the static graph; neutral when empty.

    Mass that flows over them is trusted, because citations, not mere mentions, made them.

    Parameters
    ----------
    tag_to_chunk : Edges
        Also followed from the query's cues.
    chunk_to_chunk, tag_to_tag : Edges
    min_mass : float, at least 0
        Smaller flows are dropped: on learned edges always, on static edges once any mass
        has crossed a learned one. Mass spread that thin costs more than it changes.
    """

    tag_to_chunk: Edges = _NO_EDGES
    chunk_to_chunk: Edges = _NO_EDGES
    tag_to_tag: Edges = _NO_EDGES
    min_mass: float = 0.0

    def between_tags(self, tags: IntArray, depth: int) -> tuple[IntArray, IntArray, FloatArray]:
        """Return (position in ``tags``, target, weight) of the edges from tags to tags.

        ``depth`` is the number of steps from the query.
        """
        return self.tag_to_tag.of(tags)

    def into_chunks(
        self,
        tags: IntArray,
        on_tags: FloatArray,
        chunks: IntArray,
        on_chunks: FloatArray,
        depth: int,
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """Pass mass from tags and chunks to chunks.

        Parameters
        ----------
        tags, chunks : ndarray of int
            Nodes that hold mass.
        on_tags, on_chunks : ndarray of float
            The mass on each.
        depth : int
            Number of steps from the query.

        Returns
        -------
        sources : ndarray of int
            A tag if not negative; otherwise ``~source`` is a chunk.
        targets : ndarray of int
        mass : ndarray of float
            Mass that flows over each edge.

        Examples
        --------
        >>> edges = EdgeSet.from_arrays(np.array([7]), np.array([1]), np.array([0.5]))
        >>> some, mass = np.array([7]), np.array([0.2])
        >>> passed = PlasticEdges(edges, edges).into_chunks(some, mass, some, mass, 1)
        >>> [column.tolist() for column in passed]
        [[7, -8], [1, 1], [0.1, 0.1]]
        """
        owner, targets, weights = self.tag_to_chunk.of(tags)
        other, ends, more = self.chunk_to_chunk.of(chunks)
        return (
            np.concatenate((tags[owner], ~chunks[other])),
            np.concatenate((targets, ends)),
            np.concatenate((on_tags[owner] * weights, on_chunks[other] * more)),
        )
