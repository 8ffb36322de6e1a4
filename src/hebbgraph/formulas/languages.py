r"""Language-neutral vectors: remove what a vector says about the language of its text.

Multilingual embedders place texts of one language near each other, whatever they are about, so a
question finds texts in its own language before better ones in another. Most of this bias is one
direction per language, so the mean of the language is subtracted [1]_:

.. math:: v' = v - \frac{\sum_{u \in L} u + k \bar{v}}{|L| + k}

where :math:`\bar{v}` is the mean of all vectors, and :math:`k` keeps the mean of a language with
few texts near it.

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

_PRIOR = 5.0  # k: as many texts at the overall mean
_BLOCK = 4096
_ROWS = 512
_TINY = 1e-12


class LanguageMeans(NamedTuple):
    """The mean vector of each language, shape (n_languages, dimension)."""

    means: NDArray[np.float64]

    def without(self, vectors: NDArray[np.float32], languages: IntArray) -> NDArray[np.float32]:
        """Subtract from each vector the mean of its language; return unit vectors.

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
    """Return the mean vector of each language, shrunk towards the overall mean.

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
    """Match names with things of other languages; return two arrays of positions.

    A name matches a thing if each is nearest to the other within the other's language, their
    cosine is at least ``least``, and the next thing of that language is farther from the name
    by ``margin``.

    Parameters
    ----------
    names, things : ndarray of float32, shape (n, dimension), unit length
        Language-neutral; see :class:`LanguageMeans`.
    of_names, of_things : ndarray of int
        The language of each.
    least, margin : float

    Examples
    --------
    >>> bridge, gate = [1.0, 0.0], [0.0, 1.0]
    >>> names, things = np.array([bridge, gate]), np.array([gate, bridge, gate])
    >>> of_names, of_things = np.array([0, 0]), np.array([1, 1, 0])
    >>> matches = counterparts(names, of_names, things, of_things, least=0.5, margin=0.1)
    >>> [column.tolist() for column in matches]
    [[0, 1], [1, 0]]
    """
    matches: list[tuple[IntArray, IntArray]] = [(np.empty(0, np.int64), np.empty(0, np.int64))]
    for language in np.unique(of_names):
        rows = np.flatnonzero(of_names == language)
        for other in np.unique(of_things[of_things != language]):
            columns = np.flatnonzero(of_things == other)
            matched_names, matched_things = _mutual(names[rows], things[columns], least, margin)
            matches.append((rows[matched_names], columns[matched_things]))
    name, thing = (np.concatenate(column) for column in zip(*matches, strict=True))
    order = np.lexsort((thing, name))
    return name[order], thing[order]


def _mutual(
    names: NDArray[np.float32], things: NDArray[np.float32], least: float, margin: float
) -> tuple[IntArray, IntArray]:
    """Return mutual nearest neighbours that are near enough, and nearer than any other thing."""
    nearest = np.zeros(len(names), np.int64)
    is_clear = np.zeros(len(names), np.bool_)
    best = np.full(len(things), -np.inf)
    best_name = np.zeros(len(things), np.int64)
    for start in range(0, len(names), _ROWS):
        cosines = names[start : start + _ROWS] @ things.T
        rows = np.arange(len(cosines))
        part = slice(start, start + len(rows))
        nearest[part] = cosines.argmax(axis=1)
        highest = cosines.max(axis=0)
        nearer = highest > best
        best_name[nearer] = start + cosines.argmax(axis=0)[nearer]
        best = np.maximum(best, highest)
        first = cosines[rows, nearest[part]]
        cosines[rows, nearest[part]] = -np.inf
        is_clear[part] = (first >= least) & (first - cosines.max(axis=1) >= margin)
    matched = np.flatnonzero(is_clear & (best_name[nearest] == np.arange(len(names))))
    return matched, nearest[matched]
