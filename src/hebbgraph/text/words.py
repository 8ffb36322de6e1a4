"""Words repeat, so each is analysed once: a cache, an interner, and word counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import IntArray

__all__ = ["MAX_CACHED_CHARACTERS", "Interner", "WordCache", "WordCounts"]

_Value = TypeVar("_Value")
MAX_CACHED_CHARACTERS = 64
"""Longer strings are not cached: they rarely recur and take more memory."""


class WordCache(dict[str, _Value], Generic[_Value]):
    """Bounded cache of a pure function of a string.

    Look values up with ``cache[word]``: a hit is one dictionary lookup and runs no
    Python code. The cache keeps two generations. When the younger one is full it
    becomes the older one, which is still searched, and the previous older one is
    dropped; words in use are copied forward.

    Parameters
    ----------
    compute : callable
        Maps a word to its value; must depend on the word alone.
    capacity : int, positive
        Words per generation.

    Examples
    --------
    >>> lengths = WordCache(len, capacity=1000)
    >>> lengths["synapse"], "synapse" in lengths
    (7, True)
    """

    def __init__(self, compute: Callable[[str], _Value], *, capacity: int = 1 << 17) -> None:
        super().__init__()
        self._compute = compute
        self._capacity = capacity
        self._older: dict[str, _Value] = {}

    def __missing__(self, word: str) -> _Value:
        value = self._older[word] if word in self._older else self._compute(word)
        if len(word) <= MAX_CACHED_CHARACTERS:
            if len(self) >= self._capacity:
                self._older = dict(self)
                self.clear()
            self[word] = value
        return value


class Interner(dict[str, int]):
    """Numbers strings in order of first lookup.

    Attributes
    ----------
    fresh : list of str
        Strings numbered since the owner last emptied this list.

    Examples
    --------
    >>> words = Interner()
    >>> [words[word] for word in ("owl", "moth", "owl")], words.fresh
    ([0, 1, 0], ['owl', 'moth'])
    """

    def __init__(self) -> None:
        super().__init__()
        self.fresh: list[str] = []

    def __missing__(self, word: str) -> int:
        self.fresh.append(word)
        return self.setdefault(word, len(self))

    def intern(self, words: Sequence[str]) -> NDArray[np.int64]:
        """Return the number of each word."""
        return np.fromiter(map(self.__getitem__, words), np.int64, len(words))


class WordCounts:
    """Counts how often each word number occurs, to decide which words to keep.

    Examples
    --------
    >>> counts = WordCounts()
    >>> counts.add(np.array([0, 2, 2, 3, 3, 3]))
    >>> counts.most_frequent(5), counts.most_frequent(1)
    (array([2, 3]), array([3]))
    """

    def __init__(self) -> None:
        self._counts = np.zeros(0, dtype=np.int64)

    def add(self, numbers: IntArray) -> None:
        """Count one occurrence of each number."""
        counts = np.bincount(numbers, minlength=len(self._counts))
        counts[: len(self._counts)] += self._counts
        self._counts = counts

    def most_frequent(self, limit: int) -> IntArray:
        """Return the ``limit`` most frequent numbers that occur more than once, ascending."""
        order = np.argsort(-self._counts, kind="stable")[:limit]
        return np.sort(order[self._counts[order] > 1])
