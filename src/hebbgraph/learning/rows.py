"""Numbers by key, in the order in which they were appended; most may come from a snapshot."""

from __future__ import annotations

from array import array

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import IntArray

__all__ = ["Rows"]


class Rows:
    """Several numbers for each key.

    Examples
    --------
    >>> rows = Rows.by_key(np.array([7, 3, 7]))
    >>> rows.append(3, 5)
    >>> rows.of(3).tolist(), rows.of(7).tolist(), rows.of(8).tolist()
    ([1, 5], [0, 2], [])
    """

    def __init__(
        self,
        keys: NDArray[np.int64] | None = None,
        starts: NDArray[np.int64] | None = None,
        numbers: NDArray[np.int64] | None = None,
    ) -> None:
        self._keys: NDArray[np.int64] = np.empty(0, np.int64) if keys is None else keys
        self._starts: NDArray[np.int64] = np.zeros(1, np.int64) if starts is None else starts
        self._numbers: NDArray[np.int64] = np.empty(0, np.int64) if numbers is None else numbers
        self._added: dict[int, array[int]] = {}
        self._held: dict[int, NDArray[np.int64]] = {}

    @classmethod
    def by_key(cls, key_of: IntArray) -> Rows:
        """Return the positions of each key in an array."""
        return cls(*cls.arrays(key_of))

    @staticmethod
    def arrays(
        key_of: IntArray,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return keys, starts and numbers, of which rows can be made again."""
        order = key_of.argsort(kind="stable").astype(np.int64)
        keys, starts = np.unique(key_of[order], return_index=True)
        return keys.astype(np.int64), np.append(starts, len(order)).astype(np.int64), order

    def append(self, key: int, number: int) -> None:
        """Add a number to those of a key."""
        self._added.setdefault(key, array("q")).append(number)
        self._held.pop(key, None)

    def packed(self, key: int) -> NDArray[np.int64]:
        """Return those numbers of a key that came from arrays."""
        at = int(self._keys.searchsorted(key)) if len(self._keys) else 0
        if at == len(self._keys) or self._keys[at] != key:
            return self._numbers[:0]
        start, stop = self._starts[at : at + 2].tolist()
        return self._numbers[start:stop]

    def of(self, key: int) -> NDArray[np.int64]:
        """Return all numbers of a key."""
        if (held := self._held.get(key)) is not None:
            return held
        packed, added = self.packed(key), self._added.get(key)
        if added is not None:
            new = np.array(added, dtype=np.int64)
            packed = self._held[key] = np.concatenate((packed, new)) if len(packed) else new
        return packed
