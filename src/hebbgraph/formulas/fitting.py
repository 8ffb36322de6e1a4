r"""How far lessons, vectors and the graph are trusted, measured by exams.

Every lesson is an exam: take out what was taught for its question, ask that again, and see where
each kind of evidence puts the chunk that the lesson cited.

*Lessons.* What they add to a score has fixed proportions, a likeness of words counting most. Three
numbers are searched on a grid: a common gain, a factor for the likeness of paths, and a handicap of
taught chunks. Those are taken with which the exams gain most nDCG@10, as long as questions about
untaught chunks lose little because everything else was taught. How often needs are new (Good and
Turing's question [2]_) the exams tell themselves: once a question is taken out, a chunk that was
cited for no other was never taught. These exams are few, so all others count a little, held again
with all taken out that their chunk was ever taught.
:func:`hebbgraph.formulas.association.scale_by_confidence` scales gain and handicap.

*Vectors and the graph.* Under the right shares, what people cite stands out most among what they
were shown. A conditional logit model [1]_ says how likely each shown chunk is the cited one:

.. math:: P(c) \propto \exp(\beta\, s(c))

with :math:`s` the score under some shares. The likeliest shares are taken, under Gaussian priors,
if what is cited ranks better under them, too: likelihood depends on a few bad exams most.

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

from hebbgraph.arrays import BoolArray, FloatArray
from hebbgraph.formulas.evidence import DENSE_SHARE
from hebbgraph.formulas.spreading_step import SpreadingParameters

#: What lessons add: likeness of words, vectors and path, each alone and times repetition.
KINDS = ("words", "often by words", "vectors", "often by vectors", "path", "often by path")
_PROPORTIONS = np.array([0.625, 0.375, 0.5, 0.375, 0.25, 0.125])
#: With fewer exams than this, the defaults stand.
_FEWEST = 12
#: Gains, factors of paths and handicaps that are tried; of equal ones the first stands.
_GAINS = 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0
_PATHS = 1.0, 0.5, 0.0
_HANDICAPS = np.arange(0.0, 0.61, 0.05)
#: What questions may lose in nDCG@10 whose chunk nobody has taught: on average, or, where such
#: questions are few, as a share of all questions.
_TOLERATED, _TOLERATED_IN_ALL = 0.003, 0.0005
#: The exams with all that was taught of their chunk taken out count as so many of them.
_SUPPOSED = 8.0
#: Lessons are expected to help: as if 16 more exams had gained .05 each.
_EXPECTED = 0.8
#: Few exams show little: a gain of 1 and this handicap are expected; to be off by the error (of a
#: gain, in powers of two) must gain 1 in the sum of nDCG.
_HANDICAP, _HANDICAP_ERROR, _GAIN_ERROR = 0.2, 0.17, 1.4
#: Shares of vectors and weights of the graph that are tried, and how far off they are expected. If
#: not the prior ones, they must gain half the standard error of what they gain.
_SHARES, _GRAPHS = np.arange(0.1, 1.0, 0.05), np.arange(0.25, 1.01, 0.25)
_SHARE_ERROR, _GRAPH_ERROR, _DOUBT = 0.15, 0.5, 0.5
#: How far the score decides what is cited: these are tried for β.
_SHARPNESS = 2.0, 4.0, 8.0, 16.0, 32.0
_POWER = SpreadingParameters().evidence_power
_DISCOUNT = 1.0 / np.log2(np.arange(2, 12))
_IDEAL = np.concatenate(([0.0], np.cumsum(_DISCOUNT)))


@dataclass(frozen=True)
class Trust:
    """How far each kind of evidence is trusted; ``exams`` is how many all this follows from.

    ``gain`` multiplies what lessons add to a score, ``path`` besides what the likeness of paths
    adds. ``handicap``, in [0, 1], is that of taught chunks. ``vectors`` is the share of vectors in
    direct evidence, ``graph`` the weight of the activation that arrives over the graph.
    """

    gain: float = 1.0
    path: float = 1.0
    handicap: float = 0.0
    vectors: float = DENSE_SHARE
    graph: float = 1.0
    exams: int = 0

    @property
    def gains(self) -> FloatArray:
        """What each of :data:`KINDS` adds."""
        factors = np.array([1.0, 1.0, 1.0, 1.0, self.path, self.path])
        gains: FloatArray = self.gain * factors * _PROPORTIONS
        return gains


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
    """Return the gain, the factor of paths and the handicap with which exams gain most.

    What questions may lose whose chunk nobody else has taught is bounded.
    """
    n = len(exams.cited)
    if n < _FEWEST:
        return Trust(exams=n)
    is_new = ~((exams.features[..., -1] < 0) & exams.cited).any(1)
    n_new = int(is_new.sum())
    tolerated = max(_TOLERATED, _TOLERATED_IN_ALL * (n + 2) / (n_new + 1))
    plain = ndcg(exams.features[..., 0], exams.cited, exams.present)
    best, chosen = 0.0, Trust(gain=0.0, exams=n)
    for gain, path, handicap in product(_GAINS, _PATHS, _HANDICAPS.round(2).tolist()):
        trust = Trust(gain, path, handicap, exams=n)
        change = _taught(exams, exams.features, trust) - plain
        off = ((handicap - _HANDICAP) / _HANDICAP_ERROR) ** 2
        off += (np.log2(gain) / _GAIN_ERROR) ** 2
        if (gained := float(change.sum()) + _EXPECTED * min(gain, 1.0) - off) <= best:
            continue
        if_new = float((_taught(exams, exams.untaught, trust) - plain).mean())
        lost = float(change[is_new].sum()) + _SUPPOSED * if_new
        if lost >= -tolerated * (n_new + _SUPPOSED):
            best, chosen = gained, trust
    return chosen


def fit_shares(
    found: FloatArray, cited: BoolArray, present: BoolArray, prior: float = DENSE_SHARE
) -> tuple[float, float]:
    """Return the share of vectors and the weight of the graph under which citations are likeliest.

    A share near ``prior`` is expected. ``found``, shape (n, c, 3), is how well words, vectors and
    the graph rate each chunk that was shown, in [0, 1]. Exams have different numbers of chunks: not
    all c are ``present``.

    >>> found = np.array(50 * [[[0.2, 1.0, 0.0], [1.0, 0.2, 0.0]]])
    >>> fit_shares(found, np.array(50 * [[False, True]]), np.ones((50, 2), bool))
    (0.35, 1.0)
    """
    able = cited.any(1) & (present & ~cited).any(1)
    if able.sum() < _FEWEST:
        return prior, 1.0
    found, cited, present = found[able], cited[able], present[able]
    share = cited / cited.sum(1, keepdims=True)
    plain = ndcg(score_under(found, prior, 1.0), cited, present)
    best, chosen = -np.inf, (prior, 1.0)
    shares = _SHARES if found[..., 1].any() else [prior]
    for of_vectors, of_graph in product(shares, _GRAPHS):
        score = score_under(found, of_vectors, of_graph)
        likely = max(_likely(sharpness * score, share, present) for sharpness in _SHARPNESS)
        likely -= ((of_vectors - prior) / _SHARE_ERROR) ** 2 / 2
        likely -= ((of_graph - 1.0) / _GRAPH_ERROR) ** 2 / 2
        change = ndcg(score, cited, present) - plain
        if likely > best and change.sum() >= _DOUBT * np.sqrt((change**2).sum()):
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


def scores_of(exams: Exams, trust: Trust) -> tuple[FloatArray, FloatArray]:
    """Return the nDCG@10 of each exam, without lessons and with them."""
    plain = ndcg(exams.features[..., 0], exams.cited, exams.present)
    return plain, _taught(exams, exams.features, trust)


def _taught(exams: Exams, features: FloatArray, trust: Trust) -> FloatArray:
    """Return the nDCG@10 of each exam with lessons."""
    learned = features[..., 0] + features[..., 1:] @ np.append(trust.gains, trust.handicap)
    return ndcg(learned, exams.cited, exams.present)


def ndcg(scores: FloatArray, cited: BoolArray, present: BoolArray) -> FloatArray:
    """Return nDCG@10 of each row; a score of 0 finds nothing.

    >>> ndcg(np.array([[0.2, 0.9]]), np.array([[True, False]]), np.ones((1, 2), bool)).round(2)
    array([0.63])
    """
    order = np.argsort(np.where(present, -scores, np.inf), axis=1, kind="stable")[:, :10]
    gain = np.take_along_axis(cited & (scores != 0), order, 1) @ _DISCOUNT[: order.shape[1]]
    share: FloatArray = gain / _IDEAL[np.clip(cited.sum(1), 1, 10)]
    return share
