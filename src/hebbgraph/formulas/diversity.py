"""Diversity: choose items that are relevant and unlike each other."""

from __future__ import annotations

import numpy as np

from hebbgraph.arrays import FloatArray

__all__ = ["cosines", "marginal_relevance"]


def marginal_relevance(
    relevance: FloatArray, similarity: FloatArray, count: int, *, diversity: float
) -> list[int]:
    """Choose items by maximal marginal relevance (MMR) [1]_.

    Each next item has the largest ``(1 - diversity) * relevance - diversity * s``, with
    ``s`` its similarity to the closest item chosen before.

    Parameters
    ----------
    relevance : ndarray of float64, shape (n,)
    similarity : ndarray of float64, shape (n, n)
    count : int
        Number of items to choose.
    diversity : float, in [0, 1]
        One minus the paper's lambda; 0 chooses the most relevant items, however alike.

    Returns
    -------
    list of int
        At most ``count`` positions, best first; ties by position.

    Examples
    --------
    >>> twins = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> marginal_relevance(np.array([0.9, 0.8, 0.3]), twins, 2, diversity=0.5)
    [0, 2]

    References
    ----------
    .. [1] Carbonell and Goldstein (1998), The use of MMR, diversity-based reranking. SIGIR.
    """
    chosen: list[int] = []
    closest = np.zeros(len(relevance))
    free = np.ones(len(relevance), np.bool_)
    while len(chosen) < count and free.any():
        value = (1 - diversity) * relevance - diversity * closest
        best = int(np.argmax(np.where(free, value, -np.inf)))
        chosen.append(best)
        free[best] = False
        closest = np.maximum(closest, similarity[best]) if len(chosen) > 1 else similarity[best]
    return chosen


def cosines(counts: FloatArray) -> FloatArray:
    """Return the cosine between each two rows; 0 for a row of zeros.

    Parameters
    ----------
    counts : ndarray of float64, shape (n, m)

    Returns
    -------
    ndarray of float64, shape (n, n)

    Examples
    --------
    >>> cosines(np.array([[3.0, 4.0], [4.0, 3.0], [0.0, 0.0]])).round(2).tolist()
    [[1.0, 0.96, 0.0], [0.96, 1.0, 0.0], [0.0, 0.0, 0.0]]
    """
    lengths = np.linalg.norm(counts, axis=1)
    unit = counts / np.where(lengths > 0, lengths, 1.0)[:, None]
    result: FloatArray = unit @ unit.T
    return result
