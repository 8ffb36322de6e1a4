"""The arithmetic of vector search: inner products, top n."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import FloatArray, IntArray

__all__ = ["highest", "products"]

#: Above this many rows several threads pay. BLAS threads spin while they wait for each other:
#: on a busy machine a product of one millisecond takes ten.
_MANY = 1 << 16
#: Rows gathered at a time, so that they are still cached when they are read.
_BLOCK = 1 << 10
_GROUPS = 16


def products(
    matrix: NDArray[np.float32], vector: NDArray[np.float32], at: IntArray | None = None
) -> NDArray[np.float32]:
    """Return the inner product of a vector with the rows of a matrix, or with those ``at``.

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
