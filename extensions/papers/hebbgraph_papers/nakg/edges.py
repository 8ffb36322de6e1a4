"""Select the edges of a cluster, by dynamic thresholds over learned weights."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from hebbgraph.arrays import BoolArray, FloatArray, IntArray
from numpy.typing import NDArray

__all__ = ["NeuralEdges", "minimum_links", "select_edges"]

#: In collections of more chunks, the minimal number of links has a cap: a share is quadratic.
LITERAL_CHUNKS, LINK_CAP = 2_000, 32
#: Links are kept whose weight exceeds the mean of a chunk's weights by this many standard
#: deviations. Ours: the paper gives no rule.
DEVIATIONS = 1.0


class NeuralEdges(NamedTuple):
    """Directed, weighted chunk – chunk edges."""

    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    weights: NDArray[np.float32]

    @classmethod
    def concatenated(cls, parts: list[NeuralEdges]) -> NeuralEdges:
        """Concatenate the edges of several clusters."""
        if not parts:
            return cls(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32))
        return cls(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def minimum_links(
    n: int,
    n_chunks: int,
    *,
    share: float = 0.3,
    at_least: int = 2,
) -> int:
    """Return the minimal number of links per chunk in a cluster.

    ``max(at_least, share * n)`` [1]_, rounded up, for a cluster of ``n`` chunks; in
    collections of more than 2,000 chunks, at most 32. The paper's N may also mean all
    documents, but linking each to 0.3 of all others is quadratic, and the paper claims
    O(N log N).

    Parameters
    ----------
    n, n_chunks : int
        Number of chunks in the cluster and in the collection.

    References
    ----------
    .. [1] Gibbs, Neural Adaptive Knowledge Graphs, section 3.3.

    Examples
    --------
    >>> minimum_links(200, 2_000), minimum_links(200, 50_000), minimum_links(5, 50_000)
    (60, 32, 2)
    >>> minimum_links(2, 2_000)
    1
    """
    wanted = max(at_least, math.ceil(round(share * n, 9)))
    if n_chunks > LITERAL_CHUNKS:
        wanted = min(wanted, LINK_CAP)
    return max(0, min(wanted, n - 1))


def select_edges(weights: FloatArray, *, minimum: int, deviations: float = DEVIATIONS) -> BoolArray:
    """Select the edges of one cluster by a dynamic threshold and a minimal number of links.

    An edge is kept if its weight exceeds the mean of its row by ``deviations`` standard
    deviations, or if it is among the ``minimum`` strongest of its row (ties go to the
    first). Chunks are not linked to themselves.

    Parameters
    ----------
    weights : ndarray of float, shape (n, n), in [0, 1]
        ``weights[i, j]`` is the weight of the edge i → j; the diagonal is ignored.
    minimum : int, in [0, n - 1]
    deviations : float

    Returns
    -------
    ndarray of bool, shape (n, n)

    Examples
    --------
    >>> weights = np.array([[0.0, 0.9, 0.1, 0.2], [0.5, 0.0, 0.5, 0.5],
    ...                     [0.3, 0.2, 0.0, 0.1], [0.1, 0.2, 0.3, 0.0]])
    >>> select_edges(weights, minimum=1, deviations=1.0).astype(int)
    array([[0, 1, 0, 0],
           [1, 0, 0, 0],
           [1, 0, 0, 0],
           [0, 0, 1, 0]])
    """
    n = len(weights)
    if n < 2:
        return np.zeros((n, n), np.bool_)
    others = ~np.eye(n, dtype=np.bool_)
    rows = weights[others].reshape(n, n - 1)
    mean = rows.mean(axis=1, keepdims=True)
    keep = rows > mean + deviations * rows.std(axis=1, keepdims=True)
    if minimum:
        strongest = np.argsort(-rows, axis=1, kind="stable")[:, :minimum]
        np.put_along_axis(keep, strongest, True, axis=1)
    chosen = np.zeros((n, n), np.bool_)
    chosen[others] = keep.ravel()
    return chosen


def edges_in_cluster(members: IntArray, weights: FloatArray, chosen: BoolArray) -> NeuralEdges:
    """Return the chosen edges of a cluster, renumbered to the whole collection."""
    rows, columns = np.nonzero(chosen)
    return NeuralEdges(
        np.asarray(members[rows], dtype=np.int64),
        np.asarray(members[columns], dtype=np.int64),
        np.asarray(weights[rows, columns], dtype=np.float32),
    )
