"""DBSCAN in N log N: from each chunk's nearest neighbours, instead of all pairs.

Whether a chunk is dense needs its ``min_samples`` nearest alone, and which dense chunks hang
together follows from a few neighbours of each. These come from trees [1]_: chunks are halved by
the direction from one of them to another, again and again, and those of one leaf are compared. One
tree separates neighbours; several seldom do. Where a chunk's nearest are all of its own topic, they
do not tell of the few pairs that join two topics. So each leaf also shows whether chunks of
different clusters are near, and of clusters with centres near each other, the members that face
one another are compared.

Up to :data:`EXACT` chunks all pairs are compared, as scikit-learn does.

References
----------
.. [1] Dasgupta, Freund (2008), Random projection trees and low dimensional manifolds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

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
#: After so many trees, it is seen again what hangs together.
_LOOK_AFTER = 4
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
    vectors = np.ascontiguousarray(vectors, dtype=np.float32)
    n, least = len(vectors), 1.0 - eps
    near = _Neighbours.none(n, max(_NEIGHBOURS, min_samples))
    rng = np.random.default_rng(_SEED)
    bridges = np.empty((2, 0), dtype=np.int64)
    labels = None
    for tree in range(_TREES):
        if tree and tree % _LOOK_AFTER == 0:
            labels = near.clusters(least, min_samples, bridges)
        pairs = near.look_into(vectors, _leaves(vectors, rng), labels, least)
        bridges = np.concatenate((bridges, pairs), axis=1)
    labels = _bridged(vectors, _numbered(near.clusters(least, min_samples, bridges)), least)
    # What is not dense joins the nearest dense chunk within eps, if there is one.
    chunk, other, cosine = near.within(least)
    border = np.flatnonzero((labels[chunk] < 0) & (labels[other] >= 0))
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
    near = _Neighbours.none(len(vectors), k)
    for _ in range(_TREES):
        near.look_into(vectors, _leaves(vectors, rng))
    return near.found, near.cosines


@dataclass
class _Neighbours:
    """The k nearest of each vector that were seen so far; see :func:`nearest_neighbours`."""

    found: NDArray[np.int64]
    cosines: NDArray[np.float32]

    @classmethod
    def none(cls, n: int, k: int) -> _Neighbours:
        return cls(np.zeros((n, k), dtype=np.int64), np.full((n, k), -np.inf, dtype=np.float32))

    def look_into(
        self,
        vectors: NDArray[np.float32],
        leaves: Iterator[IntArray],
        labels: NDArray[np.int64] | None = None,
        least: float = 0.0,
    ) -> NDArray[np.int64]:
        """Compare the vectors of each leaf; return a close pair of each two clusters seen."""
        n, k = self.found.shape
        more = np.zeros((n, k), dtype=np.int64)
        nearer = np.full((n, k), -np.inf, dtype=np.float32)
        pairs = [np.empty((2, 0), dtype=np.int64)]
        for leaf in leaves:
            products = vectors[leaf] @ vectors[leaf].T
            some = min(k, len(leaf))
            best = np.argpartition(products, -some, axis=1)[:, -some:]
            more[leaf, :some] = leaf[best]
            nearer[leaf, :some] = np.take_along_axis(products, best, axis=1)
            if labels is not None:
                pairs.append(_apart(products, leaf, labels[leaf], least))
        self.found, self.cosines = _best_of(
            np.concatenate((self.found, more), axis=1),
            np.concatenate((self.cosines, nearer), axis=1),
            k,
        )
        return np.concatenate(pairs, axis=1)

    def within(
        self, least: float
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        """Return chunk, neighbour and cosine of the pairs that are near enough."""
        chunk, place = np.nonzero(self.cosines >= least)
        return chunk, self.found[chunk, place], self.cosines[chunk, place]

    def clusters(
        self, least: float, min_samples: int, bridges: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return what hangs together by what was seen; -1 for what is not dense.

        More neighbours only add to it, so what is joined early is joined rightly.
        """
        n = len(self.found)
        chunk, other, _ = self.within(least)
        core = np.bincount(chunk, minlength=n) >= min_samples  # itself is among its neighbours
        joined = core[chunk] & core[other]
        one, two = (
            np.concatenate((chunk[joined], bridges[0])),
            np.concatenate((other[joined], bridges[1])),
        )
        labels = _components(n, one, two)
        labels[~core] = -1
        return labels


def _apart(
    products: NDArray[np.float32], leaf: IntArray, labels: NDArray[np.int64], least: float
) -> NDArray[np.int64]:
    """Return one pair of near vectors for each two clusters in a leaf that have one."""
    dense = labels >= 0
    if not dense.any() or labels[dense].min() == labels[dense].max():
        return np.empty((2, 0), dtype=np.int64)
    close = (products >= least) & (labels[:, None] < labels) & dense[:, None]
    one, two = np.nonzero(close)
    ends = np.stack((labels[one], labels[two]))
    _, first = np.unique(ends, axis=1, return_index=True)
    return np.stack((leaf[one[first]], leaf[two[first]]))


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
