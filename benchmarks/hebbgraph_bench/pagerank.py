"""Personalised PageRank by power iteration."""

from __future__ import annotations

import numpy as np
from hebbgraph.arrays import FloatArray, IntArray

__all__ = ["personalized_pagerank"]


def personalized_pagerank(
    source: IntArray,
    target: IntArray,
    weight: FloatArray,
    reset: FloatArray,
    *,
    damping: float = 0.5,
    tol: float = 1e-6,
    max_iter: int = 100,
) -> FloatArray:
    """Return the stationary shares of a random walk that returns to where it began.

    ``p = damping * P p + (1 - damping) * reset`` by power iteration; nodes without an
    edge send their mass back to ``reset``.

    Parameters
    ----------
    source, target : ndarray of int, shape (n_edges,)
        Each undirected edge is given once in each direction.
    weight : ndarray of float, shape (n_edges,), positive
    reset : ndarray of float, shape (n_nodes,), at least 0
        Need not sum to 1, but not all may be 0.
    damping : float, in [0, 1)
    tol : float
        Stop when the shares change by less than this in total.
    max_iter : int

    Returns
    -------
    ndarray of float64, shape (n_nodes,), with sum 1

    Examples
    --------
    >>> ends = np.array([0, 1]), np.array([1, 0])
    >>> personalized_pagerank(*ends, np.ones(2), np.array([1.0, 0.0]), damping=0.5).round(3)
    array([0.667, 0.333])

    References
    ----------
    .. [1] Haveliwala (2002), Topic-sensitive PageRank, WWW.
    """
    n = len(reset)
    start = reset / reset.sum()
    strength = np.bincount(source, weights=weight, minlength=n)
    share = weight / strength[source]
    dangling = strength == 0
    p = start.copy()
    for _ in range(max_iter):
        walked = np.bincount(target, weights=share * p[source], minlength=n)
        following = damping * (walked + p[dangling].sum() * start) + (1 - damping) * start
        change = np.abs(following - p).sum()
        p = following
        if change < tol:
            break
    result: FloatArray = p
    return result
