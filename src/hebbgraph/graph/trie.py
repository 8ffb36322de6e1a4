"""A trie of phrases whose nodes are found by the hash of their prefix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import BoolArray, IntArray

__all__ = ["PhraseTrie", "find_sorted"]

_FEW = 64  # sorting fewer hashes costs more than it saves


def find_sorted(hashes: NDArray[np.uint64], wanted: NDArray[np.uint64]) -> IntArray:
    """Return the index of each wanted hash in the sorted ``hashes``, or -1.

    Examples
    --------
    >>> find_sorted(np.array([3, 5, 9], np.uint64), np.array([9, 4], np.uint64))
    array([ 2, -1])
    """
    if not len(hashes):
        return np.full(len(wanted), -1, dtype=np.int64)
    if len(wanted) < _FEW:
        at = hashes.searchsorted(wanted)
    else:  # sorted lookups touch memory in order, which is kinder to the cache
        order = np.argsort(wanted)
        at = np.empty(len(wanted), dtype=np.int64)
        at[order] = hashes.searchsorted(wanted[order])
    at[at == len(hashes)] = 0
    found: IntArray = np.where(hashes[at] == wanted, at, -1)
    return found


class PhraseTrie:
    """Maps each prefix of a phrase to its phrase number, and to whether longer ones exist.

    Nodes are sorted by hash, in base arrays that may be memory-mapped, and in small
    arrays for later additions. Phrases that leave the vocabulary stay until the arrays
    are rebuilt; callers must ignore them.

    Parameters
    ----------
    hashes : ndarray of uint64, shape (n,), ascending
        Hashes of the prefixes.
    numbers : ndarray of int32, shape (n,)
        The phrase that equals the prefix, or -1.
    extends : ndarray of bool, shape (n,)
        Whether some phrase is longer than the prefix.

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
        """Return the phrase equal to each span, or -1, and whether a longer one exists."""
        found = [_found(held, hashes) for held in (self._base, self._recent) if len(held[0])]
        if not found:
            return np.full(len(hashes), -1, dtype=np.int32), np.zeros(len(hashes), dtype=np.bool_)
        if len(found) == 1:
            return found[0]
        (numbers, extends), (recent, more) = found
        return np.maximum(numbers, recent), extends | more

    def insert(
        self, hashes: NDArray[np.uint64], numbers: NDArray[np.int32], extends: BoolArray
    ) -> None:
        """Add prefixes, in any order; existing ones are merged."""
        if len(hashes):
            self._recent = _combined(self._recent, (hashes, numbers, extends))

    def renumbered(
        self, numbers: NDArray[np.int32]
    ) -> tuple[NDArray[np.uint64], NDArray[np.int32], BoolArray]:
        """Return all nodes as base arrays, with phrases renumbered (-1: dropped)."""
        hashes, held, extends = _combined(self._base, self._recent)
        named = held >= 0
        held = held.copy()
        held[named] = numbers[held[named]]
        keep = extends | (held >= 0)
        return hashes[keep], held[keep], extends[keep]


def _found(
    held: tuple[NDArray[np.uint64], NDArray[np.int32], BoolArray], hashes: NDArray[np.uint64]
) -> tuple[NDArray[np.int32], BoolArray]:
    known, numbers, extends = held
    at = find_sorted(known, hashes)
    here = at >= 0
    return np.where(here, numbers[at], -1), extends[at] & here


def _combined(
    one: tuple[NDArray[np.uint64], NDArray[np.int32], BoolArray],
    other: tuple[NDArray[np.uint64], NDArray[np.int32], BoolArray],
) -> tuple[NDArray[np.uint64], NDArray[np.int32], BoolArray]:
    """Merge two sorted sets of nodes; equal hashes are combined."""
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
