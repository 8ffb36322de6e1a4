"""BM25, with lengths in 256 steps so that a posting holds its chunk's length in a byte.

References
----------
.. [1] Robertson and Zaragoza (2009), The Probabilistic Relevance Framework: BM25 and Beyond.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["K1", "LENGTHS", "B", "idf", "length_code", "score_table"]

K1, B = 1.2, 0.75

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


def score_table(mean_length: float) -> NDArray[np.float64]:
    """Return the score of a term of idf 1, by its number of occurrences and the code of the length.

    Parameters
    ----------
    mean_length : float
        Mean length of a chunk, in words.

    Returns
    -------
    ndarray of float64, shape (65536,)
        At ``256 * occurrences + code``; below ``K1 + 1``.

    Examples
    --------
    A word that a chunk of mean length holds once or twice:

    >>> table = score_table(10.0)
    >>> table[[256 + 10, 512 + 10]].round(2).tolist()
    [1.0, 1.38]
    """
    norm = K1 * (1 - B + B * LENGTHS / max(mean_length, 1.0))
    occurrences = np.arange(256.0)[:, None]
    table: NDArray[np.float64] = (occurrences * (K1 + 1) / (occurrences + norm)).ravel()
    return table
