"""Direct evidence: how well a chunk by itself answers the query, in [0, 1]."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hebbgraph.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    all_of,
    is_in_sorted,
    top_n,
    unique_inverse,
)
from hebbgraph.formulas.parameters import check_range

__all__ = [
    "Evidence",
    "EvidenceWeights",
    "Likeness",
    "dense_share",
    "fuse",
    "likeness",
    "memoize_similarity",
]

_NO_FLOATS = np.empty(0, np.float64)
#: Coverage of the rarest words from which on lexical search is trusted as usual.
_COVERED = 0.7
#: By how much agreement is outweighed where the tails of an embedder's cosines are e times as heavy
#: as those of one that is trusted as usual, and the logarithm of its kurtosis. Both, and the
#: weights, hold within a few hundredths whichever of fourteen sets is left out; see
#: docs/measurements.md.
_REPEATING, _USUAL = 0.32, 1.53
#: So many vectors tell as much of an embedder as what is known beforehand.
_PRIOR = 20
_DISCOUNT = 1.0 / np.log2(np.arange(2, 12))
#: Approximate evidence of a chunk that no search returned.
_NOBODY, _UNKNOWN = np.array([-1]), np.array([0.05])


@dataclass(frozen=True)
class Evidence:
    """Direct evidence of the candidates, and of any other chunk on demand.

    Parameters
    ----------
    chunks : ndarray of int64, shape (n,), ascending and different
        The candidates.
    values : ndarray of float64, shape (n,), in [0, 1]
    elsewhere : float or callable
        Evidence of all other chunks: a number, or a function of chunk numbers.
    lexical, dense : ndarray of float64, shape (n,), in [0, 1], optional
        What ``values`` was fused from.
    dense_share : float, in [0, 1]
        The share of ``dense``.
    confidence : float, in [0, 1], optional
        How sure it is that the corpus speaks of the question; see
        :mod:`hebbgraph.formulas.confidence`.
    covered, near : float, optional
        What ``confidence`` follows from.
    held : float, in [0, 1]
        How much of the question the best chunk holds; see
        :func:`hebbgraph.formulas.confidence.share_held`.
    words : callable, optional
        Returns, for n chunks, the weight of each rare word of the question that they hold, as an
        array of shape (n, n_words); a row adds up to 1 at most.

    Examples
    --------
    >>> evidence = Evidence(np.array([2, 5]), np.array([1.0, 0.5]), elsewhere=0.05)
    >>> evidence.of(np.array([5, 3, 2])).tolist()
    [0.5, 0.05, 1.0]
    """

    chunks: IntArray
    values: FloatArray
    elsewhere: float | Callable[[IntArray], FloatArray] = 0.05
    lexical: FloatArray | None = None
    dense: FloatArray | None = None
    dense_share: float = 0.0
    confidence: float | None = None
    covered: float = 0.0
    near: float | None = None
    held: float = 1.0
    words: Callable[[IntArray], FloatArray] | None = None

    def approximate(self, chunks: IntArray) -> FloatArray:
        """Return the evidence of any chunks, taking .05 for all that are not candidates.

        Cheap for many chunks, because it computes no similarities.
        """
        known, values = self._padded
        at = self.chunks.searchsorted(chunks)
        at[known[at] != chunks] = len(self.chunks)
        found: FloatArray = values[at]
        return found

    @cached_property
    def _padded(self) -> tuple[IntArray, FloatArray]:
        """The candidates and their values, plus a last entry for all other chunks."""
        return np.concatenate((self.chunks, _NOBODY)), np.concatenate((self.values, _UNKNOWN))

    def parts(self, chunk: int) -> tuple[float | None, float | None]:
        """Return the lexical and the dense score of a candidate; None for what is unknown."""
        at = int(np.searchsorted(self.chunks, chunk))
        if at == len(self.chunks) or self.chunks[at] != chunk:
            return None, None
        lexical, dense = (None if x is None else float(x[at]) for x in (self.lexical, self.dense))
        return lexical, dense

    def fused_from(self, chunks: IntArray) -> tuple[list[float | None], list[float | None]]:
        """Return lexical and dense scores of any chunks, to four decimals; None if unknown."""
        at = self.chunks.searchsorted(chunks)
        at[self._padded[0][at] != chunks] = len(self.chunks)
        places = at.tolist()

        def read(scores: FloatArray | None) -> list[float | None]:
            if scores is None:
                return [None] * len(places)
            return [None if at == len(scores) else round(float(scores[at]), 4) for at in places]

        return read(self.lexical), read(self.dense)

    def upheld(self, chunks: IntArray) -> Evidence:
        """Return it with what vectors take from these chunks, ascending, given back.

        >>> lexical, dense = np.array([1.0, 0.2]), np.array([0.1, 1.0])
        >>> fused = Evidence(np.array([2, 5]), 0.6 * dense + 0.4 * lexical, 0.0, lexical, dense)
        >>> fused.upheld(np.array([2])).values.round(2).tolist()
        [1.0, 0.68]
        """
        assert self.lexical is not None
        held = is_in_sorted(self.chunks, chunks)
        return replace(
            self, values=np.where(held, np.maximum(self.values, self.lexical), self.values)
        )

    def of(self, chunks: IntArray) -> FloatArray:
        """Return the evidence of any chunks, in the given order."""
        known, padded = self._padded
        at = self.chunks.searchsorted(chunks)
        found, held = known[at] == chunks, padded[at]
        if not callable(self.elsewhere):
            return np.where(found, held, self.elsewhere)
        if all_of(found):
            return held
        values = held.astype(np.float64)
        values[~found] = self.elsewhere(chunks[~found])
        return values


@dataclass(frozen=True, kw_only=True)
class EvidenceWeights:
    """How much each kind of evidence counts.

    Parameters
    ----------
    dense : float, in [0, 1]
        Share of dense search in direct evidence, where both searches think equally well of
        what the other one found. Lexical search has the rest.
    agreement : float, at least 0
        How far that share follows what each search thinks of the other one's hits, and the
        :func:`likeness` of the embedder.
    coverage : float, at least 0
        How far it rises if no chunk holds the rare words of the question.
    graph : float, in [0, 1]
        Weight of the activation that arrives over the graph.

    Examples
    --------
    >>> EvidenceWeights(dense=0.8, agreement=0.0)
    EvidenceWeights(dense=0.8, agreement=0.0, coverage=0.6, graph=1.0)
    """

    dense: float = 0.66
    agreement: float = 0.96
    coverage: float = 0.6
    graph: float = 1.0

    def __post_init__(self) -> None:
        check_range(self, ("dense", "graph"), 0, 1)
        check_range(self, ("agreement", "coverage"), 0)


class Likeness(NamedTuple):
    """How an embedder sees the texts of a corpus: the logarithm of :func:`likeness`'s kurtosis.

    ``error`` is its standard error, ``n`` how many vectors tell it.
    """

    tails: float = _USUAL
    error: float = math.inf
    n: int = 0

    @property
    def repeats_words(self) -> bool:
        """Whether few shared words likely make the cosines, so that words find better."""
        return self.n >= _PRIOR and self.tails - 2 * self.error > _USUAL + 1

    def share(self, weights: EvidenceWeights) -> float:
        """Return the share of dense search before any question is asked."""
        share = weights.dense - weights.agreement * _REPEATING * (self.tails - _USUAL)
        return round(min(max(share, 0.1), 0.9), 3)


def likeness(vectors: FloatArray) -> Likeness:
    """Return what the vectors of a corpus tell of their embedder, without a question or a label.

    An embedder that knows meanings finds any two texts a little alike, in many respects at once:
    cosines with a text are nearly normally distributed, with a kurtosis of 3 to 6. One that
    repeats words finds most texts not alike at all and few very much, which share a rare word: the
    kurtosis is 10 to 40. Lexical search knows those words better. A random embedder has normal
    cosines, too; it shows in that its hits hold none of the question's words.

    Parameters
    ----------
    vectors : ndarray of float32, shape (n, dimension), unit length
        A sample of the corpus, in any order.

    Returns
    -------
    Likeness
        Its mean logarithm, drawn to the usual one as if 20 vectors had told that.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> dense = rng.normal(size=(200, 300))
    >>> sparse = dense * (rng.random(dense.shape) < 0.02) + 1e-3 * dense
    >>> of = [likeness(x / np.linalg.norm(x, axis=1, keepdims=True)) for x in (dense, sparse)]
    >>> [round(math.exp(one.tails), 1) for one in of], [one.repeats_words for one in of]
    ([3.1, 31.2], [False, True])
    """
    n = len(vectors)
    if n < 4:
        return Likeness()
    cosines = (vectors @ vectors.T).astype(np.float64)
    others = cosines[~np.eye(n, dtype=np.bool_)].reshape(n, n - 1)
    squared = (others - others.mean(1, keepdims=True)) ** 2
    spread = squared.mean(1)
    tails = np.log((squared**2).mean(1)[spread > 1e-12] / spread[spread > 1e-12] ** 2)
    if not len(tails):
        return Likeness()
    mean = (tails.sum() + _PRIOR * _USUAL) / (len(tails) + _PRIOR)
    return Likeness(round(float(mean), 4), float(tails.std() / len(tails) ** 0.5), len(tails))


def dense_share(
    lexical: FloatArray,
    dense: FloatArray,
    covered: float,
    weights: EvidenceWeights,
    tails: float = _USUAL,
) -> float:
    """Return the share of dense search for one question.

    Each search judges the other. Where the best chunks of dense search hold few of the
    question's rare words, although others hold many, the embedder does not know what the
    question is about; where the best chunks of lexical search are far from the question,
    they hold its words by chance.

    Parameters
    ----------
    lexical, dense : ndarray of float64, shape (n,), in [0, 1]
        Both scores of all candidates, scaled so that the best has 1.
    covered : float, in [0, 1]
        How far the best chunk covers the question's rarest words; see
        :func:`hebbgraph.formulas.confidence.coverage`.
    weights : EvidenceWeights
    tails : float
        See :func:`likeness`.

    Returns
    -------
    float
        ``weights.dense`` plus ``weights.agreement`` times a difference: the mean lexical
        score of the ten best by dense search, minus the mean dense score of the ten best by
        lexical search, both discounted by rank as in nDCG, less .32 times what ``tails`` exceeds
        the usual; plus ``weights.coverage`` times
        what ``covered`` lacks to .7. Kept within [.1, .9], or up to ``weights.dense``
        if that lies outside.

    Examples
    --------
    >>> one, other = np.array([1.0, 0.1, 0.0]), np.array([0.9, 1.0, 0.0])
    >>> round(dense_share(one, other, 1.0, EvidenceWeights()), 3)
    0.189
    >>> round(dense_share(one, other, 0.2, EvidenceWeights()), 3)
    0.489
    """
    lacking = max(_COVERED - covered, 0.0)
    trust = _mean_of_best(lexical, dense) - _mean_of_best(dense, lexical)
    trust -= _REPEATING * (tails - _USUAL)
    share = weights.dense + weights.agreement * trust + weights.coverage * lacking
    return min(max(share, min(0.1, weights.dense)), max(0.9, weights.dense))


def _mean_of_best(scores: FloatArray, ranking: FloatArray) -> float:
    """Return the mean score of the ten that rank highest, discounted by rank."""
    best = top_n(ranking, len(_DISCOUNT))
    best = best[ranking[best] > 0]
    if not len(best):
        return 0.0
    best = best[np.lexsort((-scores[best], -ranking[best]))][: len(_DISCOUNT)]
    discount = _DISCOUNT[: len(best)]
    return float(scores[best] @ discount / discount.sum())


def fuse(
    lexical_chunks: IntArray,
    lexical_scores: FloatArray,
    dense_chunks: IntArray | None = None,
    dense_scores: FloatArray | None = None,
    *,
    similarity: Callable[[IntArray], FloatArray] | None = None,
    n_chunks: int = 0,
    covered: float = 1.0,
    weights: EvidenceWeights | None = None,
    foreign: BoolArray | None = None,
    floor: float = 0.05,
    tails: float = _USUAL,
) -> Evidence:
    """Fuse lexical and dense scores into direct evidence.

    ``w * dense + (1 - w) * bm25``, where BM25 is divided by its maximum, the cosine is
    min-max scaled over the candidates (all chunks that either search returned), and ``w``
    is the :func:`dense_share`. A chunk that lexical search did not return has a lexical
    score of 0. Without dense scores, evidence is the scaled BM25 alone.

    Parameters
    ----------
    lexical_chunks : ndarray of int, shape (n,)
        Distinct chunks, in any order.
    lexical_scores : ndarray of float, shape (n,), at least 0
        BM25.
    dense_chunks, dense_scores : ndarray, shape (m,), optional
        The nearest chunks and their cosines.
    similarity : callable, optional
        Cosine of any chunks to the query. Without it, other chunks count as if they came
        right after the last of ``dense_chunks``, and only these are judged by both searches.
    n_chunks : int
        How many chunks there are; used without ``similarity``.
    covered : float, in [0, 1]
        See :func:`dense_share`.
    weights : EvidenceWeights, optional
    foreign : ndarray of bool, indexed by chunk, optional
        Chunks in another language than the question. Lexical search cannot know them, so what it
        did not find of them is left to dense search alone, and they do not judge either.
    tails : float
        See :func:`likeness`.
    floor : float, in [0, 1]
        Without dense scores, the evidence of chunks that lexical search did not return, so
        that activation can reach passages that share no word with the query.

    Examples
    --------
    >>> evidence = fuse(np.array([4, 1]), np.array([6.0, 3.0]))
    >>> evidence.chunks.tolist(), evidence.values.tolist()
    ([1, 4], [0.5, 1.0])
    """
    highest = lexical_scores.max(initial=0.0)
    scaled = lexical_scores / highest if highest > 0 else lexical_scores * 0.0
    if dense_chunks is None or dense_scores is None or not len(dense_chunks):
        order = np.argsort(lexical_chunks)
        values = scaled[order].astype(np.float64)
        return Evidence(lexical_chunks[order], values, floor, lexical=values)
    weights = weights or EvidenceWeights()
    low, high = float(dense_scores.min()), float(dense_scores.max())
    n = len(dense_scores)  # scores fall about evenly with the logarithm of the rank
    fall = (high - low) / math.log(max(n, 2))
    beyond = high - fall * math.log(n + 1)
    chunks, position = unique_inverse(np.concatenate([lexical_chunks, dense_chunks]))
    lexical = np.zeros(len(chunks))
    lexical[position[: len(lexical_chunks)]] = scaled
    known = position[len(lexical_chunks) :]
    dense = np.full(len(chunks), -np.inf)
    dense[known] = dense_scores
    judged: IntArray | slice = slice(None)
    if similarity is not None:
        unknown = np.ones(len(chunks), np.bool_)
        unknown[known] = False
        dense[unknown] = similarity(chunks[unknown])
        low, high = float(dense.min()), float(dense.max())
    else:
        judged = known
        low = high - fall * math.log(max(n_chunks, n + 1))
    if high <= low:  # all that are known are as near as the nearest
        low = beyond = high - 1.0
    width = high - low
    dense = (np.maximum(dense, beyond if similarity is None else low) - low) / width
    words = lexical
    if foreign is not None:
        unheard = foreign[chunks]
        words = np.where(unheard, np.maximum(lexical, dense), lexical)
        heard = np.flatnonzero(~unheard)
        judged = heard if isinstance(judged, slice) else np.intersect1d(judged, heard)
    share = dense_share(lexical[judged], dense[judged], covered, weights, tails)

    def elsewhere(others: IntArray) -> FloatArray:
        shares = share if foreign is None else np.where(foreign[others], 1.0, share)
        if similarity is None:
            return shares * np.full(len(others), (beyond - low) / width)
        scaled: FloatArray = np.clip((similarity(others) - low) / width, 0.0, 1.0)
        return shares * scaled

    return Evidence(
        chunks,
        share * dense + (1.0 - share) * words,
        elsewhere,
        lexical=lexical,
        dense=dense,
        dense_share=share,
    )


def memoize_similarity(
    similarity: Callable[[IntArray], FloatArray],
) -> Callable[[IntArray], FloatArray]:
    """Memoize similarities by chunk: successive steps of spreading reach the same chunks."""
    chunks, values = np.empty(0, np.int64), _NO_FLOATS

    def of(others: IntArray) -> FloatArray:
        nonlocal chunks, values
        new = others
        if len(chunks):
            at = np.minimum(np.searchsorted(chunks, others), len(chunks) - 1)
            new = others[chunks[at] != others]
        if len(new):
            new, _ = unique_inverse(new)
            both = np.concatenate([chunks, new])
            order = both.argsort(kind="stable")
            chunks, values = both[order], np.concatenate([values, similarity(new)])[order]
        return values[np.searchsorted(chunks, others)]

    return of
