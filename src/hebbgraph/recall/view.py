"""What spreading reads of the graph, and the edges that learning may add to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from hebbgraph.typing import BoolArray, FloatArray, IntArray

__all__ = ["EdgeSet", "IncidenceView", "JoinedEdges", "PlasticEdges"]

_NO_INTS, _NO_FLOATS = np.empty(0, np.int64), np.empty(0, np.float64)


class IncidenceView(Protocol):
    """The bipartite graph chunk – tag, read row by row and column by column.

    Chunks and tags are small integers. Owners ascend; within one owner, order is free.
    """

    @property
    def n_chunks(self) -> int:
        """How many chunks there are, for the idf."""
        ...

    def tags_of(self, chunks: IntArray, /) -> tuple[IntArray, IntArray, BoolArray]:
        """Return (position in ``chunks``, tag, whether it is the chunk's own title)."""
        ...

    def chunks_of(self, tags: IntArray, /) -> tuple[IntArray, IntArray, BoolArray]:
        """Return (position in ``tags``, chunk, whether the tag is that chunk's title)."""
        ...

    def df(self, tags: IntArray, /) -> IntArray:
        """Return how many chunks hold each tag."""
        ...


@dataclass(frozen=True)
class EdgeSet:
    """Weighted directed edges, grouped by source.

    Parameters
    ----------
    sources : ndarray of int, shape (n_edges,), ascending
    targets : ndarray of int, shape (n_edges,)
    weights : ndarray of float, shape (n_edges,), in [0, 1]
        The share of the source's mass that passes.

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
        """No edge."""
        return cls(_NO_INTS, _NO_INTS, _NO_FLOATS)

    @classmethod
    def from_arrays(cls, sources: IntArray, targets: IntArray, weights: FloatArray) -> Self:
        """Group edges given in any order."""
        order = np.argsort(sources, kind="stable")
        return cls(sources[order], targets[order], weights[order])

    def __len__(self) -> int:
        return len(self.sources)

    def of(self, sources: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
        """Return (position in ``sources``, target, weight) of the edges that leave them."""
        first = np.searchsorted(self.sources, sources, side="left")
        counts = np.searchsorted(self.sources, sources, side="right") - first
        if not counts.any():  # as of most tags that a step reaches
            return _NO_INTS, _NO_INTS, _NO_FLOATS
        owner = np.repeat(np.arange(len(sources)), counts)
        ends = np.cumsum(counts)
        at = np.arange(int(counts.sum())) + np.repeat(first - ends + counts, counts)
        return owner, self.targets[at], self.weights[at]


class JoinedEdges(EdgeSet):
    """Several sets of edges as one.

    Examples
    --------
    >>> one = EdgeSet.from_arrays(np.array([7]), np.array([1]), np.array([0.5]))
    >>> two = EdgeSet.from_arrays(np.array([8, 7]), np.array([2, 3]), np.array([0.5, 0.1]))
    >>> owner, targets, weights = JoinedEdges(one, two).of(np.array([7, 8]))
    >>> owner.tolist(), targets.tolist()
    ([0, 0, 1], [1, 3, 2])
    """

    parts: tuple[EdgeSet, ...]

    def __init__(self, *parts: EdgeSet) -> None:
        object.__setattr__(self, "parts", parts)

    def __len__(self) -> int:
        return sum(len(part) for part in self.parts)

    def of(self, sources: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
        """Return (position in ``sources``, target, weight) of the edges that leave them."""
        found = [part.of(sources) for part in self.parts if len(part)]
        if not found:
            return EdgeSet.empty().of(sources)
        owner, targets, weights = (np.concatenate(each) for each in zip(*found, strict=True))
        order = np.argsort(owner, kind="stable")
        return owner[order], targets[order], weights[order]


_NO_EDGES = EdgeSet.empty()


@dataclass(frozen=True)
class PlasticEdges:
    """Learned edges that spreading reads beside the static graph; neutral when empty.

    Mass that flows over them counts as trusted: it was cited, not merely mentioned.

    Parameters
    ----------
    tag_to_chunk : EdgeSet
        Also followed from the query's cues.
    chunk_to_chunk, tag_to_tag : EdgeSet
    least : float, at least 0
        Mass up to this is not passed over a learned edge, nor over others once learning
        has moved any mass: it would spread so thin that it costs more than it changes.
    """

    tag_to_chunk: EdgeSet = _NO_EDGES
    chunk_to_chunk: EdgeSet = _NO_EDGES
    tag_to_tag: EdgeSet = _NO_EDGES
    least: float = 0.0

    def into_chunks(
        self,
        tags: IntArray,
        on_tags: FloatArray,
        chunks: IntArray,
        on_chunks: FloatArray,
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """Pass mass on to chunks.

        Parameters
        ----------
        tags, chunks : ndarray of int
            Where the mass lies.
        on_tags, on_chunks : ndarray of float
            How much on each.

        Returns
        -------
        owner : ndarray of int, ascending
            Position in the tags; that in the chunks, plus the number of tags.
        targets : ndarray of int
        mass : ndarray of float
            What passes.

        Examples
        --------
        >>> edges = EdgeSet.from_arrays(np.array([7]), np.array([1]), np.array([0.5]))
        >>> some, mass = np.array([7]), np.array([0.2])
        >>> passed = PlasticEdges(edges, edges).into_chunks(some, mass, some, mass)
        >>> [column.tolist() for column in passed]
        [[0, 1], [1, 1], [0.1, 0.1]]
        """
        owner, targets, weights = self.tag_to_chunk.of(tags)
        other, ends, more = self.chunk_to_chunk.of(chunks)
        return (
            np.concatenate((owner, other + len(tags))),
            np.concatenate((targets, ends)),
            np.concatenate((on_tags[owner] * weights, on_chunks[other] * more)),
        )
