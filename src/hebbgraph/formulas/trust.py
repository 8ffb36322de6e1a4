r"""How far memory is trusted, measured by exams.

Every lesson is an exam: take what it taught out of memory, ask its question again, and see where
each kind of evidence puts the chunk that it cited. From all exams follow a few numbers, for this
index alone. A conditional logit model [1]_ says how likely each of the candidates is the cited one:

.. math:: P(c) \propto \exp\bigl(\beta\, s(c) + \textstyle\sum_i b_i\, m_i(c) - b_t\, t(c)\bigr)

with :math:`s` the score without learning, :math:`m_i` what memory brings, and :math:`t` whether a
chunk was taught. The most probable
:math:`b_i \ge 0` under a Gaussian prior are taken, so few exams move little; a score changes by
:math:`b_i / \beta` times :math:`m_i`. Both :math:`m_i` and :math:`t` count as far as
search is sure, and :math:`t` as far as the question is like any that was taught
(:func:`hebbgraph.formulas.association.as_far_as_sure`).

The last number is set otherwise. Whoever asks for something that was never taught must not lose
because everything else was. So each exam is held once more with all that was ever taught of its
cited chunk taken out, and the handicap of taught chunks is the least one with which these exams
lose nothing. Where the first kind of exam loses by it, memory counts for less. How often needs are
new (Good and Turing's question [2]_) is in that kind already: a chunk that only one lesson cited
was never taught, once that lesson is taken out.

References
----------
.. [1] McFadden (1974), Conditional logit analysis of qualitative choice behavior.
.. [2] Good (1953), The population frequencies of species and the estimation of population
       parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import BoolArray, FloatArray

__all__ = ["KINDS", "Exams", "Trust", "fit_trust", "ndcg"]

#: What memory brings: for words and vectors, how alike, and that times the root of how often;
#: and what was cited when, or together with, what search puts first.
KINDS = ("words", "often by words", "vectors", "often by vectors", "pairs")
_PRIOR = np.array([4.0, 2.5, 1.5, 2.0, 1.5, 1.0, 0.0])
#: How firm the prior is: of the handicap nothing is known beforehand.
_PRECISION = np.array([3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 0.3])
#: With fewer exams than this, the prior stands.
_FEWEST = 12
#: No number exceeds these, as shares of the score's.
_MOST, _MOST_HANDICAP, _STEP = 2.0, 0.6, 0.025
#: Where no handicap is enough, or exams lose by it, gains shrink by this, and vanish below that.
_LESS, _LEAST_GAIN = 0.8, 0.02
#: What exams may lose in nDCG@10, of taught needs and of untaught ones.
_TOLERATED = 0.002
_DISCOUNT = 1.0 / np.log2(np.arange(2, 12))
_IDEAL = np.concatenate(([0.0], np.cumsum(_DISCOUNT)))


@dataclass(frozen=True)
class Trust:
    """What memory may add to a score, for each kind, and the handicap of taught chunks.

    Parameters
    ----------
    gains : tuple of float, in the order of :data:`KINDS`
    handicap : float, in [0, 1]
    exams : int
        How many exams it follows from.
    """

    gains: tuple[float, ...] = tuple((_PRIOR[1:-1] / _PRIOR[0]).tolist())
    handicap: float = 0.0
    exams: int = 0


class Exams(NamedTuple):
    """Exams as arrays: for each, the candidates and what speaks for them.

    ``features`` holds, for each candidate, its score without learning, then what memory brings
    of each of :data:`KINDS`, then minus how far it was taught; ``unseen`` the same with the cited
    chunks untaught.
    """

    features: FloatArray
    unseen: FloatArray
    cited: BoolArray
    present: BoolArray
    weight: FloatArray


def fit_trust(exams: Exams) -> Trust:
    """Return the numbers that follow from exams; the prior's without enough of them."""
    n = len(exams.weight)
    if n < _FEWEST:
        return Trust(exams=n)
    fitted = _most_probable(exams)
    gains = np.clip(fitted[1:-1] / max(float(fitted[0]), 0.5), 0.0, _MOST)
    while gains.max() >= _LEAST_GAIN:
        handicap = _least_handicap(exams, gains)
        if handicap is not None:
            return Trust(tuple(gains.round(4).tolist()), handicap, n)
        gains *= _LESS
    return Trust((0.0,) * len(KINDS), 0.0, n)


def _most_probable(exams: Exams, *, steps: int = 40) -> FloatArray:
    """Return the maximum of the posterior, by Newton's method within the positive orthant."""
    features, present = exams.features, exams.present
    share = exams.cited / np.maximum(exams.cited.sum(1, keepdims=True), 1)
    weight = exams.weight[:, None]

    def probabilities(at: FloatArray) -> FloatArray:
        logit = np.where(present, features @ at, -np.inf)
        chance = np.exp(logit - logit.max(1, keepdims=True))
        found: FloatArray = chance / chance.sum(1, keepdims=True)
        return found

    def loss(at: FloatArray, chance: FloatArray) -> float:
        surprise = -(weight * share * np.log(np.maximum(chance, 1e-12))).sum()
        return float(surprise + (_PRECISION * (at - _PRIOR) ** 2).sum() / 2)

    at = _PRIOR.copy()
    chance = probabilities(at)
    now = loss(at, chance)
    for _ in range(steps):
        gradient = np.einsum("nck,nc->k", features, weight * (chance - share))
        gradient = gradient + _PRECISION * (at - _PRIOR)
        mean = np.einsum("nck,nc->nk", features, chance)
        second = np.einsum("nck,nc,ncl->kl", features, weight * chance, features, optimize=True)
        second = second - (weight * mean).T @ mean + np.diag(_PRECISION)
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


def _least_handicap(exams: Exams, gains: FloatArray) -> float | None:
    """Return the least handicap with which those who ask for what was never taught lose nothing.

    None if none is enough, or those who ask for what was taught lose by it: then memory counts for
    less.
    """
    for handicap in np.arange(0.0, _MOST_HANDICAP + _STEP / 2, _STEP):
        trust = np.concatenate((gains, [handicap]))
        if _gained(exams, exams.unseen, trust) >= -_TOLERATED:
            gained = _gained(exams, exams.features, trust)
            return round(float(handicap), 4) if gained >= -_TOLERATED else None
    return None


def _gained(exams: Exams, features: FloatArray, trust: FloatArray) -> float:
    """Return what memory adds to nDCG@10 of the exams, so trusted."""
    plain = features[..., 0]
    before, after = (
        ndcg(scores, exams.cited, exams.present)
        for scores in (plain, plain + features[..., 1:] @ trust)
    )
    return float(exams.weight @ (after - before) / exams.weight.sum())


def ndcg(scores: FloatArray, cited: BoolArray, present: BoolArray) -> NDArray[np.float64]:
    """Return nDCG@10 of each row.

    >>> ndcg(np.array([[0.2, 0.9]]), np.array([[True, False]]), np.ones((1, 2), bool)).round(2)
    array([0.63])
    """
    order = np.argsort(np.where(present, -scores, np.inf), axis=1, kind="stable")[:, :10]
    gained = np.take_along_axis(cited, order, 1) @ _DISCOUNT[: order.shape[1]]
    found: NDArray[np.float64] = gained / _IDEAL[np.clip(cited.sum(1), 1, 10)]
    return found
