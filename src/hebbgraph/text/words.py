"""Words repeat, so each is analysed once: a cache, an interner and a table.

Creating a string per word and looking it up in a dictionary takes most of the time of reading a
text. :class:`WordTable` avoids both: words are positions in one array of bytes, each with a key of
64 bits, and the keys of a page of texts are looked up all at once.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import IntArray

__all__ = [
    "END",
    "MAX_CACHED_CHARACTERS",
    "Interner",
    "PageWords",
    "WordCache",
    "WordTable",
    "split_page",
]

_Value = TypeVar("_Value")
MAX_CACHED_CHARACTERS = 64
"""Longer strings are not cached: they rarely recur and take more memory."""


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


# -- many texts at once --------------------------------------------------------------------

END = "\n"
"""The word that ends each text; unequal to all other words."""

_LANE = 8  # bytes that are read together
_EXACT = _LANE - 1  # words of up to this many bytes are their own key
_LONGEST = 64  # bytes; longer words have no key
_SPACES = np.isin(np.arange(256), list(b"\t\v\f\r\x1c\x1d\x1e\x1f "))
_WIDE_SPACE = re.compile("[\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")
_MASKS = np.array([(1 << 8 * n) - 1 for n in range(_LANE + 1)], np.uint64)
_LENGTH_BITS = np.uint64(56)
_HALF = np.uint64(32)
_THIRD = np.uint64(29)
#: Random per process, so nobody can craft words whose keys collide.
_FIRST, _SECOND, _SLOT = (
    np.uint64(int.from_bytes(os.urandom(8), "little") | 1 << 63 | 1) for _ in range(3)
)
_LEAST_SLOTS = 1 << 12
_SLOTS_OF_A_WORD = 4
_NO_KEY = np.uint64(0)


class PageWords(NamedTuple):
    """The words of some texts, each text followed by :data:`END`.

    Attributes
    ----------
    data : bytes
    starts, lengths : ndarray of int64, shape (n_words,)
        Where each word lies in ``data``.
    keys : ndarray of uint64, shape (n_words,)
        Equal words have equal keys, different ones different keys; 0 for words of more than 64
        bytes.
    ends : ndarray of int64, shape (n_texts,)
        The positions of the words :data:`END`.
    """

    data: bytes
    starts: IntArray
    lengths: IntArray
    keys: NDArray[np.uint64]
    ends: IntArray

    def word(self, at: int) -> str:
        """Return a word."""
        return self.words(np.array([at]))[0]

    def words(self, at: IntArray) -> list[str]:
        """Return some of the words."""
        starts = self.starts[at]
        spans = zip(starts.tolist(), (starts + self.lengths[at]).tolist(), strict=True)
        data = self.data
        return [data[start:stop].decode("utf-8", "surrogatepass") for start, stop in spans]


def split_page(texts: Sequence[str]) -> PageWords:
    r"""Split texts at whitespace, as ``str.split`` does.

    Examples
    --------
    >>> page = split_page(["An owl,\u3000an\nowl.", ""])
    >>> [page.word(at) for at in range(len(page.starts))], page.ends.tolist()
    (['An', 'owl,', 'an', 'owl.', '\n', '\n'], [4, 5])
    >>> bool(page.keys[4] == page.keys[5]), bool(page.keys[0] == page.keys[2])
    (True, False)
    """
    joined = " \n ".join([_plain(text) for text in texts]) if texts else ""
    data = b"".join(
        (b" ", joined.encode("utf-8", "surrogatepass"), b" \n " if texts else b" ", b" " * _LANE)
    )
    codes = np.frombuffer(data, np.uint8)
    space = _SPACES[codes]
    starts = np.flatnonzero(space[:-1] > space[1:]) + 1
    lengths = np.flatnonzero(space[:-1] < space[1:]) + 1 - starts
    ends = np.flatnonzero((codes[starts] == ord(END)) & (lengths == 1))
    return PageWords(data, starts, lengths, _keys(data, starts, lengths), ends)


def _plain(text: str) -> str:
    if not text.isascii():
        text = _WIDE_SPACE.sub(" ", text)
    return text.replace("\n", " ") if "\n" in text else text


def _keys(data: bytes, starts: IntArray, lengths: IntArray) -> NDArray[np.uint64]:
    """Return the key of each word."""
    # The eight bytes from each position on, as one number.
    lanes: NDArray[np.uint64] = np.ndarray(len(data) - _LANE + 1, "<u8", data, strides=(1,))
    keys = lanes[starts] & _MASKS[np.minimum(lengths, _LANE)]
    keys |= np.where(lengths <= _EXACT, lengths, 0).astype(np.uint64) << _LENGTH_BITS
    at = np.flatnonzero(lengths > _EXACT)
    if len(at):
        starts, left = starts[at], lengths[at]
        hashed = _mixed(keys[at] + left.astype(np.uint64) * _SECOND)
        longer = np.flatnonzero(left > _LANE)
        offset = _LANE
        while len(longer):
            size = np.minimum(left[longer] - offset, _LANE)
            following = lanes[starts[longer] + offset] & _MASKS[size]
            hashed[longer] = _mixed(hashed[longer] + following)
            offset += _LANE
            longer = longer[left[longer] > offset] if offset < _LONGEST else longer[:0]
        keys[at] = np.where(left > _LONGEST, _NO_KEY, hashed | np.uint64(1))
    return keys


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Hash numbers: every bit of the result depends on every bit of the input."""
    values = (values ^ (values >> _HALF)) * _FIRST  # wraps around
    values = (values ^ (values >> _THIRD)) * _SECOND
    mixed: NDArray[np.uint64] = values ^ (values >> _HALF)
    return mixed


class WordTable:
    """Maps the keys of words to numbers: a hash table in two arrays.

    Parameters
    ----------
    resolve : callable
        Returns the numbers of words that are new to the table.

    Examples
    --------
    >>> seen: list[str] = []
    >>> def resolve(words):
    ...     seen.extend(words)
    ...     return [seen.index(word) for word in words]
    >>> table = WordTable(resolve)
    >>> table.number(split_page(["owls and moths", "and owls"])).tolist()
    [0, 1, 2, 3, 1, 0, 3]
    """

    def __init__(self, resolve: Callable[[list[str]], Sequence[int]]) -> None:
        self._resolve = resolve
        self.clear()

    def __len__(self) -> int:
        return self._size

    def clear(self) -> None:
        """Forget all words."""
        self._size = 0
        self._make(_LEAST_SLOTS)

    def _make(self, slots: int) -> None:
        self._keys = np.zeros(slots, np.uint64)
        self._numbers = np.zeros(slots, np.int32)
        self._shift = np.uint64(64 - (slots.bit_length() - 1))

    def number(self, page: PageWords) -> NDArray[np.int64]:
        """Return the number of each word of a page."""
        numbers = self._find(page.keys)
        unknown = np.flatnonzero(numbers < 0)
        if len(unknown):
            long = page.keys[unknown] == _NO_KEY
            for at in unknown[long].tolist():
                numbers[at] = self._resolve([page.word(at)])[0]
            unknown = unknown[~long]
            keys, first, which = np.unique(
                page.keys[unknown], return_index=True, return_inverse=True
            )
            order = np.argsort(first)  # in text order
            resolved = np.empty(len(keys), np.int64)
            resolved[order] = self._resolve(page.words(unknown[first[order]]))
            self._insert(keys, resolved)
            numbers[unknown] = resolved[which]
        return numbers

    def _slots(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        return ((keys * _SLOT) >> self._shift).astype(np.int64)

    def _find(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the number of each key, or -1."""
        last = len(self._keys) - 1
        slots = self._slots(keys)
        stored = self._keys[slots]
        numbers = self._numbers[slots].astype(np.int64)
        has_key = keys != _NO_KEY
        same = (stored == keys) & has_key
        numbers[~same] = -1
        at = np.flatnonzero(~same & (stored != _NO_KEY) & has_key)
        while len(at):
            slots[at] = (slots[at] + 1) & last
            stored = self._keys[slots[at]]
            same = stored == keys[at]
            numbers[at[same]] = self._numbers[slots[at[same]]]
            at = at[~same & (stored != _NO_KEY)]
        return numbers

    def _insert(self, keys: NDArray[np.uint64], numbers: NDArray[np.int64]) -> None:
        """Add distinct keys that the table lacks."""
        self._size += len(keys)
        if self._size * _SLOTS_OF_A_WORD > len(self._keys):
            used = self._keys != _NO_KEY
            keys = np.concatenate((self._keys[used], keys))
            numbers = np.concatenate((self._numbers[used], numbers))
            self._make(1 << (self._size * _SLOTS_OF_A_WORD).bit_length())
        last = len(self._keys) - 1
        slots, left = self._slots(keys), np.arange(len(keys))
        while len(left):
            free = self._keys[slots[left]] == _NO_KEY
            self._keys[slots[left[free]]] = keys[left[free]]  # if several collide, one stays
            placed = self._keys[slots[left]] == keys[left]
            self._numbers[slots[left[placed]]] = numbers[left[placed]]
            left = left[~placed]
            slots[left] = (slots[left] + 1) & last
