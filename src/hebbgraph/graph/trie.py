"""Beginnings of phrases by hash: what a search through text walks along."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import BoolArray, IntArray

__all__ = ["PhraseTrie", "find_sorted"]

_FEW = 64  # hashes; sorting them costs more than it saves


def find_sorted(hashes: NDArray[np.uint64], wanted: NDArray[np.uint64]) -> IntArray:
    """Return where each wanted hash stands in sorted ones, or -1.

    Examples
    --------
    >>> find_sorted(np.array([3, 5, 9], np.uint64), np.array([9, 4], np.uint64))
    array([ 2, -1])
    """
    if not len(hashes):
        return np.full(len(wanted), -1, dtype=np.int64)
    if len(wanted) < _FEW:
        at = np.searchsorted(hashes, wanted)
    else:  # in order, so that those close to each other find the same memory at hand
        order = np.argsort(wanted)
        at = np.empty(len(wanted), dtype=np.int64)
        at[order] = np.searchsorted(hashes, wanted[order])
    at[at == len(hashes)] = 0
    found: IntArray = np.where(hashes[at] == wanted, at, -1)
    return found


class PhraseTrie:
    """For each beginning of a phrase: which phrase it is, if any, and whether one goes on.

    A trie whose nodes are named by their hashes: sorted arrays, perhaps mapped into
    memory, and small ones for what came since. What left the vocabulary stays until the
    arrays are made anew; the caller passes it over.

    Parameters
    ----------
    hashes : ndarray of uint64, shape (n,), ascending
    numbers : ndarray of int32, shape (n,)
        The phrase, or -1.
    extends : ndarray of bool, shape (n,)
        Whether a phrase begins with more than this.

    Examples
    --------
    >>> table = PhraseTrie(np.array([7], np.uint64), np.array([0], np.int32), np.array([False]))
    >>> two = np.array([7, 8], np.uint64)
    >>> table.insert(two, np.array([-1, 1], np.int32), np.array([True, False]))
    >>> numbers, extends = table.find(two)
    >>> numbers.tolist(), extends.tolist()
    ([0, 1], [True, False])
    """

    def __init__(
        self, hashes: NDArray[np.uint64], numbers: NDArray[np.int32], extends: BoolArray
    ) -> None:
        self._base = (hashes, numbers, extends)
        self._recent = (hashes[:0], numbers[:0], extends[:0])

    def find(self, hashes: NDArray[np.uint64]) -> tuple[NDArray[np.int32], BoolArray]:
        """Return the phrase that each span is, or -1, and whether one goes on from there."""
        numbers = np.full(len(hashes), -1, dtype=np.int32)
        extends = np.zeros(len(hashes), dtype=np.bool_)
        for held, held_numbers, held_extends in (self._base, self._recent):
            at = find_sorted(held, hashes)
            here = np.flatnonzero(at >= 0)
            at = at[here]
            numbers[here] = np.maximum(numbers[here], held_numbers[at])
            extends[here] |= held_extends[at]
        return numbers, extends

    def insert(
        self, hashes: NDArray[np.uint64], numbers: NDArray[np.int32], extends: BoolArray
    ) -> None:
        """Add beginnings, in any order; one may be there already."""
        if len(hashes):
            self._recent = _combined(self._recent, (hashes, numbers, extends))

    def renumbered(
        self, numbers: NDArray[np.int32]
    ) -> tuple[NDArray[np.uint64], NDArray[np.int32], BoolArray]:
        """Return everything in one, phrases numbered anew (-1: gone)."""
        hashes, held, extends = _combined(self._base, self._recent)
        named = held >= 0
        held = held.copy()
        held[named] = numbers[held[named]]
        keep = extends | (held >= 0)
        return hashes[keep], held[keep], extends[keep]


def _combined(
    one: tuple[NDArray[np.uint64], NDArray[np.int32], BoolArray],
    other: tuple[NDArray[np.uint64], NDArray[np.int32], BoolArray],
) -> tuple[NDArray[np.uint64], NDArray[np.int32], BoolArray]:
    """Sort both together; where a hash occurs twice, put together what is known of it."""
    hashes = np.concatenate((one[0], other[0]))
    numbers = np.concatenate((one[1], other[1]))
    extends = np.concatenate((one[2], other[2]))
    if not len(hashes):
        return hashes, numbers, extends
    order = np.argsort(hashes, kind="stable")
    hashes, numbers, extends = hashes[order], numbers[order], extends[order]
    first = np.flatnonzero(np.concatenate(([True], hashes[1:] != hashes[:-1])))
    return (
        hashes[first],
        np.maximum.reduceat(numbers, first),
        np.logical_or.reduceat(extends, first),
    )
