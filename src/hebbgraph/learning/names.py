"""Names by number and numbers by name, of which most may come packed from a snapshot."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

from hebbgraph.graph.packed_strings import PackedStrings, pack_strings

__all__ = ["Names", "PackedNames"]

#: Packed names whose numbers are held once they were asked for, at most.
_MOST_HELD = 65_536

#: Data and offsets of the strings, their hashes, ascending, and whose each is.
PackedNames = tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.uint64], NDArray[np.int64]]


class Names(Sequence[str]):
    """Names in the order in which they were added.

    Opening packed ones makes no Python object for each: they are found by a hash.

    Examples
    --------
    >>> names = Names()
    >>> names.add("t:owl"), names.add("t:vole"), names.add("t:owl")
    (0, 1, 0)
    >>> again = Names(names.packed())
    >>> again.number("t:vole"), again.number("t:moth"), again.add("t:moth"), list(again)
    (1, None, 2, ['t:owl', 't:vole', 't:moth'])
    """

    def __init__(self, packed: PackedNames | None = None) -> None:
        if packed is None:
            packed = (*pack_strings([]), np.empty(0, np.uint64), np.empty(0, np.int64))
        data, offsets, self._hashes, self._whose = packed
        self._data, self._offsets = data, offsets
        self._names = PackedStrings(data, offsets)
        self._n_packed = len(self._names)
        self._added: dict[str, int] = {}
        #: Packed names that were asked for: questions share most of their words.
        self._held: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._names)

    @overload
    def __getitem__(self, number: int, /) -> str: ...
    @overload
    def __getitem__(self, number: slice, /) -> list[str]: ...
    def __getitem__(self, number: int | slice, /) -> str | list[str]:
        return self._names[number]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def number(self, name: str) -> int | None:
        """Return the number of a name, or None."""
        return self.numbers((name,))[0]

    def numbers(self, names: Sequence[str]) -> list[int | None]:
        """Return the number of each name, or None."""
        found = [self._added.get(name) for name in names]
        if not self._n_packed or None not in found:
            return found
        held = self._held
        found = [held.get(name, number) for name, number in zip(names, found, strict=True)]
        asked = [at for at, number in enumerate(found) if number is None]
        if not asked:
            return found
        if len(held) + len(asked) > _MOST_HELD:
            held.clear()
        hashes = _hashes(names[at] for at in asked)
        first = self._hashes.searchsorted(hashes)
        same = self._hashes[np.minimum(first, self._n_packed - 1)] == hashes
        for one in same.nonzero()[0].tolist():
            name = names[asked[one]]
            number = self._packed_number(name, int(first[one]), hashes[one])
            if number is not None:
                found[asked[one]] = held[name] = number
        return found

    def _packed_number(self, name: str, at: int, hashed: np.uint64) -> int | None:
        """Return which of the packed names with a hash is this one; the first is at ``at``."""
        while at < self._n_packed and self._hashes[at] == hashed:
            whose = int(self._whose[at])
            if self._names[whose] == name:
                return whose
            at += 1
        return None

    def add(self, name: str) -> int:
        """Return the number of a name, which may be new."""
        if (known := self.number(name)) is not None:
            return known
        number = self._added[name] = len(self._names)
        self._names.append(name)
        return number

    def beginning_with(self, letter: str, first: int) -> list[int]:
        """Return the numbers, from ``first`` on, of names that begin with a letter of ASCII."""
        found: list[int] = []
        if first < self._n_packed:
            starts = self._offsets[first : self._n_packed]
            # No name is empty, so each start is a letter of its own.
            found = (np.flatnonzero(self._data[starts] == ord(letter)) + first).tolist()
        new = range(max(first, self._n_packed), len(self._names))
        return found + [number for number in new if self._names[number][0] == letter]

    def packed(self) -> PackedNames:
        """Return all names, as arrays."""
        if not self._added:
            return self._data, self._offsets, self._hashes, self._whose
        names = list(self._names)
        hashes = _hashes(names)
        order = np.argsort(hashes, kind="stable")
        return (*pack_strings(names), hashes[order], order)


def _hashes(names: Iterable[str]) -> NDArray[np.uint64]:
    digests = (
        hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        for name in names
    )
    return np.frombuffer(b"".join(digests), np.uint64)
