"""BambooKG's recall, as the paper has it: neighbours by co-occurrence, then their chunks.

For each tag that the query names, the ``first`` strongest neighbours and, through them,
the ``second`` strongest second-degree neighbours; every chunk that contributed to one of
these edges is context [1]_, section 3.2. The paper does not rank its context; here a
chunk counts the edges that it contributed to, so that a top k can be taken.

References
----------
.. [1] Arikutharam and Ukolov (2025), BambooKG, arXiv:2510.25724.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hebbgraph.recall.view import IncidenceView
from hebbgraph.typing import BoolArray, IntArray

__all__ = ["Context", "retrieved_edges", "supporting_chunks"]


class Context(NamedTuple):
    """Chunks that contributed to the retrieved edges.

    ``edge`` names, for each chunk, the first of its edges in the order of retrieval.
    """

    chunks: NDArray[np.int64]
    n_edges: NDArray[np.int64]
    edge: NDArray[np.int64]


def _neighbours(
    view: IncidenceView, tag: int, allowed: BoolArray, order: IntArray
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Tags that share a chunk with a tag, strongest first, and their weights."""
    _, chunks, _ = view.chunks_of(np.array([tag]))
    _, tags, _ = view.tags_of(chunks[allowed[chunks]])
    others, weights = np.unique(tags[tags != tag], return_counts=True)
    ranked = np.lexsort((order[others], -weights))
    return others[ranked].astype(np.int64), weights[ranked].astype(np.int64)


def retrieved_edges(
    view: IncidenceView,
    cues: IntArray,
    allowed: BoolArray,
    order: IntArray,
    *,
    first: int = 5,
    second: int = 3,
) -> NDArray[np.int64]:
    """Select the edges of the query's subgraph.

    Parameters
    ----------
    view : IncidenceView
    cues : ndarray of int
        Tags that the query names.
    allowed : ndarray of bool, shape (n_slots,)
        Chunks that exist and pass the filter; others contribute to no edge.
    order : ndarray of uint64, shape (n_tags,)
        Breaks ties between equally strong neighbours.
    first, second : int
        How many first- and second-degree neighbours a cue takes ("5-3" in the paper).

    Returns
    -------
    ndarray of int64, shape (n_edges, 2)
        Edges in the order of retrieval, each once.
    """
    edges: dict[tuple[int, int], None] = {}
    for cue in cues.tolist():
        near, _ = _neighbours(view, cue, allowed, order)
        near = near[:first]
        edges.update(dict.fromkeys((cue, tag) for tag in near.tolist()))
        excluded = np.append(near, cue)
        reached = []
        for via in near.tolist():
            far, weights = _neighbours(view, via, allowed, order)
            fresh = ~np.isin(far, excluded)
            reached += [
                (-weight, int(order[tag]), via, tag)
                for tag, weight in zip(
                    far[fresh][:second].tolist(), weights[fresh][:second].tolist(), strict=True
                )
            ]
        taken: set[int] = set()
        for _, _, via, tag in sorted(reached):
            if tag not in taken and len(taken) < second:
                taken.add(tag)
                edges[via, tag] = None
    return np.array(list(edges), dtype=np.int64).reshape(-1, 2)


def supporting_chunks(view: IncidenceView, edges: NDArray[np.int64], allowed: BoolArray) -> Context:
    """Return the chunks that hold both ends of an edge.

    Parameters
    ----------
    view : IncidenceView
    edges : ndarray of int64, shape (n_edges, 2)
    allowed : ndarray of bool, shape (n_slots,)

    Returns
    -------
    Context
        Chunks ascending, each with the number of edges that it contributed to.
    """
    ends, which = np.unique(edges, return_inverse=True)
    owner, chunks, _ = view.chunks_of(ends)
    held = [np.unique(chunks[(owner == end) & allowed[chunks]]) for end in range(len(ends))]
    contributed, edge_numbers = [], []
    for number, (source, target) in enumerate(which.reshape(-1, 2).tolist()):
        both = np.intersect1d(held[source], held[target], assume_unique=True)
        contributed.append(both)
        edge_numbers.append(np.full(len(both), number))
    if not contributed:
        nothing = np.empty(0, dtype=np.int64)
        return Context(nothing, nothing, nothing)
    found, first_at, counts = np.unique(
        np.concatenate(contributed), return_index=True, return_counts=True
    )
    return Context(
        found.astype(np.int64),
        counts.astype(np.int64),
        np.concatenate(edge_numbers)[first_at].astype(np.int64),
    )
