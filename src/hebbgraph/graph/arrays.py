"""Small tools for compressed sparse rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hebbgraph.typing import IntArray

__all__ = ["GrowableArray", "concatenated_ranges", "distinct", "transpose"]


class GrowableArray:
    """A one-dimensional array that can be appended to in amortised constant time.

    Examples
    --------
    >>> numbers = GrowableArray(np.int64)
    >>> numbers.extend([1, 2])
    >>> numbers.extend(np.array([3]))
    >>> numbers.view
    array([1, 2, 3])
    """

    def __init__(self, dtype: DTypeLike, initial: NDArray[Any] | None = None) -> None:
        self._data: NDArray[Any] = np.empty(0, dtype) if initial is None else initial
        self._size = len(self._data)

    def __len__(self) -> int:
        return self._size

    @property
    def view(self) -> NDArray[Any]:
        """The elements so far; valid until the next ``extend``."""
        return self._data[: self._size]

    def extend(self, values: Any) -> None:
        """Append all values."""
        values = np.asarray(values, dtype=self._data.dtype)
        needed = self._size + len(values)
        if needed > len(self._data) or not self._data.flags.writeable:
            grown = np.empty(max(needed, self._size + self._size // 4, 64), self._data.dtype)
            grown[: self._size] = self.view
            self._data = grown
        self._data[self._size : needed] = values
        self._size = needed

    def writable(self) -> NDArray[Any]:
        """Return the elements for changing in place (a memory map is copied first)."""
        if not self._data.flags.writeable:
            self._data = np.array(self.view)
        return self.view


def concatenated_ranges(starts: IntArray, counts: IntArray) -> IntArray:
    """Concatenate ``arange(start, start + count)`` for each pair.

    Parameters
    ----------
    starts, counts : ndarray of int, shape (n,)

    Returns
    -------
    ndarray of int64, shape (counts.sum(),)

    Examples
    --------
    >>> concatenated_ranges(np.array([5, 0, 9]), np.array([2, 0, 3]))
    array([ 5,  6,  9, 10, 11])
    """
    at: IntArray = (starts - counts.cumsum() + counts).repeat(counts)
    at += np.arange(len(at))
    return at


def distinct(values: IntArray) -> IntArray:
    """Return the different values, ascending.

    What ``numpy.unique`` does, which since its version 2.3 fills a hash table first and
    takes several times as long for integers.

    Examples
    --------
    >>> distinct(np.array([3, 1, 3]))
    array([1, 3])
    """
    if not len(values):
        return values
    values = np.sort(values)
    first = np.concatenate((np.ones(1, dtype=np.bool_), values[1:] != values[:-1]))
    different: IntArray = values[first]
    return different


def transpose(
    indptr: IntArray, indices: IntArray, n_columns: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Turn compressed rows into compressed columns.

    Parameters
    ----------
    indptr : ndarray of int64, shape (n_rows + 1,)
    indices : ndarray of int, shape (nnz,), in [0, n_columns)
    n_columns : int

    Returns
    -------
    column_indptr : ndarray of int64, shape (n_columns + 1,)
    rows : ndarray of int32, shape (nnz,), ascending within a column
    order : ndarray of int64, shape (nnz,)
        Where each element stood, to carry values along.

    Examples
    --------
    >>> pointer, rows, _ = transpose(np.array([0, 2, 3]), np.array([1, 0, 1]), 2)
    >>> pointer, rows
    (array([0, 1, 3]), array([0, 0, 1], dtype=int32))
    """
    order = np.argsort(indices, kind="stable")
    owners = np.repeat(np.arange(len(indptr) - 1, dtype=np.int32), np.diff(indptr))
    pointer = np.zeros(n_columns + 1, dtype=np.int64)
    np.cumsum(np.bincount(indices, minlength=n_columns), out=pointer[1:])
    return pointer, owners[order], order
