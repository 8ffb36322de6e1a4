"""Clusters of chunks: only pairs within a cluster are compared.

DBSCAN [1]_ with the constants of NAKG. Our choices where the paper leaves them open:

- *Distance*: ``1 - cos``, so ``eps = 0.5`` joins chunks with a cosine of at least 0.5.
- *Noise*: chunks in no cluster join the one with the nearest centre, as the paper links every
  chunk. If DBSCAN finds no cluster, all chunks form one.
- *Large clusters*: split by bisecting k-means down to ``max_cluster`` chunks.

References
----------
.. [1] Ester et al. (1996), A density-based algorithm for discovering clusters in large
   spatial databases with noise.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from hebbgraph.arrays import FloatArray
from hebbgraph.extras import require
from numpy.typing import NDArray

__all__ = ["Clusters", "cluster_chunks"]


_PAGE = 4096


class Clusters(NamedTuple):
    """A partition of the chunks.

    Attributes
    ----------
    labels : ndarray of int64, shape (n_chunks,)
        Cluster of each chunk, from 0.
    n_dense : int
        Number of clusters that DBSCAN found.
    n_noise : int
        Number of chunks that DBSCAN assigned to none.
    """

    labels: NDArray[np.int64]
    n_dense: int
    n_noise: int

    def members(self) -> list[NDArray[np.int64]]:
        """Return the chunks of each cluster, ascending."""
        order = np.argsort(self.labels, kind="stable")
        ends = np.cumsum(np.bincount(self.labels)) if len(order) else np.empty(0, np.int64)
        return [part for part in np.split(order, ends[:-1]) if len(part)]


def cluster_chunks(
    vectors: FloatArray, *, eps: float, min_samples: int, max_cluster: int, seed: int
) -> Clusters:
    """Cluster chunks by their vectors.

    Parameters
    ----------
    vectors : ndarray of float32, shape (n_chunks, dimension), unit length
    eps : float
        Cosine distance.
    min_samples, max_cluster : int
    seed : int
        Seed of k-means.

    Raises
    ------
    MissingExtraError
        If scikit-learn is not installed.

    Examples
    --------
    >>> angles = np.radians([0, 5, 10, 90, 95, 100, 48])
    >>> vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    >>> clusters = cluster_chunks(vectors, eps=0.1, min_samples=3, max_cluster=9, seed=0)
    >>> clusters.labels.tolist(), clusters.n_dense, clusters.n_noise
    ([0, 0, 0, 1, 1, 1, 0], 2, 1)
    """
    sklearn = require("sklearn.cluster", extra="neural", purpose="finding clusters")
    if not len(vectors):
        return Clusters(np.empty(0, np.int64), 0, 0)
    # For unit vectors |a - b|² = 2 (1 - cos), and Euclidean distance is the fast path.
    radius = float(np.sqrt(2.0 * eps))
    dbscan = sklearn.DBSCAN(eps=radius, min_samples=min_samples, algorithm="brute")
    labels = np.asarray(dbscan.fit_predict(vectors), dtype=np.int64)
    noise = labels < 0
    n_dense = int(labels.max(initial=-1)) + 1
    if n_dense and noise.any():
        order = np.argsort(labels, kind="stable")[noise.sum() :]
        starts = np.searchsorted(labels[order], np.arange(n_dense))
        centres = np.add.reduceat(vectors[order], starts, axis=0)
        centres /= np.maximum(np.linalg.norm(centres, axis=1, keepdims=True), 1e-12)
        unassigned = np.flatnonzero(noise)
        for page in np.array_split(unassigned, 1 + len(unassigned) // _PAGE):
            labels[page] = (vectors[page] @ centres.T).argmax(axis=1)
    elif not n_dense:
        labels[:] = 0
    return Clusters(_split(vectors, labels, max_cluster, seed), n_dense, int(noise.sum()))


def _split(
    vectors: FloatArray, labels: NDArray[np.int64], max_cluster: int, seed: int
) -> NDArray[np.int64]:
    """Bisect clusters of more than ``max_cluster`` chunks; number all by their first chunk."""
    from sklearn.cluster import KMeans

    done: list[NDArray[np.int64]] = []
    waiting = Clusters(labels, 0, 0).members()
    while waiting:
        members = waiting.pop()
        if len(members) <= max_cluster:
            done.append(members)
            continue
        inside = vectors[members]
        side = np.zeros(len(members), np.int64)
        if not (inside == inside[0]).all():
            side = KMeans(2, n_init=1, max_iter=50, random_state=seed).fit_predict(inside)
        if (side == side[0]).all():  # vectors are equal, or too close for k-means
            side = np.arange(len(members)) % 2
        waiting += [members[side == 0], members[side == 1]]
    split = np.empty(len(labels), dtype=np.int64)
    for number, members in enumerate(sorted(done, key=lambda part: int(part[0]))):
        split[members] = number
    return split
