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

__all__ = ["LanguageMeans", "counterparts", "language_means"]

_PRIOR = 5.0
_BLOCK = 4096
_ROWS = 512
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


def counterparts(
    names: NDArray[np.float32],
    of_names: IntArray,
    things: NDArray[np.float32],
    of_things: IntArray,
    *,
    least: float,
    margin: float,
) -> tuple[IntArray, IntArray]:
    """Return which names stand for which things of other languages, as two arrays of positions.

    A name and a thing belong together if each is the nearest of the other's language to the
    other, their cosine is at least ``least``, and the next thing of that language is ``margin``
    farther from the name.

    Parameters
    ----------
    names, things : ndarray of float32, shape (n, dimension), unit length
        Without their languages; see :class:`LanguageMeans`.
    of_names, of_things : ndarray of int
        The language of each.
    least, margin : float

    Examples
    --------
    >>> bridge, gate = [1.0, 0.0], [0.0, 1.0]
    >>> names, things = np.array([bridge, gate]), np.array([gate, bridge, gate])
    >>> of_names, of_things = np.array([0, 0]), np.array([1, 1, 0])
    >>> found = counterparts(names, of_names, things, of_things, least=0.5, margin=0.1)
    >>> [column.tolist() for column in found]
    [[0, 1], [1, 0]]
    """
    found: list[tuple[IntArray, IntArray]] = [(np.empty(0, np.int64), np.empty(0, np.int64))]
    for own in np.unique(of_names):
        rows = np.flatnonzero(of_names == own)
        for other in np.unique(of_things[of_things != own]):
            columns = np.flatnonzero(of_things == other)
            at, to = _mutual(names[rows], things[columns], least, margin)
            found.append((rows[at], columns[to]))
    at, to = (np.concatenate(column) for column in zip(*found, strict=True))
    order = np.lexsort((to, at))
    return at[order], to[order]


def _mutual(
    names: NDArray[np.float32], things: NDArray[np.float32], least: float, margin: float
) -> tuple[IntArray, IntArray]:
    """Return pairs of mutual nearest neighbours that are near and clear."""
    nearest = np.zeros(len(names), np.int64)
    clear = np.zeros(len(names), np.bool_)
    best = np.full(len(things), -np.inf)
    of_best = np.zeros(len(things), np.int64)
    for start in range(0, len(names), _ROWS):
        cosines = names[start : start + _ROWS] @ things.T
        rows = np.arange(len(cosines))
        part = slice(start, start + len(rows))
        nearest[part] = cosines.argmax(axis=1)
        highest = cosines.max(axis=0)
        nearer = highest > best
        of_best[nearer] = start + cosines.argmax(axis=0)[nearer]
        best = np.maximum(best, highest)
        first = cosines[rows, nearest[part]]
        cosines[rows, nearest[part]] = -np.inf
        clear[part] = (first >= least) & (first - cosines.max(axis=1) >= margin)
    kept = np.flatnonzero(clear & (of_best[nearest] == np.arange(len(names))))
    return kept, nearest[kept]
