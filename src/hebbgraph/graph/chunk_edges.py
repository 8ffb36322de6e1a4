"""Edges between chunks, weighted by shared tags and similar vectors; the strongest of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import BoolArray, FloatArray, IntArray
from hebbgraph.formulas.adjacency import IncidenceView
from hebbgraph.formulas.communities import ALPHA, BETA, ColonyParameters

__all__ = ["ChunkEdges", "SimilarityOf", "chunk_edges"]

SimilarityOf: TypeAlias = Callable[[IntArray, IntArray], FloatArray]
"""Maps two arrays of chunks to the cosine of each pair; 0 where a vector is missing."""

_BLOCK = 500


class ChunkEdges(NamedTuple):
    """Undirected chunk – chunk edges, ``source < target``.

    ``similarity`` and ``overlap``, the two parts of the weight, lie in [0, 1].
    """

    source: IntArray
    target: IntArray
    similarity: NDArray[np.float64]
    overlap: NDArray[np.float64]


def chunk_edges(
    view: IncidenceView,
    chunks: IntArray,
    allowed: BoolArray,
    parameters: ColonyParameters,
    *,
    similarity: SimilarityOf | None = None,
) -> ChunkEdges:
    """Join chunks that share tags.

    The overlap of two chunks is the sum of ``log(1 + N / df)`` over their common tags,
    divided by the smaller of the two chunks' total sums. Tags of more than ``max_df`` chunks
    are ignored. Each of ``chunks`` keeps its ``nearest`` strongest edges.

    Parameters
    ----------
    view : IncidenceView
    chunks : ndarray of int
        One end of the edges; the other may be any allowed chunk.
    allowed : ndarray of bool, shape (n_slots,)
    parameters : ColonyParameters
    similarity : callable, optional

    Examples
    --------
    >>> from hebbgraph.testing.array_view import ArrayView
    >>> view = ArrayView([[0, 1], [1], [2]])
    >>> edges = chunk_edges(view, np.arange(3), np.ones(3, bool), ColonyParameters())
    >>> edges.source.tolist(), edges.target.tolist(), edges.overlap.tolist()
    ([0], [1], [1.0])
    """
    parts = [
        _block_edges(view, chunks[start : start + _BLOCK], allowed, parameters, similarity)
        for start in range(0, len(chunks), _BLOCK)
    ]
    if not parts:
        nothing = np.empty(0, np.int64)
        return ChunkEdges(nothing, nothing, np.empty(0), np.empty(0))
    ends, others, cosine, overlap = (np.concatenate(column) for column in zip(*parts, strict=True))
    source, target = np.minimum(ends, others), np.maximum(ends, others)
    _, first = np.unique(source * len(allowed) + target, return_index=True)
    return ChunkEdges(source[first], target[first], cosine[first], overlap[first])


def _block_edges(
    view: IncidenceView,
    chunks: IntArray,
    allowed: BoolArray,
    p: ColonyParameters,
    similarity: SimilarityOf | None,
) -> tuple[IntArray, IntArray, NDArray[np.float64], NDArray[np.float64]]:
    owner, tags, df = _tags_of(view, chunks, p.max_df)
    idf = np.log1p(view.n_chunks / np.maximum(df, 1))
    posting, others, _ = view.chunks_of(tags)
    others = others.astype(np.int64)
    keep = allowed[others] & (others != chunks[owner[posting]])
    posting = posting[keep]
    keys, position = np.unique(owner[posting] * len(allowed) + others[keep], return_inverse=True)
    shared = np.bincount(position, idf[posting], len(keys))
    at, others = keys // len(allowed), keys % len(allowed)
    distinct, inverse = np.unique(others, return_inverse=True)
    smaller = np.minimum(
        np.bincount(owner, idf, len(chunks))[at], _idf_sums(view, distinct, p.max_df)[inverse]
    )
    overlap = np.minimum(shared / np.where(smaller > 0, smaller, 1.0), 1.0)
    ends = chunks[at].astype(np.int64)
    cosine = np.zeros(len(at)) if similarity is None else np.asarray(similarity(ends, others))
    cosine = np.clip(cosine.astype(np.float64), 0.0, 1.0)
    order = np.lexsort((others, -(ALPHA * cosine + BETA * overlap), at))
    rank = np.arange(len(order)) - np.searchsorted(at[order], at[order])
    best = order[rank < p.nearest]
    return ends[best], others[best], cosine[best], overlap[best]


def _tags_of(
    view: IncidenceView, chunks: IntArray, max_df: int
) -> tuple[IntArray, IntArray, IntArray]:
    owner, tags, _ = view.tags_of(chunks)
    df = view.df(tags)
    keep = (df > 0) & (df <= max_df)
    return owner[keep], tags[keep], df[keep]


def _idf_sums(view: IncidenceView, chunks: IntArray, max_df: int) -> NDArray[np.float64]:
    """Return the sum of idf over the tags of each chunk."""
    owner, _, df = _tags_of(view, chunks, max_df)
    weights = np.log1p(view.n_chunks / np.maximum(df, 1))
    return np.bincount(owner, weights, len(chunks)).astype(np.float64)
