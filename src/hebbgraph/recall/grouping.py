"""Sums and cuts over entries that belong to owners; equals stay together."""

from __future__ import annotations

import numpy as np

from hebbgraph.typing import BoolArray, FloatArray, IntArray

__all__ = ["among", "among_sorted", "best", "best_per_owner", "distinct", "sum_by"]

_TIES = 4  # how many times its size a cut may grow to keep equals together


def sum_by(position: IntArray, values: FloatArray, n: int) -> FloatArray:
    """Sum values by position.

    >>> sum_by(np.array([0, 2, 0]), np.array([1.0, 2.0, 3.0]), 3).tolist()
    [4.0, 0.0, 2.0]
    """
    return np.asarray(np.bincount(position, weights=values, minlength=n), dtype=np.float64)


def distinct(values: IntArray) -> tuple[IntArray, IntArray]:
    """Return the different values, ascending, and where among them each value is.

    ``numpy.unique(values, return_inverse=True)`` in half the calls: most arrays here are
    so short that calls are what they cost.

    >>> different, position = distinct(np.array([5, 3, 5]))
    >>> different.tolist(), position.tolist()
    ([3, 5], [1, 0, 1])
    """
    order = values.argsort()
    ascending = values[order]
    first = np.empty(len(values), np.bool_)
    first[:1] = True
    np.not_equal(ascending[1:], ascending[:-1], out=first[1:])
    position = np.empty(len(values), np.int64)
    position[order] = first.cumsum() - 1
    return ascending[first], position


def among(values: IntArray, few: IntArray) -> BoolArray:
    """Tell which values are among a few.

    >>> among(np.array([5, 3, 5]), np.array([5])).tolist()
    [True, False, True]
    """
    if len(few) > 8:
        return np.isin(values, few)
    result: BoolArray = (values[:, None] == few[None, :]).any(axis=1)
    return result


def among_sorted(values: IntArray, some: IntArray) -> BoolArray:
    """Tell which values are among some that ascend.

    >>> among_sorted(np.array([5, 3, 9]), np.array([3, 5])).tolist()
    [True, True, False]
    """
    if not len(some):
        return np.zeros(len(values), np.bool_)
    at = np.minimum(np.searchsorted(some, values), len(some) - 1)
    result: BoolArray = some[at] == values
    return result


def best(values: FloatArray, n: int) -> IntArray:
    """Return where the n largest values are, and those that equal the last of them.

    So the outcome does not depend on the order of equals, unless there are more than
    4 n of them.

    >>> best(np.array([3.0, 1.0, 2.0, 2.0]), 2).tolist()
    [0, 2, 3]
    """
    if len(values) <= n:
        return np.arange(len(values))
    last = np.partition(values, len(values) - n)[-n]
    at = np.flatnonzero(values >= last)
    if len(at) > n * _TIES:
        at = np.sort(at[np.argsort(-values[at], kind="stable")][: n * _TIES])
    return at


def best_per_owner(owner: IntArray, values: FloatArray, n_owners: int, n: int) -> BoolArray:
    """Mark the n largest values of each owner, and those that equal the last of them.

    Parameters
    ----------
    owner : ndarray of int, shape (m,), ascending, in [0, n_owners)
        Whose each value is.
    values : ndarray of float, shape (m,)
        What is compared.
    n_owners : int
        How many owners there are.
    n : int
        How many each keeps.

    Examples
    --------
    >>> marked = best_per_owner(np.array([0, 0, 0, 1]), np.array([1.0, 3.0, 2.0, 0.5]), 2, 2)
    >>> marked.tolist()
    [False, True, True, True]
    """
    counts = np.bincount(owner, minlength=n_owners)
    if not len(owner) or counts.max() <= n:
        return np.ones(len(owner), np.bool_)
    order = np.lexsort((-values, owner))
    starts = np.cumsum(counts) - counts
    rank = np.empty(len(owner), np.int64)
    rank[order] = np.arange(len(owner)) - starts[owner[order]]
    last = np.full(n_owners, -np.inf)
    at_limit = rank == n - 1
    last[owner[at_limit]] = values[at_limit]
    marked: BoolArray = (values >= last[owner]) & (rank < n * _TIES)
    return marked
