"""A trie of phrases whose nodes are found by the hash of their prefix."""

from __future__ import annotations

from typing import NamedTuple

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
    index: IntArray = np.where(hashes[at] == wanted, at, -1)
    return index


class _Nodes(NamedTuple):
    """Nodes sorted by hash; see :class:`PhraseTrie`."""

    hashes: NDArray[np.uint64]
    numbers: NDArray[np.int32]
    extends: BoolArray

    def find(self, hashes: NDArray[np.uint64]) -> tuple[NDArray[np.int32], BoolArray]:
        if not len(self.hashes):
            return np.full(len(hashes), -1, dtype=np.int32), np.zeros(len(hashes), dtype=np.bool_)
        at = find_sorted(self.hashes, hashes)
        is_node = at >= 0
        return np.where(is_node, self.numbers[at], -1), self.extends[at] & is_node

    def merged(self, other: _Nodes) -> _Nodes:
        """Return the nodes of both; equal hashes are combined."""
        hashes = np.concatenate((self.hashes, other.hashes))
        numbers = np.concatenate((self.numbers, other.numbers))
        extends = np.concatenate((self.extends, other.extends))
        if not len(hashes):
            return self
        order = np.argsort(hashes, kind="stable")
        hashes, numbers, extends = hashes[order], numbers[order], extends[order]
        first = np.flatnonzero(np.concatenate(([True], hashes[1:] != hashes[:-1])))
        return _Nodes(
            hashes[first],
            np.maximum.reduceat(numbers, first),
            np.logical_or.reduceat(extends, first),
        )


class PhraseTrie:
    """Maps each prefix of a phrase to its phrase number, and to whether longer phrases exist.

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
        Whether a longer phrase begins with the prefix.

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
        self._base = _Nodes(hashes, numbers, extends)
        self._recent = _Nodes(hashes[:0], numbers[:0], extends[:0])

    def find(self, hashes: NDArray[np.uint64]) -> tuple[NDArray[np.int32], BoolArray]:
        """Return the phrase equal to each span, or -1, and whether a longer phrase exists."""
        if not len(self._recent.hashes):
            return self._base.find(hashes)
        recent = self._recent.find(hashes)
        if not len(self._base.hashes):
            return recent
        numbers, extends = self._base.find(hashes)
        return np.maximum(numbers, recent[0]), extends | recent[1]

    def insert(
        self, hashes: NDArray[np.uint64], numbers: NDArray[np.int32], extends: BoolArray
    ) -> None:
        """Add prefixes, in any order; existing ones are merged."""
        if len(hashes):
            self._recent = self._recent.merged(_Nodes(hashes, numbers, extends))

    def renumbered(
        self, numbers: NDArray[np.int32]
    ) -> tuple[NDArray[np.uint64], NDArray[np.int32], BoolArray]:
        """Return all nodes as base arrays, with phrases renumbered (-1: dropped)."""
        hashes, old, extends = self._base.merged(self._recent)
        new = np.where(old >= 0, numbers[old], np.int32(-1)) if len(numbers) else old
        keep = extends | (new >= 0)
        return hashes[keep], new[keep], extends[keep]
