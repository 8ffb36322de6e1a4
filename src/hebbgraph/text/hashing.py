"""Rolling hashes of phrases, to look up many token spans at once.

A phrase is hashed token by token, so the hash of a span yields that of the next longer span.
Tokens are hashed with a random key per graph, so nobody can craft texts whose phrases collide;
the probability that any two of a million phrases collide by chance is 3e-8.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import IntArray
from hebbgraph.text.words import WordCache

__all__ = ["PhraseHasher"]

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # odd, from the golden ratio
_SHIFT = np.uint64(32)
_LAST = 2**64 - 1


class PhraseHasher:
    """Hashes tokens and phrases to 64 bits.

    Parameters
    ----------
    salt : bytes
        The key, at most 64 bytes.

    Examples
    --------
    >>> hasher = PhraseHasher(b"any")
    >>> new, york = hasher.hash_tokens(["new", "york"])
    >>> whole = hasher.extend(np.array([new]), np.array([york]))
    >>> bool(hasher.hash_phrases(["new york"]) == whole)
    True
    >>> hasher.hash_phrase("new york") == int(whole[0])
    True
    """

    def __init__(self, salt: bytes) -> None:
        self.salt = salt
        self._hash_of = WordCache(self._hash)

    def _hash(self, token: str) -> bytes:
        data = token.encode("utf-8", "surrogatepass")
        return blake2b(data, digest_size=8, key=self.salt).digest()

    def hash_tokens(self, tokens: Iterable[str]) -> NDArray[np.uint64]:
        """Return the hash of each token, which is also that of the one-token phrase."""
        hashes = b"".join(map(self._hash_of.__getitem__, tokens))
        return np.frombuffer(hashes, dtype="<u8").astype(np.uint64, copy=False)

    @staticmethod
    def extend(hashes: NDArray[np.uint64], following: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Extend span hashes by one token.

        Parameters
        ----------
        hashes, following : ndarray of uint64, shape (n,)
            Hashes of the spans, and of the token after each.
        """
        mixed = (hashes ^ (hashes >> _SHIFT)) * _MULTIPLIER  # wraps around
        longer: NDArray[np.uint64] = (mixed ^ (mixed >> _SHIFT)) + following
        return longer

    def hash_phrase(self, key: str) -> int:
        """Return the hash of one phrase key, in a tenth of the time of :meth:`hash_phrases`."""
        multiplier, shift = int(_MULTIPLIER), int(_SHIFT)
        first, *others = self.hash_tokens(key.split(" ")).tolist()
        for following in others:
            mixed = (first ^ (first >> shift)) * multiplier & _LAST
            first = (mixed ^ (mixed >> shift)) + following & _LAST
        return int(first)

    def hash_phrases(self, keys: Sequence[str]) -> NDArray[np.uint64]:
        """Return the hash of each phrase key."""
        hashes, last = self.hash_prefixes(keys)
        return hashes[last]

    def hash_prefixes(self, keys: Sequence[str]) -> tuple[NDArray[np.uint64], IntArray]:
        """Hash every prefix of every phrase.

        Returns
        -------
        hashes : ndarray of uint64, shape (n_tokens,)
            For each token of each phrase, the hash of the phrase up to that token.
        last : ndarray of int64, shape (n_phrases,)
            Index in ``hashes`` of each whole phrase.
        """
        if not keys:
            return np.empty(0, np.uint64), np.empty(0, np.int64)
        lengths = np.fromiter((key.count(" ") + 1 for key in keys), np.int64, len(keys))
        ends = np.cumsum(lengths)
        hashes = self.hash_tokens(" ".join(keys).split(" ")).copy()
        at, left = ends - lengths, lengths - 1
        while (longer := left > 0).any():
            at, left = at[longer] + 1, left[longer] - 1
            hashes[at] = self.extend(hashes[at - 1], hashes[at])
        return hashes, ends - 1
