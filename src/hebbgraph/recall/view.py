"""What spreading reads of the graph, and the edges that learning may add to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, Self

import numpy as np

from hebbgraph.typing import BoolArray, FloatArray, IntArray

__all__ = ["EdgeSet", "IncidenceView", "JoinedEdges", "PlasticEdges"]


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
        return cls(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float64))

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


@dataclass(frozen=True)
class PlasticEdges:
    """Learned edges that spreading reads beside the static graph; neutral when empty.

    Mass that flows over them counts as trusted: it was cited, not merely mentioned.

    Parameters
    ----------
    tag_to_chunk : EdgeSet
        Also followed from the query's cues.
    chunk_to_chunk, tag_to_tag : EdgeSet
    """

    tag_to_chunk: EdgeSet = field(default_factory=EdgeSet.empty)
    chunk_to_chunk: EdgeSet = field(default_factory=EdgeSet.empty)
    tag_to_tag: EdgeSet = field(default_factory=EdgeSet.empty)
