"""Cosines of one vector with many, and the highest of many numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import FloatArray, IntArray

__all__ = ["highest", "products"]

#: More rows than this are worth several threads. The threads of a BLAS wait for each other
#: by spinning: where others work on the machine too, a product of a millisecond takes ten.
_MANY = 1 << 16
#: Rows that are gathered at once, so that they are still in the cache when they are read.
_BLOCK = 1 << 10
_GROUPS = 16


def products(
    matrix: NDArray[np.float32], vector: NDArray[np.float32], at: IntArray | None = None
) -> NDArray[np.float32]:
    """Return the inner product of some rows of a matrix with a vector, of all by default.

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
        found: NDArray[np.float32] = (
            matrix @ vector if len(matrix) > _MANY else np.vecdot(matrix, vector)
        )
        return found
    result = np.empty(len(at), dtype=np.float32)
    for start in range(0, len(at), _BLOCK):
        here = slice(start, start + _BLOCK)
        np.vecdot(matrix[at[here]], vector, out=result[here])
    return result


def highest(values: FloatArray, n: int) -> NDArray[np.int64]:
    """Return where the n highest values are, highest first; of equal ones, the first.

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
        # The n-th of the highest values of groups is no higher than the n-th of all.
        tops = values[: size * _GROUPS].reshape(_GROUPS, size).max(axis=0)
        at = np.flatnonzero(values >= np.partition(tops, size - n)[size - n])
    else:
        at = np.arange(len(values))
    if len(at) > n:
        held = values[at]
        at = at[held >= np.partition(held, len(at) - n)[len(at) - n]]
    best: NDArray[np.int64] = at[np.argsort(-values[at], kind="stable")[:n]]
    return best
