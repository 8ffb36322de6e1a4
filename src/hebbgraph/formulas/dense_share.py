"""How far dense search counts against lexical search: by question, by corpus, by setting."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hebbgraph.arrays import FloatArray, top_n
from hebbgraph.formulas.parameters import check_range

__all__ = ["USUAL_TAILS", "EvidenceWeights", "Likeness", "dense_share", "likeness"]

#: Below this coverage of the question's rarest words, dense search counts for more.
_COVERED = 0.7
#: Log-kurtosis of the cosines of a usual embedder.
USUAL_TAILS = 1.53
#: How much agreement each unit above the usual costs, so that an embedder that merely repeats words
#: ranks less. Leaving out any of fourteen sets moves these two, and the weights, by a few
#: hundredths only; see docs/measurements.md.
_REPEATING = 0.32
#: Kurtosis up to which an embedder knows meanings, and from which on it repeats words; see
#: :func:`likeness`.
_KNOWS, _REPEATS = math.log(6), math.log(10)
#: The usual log-kurtosis weighs as much as this many vectors of the corpus, so that a few
#: vectors change no ranking.
_PRIOR = 20
#: Each search is judged by its ten best hits, discounted by rank as in nDCG.
_DISCOUNT = 1.0 / np.log2(np.arange(2, 12))


@dataclass(frozen=True, kw_only=True)
class EvidenceWeights:
    """How much each kind of evidence counts.

    Parameters
    ----------
    dense : float, in [0, 1]
        Share of dense search in direct evidence when the two searches rate each other's hits
        equally. Lexical search has the rest.
    agreement : float, at least 0
        How far that share follows how each search rates the other's hits, and the
        :func:`likeness` of the embedder.
    coverage : float, at least 0
        How far it rises if no chunk holds the rare words of the question, unless the embedder only
        repeats words.
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
    """How an embedder sees a corpus: the mean log-kurtosis of cosines; see :func:`likeness`.

    ``error`` is the standard error of ``tails``, ``n`` the number of vectors behind it.
    """

    tails: float = USUAL_TAILS
    error: float = math.inf
    n: int = 0

    @property
    def repeats_words(self) -> bool:
        """Whether the cosines probably come from a few shared words; lexical search does better."""
        return self.n >= _PRIOR and self.tails - 2 * self.error > USUAL_TAILS + 1

    def share(self, weights: EvidenceWeights) -> float:
        """Return the share of dense search before any question is asked."""
        share = weights.dense - weights.agreement * _REPEATING * (self.tails - USUAL_TAILS)
        return round(min(max(share, 0.1), 0.9), 3)


def likeness(vectors: FloatArray) -> Likeness:
    """Judge an embedder by the vectors of a corpus, without a question or a label.

    An embedder that knows meanings finds any two texts a little alike, in many respects at once:
    the cosines with a text are nearly normally distributed, with a kurtosis of 3 to 6. One that
    repeats words finds most texts unlike and a few, which share a rare word, very much alike: the
    kurtosis is 10 to 40. Lexical search knows those words better. A random embedder has normal
    cosines too, but its hits hold none of the question's words.

    Parameters
    ----------
    vectors : ndarray of float32, shape (n, dimension), unit length
        A sample of the corpus, in any order.

    Returns
    -------
    Likeness
        The mean logarithm of the kurtosis, shrunk towards the usual value as by 20 more vectors.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> dense = rng.normal(size=(200, 300))
    >>> sparse = dense * (rng.random(dense.shape) < 0.02) + 1e-3 * dense
    >>> seen = [likeness(x / np.linalg.norm(x, axis=1, keepdims=True)) for x in (dense, sparse)]
    >>> [round(math.exp(x.tails), 1) for x in seen], [x.repeats_words for x in seen]
    ([3.1, 31.2], [False, True])
    """
    n = len(vectors)
    if n < 4:
        return Likeness()
    cosines = (vectors @ vectors.T).astype(np.float64)
    others = cosines[~np.eye(n, dtype=np.bool_)].reshape(n, n - 1)
    squared = (others - others.mean(1, keepdims=True)) ** 2
    variance = squared.mean(1)
    varies = variance > 1e-12
    tails = np.log((squared**2).mean(1)[varies] / variance[varies] ** 2)
    if not len(tails):
        return Likeness()
    mean = (tails.sum() + _PRIOR * USUAL_TAILS) / (len(tails) + _PRIOR)
    return Likeness(round(float(mean), 4), float(tails.std() / len(tails) ** 0.5), len(tails))


def dense_share(
    lexical: FloatArray,
    dense: FloatArray,
    covered: float,
    weights: EvidenceWeights,
    tails: float = USUAL_TAILS,
) -> float:
    """Return the share of dense search for one question.

    Each search judges the other. If the best chunks of dense search hold few of the question's rare
    words, although other chunks hold many, the embedder does not know what the question is about.
    If the best chunks of lexical search are far from the question, they hold its words by chance.

    If no chunk holds the question's rare words, it is worded differently, and dense search may know
    what it means. An embedder that repeats words does not: these are missing for it, too.

    Parameters
    ----------
    lexical, dense : ndarray of float64, shape (n,), in [0, 1]
        Both scores of all candidates, scaled so that the best has 1.
    covered : float, in [0, 1]
        How far the best chunk covers the question's rarest words; see
        :func:`hebbgraph.formulas.confidence.coverage`.
    weights : EvidenceWeights
    tails : float
        Mean log-kurtosis; see :func:`likeness`.

    Returns
    -------
    float
        ``weights.dense`` plus ``weights.agreement`` times a difference: the mean lexical
        score of the ten best by dense search, minus the mean dense score of the ten best by
        lexical search, both discounted by rank as in nDCG, minus .32 times the excess of ``tails``
        over the usual value; plus ``weights.coverage`` times the amount by which ``covered`` falls
        short of .7, times a factor that falls from 1 at a kurtosis of 6 to 0 at 10. Clipped to
        [.1, .9], or up to ``weights.dense`` if that lies outside.

    Examples
    --------
    >>> lexical, dense = np.array([1.0, 0.1, 0.0]), np.array([0.9, 1.0, 0.0])
    >>> round(dense_share(lexical, dense, 1.0, EvidenceWeights()), 3)
    0.189
    >>> round(dense_share(lexical, dense, 0.2, EvidenceWeights()), 3)
    0.489
    """
    lacking = max(_COVERED - covered, 0.0) * _knows_meanings(tails)
    trust = _mean_of_best(lexical, dense) - _mean_of_best(dense, lexical)
    trust -= _REPEATING * (tails - USUAL_TAILS)
    share = weights.dense + weights.agreement * trust + weights.coverage * lacking
    return min(max(share, min(0.1, weights.dense)), max(0.9, weights.dense))


def _knows_meanings(tails: float) -> float:
    """Return 1 for an embedder that knows meanings, 0 for one that repeats words, else between."""
    return min(max((_REPEATS - tails) / (_REPEATS - _KNOWS), 0.0), 1.0)


def _mean_of_best(scores: FloatArray, ranking: FloatArray) -> float:
    """Return the mean score of the ten that rank highest, discounted by rank."""
    best = top_n(ranking, len(_DISCOUNT))
    best = best[ranking[best] > 0]
    if not len(best):
        return 0.0
    best = best[np.lexsort((-scores[best], -ranking[best]))][: len(_DISCOUNT)]
    discount = _DISCOUNT[: len(best)]
    return float(scores[best] @ discount / discount.sum())
