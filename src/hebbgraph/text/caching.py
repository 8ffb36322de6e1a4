"""What has been worked out for a word once need not be worked out again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["LONGEST_KEPT", "WordCache"]

_Value = TypeVar("_Value")
LONGEST_KEPT = 64
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
        if len(word) <= LONGEST_KEPT:
            if len(self) >= self._capacity:
                self._older = dict(self)
                self.clear()
            self[word] = value
        return value
