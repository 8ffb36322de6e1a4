"""How far long passages are held back in lexical search: what a corpus tells of it by itself.

BM25 divides by a length between the average and a passage's own. How near to its own, ``b``, is
.75 by custom. That fits articles. In a long chat, answers of a thousand words hold some words of
every question, and stand before the short message that is meant.

A corpus asks itself: some words in a row are taken from a passage, and BM25 looks for others with
``b`` of .75 and of 1. Which of the two brings passages that are more alike in all their words is
told by latent semantic analysis [1]_, to which length is nothing. Only where it is surely the
latter, ``b`` rises.

References
----------
.. [1] Deerwester et al. (1990), Indexing by latent semantic analysis.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hebbgraph.arrays import FloatArray, IntArray

__all__ = ["B", "LengthTrial", "held_back", "try_lengths"]

#: BM25's constants, as Tantivy has them.
_K1, B = 1.2, 0.75
#: Up to this gain nothing is believed, from the other on all. It is .015 to .041 on six chats; on
#: twelve other sets up to .007, and .015 on changes of code, where long files are what is meant.
_CHANCE, _SURE = 0.013, 0.018
#: Gains depend on how many passages there are to choose from, so each round has as many.
_PASSAGES, _ROUNDS = 180, 3
#: Smaller corpora tell nothing, nor do those whose logarithms of lengths spread less.
_FEWEST, _ALIKE = 100, 0.7
_WORDS, _DIMENSIONS = 12, 64
_DISCOUNT = 1.0 / np.log2(np.arange(2, 12))
_LEAST = 1e-9


class LengthTrial(NamedTuple):
    """What longer passages cost a corpus: how much nearer hits are with b = 1.

    ``gain`` is a share of what the nearest passages are nearer than others; ``error`` its standard
    error; ``average`` the mean length in terms; ``n`` how many passages the corpus had.
    """

    gain: float = 0.0
    error: float = 0.0
    average: float = 0.0
    n: int = 0

    @property
    def due_at(self) -> int:
        """How many passages there are when it is tried again."""
        return max(_FEWEST, 2 * self.n)

    @property
    def b(self) -> float:
        """The length normalisation that follows, in [.75, 1].

        >>> LengthTrial(0.02, 0.001).b, LengthTrial(0.02, 0.01).b
        (1.0, 0.75)
        """
        surely = (self.gain - 2.0 * self.error - _CHANCE) / (_SURE - _CHANCE)
        return round(B + (1.0 - B) * min(max(surely, 0.0), 1.0), 3)


def held_back(scores: FloatArray, lengths: FloatArray, average: float, b: float) -> FloatArray:
    """Return BM25 with another length normalisation, as if each word stood once in a passage.

    Parameters
    ----------
    scores : ndarray of float64, shape (n,)
        BM25 with b = .75.
    lengths : ndarray of float64, shape (n,)
    average : float
    b : float, in [0, 1]

    Examples
    --------
    >>> held_back(np.ones(3), np.array([50.0, 100.0, 400.0]), 100.0, 1.0).round(2).tolist()
    [1.09, 1.0, 0.84]
    """
    long = lengths / max(average, _LEAST)
    changed: FloatArray = (
        scores * (1.0 + _K1 * (1.0 - B + B * long)) / (1.0 + _K1 * (1.0 - b + b * long))
    )
    return changed


def try_lengths(texts: Sequence[Sequence[str]], n: int, *, seed: int = 0) -> LengthTrial:
    """Let a corpus ask itself whether long passages hide short ones.

    Parameters
    ----------
    texts : sequence of sequences of str
        The terms of a sample of passages, in their order; some hundred are enough.
    n : int
        How many passages there are.
    seed : int
        Of the words that are asked for.

    Returns
    -------
    LengthTrial
        Without gain for fewer than a hundred passages, and where they are about equally long.

    Examples
    --------
    >>> try_lengths([["wren"], ["owl"]], 2).b
    0.75
    """
    lengths = np.array([max(len(text), 1) for text in texts])
    if len(texts) < _FEWEST or np.log(lengths).std() < _ALIKE:
        return LengthTrial(n=n)
    rng = np.random.default_rng(seed)
    rounds = [rng.permutation(len(texts))[:_PASSAGES] for _ in range(_ROUNDS)]
    gains = [gain for some in rounds for gain in _gains([texts[i] for i in some.tolist()], rng)]
    if not gains:
        return LengthTrial(n=n)
    gain, error = float(np.mean(gains)), float(np.std(gains)) / len(gains) ** 0.5
    return LengthTrial(round(gain, 4), round(error, 4), round(float(lengths.mean()), 2), n)


def _gains(texts: Sequence[Sequence[str]], rng: np.random.Generator) -> list[float]:
    """Ask for some words of each passage; return by how much nearer the hits are with b = 1."""
    numbers: dict[str, int] = {}
    terms = [np.array([numbers.setdefault(t, len(numbers)) for t in text], int) for text in texts]
    counts = np.zeros((len(texts), len(numbers)), np.float32)
    for passage, held in zip(counts, terms, strict=True):
        np.add.at(passage, held, 1.0)
    long = counts.sum(1, keepdims=True)
    df = (counts > 0).sum(0)
    telling = (df > 1) & (df <= len(texts) / 4)
    counts, df = counts[:, telling], df[telling]
    column = np.where(telling, np.cumsum(telling) - 1, -1)
    idf = np.log1p((len(texts) - df + 0.5) / (df + 0.5)).astype(np.float32)
    latent = _Latent(np.log1p(counts) * idf)
    by_b = [
        idf * counts / (counts + np.float32(_K1) * (1.0 - b + b * long / long.mean()))
        for b in (B, 1.0)
    ]
    gains = []
    for own, held in enumerate(terms):
        start = int(rng.integers(0, max(len(held) - _WORDS, 1)))
        asked = np.unique(column[held[start : start + _WORDS]])
        asked = asked[asked >= 0]
        if len(asked) > 2:
            alike = np.delete(latent.alike(asked, idf), own)
            usual, other = (
                _discounted(alike[np.argsort(-np.delete(bm25[:, asked].sum(1), own))])
                for bm25 in by_b
            )
            most = _discounted(np.sort(alike)[::-1]) - float(alike.mean())
            gains.append((other - usual) / max(most, _LEAST))
    return gains


def _discounted(values: FloatArray) -> float:
    """Return the mean of the first ten, discounted by rank as in nDCG."""
    first = values[: len(_DISCOUNT)]
    return float(first @ _DISCOUNT[: len(first)] / _DISCOUNT[: len(first)].sum())


class _Latent:
    """The directions of a corpus, found by the likeness of its passages to each other."""

    def __init__(self, passages: FloatArray) -> None:
        self._passages = passages / np.maximum(np.linalg.norm(passages, axis=1)[:, None], _LEAST)
        values, vectors = np.linalg.eigh(self._passages @ self._passages.T)
        self._scale = np.sqrt(np.maximum(values[-_DIMENSIONS:], 1e-6))
        self._vectors = vectors[:, -_DIMENSIONS:]
        placed = self._vectors * self._scale
        self._placed = placed / np.maximum(np.linalg.norm(placed, axis=1)[:, None], _LEAST)

    def alike(self, asked: IntArray, idf: FloatArray) -> FloatArray:
        """Return how alike each passage is to the words in some columns."""
        found = (self._passages[:, asked] @ idf[asked]) @ self._vectors / self._scale
        alike: FloatArray = self._placed @ (found / max(float(np.linalg.norm(found)), _LEAST))
        return alike
