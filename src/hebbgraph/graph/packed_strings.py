"""Many short strings in one array of bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import IntArray, prefix_sums

__all__ = ["PackedStrings", "pack_strings"]

#: Number of bytes from which byte frequencies are estimated.
_SAMPLED = 100_000


def pack_strings(keys: Iterable[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Encode strings as UTF-8, end to end, and return where each one begins.

    Returns
    -------
    data : ndarray of uint8, shape (n_bytes,)
    offsets : ndarray of int64, shape (n + 1,)

    Examples
    --------
    >>> data, offsets = pack_strings(["new", "", "york"])
    >>> data.tobytes(), offsets.tolist()
    (b'newyork', [0, 3, 3, 7])
    """
    encoded = [key.encode("utf-8", "surrogatepass") for key in keys]
    offsets = prefix_sums(np.fromiter(map(len, encoded), np.int64, len(encoded)))
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets


class PackedStrings(Sequence[str]):
    """A growable sequence of strings: packed ones, possibly memory-mapped, then a list.

    Examples
    --------
    >>> keys = PackedStrings(*pack_strings(["new", "york"]))
    >>> keys.append("times")
    >>> list(keys), keys[1], len(keys)
    (['new', 'york', 'times'], 'york', 3)
    """

    def __init__(self, data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        self._data = data
        self._offsets = offsets
        self._n_packed = len(offsets) - 1
        self._added: list[str] = []

    def __len__(self) -> int:
        return self._n_packed + len(self._added)

    @overload
    def __getitem__(self, number: int, /) -> str: ...
    @overload
    def __getitem__(self, number: slice, /) -> list[str]: ...
    def __getitem__(self, number: int | slice, /) -> str | list[str]:
        if isinstance(number, slice):
            return [self[at] for at in range(*number.indices(len(self)))]
        number = int(number)
        if number < 0:
            number += len(self)
        if number >= self._n_packed:
            return self._added[number - self._n_packed]
        if number < 0:
            raise IndexError(f"{number} of {len(self)} strings")
        start, stop = self._offsets[number : number + 2].tolist()
        return self._data[start:stop].tobytes().decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        return map(self.__getitem__, range(len(self)))

    def append(self, key: str) -> None:
        """Append a string."""
        self._added.append(key)

    def holding(self, text: str) -> NDArray[np.int64]:
        """Return the numbers of the strings that contain a non-empty text, ascending.

        >>> PackedStrings(*pack_strings(["new", "york", "newark"])).holding("ew").tolist()
        [0, 2]
        """
        wanted = np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)
        most = max(len(self._data) - len(wanted) + 1, 0)
        frequency = np.bincount(self._data[:_SAMPLED], minlength=256)[wanted]
        first, *others = np.argsort(frequency, kind="stable").tolist()  # the rarest byte first
        at = np.flatnonzero(self._data[first : first + most] == wanted[first])
        for offset in others:
            at = at[self._data[at + offset] == wanted[offset]]
        numbers = np.searchsorted(self._offsets, at, side="right") - 1
        numbers = numbers[at + len(wanted) <= self._offsets[numbers + 1]]
        new = np.diff(numbers, prepend=-1) > 0  # numbers ascend, so no np.unique
        added = [self._n_packed + n for n, key in enumerate(self._added) if text in key]
        return np.concatenate((numbers[new], np.array(added, np.int64)))

    def take(self, numbers: IntArray) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Return the strings with these numbers (ascending), packed."""
        split = int(np.searchsorted(numbers, self._n_packed))
        packed, added = numbers[:split], numbers[split:]
        lengths = np.diff(self._offsets)
        old = self._data
        if split < self._n_packed:  # a mask takes a byte for each, positions would take eight
            is_taken = np.zeros(self._n_packed, np.bool_)
            is_taken[packed] = True
            old = old[is_taken.repeat(lengths)]
        data, offsets = pack_strings(
            self._added[number - self._n_packed] for number in added.tolist()
        )
        starts = prefix_sums(lengths[packed])
        return np.concatenate((old, data)), np.concatenate((starts, starts[-1] + offsets[1:]))
