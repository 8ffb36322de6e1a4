r"""Vectors without what they say about the language of a text.

Multilingual embedders place texts of one language near each other, whatever they are about: a
question finds texts in its own language before the right ones in another. Most of that is one
direction per language, so the mean of the language is subtracted [1]_:

.. math:: v' = v - \frac{\sum_{u \in L} u + k \bar{v}}{|L| + k}

:math:`\bar{v}` is the mean of all, and :math:`k` keeps a language of few texts near it.

References
----------
.. [1] Libovický, Rosa, Fraser (2020), On the Language Neutrality of Pre-trained Multilingual
   Representations.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import IntArray

__all__ = ["LanguageMeans", "language_means"]

_PRIOR = 5.0
_BLOCK = 4096
_TINY = 1e-12


class LanguageMeans(NamedTuple):
    """The mean vector of each language, shape (n_languages, dimension)."""

    means: NDArray[np.float64]

    def without(self, vectors: NDArray[np.float32], languages: IntArray) -> NDArray[np.float32]:
        """Return unit vectors without the mean of the language of each.

        Examples
        --------
        >>> means = LanguageMeans(np.array([[0.6, 0.0], [0.0, 0.0]]))
        >>> means.without(np.array([[0.6, 0.8], [0.6, 0.8]], np.float32), np.array([0, 1])).round(2)
        array([[0. , 1. ],
               [0.6, 0.8]], dtype=float32)
        """
        neutral = np.empty_like(vectors)
        for start in range(0, len(vectors), _BLOCK):
            part = slice(start, start + _BLOCK)
            left = vectors[part] - self.means[languages[part]]
            left /= np.maximum(np.linalg.norm(left, axis=1, keepdims=True), _TINY)
            neutral[part] = left
        return neutral


def language_means(
    vectors: NDArray[np.float32], languages: IntArray, n_languages: int
) -> LanguageMeans:
    """Return the mean vector of each language, drawn to the mean of all where it has few.

    Parameters
    ----------
    vectors : ndarray of float32, shape (n, dimension), unit length
    languages : ndarray of int, shape (n,), in [0, n_languages)
    n_languages : int
    """
    sums = np.zeros((n_languages, vectors.shape[1]))
    counts = np.bincount(languages, minlength=n_languages)
    for language in np.flatnonzero(counts).tolist():
        sums[language] = vectors[languages == language].sum(axis=0, dtype=np.float64)
    overall = sums.sum(axis=0) / max(len(vectors), 1)
    return LanguageMeans((sums + _PRIOR * overall) / (counts[:, None] + _PRIOR))
