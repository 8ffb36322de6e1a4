"""BM25, with lengths in 256 steps so that a posting holds its chunk's length in a byte.

References
----------
.. [1] Robertson and Zaragoza (2009), The Probabilistic Relevance Framework: BM25 and Beyond.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import BoolArray, FloatArray, IntArray

K1, B = 1.2, 0.75
#: A chunk of at most so many words is a stub: a heading alone, or "see page 4".
_STUB = 16

#: The length that a code stands for: exact up to 64 words, then in steps of four percent.
LENGTHS: NDArray[np.float64] = np.concatenate([np.arange(64), 64 * 1.04 ** np.arange(192)])


def length_code(length: int) -> int:
    """Return the code of the shortest length that is at least ``length``.

    >>> length_code(7), length_code(100), float(LENGTHS[length_code(100)].round(1))
    (7, 76, 102.5)
    """
    return min(int(LENGTHS.searchsorted(length)), 255)


def idf(df: int, n_chunks: int) -> float:
    """Return ``log(1 + (N - df + .5) / (df + .5))``, which is above 0.

    >>> round(idf(1, 100), 2), round(idf(90, 100), 2)
    (4.21, 0.11)
    """
    return math.log1p((n_chunks - df + 0.5) / (df + 0.5))


def length_norms(mean_length: float) -> NDArray[np.float64]:
    """Return ``K1 * (1 - B + B * length / mean_length)`` for the code of each length."""
    return K1 * (1 - B + B * LENGTHS / max(mean_length, 1.0))


def term_scores(occurrences: NDArray[np.uint8], norms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the score of a term of idf 1 in each chunk, below ``K1 + 1``.

    A word that a chunk of mean length holds once or twice:

    >>> norms = length_norms(10.0)[[10, 10]]
    >>> term_scores(np.array([1, 2], np.uint8), norms).round(2).tolist()
    [1.0, 1.38]
    """
    times = occurrences.astype(np.float64)
    return times * (K1 + 1) / (times + norms)


def lower_stubs(
    scores: NDArray[np.float64], lengths: IntArray, held: BoolArray, weights: FloatArray
) -> NDArray[np.float64]:
    """Return scores in which no stub is above a chunk that has all its words, and more.

    Of each such chunk it gets at most the share that it holds of that chunk's words, by weight.
    ``held``, shape (n_words, n), tells which chunk holds which word of the question; ``lengths``
    are codes.

    >>> held = np.array([[True, True], [False, True]])
    >>> lower_stubs(np.array([3.0, 2.0]), np.array([8, 90]), held, np.ones(2)).tolist()
    [1.0, 2.0]
    """
    lowered, worth = scores.copy(), weights @ held
    stubs = np.flatnonzero(lengths <= _STUB)
    for stub in stubs[np.argsort(-held[:, stubs].sum(0), kind="stable")].tolist():
        own = held[:, stub]
        is_fuller = (lowered < lowered[stub]) & held[own].all(0) & held[~own].any(0)
        if is_fuller.any():
            lowered[stub] = worth[stub] * (lowered[is_fuller] / worth[is_fuller]).min()
    return lowered
