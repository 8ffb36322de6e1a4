"""Length normalisation of BM25, estimated from the corpus itself.

BM25 divides by a length between the average and the passage's own; ``b`` sets how near to its own,
and .75 is the custom. That fits articles. In a long chat, answers of a thousand words hold some
words of every question and outrank the short message that is meant.

The corpus is queried with itself: a few consecutive words of a passage are the query, and BM25
ranks the other passages with ``b`` of .75 and of 1. Latent semantic analysis [1]_, which ignores
length, then judges which ranking brings passages more like the first one. Only if ``b`` = 1 is
clearly better does ``b`` rise.

References
----------
.. [1] Deerwester et al. (1990), Indexing by latent semantic analysis.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hebbgraph.arrays import FloatArray, IntArray

__all__ = ["B", "LengthTrial", "renormalized", "try_lengths"]

#: BM25's constants, as Tantivy has them.
_K1, B = 1.2, 0.75
#: A gain up to the first number leaves b at .75; one above the second raises it to 1, which ranks
#: short passages higher. Six chats gain .015 to .041, twelve other sets at most .007, and code
#: changes, where long files are wanted, .015.
_CHANCE, _SURE = 0.013, 0.018
#: Gains depend on the number of passages to choose from, so each round has the same number.
_PASSAGES, _ROUNDS = 180, 3
#: No trial for smaller corpora, nor if the standard deviation of log lengths is smaller.
_FEWEST, _LEAST_SPREAD = 100, 0.7
#: Words of a query, and dimensions of the latent space.
_WORDS, _DIMENSIONS = 12, 64
_DISCOUNT = 1.0 / np.log2(np.arange(2, 12))
_TINY = 1e-9


class LengthTrial(NamedTuple):
    """How much nearer hits get with b = 1.

    ``gain`` is a share of the largest possible gain in similarity; ``error`` its standard
    error; ``average`` the mean length in terms; ``n`` the number of passages in the corpus.
    """

    gain: float = 0.0
    error: float = 0.0
    average: float = 0.0
    n: int = 0

    @property
    def due_at(self) -> int:
        """Number of passages from which on the trial is repeated."""
        return max(_FEWEST, 2 * self.n)

    @property
    def b(self) -> float:
        """The resulting length normalisation, in [.75, 1].

        >>> LengthTrial(0.02, 0.001).b, LengthTrial(0.02, 0.01).b
        (1.0, 0.75)
        """
        certainty = (self.gain - 2.0 * self.error - _CHANCE) / (_SURE - _CHANCE)
        return round(B + (1.0 - B) * min(max(certainty, 0.0), 1.0), 3)


def renormalized(scores: FloatArray, lengths: FloatArray, average: float, b: float) -> FloatArray:
    """Change the length normalisation of BM25 scores, assuming each word occurs once per passage.

    Parameters
    ----------
    scores : ndarray of float64, shape (n,)
        BM25 with b = .75.
    lengths : ndarray of float64, shape (n,)
    average : float
    b : float, in [0, 1]

    Examples
    --------
    >>> renormalized(np.ones(3), np.array([50.0, 100.0, 400.0]), 100.0, 1.0).round(2).tolist()
    [1.09, 1.0, 0.84]
    """
    relative = lengths / max(average, _TINY)
    changed: FloatArray = (
        scores * (1.0 + _K1 * (1.0 - B + B * relative)) / (1.0 + _K1 * (1.0 - b + b * relative))
    )
    return changed


def try_lengths(texts: Sequence[Sequence[str]], n: int) -> LengthTrial:
    """Estimate from a corpus whether its long passages hide short ones.

    Parameters
    ----------
    texts : sequence of sequences of str
        The terms of a sample of passages, in text order; a few hundred are enough.
    n : int
        Number of passages in the corpus.

    Returns
    -------
    LengthTrial
        Gain 0 for fewer than a hundred passages, or passages of about equal length.

    Examples
    --------
    >>> try_lengths([["wren"], ["owl"]], 2).b
    0.75
    """
    lengths = np.array([max(len(text), 1) for text in texts])
    if len(texts) < _FEWEST or np.log(lengths).std() < _LEAST_SPREAD:
        return LengthTrial(n=n)
    rng = np.random.default_rng(0)
    samples = [rng.permutation(len(texts))[:_PASSAGES].tolist() for _ in range(_ROUNDS)]
    gains = [gain for sample in samples for gain in _gains([texts[i] for i in sample], rng)]
    if not gains:
        return LengthTrial(n=n)
    gain, error = float(np.mean(gains)), float(np.std(gains)) / len(gains) ** 0.5
    return LengthTrial(round(gain, 4), round(error, 4), round(float(lengths.mean()), 2), n)


def _gains(texts: Sequence[Sequence[str]], rng: np.random.Generator) -> list[float]:
    """Query with some words of each passage; return how much nearer the hits get with b = 1."""
    numbers: dict[str, int] = {}
    terms = [np.array([numbers.setdefault(t, len(numbers)) for t in text], int) for text in texts]
    counts = np.zeros((len(texts), len(numbers)), np.float32)
    for row, term_numbers in zip(counts, terms, strict=True):
        np.add.at(row, term_numbers, 1.0)
    lengths = counts.sum(1, keepdims=True)
    df = (counts > 0).sum(0)
    is_used = (df > 1) & (df <= len(texts) / 4)
    counts, df = counts[:, is_used], df[is_used]
    column = np.where(is_used, np.cumsum(is_used) - 1, -1)
    idf = np.log1p((len(texts) - df + 0.5) / (df + 0.5)).astype(np.float32)
    latent = _Latent(np.log1p(counts) * idf)
    by_b = [
        idf * counts / (counts + np.float32(_K1) * (1.0 - b + b * lengths / lengths.mean()))
        for b in (B, 1.0)
    ]
    gains = []
    for passage, term_numbers in enumerate(terms):
        start = int(rng.integers(0, max(len(term_numbers) - _WORDS, 1)))
        query = np.unique(column[term_numbers[start : start + _WORDS]])
        query = query[query >= 0]
        if len(query) > 2:
            similarity = np.delete(latent.similarity(query, idf), passage)
            usual, full = (
                _discounted(similarity[np.argsort(-np.delete(bm25[:, query].sum(1), passage))])
                for bm25 in by_b
            )
            most = _discounted(np.sort(similarity)[::-1]) - float(similarity.mean())
            gains.append((full - usual) / max(most, _TINY))
    return gains


def _discounted(values: FloatArray) -> float:
    """Return the mean of the first ten, discounted by rank as in nDCG."""
    first = values[: len(_DISCOUNT)]
    return float(first @ _DISCOUNT[: len(first)] / _DISCOUNT[: len(first)].sum())


class _Latent:
    """The latent semantic space of some passages."""

    def __init__(self, passages: FloatArray) -> None:
        self._passages = passages / np.maximum(np.linalg.norm(passages, axis=1)[:, None], _TINY)
        values, vectors = np.linalg.eigh(self._passages @ self._passages.T)
        self._scale = np.sqrt(np.maximum(values[-_DIMENSIONS:], 1e-6))
        self._vectors = vectors[:, -_DIMENSIONS:]
        placed = self._vectors * self._scale
        self._placed = placed / np.maximum(np.linalg.norm(placed, axis=1)[:, None], _TINY)

    def similarity(self, query: IntArray, idf: FloatArray) -> FloatArray:
        """Return the cosine of each passage to a query of some columns."""
        vector = (self._passages[:, query] @ idf[query]) @ self._vectors / self._scale
        cosines: FloatArray = self._placed @ (vector / max(float(np.linalg.norm(vector)), _TINY))
        return cosines
