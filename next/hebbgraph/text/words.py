"""Words repeat, so each is analysed once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["WordCache"]

_Value = TypeVar("_Value")
_LONGEST = 64  # characters; longer strings rarely recur and take more memory


class WordCache(dict[str, _Value], Generic[_Value]):
    """Bounded cache of a pure function of a string.

    Use ``cache[word]``: a hit is one dictionary lookup and runs no Python code. The cache has two
    generations. When the younger one is full, it replaces the older one, which is still searched;
    words in use are copied forward.

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
        if len(word) <= _LONGEST:
            if len(self) >= self._capacity:
                self._older = dict(self)
                self.clear()
            self[word] = value
        return value
