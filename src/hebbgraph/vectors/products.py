"""Inner products, and the highest of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import FloatArray, IntArray

__all__ = ["highest", "products"]

#: Above this many rows BLAS threads are worth it. They spin while they wait for each other: on a
#: busy machine a product of one millisecond takes ten.
_MANY = 1 << 16
#: Rows that are gathered at a time: they are still in the processor's cache when they are read.
_BLOCK = 1 << 10
_GROUPS = 16


def products(
    matrix: NDArray[np.float32], vector: NDArray[np.float32], at: IntArray | None = None
) -> NDArray[np.float32]:
    """Return the inner products of a vector with the rows of a matrix, or with those at ``at``.

    Parameters
    ----------
    matrix : ndarray of float32, shape (n, dimension)
    vector : ndarray of float32, shape (dimension,)
    at : ndarray of int, shape (m,), optional

    Examples
    --------
    >>> matrix = np.eye(3, dtype=np.float32)
    >>> products(matrix, matrix[1]).tolist(), products(matrix, matrix[1], [1, 0]).tolist()
    ([0.0, 1.0, 0.0], [1.0, 0.0])
    """
    if at is None:
        every: NDArray[np.float32] = (
            matrix @ vector if len(matrix) > _MANY else np.vecdot(matrix, vector)
        )
        return every
    result = np.empty(len(at), dtype=np.float32)
    for start in range(0, len(at), _BLOCK):
        block = slice(start, start + _BLOCK)
        np.vecdot(matrix[at[block]], vector, out=result[block])
    return result


def highest(values: FloatArray, n: int) -> NDArray[np.int64]:
    """Return the positions of the n highest values, highest first; ties by position.

    Parameters
    ----------
    values : ndarray of float, shape (m,)
    n : int, at least 0

    Examples
    --------
    >>> highest(np.array([0.1, 0.3, 0.2, 0.3]), 3).tolist()
    [1, 3, 2]
    """
    if n < 1:
        return np.empty(0, dtype=np.int64)
    size = len(values) // _GROUPS
    if size > 2 * n:
        # The n-th highest of the groups' maxima is at most the n-th highest of all values.
        tops = values[: size * _GROUPS].reshape(_GROUPS, size).max(axis=0)
        at = np.flatnonzero(values >= np.partition(tops, size - n)[size - n])
    else:
        at = np.arange(len(values))
    if len(at) > n:
        candidates = values[at]
        at = at[candidates >= np.partition(candidates, len(at) - n)[len(at) - n]]
    best: NDArray[np.int64] = at[np.argsort(-values[at], kind="stable")[:n]]
    return best
