"""Words by number: what is worked out for a word lies in arrays from when it is first met."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import GrowableArray, IntArray, concatenated_ranges

__all__ = ["Met", "Numbers", "Ragged", "running"]


class Numbers(dict[str, int]):
    """Numbers strings in the order in which they are looked up.

    Attributes
    ----------
    fresh : list of str
        Those that were numbered since the owner last took them away.

    Examples
    --------
    >>> numbers = Numbers()
    >>> [numbers[word] for word in ("owl", "moth", "owl")], numbers.fresh
    ([0, 1, 0], ['owl', 'moth'])
    """

    def __init__(self) -> None:
        super().__init__()
        self.fresh: list[str] = []

    def __missing__(self, word: str) -> int:
        self.fresh.append(word)
        return self.setdefault(word, len(self))

    def of(self, words: Sequence[str]) -> NDArray[np.int64]:
        """Return the number of each word."""
        return np.fromiter(map(self.__getitem__, words), np.int64, len(words))


class Ragged:
    """Arrays of different lengths, one after the other.

    Examples
    --------
    >>> ragged = Ragged(np.int32)
    >>> ragged.extend([2, 0, 1], [7, 8, 9])
    >>> counts, places = ragged.places(np.array([2, 0]))
    >>> counts, ragged.values[places]
    (array([1, 2]), array([9, 7, 8], dtype=int32))
    """

    def __init__(self, dtype: type[np.generic]) -> None:
        self._offsets = GrowableArray(np.int64, np.zeros(1, np.int64))
        self._values = GrowableArray(dtype)

    @property
    def values(self) -> NDArray[np.generic]:
        """What they all hold, one after the other."""
        return self._values.view

    def extend(self, lengths: Sequence[int] | IntArray, values: object) -> None:
        """Add arrays of these lengths, given one after the other."""
        self._offsets.extend(len(self._values) + np.cumsum(np.array(lengths, dtype=np.int64)))
        self._values.extend(values)

    def places(self, which: IntArray) -> tuple[IntArray, IntArray]:
        """Return how long each of these is, and where all that they hold stands."""
        starts = self._offsets.view[which]
        counts = self._offsets.view[which + 1] - starts
        return counts, concatenated_ranges(starts, counts)

    def taken(self, which: IntArray) -> Self:
        """Return some of these, numbered anew in this order."""
        counts, places = self.places(which)
        taken = type(self)(self._values.view.dtype.type)
        taken.extend(counts, self._values.view[places])
        return taken


class Met:
    """How often each number was met, to tell what is worth remembering.

    Examples
    --------
    >>> met = Met()
    >>> met.note(np.array([0, 2, 2, 3, 3, 3]))
    >>> met.often(5), met.often(1)
    (array([2, 3]), array([3]))
    """

    def __init__(self) -> None:
        self._counts = np.zeros(0, dtype=np.int64)

    def note(self, numbers: IntArray) -> None:
        """Count these once more."""
        counts = np.bincount(numbers, minlength=len(self._counts))
        counts[: len(self._counts)] += self._counts
        self._counts = counts

    def often(self, most: int) -> IntArray:
        """Return the numbers met more than once, ascending; at most so many, the most frequent."""
        order = np.argsort(-self._counts, kind="stable")[:most]
        return np.sort(order[self._counts[order] > 1])


def running(counts: IntArray) -> IntArray:
    """Return the sums of the first 0, 1, 2, … of these.

    Examples
    --------
    >>> running(np.array([2, 0, 1]))
    array([0, 2, 2, 3])
    """
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
