"""Array types, and small array operations that several modules share.

Sums, look-ups and top-n selection by owner. A selection keeps values that tie with its
last one, so it depends on the order of equal values only if more of them tie than it may hold.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

BoolArray: TypeAlias = NDArray[np.bool_]
FloatArray: TypeAlias = NDArray[np.floating[Any]]
IntArray: TypeAlias = NDArray[np.integer[Any]]
Float32Array: TypeAlias = NDArray[np.float32]

Allowed: TypeAlias = Callable[[IntArray], BoolArray]
"""Returns which of some chunks take part."""

#: Scores are compared to this many decimals, so that the order of sums does not matter.
DECIMALS = 9
#: Bounds the relative difference between sums of the same numbers in another order.
_ROUNDING = 1e-12
_TIES = 4  # a selection may grow to this many times its size to keep ties


def sum_by(position: IntArray, values: FloatArray, n: int) -> FloatArray:
    """Sum values by position.

    >>> sum_by(np.array([0, 2, 0]), np.array([1.0, 2.0, 3.0]), 3).tolist()
    [4.0, 0.0, 2.0]
    """
    summed = np.bincount(position, weights=values, minlength=n)
    return summed.astype(np.float64, copy=False)  # of no values, they are integers


def sum_rows_by(position: IntArray, rows: FloatArray, n: int) -> FloatArray:
    """Sum each row of values by position."""
    return np.stack([sum_by(position, row, n) for row in rows])


def is_in_sorted(values: IntArray, some: IntArray) -> BoolArray:
    """Return which values are in ``some``, which is sorted.

    >>> is_in_sorted(np.array([5, 3, 9]), np.array([3, 5])).tolist()
    [True, True, False]
    """
    return places_in(some, values)[1]


def places_in(some: IntArray, values: IntArray) -> tuple[IntArray, BoolArray]:
    """Return where each value is in ``some``, which is sorted, and whether it is there."""
    if not len(some):
        return np.zeros(len(values), np.int64), np.zeros(len(values), np.bool_)
    values = values.astype(some.dtype, copy=False)  # or all of ``some`` would be converted
    at = np.minimum(some.searchsorted(values), len(some) - 1)
    return at, some[at] == values


def place_in(some: IntArray, value: int) -> int | None:
    """Return where a value is in ``some``, which is sorted; None if it is not there."""
    at = int(some.searchsorted(value))
    return at if at < len(some) and some[at] == value else None


def highest(values: FloatArray, n: int) -> IntArray:
    """Return the indices of the n highest values and of those equal to the last, best first."""
    least = np.partition(values, -n)[-n] if len(values) > n else -np.inf
    at = np.flatnonzero(values >= least)
    return at[np.argsort(-values[at], kind="stable")]


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
    at = np.flatnonzero(values >= (last - abs(last) * _ROUNDING if isfinite(last) else last))
    if len(at) > n * _TIES:
        at = np.sort(at[np.argsort(-values[at], kind="stable")][: n * _TIES])
    return at


def top_n_per_owner(
    owner: IntArray, values: FloatArray, n_owners: int, n: int, *, all_ties: bool = False
) -> BoolArray:
    """Mark the n largest values of each owner, ties with the last one included.

    Owners ascend. At most 4 n values of an owner are marked, the first ones if more tie; with
    ``all_ties`` all of them, so that the order of the values never matters.

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
