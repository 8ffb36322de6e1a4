"""Words by number: what is worked out for a word lies in arrays from when it is first met."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import IntArray

__all__ = ["MAX_CACHED_CHARACTERS", "Interner", "WordCache", "WordCounts"]

_Value = TypeVar("_Value")
MAX_CACHED_CHARACTERS = 64
"""Characters; longer strings seldom come again, and cost more memory."""


class WordCache(dict[str, _Value], Generic[_Value]):
    """Remembers a pure function of a string, within bounds.

    Look values up with ``cache[word]``: a word that is known costs one dictionary
    lookup and runs no Python code. When `capacity` words are held they become the
    older generation, in which words are still found, and the generation before is
    forgotten; so words in use stay, at the price of a copy now and then.

    Parameters
    ----------
    compute : callable
        From a word to its value; must depend on the word alone.
    capacity : int, positive
        Words in each of the two generations.

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
    """Numbers strings in the order in which they are looked up.

    Attributes
    ----------
    fresh : list of str
        Those that were numbered since the owner last took them away.

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
    """How often each number was met, to tell what is worth remembering.

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
        """Count these once more."""
        counts = np.bincount(numbers, minlength=len(self._counts))
        counts[: len(self._counts)] += self._counts
        self._counts = counts

    def most_frequent(self, limit: int) -> IntArray:
        """Return the numbers met more than once, ascending; at most so many, the most frequent."""
        order = np.argsort(-self._counts, kind="stable")[:limit]
        return np.sort(order[self._counts[order] > 1])
