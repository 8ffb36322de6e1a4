"""The co-occurrence graph: the projection of the incidence graph onto its tags.

The weight of an edge is the number of chunks that hold both tags (BambooKG [1]_, section
3.1.3). Edges are counted from the postings when read, since each chunk is a clique of its tags.
No second copy can outlive a deleted chunk.

References
----------
.. [1] Arikutharam and Ukolov (2025), BambooKG, arXiv:2510.25724.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import FloatArray, IntArray, unique
from hebbgraph.graph.incidence import Incidence
from hebbgraph.graph.tag_graph import TagGraph

__all__ = ["CooccurrenceEdges", "cooccurrence_edges", "degrees", "edges_between"]

_PAIRS_AT_ONCE = 4_000_000


class CooccurrenceEdges(NamedTuple):
    """Undirected tag – tag edges, ``source < target``; weights are numbers of chunks."""

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    weight: NDArray[np.int64]


def degrees(graph: TagGraph | Incidence, tags: IntArray, pairs: FloatArray) -> NDArray[np.int64]:
    """Count the tags that each of some tags co-occurs with.

    Parameters
    ----------
    graph : TagGraph, or Incidence, which includes incidental tags
    tags : ndarray of int, distinct
        Each in at least one chunk.
    pairs : ndarray of float64, same shape
        About how many postings the chunks of each tag have; some millions are read at a time.

    Returns
    -------
    ndarray of int64, same shape
    """
    degree = np.zeros(len(tags), np.int64)
    part = np.cumsum(pairs) // _PAIRS_AT_ONCE
    for at in np.split(np.arange(len(tags)), np.flatnonzero(np.diff(part)) + 1):
        owner, chunks, _ = graph.chunks_of(tags[at])
        chunk, others, _ = graph.tags_of(chunks)
        n_others = int(others.max(initial=0)) + 1
        distinct = unique(owner[chunk].astype(np.int64) * n_others + others)
        degree[at] = np.bincount(distinct // n_others, minlength=len(at)) - 1  # without itself
    return degree


def cooccurrence_edges(graph: TagGraph | Incidence, chunks: IntArray) -> CooccurrenceEdges:
    """Return all edges between the tags of the given chunks.

    Parameters
    ----------
    graph : TagGraph, or Incidence, which includes incidental tags
    chunks : ndarray of int
        Usually all live ones.

    Notes
    -----
    Memory grows with the number of tag pairs per chunk; meant for export and statistics.
    """
    indptr, tags, _ = graph.postings(chunks)
    return edges_between(indptr, tags)


def edges_between(indptr: IntArray, tags: IntArray) -> CooccurrenceEdges:
    """Return the edges of postings: row i holds the distinct tags of chunk i."""
    counts = np.diff(indptr)
    # Pair the tags of all chunks with equally many tags in one matrix.
    pairs = []
    n_tags = int(tags.max(initial=0)) + 1
    for size in np.unique(counts[counts > 1]).tolist():
        starts = indptr[:-1][counts == size]
        grid = tags[starts[:, None] + np.arange(size)].astype(np.int64)
        left, right = np.triu_indices(size, k=1)
        pairs.append((grid[:, left] * n_tags + grid[:, right]).ravel())
    if not pairs:
        empty = np.empty(0, dtype=np.int64)
        return CooccurrenceEdges(empty, empty, empty)
    keys, weight = np.unique(np.concatenate(pairs), return_counts=True)
    return CooccurrenceEdges(keys // n_tags, keys % n_tags, weight.astype(np.int64))
