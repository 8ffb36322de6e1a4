r"""How far lessons are trusted, measured by exams.

Every lesson is an exam: take out what it taught, ask its question again, and see where
each kind of evidence puts the chunk that it cited. A conditional logit model [1]_ says how likely
each candidate is the cited one:

.. math:: P(c) \propto \exp\bigl(\beta\, s(c) + \textstyle\sum_i b_i\, m_i(c) - b_t\, t(c)\bigr)

with :math:`s` the score without lessons, :math:`m_i` what lessons add, and :math:`t` how far the
chunk was taught. The most probable :math:`b_i \ge 0` under a Gaussian prior are taken, so a few
exams move little. Lessons then add :math:`m_i` times the gain :math:`b_i / \beta`.
:func:`hebbgraph.formulas.association.scale_by_confidence` scales :math:`m_i` and :math:`t`.

A handicap of taught chunks, and a common factor of the gains, are then searched: those with which
the exams gain most, as long as questions about untaught chunks lose little because everything else
was taught. How often needs are new (Good and Turing's question [2]_) the exams tell themselves:
once its lesson is taken out, a chunk that only one lesson cited was never taught. These exams are
few, so all others count a little, held again with all taken out that their chunk was ever taught.

How far vectors and the graph are trusted follows from the same exams, by the same model with the
score alone: under the right shares, what people cite stands out most among what they were shown.

Exams flatter lessons where people were only asked about what search had found for them. So lessons
must be seen to help: their gains vanish if the mean change of the exams is less than one standard
error, and count in full from two on.

References
----------
.. [1] McFadden (1974), Conditional logit analysis of qualitative choice behavior.
.. [2] Good (1953), The population frequencies of species and the estimation of population
       parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import BoolArray, FloatArray
from hebbgraph.formulas.evidence import DENSE_SHARE
from hebbgraph.formulas.spreading_step import SpreadingParameters

__all__ = ["KINDS", "Exams", "Trust", "fit_shares", "fit_trust", "ndcg", "score_under", "scores_of"]

#: What lessons add: likeness of words, vectors and path, each alone and times repetition.
KINDS = ("words", "often by words", "vectors", "often by vectors", "path", "often by path")
#: Mean and precision of the prior on β, the b_i and b_t; little is known of the handicap.
_PRIOR = np.array([4.0, 2.5, 1.5, 2.0, 1.5, 1.0, 0.5, 0.0])
_PRECISION = np.array([3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 0.3])
#: With fewer exams than this, the prior stands.
_FEWEST = 12
#: Bound of a gain; factors of all gains, and handicaps, that are tried.
_MOST = 2.0
_SCALES = 0.8 ** np.arange(10)
_HANDICAPS = np.arange(0.0, 0.61, 0.05)
#: What questions may lose in nDCG@10 whose chunk nobody has taught: on average, or, where such
#: questions are few, as a share of all questions.
_TOLERATED, _TOLERATED_IN_ALL = 0.003, 0.0005
#: The exams with all that was taught of their chunk taken out count as so many of them.
_SUPPOSED = 8.0
#: Factors of the gains of the path.
_PATHS = 0.0, 0.5, 1.0
#: Lessons are expected to help: as if so many more exams had gained so much in nDCG@10.
_EXPECTED, _EXPECTED_CHANGE = 16, 0.05
#: Shares of vectors and weights of the graph that are tried, and how far off they are expected.
_SHARES, _GRAPHS = np.arange(0.1, 1.0, 0.05), np.arange(0.25, 1.01, 0.25)
_SHARE_ERROR, _GRAPH_ERROR = 0.15, 0.5
#: How far the score decides what is cited: these are tried for β.
_SHARPNESS = 2.0, 4.0, 8.0, 16.0, 32.0
_POWER = SpreadingParameters().evidence_power
_DISCOUNT = 1.0 / np.log2(np.arange(2, 12))
_IDEAL = np.concatenate(([0.0], np.cumsum(_DISCOUNT)))


@dataclass(frozen=True)
class Trust:
    """What lessons may add to a score, for each of :data:`KINDS`, and the handicap.

    The handicap, in [0, 1], is that of taught chunks; ``exams`` is how many all this follows from.
    ``vectors`` is the share of vectors in direct evidence, ``graph`` the weight of the activation
    that arrives over the graph.
    """

    gains: tuple[float, ...] = tuple((_PRIOR[1:-1] / _PRIOR[0]).tolist())
    handicap: float = 0.0
    exams: int = 0
    vectors: float = DENSE_SHARE
    graph: float = 1.0


class Exams(NamedTuple):
    """Exams as arrays, padded to the same number of candidates.

    ``features`` holds, for each candidate, its score without lessons, what lessons add of each of
    :data:`KINDS`, and minus how far it was taught. ``untaught`` is the same as if nothing had been
    taught of the cited chunks.
    """

    features: FloatArray
    untaught: FloatArray
    cited: BoolArray
    present: BoolArray


def fit_trust(exams: Exams) -> Trust:
    """Return the gains and the handicap that exams lead to; the prior's if they are too few."""
    n = len(exams.cited)
    if n < _FEWEST:
        return Trust(exams=n)
    fitted = _most_probable(exams)
    gains = np.clip(fitted[1:-1] / max(float(fitted[0]), 0.5), 0.0, _MOST)
    gains, handicap = _with_handicap(exams, gains)
    if (sure := _sureness(exams, gains, handicap)) < 1.0:
        gains, handicap = _with_handicap(exams, gains * sure)
    return Trust(tuple(gains.round(4).tolist()), handicap, n)


def fit_shares(found: FloatArray, cited: BoolArray, present: BoolArray) -> tuple[float, float]:
    """Return the share of vectors and the weight of the graph under which citations are likeliest.

    Parameters
    ----------
    found : ndarray of float, shape (n, c, 3)
        How well words, vectors and the graph rate each chunk that was shown, in [0, 1].
    cited, present : ndarray of bool, shape (n, c)
        Exams have different numbers of chunks.

    Examples
    --------
    >>> found = np.array(50 * [[[0.2, 1.0, 0.0], [1.0, 0.2, 0.0]]])
    >>> fit_shares(found, np.array(50 * [[False, True]]), np.ones((50, 2), bool))
    (0.35, 1.0)
    """
    able = cited.any(1) & (present & ~cited).any(1)
    if able.sum() < _FEWEST:
        return DENSE_SHARE, 1.0
    found, share = found[able], cited[able] / cited[able].sum(1, keepdims=True)
    best, chosen = -np.inf, (DENSE_SHARE, 1.0)
    shares = _SHARES if found[..., 1].any() else [DENSE_SHARE]
    for of_vectors, of_graph in product(shares, _GRAPHS):
        score = score_under(found, of_vectors, of_graph)
        likely = max(_likely(sharpness * score, share, present[able]) for sharpness in _SHARPNESS)
        likely -= ((of_vectors - DENSE_SHARE) / _SHARE_ERROR) ** 2 / 2
        likely -= ((of_graph - 1.0) / _GRAPH_ERROR) ** 2 / 2
        if likely > best:
            best, chosen = likely, (round(float(of_vectors), 2), float(of_graph))
    return chosen


def score_under(found: FloatArray, vectors: float, graph: float) -> FloatArray:
    """Return the score of chunks under other shares, from how words, vectors and graph rate them.

    >>> score_under(np.array([[0.5, 1.0, 0.25], [0.5, 0.0, 0.0]]), 1.0, 1.0).tolist()
    [1.0, 0.0]
    """
    by_words, by_vectors, by_graph = np.moveaxis(found, -1, 0)
    fused = vectors * by_vectors + (1.0 - vectors) * by_words
    direct = np.where(by_vectors.any(-1, keepdims=True), fused, by_words) ** _POWER
    score: FloatArray = 1.0 - (1.0 - direct) * (1.0 - graph * by_graph)
    return score


def _likely(logit: FloatArray, share: FloatArray, present: BoolArray) -> float:
    """Return the logarithm of the probability of what was cited."""
    odds = np.exp(np.where(present, logit - logit.max(1, keepdims=True), -np.inf))
    chance = np.log(np.maximum(odds / odds.sum(1, keepdims=True), 1e-12))
    return float((share * chance).sum())


def _most_probable(exams: Exams, *, steps: int = 40) -> FloatArray:
    """Return the maximum of the posterior, by Newton's method within the positive orthant."""
    features, present = exams.features, exams.present
    share = exams.cited / np.maximum(exams.cited.sum(1, keepdims=True), 1)

    def probabilities(at: FloatArray) -> FloatArray:
        logit = np.where(present, features @ at, -np.inf)
        odds = np.exp(logit - logit.max(1, keepdims=True))
        chance: FloatArray = odds / odds.sum(1, keepdims=True)
        return chance

    def loss(at: FloatArray, chance: FloatArray) -> float:
        surprise = -(share * np.log(np.maximum(chance, 1e-12))).sum()
        return float(surprise + (_PRECISION * (at - _PRIOR) ** 2).sum() / 2)

    at = _PRIOR.copy()
    chance = probabilities(at)
    now = loss(at, chance)
    for _ in range(steps):
        gradient = np.einsum("nck,nc->k", features, chance - share)
        gradient = gradient + _PRECISION * (at - _PRIOR)
        mean = np.einsum("nck,nc->nk", features, chance)
        second = np.einsum("nck,nc,ncl->kl", features, chance, features, optimize=True)
        second = second - mean.T @ mean + np.diag(_PRECISION)
        free = (at > 0) | (gradient < 0)
        move = np.zeros_like(at)
        move[free] = np.linalg.solve(second[np.ix_(free, free)], gradient[free])
        size = 1.0
        while size > 1e-4:
            ahead = np.maximum(at - size * move, 0.0)
            then = probabilities(ahead)
            if (value := loss(ahead, then)) < now:
                break
            size /= 2
        else:
            break
        done = now - value < 1e-7
        at, chance, now = ahead, then, value
        if done:
            break
    return at


def _with_handicap(exams: Exams, gains: FloatArray) -> tuple[FloatArray, float]:
    """Return the gains, scaled, and the handicap with which exams gain most.

    What questions may lose whose chunk nobody else has taught is bounded.
    """
    is_new = ~((exams.features[..., -1] < 0) & exams.cited).any(1)
    n, n_new = len(exams.cited), int(is_new.sum())
    tolerated = max(_TOLERATED, _TOLERATED_IN_ALL * (n + 2) / (n_new + 1))
    plain = ndcg(exams.features[..., 0], exams.cited, exams.present)
    best, chosen = 0.0, (np.zeros_like(gains), 0.0)
    for path, scale, handicap in product(_PATHS, _SCALES, _HANDICAPS):
        scaled = scale * gains * np.array([1, 1, 1, 1, path, path])
        change = _taught(exams, exams.features, scaled, handicap) - plain
        if (gained := float(change.mean())) <= best:
            continue
        if_new = float((_taught(exams, exams.untaught, scaled, handicap) - plain).mean())
        lost = float(change[is_new].sum()) + _SUPPOSED * if_new
        if lost >= -tolerated * (n_new + _SUPPOSED):
            best, chosen = gained, (scaled, round(float(handicap), 2))
    return chosen


def _sureness(exams: Exams, gains: FloatArray, handicap: float) -> float:
    """Return how sure exams are that lessons help: 0 up to one standard error, 1 from two on."""
    plain, taught = scores_of(exams, gains, handicap)
    change = taught - plain
    error = float(np.sqrt(((change - change.mean()) ** 2).sum()))
    helped = float(change.sum()) + _EXPECTED * _EXPECTED_CHANGE
    return min(max(helped / error - 1.0, 0.0), 1.0) if error else float(helped > 0)


def scores_of(
    exams: Exams, gains: FloatArray, handicap: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the nDCG@10 of each exam, without lessons and with them."""
    plain = ndcg(exams.features[..., 0], exams.cited, exams.present)
    return plain, _taught(exams, exams.features, gains, handicap)


def _taught(
    exams: Exams, features: FloatArray, gains: FloatArray, handicap: float
) -> NDArray[np.float64]:
    """Return the nDCG@10 of each exam with gains and handicap."""
    learned = features[..., 0] + features[..., 1:] @ np.append(gains, handicap)
    return ndcg(learned, exams.cited, exams.present)


def ndcg(scores: FloatArray, cited: BoolArray, present: BoolArray) -> NDArray[np.float64]:
    """Return nDCG@10 of each row.

    >>> ndcg(np.array([[0.2, 0.9]]), np.array([[True, False]]), np.ones((1, 2), bool)).round(2)
    array([0.63])
    """
    order = np.argsort(np.where(present, -scores, np.inf), axis=1, kind="stable")[:, :10]
    gain = np.take_along_axis(cited, order, 1) @ _DISCOUNT[: order.shape[1]]
    share: NDArray[np.float64] = gain / _IDEAL[np.clip(cited.sum(1), 1, 10)]
    return share
