"""Phrases: their numbers, how often they are candidates, and which form the vocabulary."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from hebbgraph.graph.arrays import GrowableArray
from hebbgraph.tagging import PhraseMatcher
from hebbgraph.typing import IntArray

__all__ = ["PhraseTable"]

_MIN_CANDIDATES = 2


class PhraseTable:
    """Every phrase that some live chunk proposes, numbered.

    A phrase is in the vocabulary while it is an *anchor* (a title, or a tag given by the
    caller) of a live chunk, or a candidate of at least two live chunks (DESIGN section 4,
    pass 2). The matcher holds exactly the vocabulary.

    Parameters
    ----------
    keys : sequence of str
    candidate_counts, anchor_counts : ndarray of int32, shape (len(keys),)
        In how many live chunks each phrase is a candidate, and an anchor.
    """

    def __init__(
        self,
        keys: Sequence[str] = (),
        candidate_counts: NDArray[np.int32] | None = None,
        anchor_counts: NDArray[np.int32] | None = None,
    ) -> None:
        self.keys = list(keys)
        self._ids = {key: number for number, key in enumerate(self.keys)}
        self._candidates = GrowableArray(np.int32, candidate_counts)
        self._anchors = GrowableArray(np.int32, anchor_counts)
        self._order = GrowableArray(np.uint64, _order_keys(self.keys))
        self.matcher = PhraseMatcher()
        for number in np.flatnonzero(self.in_vocabulary).tolist():
            self.matcher.add(self.keys[number], number)

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def candidate_counts(self) -> NDArray[np.int32]:
        """Live chunks that propose each phrase."""
        return self._candidates.view

    @property
    def anchor_counts(self) -> NDArray[np.int32]:
        """Live chunks that each phrase is a title or given tag of."""
        return self._anchors.view

    @property
    def order(self) -> NDArray[np.uint64]:
        """A number for each phrase that follows from its text alone, for breaking ties."""
        return self._order.view

    @property
    def in_vocabulary(self) -> NDArray[np.bool_]:
        """Which phrases are tags."""
        return (self.anchor_counts > 0) | (self.candidate_counts >= _MIN_CANDIDATES)

    def intern(self, keys: Iterable[str]) -> list[int]:
        """Return the number of each phrase, giving new ones to new phrases."""
        numbers = []
        fresh = []
        for key in keys:
            number = self._ids.setdefault(key, len(self.keys))
            if number == len(self.keys):
                self.keys.append(key)
                fresh.append(key)
            numbers.append(number)
        if fresh:
            self._candidates.extend(np.zeros(len(fresh), np.int32))
            self._anchors.extend(np.zeros(len(fresh), np.int32))
            self._order.extend(_order_keys(fresh))
        return numbers

    def number(self, key: str) -> int | None:
        """Return the number of a phrase, or None."""
        return self._ids.get(key)

    def count(
        self, added: IntArray, added_anchors: IntArray, removed: IntArray, removed_anchors: IntArray
    ) -> tuple[list[int], list[int]]:
        """Count candidates up and down; bring the matcher to the new vocabulary.

        Each array names a phrase once for every chunk that gains or loses it.

        Returns
        -------
        entered, left : lists of int
            Phrases that joined and left the vocabulary.
        """
        touched = np.unique(np.concatenate((added, added_anchors, removed, removed_anchors)))
        before = self.in_vocabulary[touched]
        candidates, anchors = self._candidates.writable(), self._anchors.writable()
        np.add.at(candidates, added, 1)
        np.add.at(anchors, added_anchors, 1)
        np.subtract.at(candidates, removed, 1)
        np.subtract.at(anchors, removed_anchors, 1)
        after = self.in_vocabulary[touched]
        entered = touched[after & ~before].tolist()
        left = touched[before & ~after].tolist()
        for number in entered:
            self.matcher.add(self.keys[number], number)
        for number in left:
            self.matcher.discard(self.keys[number])
        return entered, left


def _order_keys(keys: Iterable[str]) -> NDArray[np.uint64]:
    digests = b"".join(blake2b(key.encode(), digest_size=8).digest() for key in keys)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)
