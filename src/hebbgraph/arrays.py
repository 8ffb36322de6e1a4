"""Array types, and small array operations that several modules share.

Compressed sparse rows, distinct values, sums and top-n selection by owner. A selection
keeps values that tie with its last one, so it depends on the order of equal values only if
more of them tie than it may hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = [
    "BoolArray",
    "FloatArray",
    "GrowableArray",
    "IntArray",
    "RaggedArray",
    "all_of",
    "concatenated_ranges",
    "equal_later",
    "evenly_chosen",
    "flatnonzero",
    "is_in",
    "is_in_sorted",
    "prefix_sums",
    "row_positions",
    "sum_by",
    "top_n",
    "top_n_per_owner",
    "transpose",
    "unique",
    "unique_inverse",
]

BoolArray: TypeAlias = NDArray[np.bool_]
FloatArray: TypeAlias = NDArray[np.floating[Any]]
IntArray: TypeAlias = NDArray[np.integer[Any]]

_PLACE_BITS = 32  # column numbers have 31 bits, and more elements would not fit into memory
#: Bounds the relative difference between sums of the same numbers in another order.
_ROUNDING = 1e-12
_TIES = 4  # a selection may grow to this many times its size to keep ties


class GrowableArray:
    """An array that grows along its first axis, in amortised constant time per element.

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
        self._view = self._data[:]

    def __len__(self) -> int:
        return self._size

    @property
    def view(self) -> NDArray[Any]:
        """The elements; a new array after each ``extend`` and ``writable``, and valid until then.

        So callers that cache a result can tell by identity whether the elements have changed.
        """
        return self._view

    def extend(self, values: Any) -> None:
        """Append all values."""
        values = np.asarray(values, dtype=self._data.dtype)
        needed = self._size + len(values)
        if needed > len(self._data) or not self._data.flags.writeable:
            length = max(needed, self._size + self._size // 4, 64)
            grown = np.empty((length, *self._data.shape[1:]), self._data.dtype)
            grown[: self._size] = self.view
            self._data = grown
        self._data[self._size : needed] = values
        self._size = needed
        self._view = self._data[:needed]

    def writable(self) -> NDArray[Any]:
        """Return the elements for writing in place; a read-only memory map is copied first."""
        if not self._data.flags.writeable:
            self._data = np.array(self.view)
        self._view = self._data[: self._size]
        return self._view


def all_of(flags: BoolArray) -> bool:
    """Return whether all flags are set: ``flags.all()``, a third of the time on short arrays.

    >>> all_of(np.array([True, False])), all_of(np.array([], dtype=bool))
    (False, True)
    """
    return bool(np.count_nonzero(flags) == len(flags))


def flatnonzero(flags: BoolArray) -> IntArray:
    """Return where a flag is set: ``numpy.flatnonzero``, a third of the time on short arrays.

    >>> flatnonzero(np.array([False, True])).tolist()
    [1]
    """
    return flags.nonzero()[0]


def evenly_chosen(flags: BoolArray, most: int) -> NDArray[np.int64]:
    """Return every n-th position of a set flag, for the least n that gives at most ``most``.

    ``np.flatnonzero(flags)[::n]`` in a seventh of the time: flags are counted 64 at a time, and
    only the chosen positions are computed.

    Parameters
    ----------
    flags : ndarray of bool, shape (m,)
    most : int, positive

    Returns
    -------
    ndarray of int64, ascending, at most ``most`` elements

    Examples
    --------
    >>> evenly_chosen(np.array([True, False, True, True, True, True]), 3).tolist()
    [0, 3, 5]
    """
    packed = np.packbits(flags, bitorder="little")
    words = np.zeros(-(-len(packed) // 8), "<u8")
    words.view(np.uint8)[: len(packed)] = packed
    last = np.cumsum(np.bitwise_count(words), dtype=np.int64)
    total = int(last[-1]) if len(last) else 0
    wanted = np.arange(0, total, max(-(-total // most), 1))
    holder = last.searchsorted(wanted, "right")
    bits = np.unpackbits(words[holder].view(np.uint8), bitorder="little").reshape(-1, 64)
    before = last[holder] - bits.sum(axis=1, dtype=np.int64)
    within = (bits.cumsum(axis=1, dtype=np.int64) > (wanted - before)[:, None]).argmax(axis=1)
    chosen: NDArray[np.int64] = holder * 64 + within
    return chosen


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


def prefix_sums(counts: IntArray) -> NDArray[np.int64]:
    """Return the sums of the first 0, 1, 2, … counts: offsets of consecutive runs.

    Examples
    --------
    >>> prefix_sums(np.array([2, 0, 1]))
    array([0, 2, 2, 3])
    """
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)))


def row_positions(indptr: IntArray, rows: IntArray) -> tuple[IntArray, IntArray]:
    """Return the length of some compressed rows, and the indices of their elements.

    Examples
    --------
    >>> row_positions(np.array([0, 2, 2, 3]), np.array([2, 0]))
    (array([1, 2]), array([2, 0, 1]))
    """
    starts = indptr[rows]
    counts = indptr[rows + 1] - starts
    return counts, concatenated_ranges(starts, counts)


class RaggedArray:
    """Rows of different lengths, stored end to end.

    Examples
    --------
    >>> ragged = RaggedArray(np.int32)
    >>> ragged.extend([2, 0, 1], [7, 8, 9])
    >>> counts, at = ragged.positions(np.array([2, 0]))
    >>> counts, ragged.values[at]
    (array([1, 2]), array([9, 7, 8], dtype=int32))
    """

    def __init__(self, dtype: type[np.generic]) -> None:
        self._offsets = GrowableArray(np.int64, np.zeros(1, np.int64))
        self._values = GrowableArray(dtype)

    @property
    def values(self) -> NDArray[np.generic]:
        """The values of all rows, end to end."""
        return self._values.view

    def extend(self, lengths: Sequence[int] | IntArray, values: object) -> None:
        """Append rows of these lengths; ``values`` holds them end to end."""
        self._offsets.extend(len(self._values) + np.cumsum(np.array(lengths, dtype=np.int64)))
        self._values.extend(values)

    def positions(self, rows: IntArray) -> tuple[IntArray, IntArray]:
        """Return the length of each row, and the indices of its elements in :attr:`values`."""
        return row_positions(self._offsets.view, rows)

    def take(self, rows: IntArray) -> Self:
        """Return a new array of these rows, in this order."""
        counts, at = self.positions(rows)
        result = type(self)(self._values.view.dtype.type)
        result.extend(counts, self._values.view[at])
        return result


def unique(values: IntArray) -> IntArray:
    """Return the distinct values, ascending.

    Faster for integers than ``numpy.unique``, which builds a hash table since numpy 2.3.

    Examples
    --------
    >>> unique(np.array([3, 1, 3]))
    array([1, 3])
    """
    if not len(values):
        return values
    values = np.sort(values)
    first = np.concatenate((np.ones(1, dtype=np.bool_), values[1:] != values[:-1]))
    distinct: IntArray = values[first]
    return distinct


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
        Former index of each element, to permute values along.

    Examples
    --------
    >>> pointer, rows, _ = transpose(np.array([0, 2, 3]), np.array([1, 0, 1]), 2)
    >>> pointer, rows
    (array([0, 1, 3]), array([0, 0, 1], dtype=int32))
    """
    # Column and position packed into one number sort in a fifth of a stable argsort's time.
    keys = indices.astype(np.uint64)
    keys <<= np.uint64(_PLACE_BITS)
    keys |= np.arange(len(indices), dtype=np.uint64)
    keys.sort()
    keys &= np.uint64((1 << _PLACE_BITS) - 1)
    order = keys.view(np.int64)
    owners = np.repeat(np.arange(len(indptr) - 1, dtype=np.int32), np.diff(indptr))
    pointer = np.zeros(n_columns + 1, dtype=np.int64)
    np.cumsum(np.bincount(indices, minlength=n_columns), out=pointer[1:])
    return pointer, owners[order], order


def sum_by(position: IntArray, values: FloatArray, n: int) -> FloatArray:
    """Sum values by position.

    >>> sum_by(np.array([0, 2, 0]), np.array([1.0, 2.0, 3.0]), 3).tolist()
    [4.0, 0.0, 2.0]
    """
    if not len(position):  # numpy would return integers
        return np.zeros(n)
    summed: NDArray[np.float64] = np.bincount(position, weights=values, minlength=n)  # type: ignore[assignment]
    return summed


def equal_later(*columns: IntArray | BoolArray) -> NDArray[np.int64]:
    """Return how many rows after each row are equal to it.

    >>> equal_later(np.array([7, 5, 7, 7])).tolist()
    [2, 0, 1, 0]
    """
    order = np.lexsort(columns)
    n = len(order)
    is_last = np.ones(n, np.bool_)
    is_last[:-1] = np.any([column[order[1:]] != column[order[:-1]] for column in columns], axis=0)
    last = np.flatnonzero(is_last)
    later = np.empty(n, np.int64)
    later[order] = last[last.searchsorted(np.arange(n))] - np.arange(n)
    return later


def unique_inverse(values: IntArray) -> tuple[IntArray, IntArray]:
    """Return the distinct values, ascending, and the index of each value among them.

    Makes half the numpy calls of ``numpy.unique(values, return_inverse=True)``, whose overhead
    dominates on short arrays.

    >>> distinct, position = unique_inverse(np.array([5, 3, 5]))
    >>> distinct.tolist(), position.tolist()
    ([3, 5], [1, 0, 1])
    """
    order = values.argsort()
    ascending = values[order]
    first = np.empty(len(values), np.bool_)
    first[:1] = False  # so that the first value has number 0
    np.not_equal(ascending[1:], ascending[:-1], out=first[1:])
    position = np.empty(len(values), np.int64)
    position[order] = first.cumsum()
    first[:1] = True
    return ascending[first], position


def is_in(values: IntArray, few: IntArray) -> BoolArray:
    """Return which values are in ``few``: ``numpy.isin``, faster for up to eight.

    >>> is_in(np.array([5, 3, 5]), np.array([5])).tolist()
    [True, False, True]
    """
    if len(few) > 8:
        return np.isin(values, few)
    result = np.zeros(len(values), np.bool_)
    for value in few.tolist():
        result |= values == value
    return result


def is_in_sorted(values: IntArray, some: IntArray) -> BoolArray:
    """Return which values are in ``some``, which is sorted.

    >>> is_in_sorted(np.array([5, 3, 9]), np.array([3, 5])).tolist()
    [True, True, False]
    """
    if not len(some):
        return np.zeros(len(values), np.bool_)
    at = np.minimum(some.searchsorted(values), len(some) - 1)
    result: BoolArray = some[at] == values
    return result


def top_n(values: FloatArray, n: int) -> IntArray:
    """Return the indices of the n largest values, ties with the last one included.

    Values that differ by rounding alone tie. So the result does not depend on the order of
    equal values, nor on the order in which they were summed, unless more than 4 n values remain;
    then the first ones are kept.

    >>> top_n(np.array([3.0, 1.0, 2.0, 2.0]), 2).tolist()
    [0, 2, 3]
    """
    if len(values) <= n:
        return np.arange(len(values))
    ascending = values.copy()  # numpy.partition takes half as long again
    ascending.partition(len(values) - n)
    last = ascending[-n]
    at = flatnonzero(values >= (last - abs(last) * _ROUNDING if isfinite(last) else last))
    if len(at) > n * _TIES:
        at = np.sort(at[np.argsort(-values[at], kind="stable")][: n * _TIES])
    return at


def top_n_per_owner(
    owner: IntArray, values: FloatArray, n_owners: int, n: int, *, all_ties: bool = False
) -> BoolArray:
    """Mark the n largest values of each owner, ties with the last one included.

    At most 4 n values of an owner are marked; if more tie, the first ones.

    Parameters
    ----------
    owner : ndarray of int, shape (m,), ascending, in [0, n_owners)
        Owner of each value.
    values : ndarray of float, shape (m,)
    n_owners : int
    n : int
        Number of values to keep per owner.
    all_ties : bool
        Mark all that tie, however many, so that the order of the values never matters.

    Examples
    --------
    >>> marked = top_n_per_owner(np.array([0, 0, 0, 1]), np.array([1.0, 3.0, 2.0, 0.5]), 2, 2)
    >>> marked.tolist()
    [False, True, True, True]
    """
    counts = np.bincount(owner, minlength=n_owners)
    if not len(owner) or counts.max() <= n:
        return np.ones(len(owner), np.bool_)
    order = np.lexsort((-values, owner))
    starts = counts.cumsum() - counts
    rank = np.empty(len(owner), np.int64)
    rank[order] = np.arange(len(owner)) - starts[owner[order]]
    last = np.full(n_owners, -np.inf)
    at_limit = rank == n - 1
    last[owner[at_limit]] = values[at_limit] - np.abs(values[at_limit]) * _ROUNDING
    marked: BoolArray = values >= last[owner]
    if not all_ties:
        marked &= rank < n * _TIES
    return marked
