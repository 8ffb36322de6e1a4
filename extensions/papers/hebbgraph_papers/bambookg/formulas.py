"""BambooKG's recall as published: neighbours by co-occurrence, then their chunks.

Each tag that the query names selects its ``first`` strongest neighbours and, through
them, the ``second`` strongest second-degree neighbours. The context is every chunk that
contributed to one of these edges [1]_, section 3.2. The paper does not rank its context; here
chunks rank by the number of edges they contributed to.

The paper's tagger assigns a fixed number of tags per chunk (section 3.1.2). Ours finds
more, so only a chunk's titles and rarest tags count, and hubs are cut; without both,
R@5 on MuSiQue is .19 instead of .49.

References
----------
.. [1] Arikutharam and Ukolov (2025), BambooKG, arXiv:2510.25724.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from hebbgraph.arrays import BoolArray, IntArray
from hebbgraph.formulas.adjacency import IncidenceView
from numpy.typing import NDArray

__all__ = ["Context", "FixedTagGraph", "retrieved_edges", "supporting_chunks"]


class Context(NamedTuple):
    """Chunks that contributed to retrieved edges.

    ``n_edges`` counts the edges of each chunk; ``edge`` is the first of them, in order of
    retrieval.
    """

    chunks: NDArray[np.int64]
    n_edges: NDArray[np.int64]
    edge: NDArray[np.int64]


@dataclass(frozen=True)
class FixedTagGraph:
    """The tag graph, restricted to a fixed number of tags per chunk.

    Parameters
    ----------
    view : IncidenceView
    allowed : ndarray of bool, shape (n_slots,)
        Chunks that exist and pass the filter; others contribute no edges.
    order : ndarray of uint64, shape (n_tags,)
        Breaks ties between equally rare tags and between equally strong neighbours.
    tags_per_chunk : int
    hub_cut : int
        Tags of more chunks than this are ignored.
    """

    view: IncidenceView
    allowed: BoolArray
    order: IntArray
    tags_per_chunk: int = 10
    hub_cut: int = 20

    def rows(self, chunks: IntArray) -> tuple[IntArray, IntArray]:
        """Return (position in ``chunks``, tag): titles first, then the rarest."""
        owner, tags, is_title = self.view.tags_of(chunks)
        df = self.view.df(tags)
        keep = df <= self.hub_cut
        owner, tags, is_title, df = owner[keep], tags[keep], is_title[keep], df[keep]
        ranked = np.lexsort((self.order[tags], df, ~is_title, owner))
        owner, tags = owner[ranked], tags[ranked]
        rank = np.arange(len(owner)) - np.searchsorted(owner, owner)
        return owner[rank < self.tags_per_chunk], tags[rank < self.tags_per_chunk]

    def chunks(self, tag: int) -> NDArray[np.int64]:
        """Return the chunks that count for a tag, ascending."""
        _, chunks, _ = self.view.chunks_of(np.array([tag]))
        chunks = chunks[self.allowed[chunks]]
        if len(chunks) > self.hub_cut:
            return np.empty(0, dtype=np.int64)
        owner, tags = self.rows(chunks)
        return np.sort(chunks[owner[tags == tag]]).astype(np.int64)

    def neighbours(self, tag: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the tags that share a chunk with a tag, strongest first, and their weights."""
        _, tags = self.rows(self.chunks(tag))
        others, weights = np.unique(tags[tags != tag], return_counts=True)
        ranked = np.lexsort((self.order[others], -weights))
        return others[ranked].astype(np.int64), weights[ranked].astype(np.int64)


def retrieved_edges(
    graph: FixedTagGraph, cues: IntArray, *, first: int = 5, second: int = 3
) -> NDArray[np.int64]:
    """Select the edges of the query's subgraph.

    Parameters
    ----------
    graph : FixedTagGraph
    cues : ndarray of int
        Tags that the query names.
    first, second : int
        Numbers of first- and second-degree neighbours per cue ("5-3" in the paper).

    Returns
    -------
    ndarray of int64, shape (n_edges, 2)
        Edges in the order of retrieval, each once.
    """
    edges: dict[tuple[int, int], None] = {}
    for cue in cues.tolist():
        near = graph.neighbours(cue)[0][:first]
        edges.update(dict.fromkeys((cue, tag) for tag in near.tolist()))
        excluded = np.append(near, cue)
        reached: list[tuple[int, int, int, int]] = []
        for via in near.tolist():
            far, weights = graph.neighbours(via)
            fresh = ~np.isin(far, excluded)
            reached += [
                (-weight, int(graph.order[tag]), via, tag)
                for tag, weight in zip(
                    far[fresh][:second].tolist(), weights[fresh][:second].tolist(), strict=True
                )
            ]
        strongest: dict[int, int] = {}
        for _, _, via, tag in sorted(reached):
            strongest.setdefault(tag, via)
        edges.update(dict.fromkeys((via, tag) for tag, via in list(strongest.items())[:second]))
    return np.array(list(edges), dtype=np.int64).reshape(-1, 2)


def supporting_chunks(graph: FixedTagGraph, edges: NDArray[np.int64]) -> Context:
    """Return the chunks that hold both ends of an edge.

    Parameters
    ----------
    graph : FixedTagGraph
    edges : ndarray of int64, shape (n_edges, 2)

    Returns
    -------
    Context
        Chunks, ascending, with the number of edges each contributed to.
    """
    chunks_of = {tag: graph.chunks(tag) for tag in np.unique(edges).tolist()}
    contributed = [
        np.intersect1d(chunks_of[source], chunks_of[target], assume_unique=True)
        for source, target in edges.tolist()
    ]
    if not contributed:
        nothing = np.empty(0, dtype=np.int64)
        return Context(nothing, nothing, nothing)
    numbers = np.repeat(np.arange(len(contributed)), [len(chunks) for chunks in contributed])
    chunks, first_at, counts = np.unique(
        np.concatenate(contributed), return_index=True, return_counts=True
    )
    return Context(chunks, counts, numbers[first_at])
