"""DBSCAN in N log N: from each chunk's nearest neighbours, instead of all pairs.

Whether a chunk is dense needs its ``min_samples`` nearest alone, and which dense chunks hang
together follows from a few neighbours of each. These come from trees [1]_: chunks are halved by
the direction from one of them to another, again and again, and those of one leaf are compared. One
tree separates neighbours; several seldom do. Where a chunk's nearest are all of its own topic, they
miss the few pairs that join two topics; so of clusters with centres near each other, the members
that face one another are compared.

Up to :data:`EXACT` chunks all pairs are compared, as scikit-learn does.

References
----------
.. [1] Dasgupta, Freund (2008), Random projection trees and low dimensional manifolds.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import FloatArray, IntArray
from hebbgraph.extras import require

__all__ = ["EXACT", "by_neighbours", "density_labels", "nearest_neighbours"]

EXACT = 4000
"""Up to this many chunks, all pairs are compared."""

_PURPOSE = "finding clusters"
_NEIGHBOURS = 24
_TREES, _LEAF, _VIEW = 16, 256, 32
#: Of each cluster, so many nearest others are looked at, and so many members of each side.
_NEAR_CLUSTERS, _FACING = 16, 64
_SEED = 0


def density_labels(vectors: FloatArray, *, eps: float, min_samples: int) -> NDArray[np.int64]:
    """Return the cluster of each chunk, or -1 for noise; see :func:`cluster_chunks`.

    Raises
    ------
    MissingExtraError
        If scikit-learn is not installed.
    """
    if len(vectors) <= EXACT:
        cluster = require("sklearn.cluster", extra="neural", purpose=_PURPOSE)
        # For unit vectors |a - b|² = 2 (1 - cos), and Euclidean distance is the fast path.
        radius = float(np.sqrt(2.0 * eps))
        exact = cluster.DBSCAN(eps=radius, min_samples=min_samples, algorithm="brute")
        return np.asarray(exact.fit_predict(vectors), dtype=np.int64)
    return by_neighbours(vectors, eps=eps, min_samples=min_samples)


def by_neighbours(vectors: FloatArray, *, eps: float, min_samples: int) -> NDArray[np.int64]:
    """Return what :func:`density_labels` does, from neighbours, however few chunks there are."""
    n, k = len(vectors), max(_NEIGHBOURS, min_samples)
    found, cosines = nearest_neighbours(vectors, k)
    chunk, place = np.nonzero(cosines >= 1.0 - eps)
    other, cosine = found[chunk, place], cosines[chunk, place]
    core = np.bincount(chunk, minlength=n) >= min_samples  # itself is among its neighbours
    joined = core[chunk] & core[other]
    one, two = chunk[joined], other[joined]
    labels = _components(n, one, two)
    labels[~core] = -1
    labels = _bridged(vectors, _numbered(labels), 1.0 - eps)
    # What is not dense joins the nearest dense chunk within eps, if there is one.
    border = np.flatnonzero(~core[chunk] & core[other])
    order = border[np.lexsort((other[border], -cosine[border], chunk[border]))]
    edge, first = np.unique(chunk[order], return_index=True)
    labels[edge] = labels[other[order[first]]]
    return _numbered(labels)


def nearest_neighbours(
    vectors: FloatArray, k: int
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return some k of the nearest neighbours of each vector, itself included.

    Parameters
    ----------
    vectors : ndarray of float32, shape (n, dimension), unit length
    k : int

    Returns
    -------
    found : ndarray of int64, shape (n, k)
    cosines : ndarray of float32, shape (n, k)
        ``-inf`` where there is none.
    """
    vectors = np.ascontiguousarray(vectors, dtype=np.float32)
    rng = np.random.default_rng(_SEED)
    n = len(vectors)
    found = np.zeros((n, k), dtype=np.int64)
    cosines = np.full((n, k), -np.inf, dtype=np.float32)
    for _ in range(_TREES):
        more = np.zeros((n, k), dtype=np.int64)
        nearer = np.full((n, k), -np.inf, dtype=np.float32)
        for leaf in _leaves(vectors, rng):
            products = vectors[leaf] @ vectors[leaf].T
            some = min(k, len(leaf))
            best = np.argpartition(products, -some, axis=1)[:, -some:]
            more[leaf, :some] = leaf[best]
            nearer[leaf, :some] = np.take_along_axis(products, best, axis=1)
        found, cosines = _best_of(
            np.concatenate((found, more), axis=1), np.concatenate((cosines, nearer), axis=1), k
        )
    return found, cosines


def _leaves(vectors: NDArray[np.float32], rng: np.random.Generator) -> Iterator[IntArray]:
    """Halve the vectors until few are left: by which of two random ones they are nearer to."""
    # A view in a few random directions is enough to halve by, and is read much faster.
    view = vectors @ rng.standard_normal((vectors.shape[1], _VIEW), dtype=np.float32)
    waiting: list[IntArray] = [np.arange(len(vectors))]
    while waiting:
        some = waiting.pop()
        if len(some) <= _LEAF:
            yield some
            continue
        one, other = view[rng.choice(some, 2, replace=False)]
        half = len(some) // 2
        order = some[np.argpartition(view[some] @ (one - other), half)]
        waiting += [order[:half], order[half:]]


def _best_of(
    found: NDArray[np.int64], cosines: NDArray[np.float32], k: int
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Keep the k nearest of each row, each once."""
    order = np.argsort(found, axis=1, kind="stable")
    found = np.take_along_axis(found, order, axis=1)
    cosines = np.take_along_axis(cosines, order, axis=1)
    # A place without a neighbour names the first vector, and must not stand in its way.
    twice = (found[:, 1:] == found[:, :-1]) & np.isfinite(cosines[:, :-1])
    cosines[:, 1:][twice] = -np.inf
    best = np.argpartition(cosines, -k, axis=1)[:, -k:]
    return np.take_along_axis(found, best, axis=1), np.take_along_axis(cosines, best, axis=1)


def _components(n: int, one: IntArray, two: IntArray) -> NDArray[np.int64]:
    sparse = require("scipy.sparse", extra="neural", purpose=_PURPOSE)
    search = require("scipy.sparse.csgraph", extra="neural", purpose=_PURPOSE)
    edges = sparse.coo_array((np.ones(len(one), np.int8), (one, two)), shape=(n, n))
    _, labels = search.connected_components(edges, directed=False)
    return np.asarray(labels, dtype=np.int64)


def _bridged(
    vectors: NDArray[np.float32], labels: NDArray[np.int64], least: float
) -> NDArray[np.int64]:
    """Join clusters of which two members that face each other are near enough."""
    members = np.split(np.argsort(labels, kind="stable"), np.cumsum(np.bincount(labels + 1))[:-1])[
        1:
    ]
    if len(members) < 2:
        return labels
    centres = np.stack([vectors[some].mean(axis=0) for some in members])
    centres /= np.maximum(np.linalg.norm(centres, axis=1, keepdims=True), 1e-12)
    near, cosines = nearest_neighbours(centres, min(_NEAR_CLUSTERS + 1, len(centres)))
    cluster, place = np.nonzero(np.isfinite(cosines))
    beside = near[cluster, place]
    some = np.unique(np.stack([np.minimum(cluster, beside), np.maximum(cluster, beside)]), axis=1)
    joined: list[tuple[int, int]] = []
    for one, two in some[:, some[0] != some[1]].T.tolist():
        here = _facing(vectors, members[one], centres[two])
        there = _facing(vectors, members[two], centres[one])
        if (vectors[here] @ vectors[there].T).max() >= least:
            joined.append((one, two))
    pairs = np.array(joined, dtype=np.int64).reshape(-1, 2)
    merged = _components(len(members), pairs[:, 0], pairs[:, 1])
    labels = labels.copy()
    labels[labels >= 0] = merged[labels[labels >= 0]]
    return labels


def _facing(vectors: NDArray[np.float32], members: IntArray, centre: FloatArray) -> IntArray:
    """Return the members nearest to a centre."""
    if len(members) <= _FACING:
        return members
    nearest: IntArray = members[np.argpartition(vectors[members] @ centre, -_FACING)[-_FACING:]]
    return nearest


def _numbered(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number clusters by their first chunk, from 0; noise stays -1."""
    kept = labels >= 0
    found, first, back = np.unique(labels[kept], return_index=True, return_inverse=True)
    number = np.empty(len(found), dtype=np.int64)
    number[np.argsort(first)] = np.arange(len(found))
    labels = labels.copy()
    labels[kept] = number[back]
    return labels
