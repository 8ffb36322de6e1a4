"""Credibility: how far each actor is believed, and which side of a dispute counts.

No log says what is right, but agreement tells: independent people who read the passages cite the
same even where search left the answer open, and only accomplices agree with a lie. This is truth
discovery [1]_. :func:`judge` takes five steps:

1. *Record*: how surely search stands against what an actor says
   (:mod:`hebbgraph.formulas.agreement`, :func:`records`). Agreeing with search earns nothing.
   Where believed actors deny search often, it is relied on less (:func:`reliances`).
2. *Vouching*: how often other actors cite the same where search left it open and few dispute it.
   Being vouched for makes up for disagreeing with search.
3. *Belief*: a logistic function of the record. New names share a record (:func:`beliefs`).
4. *Sides*: where lessons on one need contradict each other, each counts by the support of its
   side, to the fourth power, as a share. The support of an actor is belief and vouching. Recalls
   settle disputes on their very question anew (:func:`hebbgraph.formulas.claims.settle`).
5. *Allowance*: no actor weighs without bound (:func:`allowances`).

Later lessons are judged from what earlier ones add up to (:class:`Standing`), beside those on the
same needs, so that a new lesson does not cost a judgement of the whole log.

Needs and claims are those of :mod:`hebbgraph.formulas.claims`.

References
----------
.. [1] Li et al. (2016), A survey on truth discovery; after Dawid and Skene (1979), Maximum
   likelihood estimation of observer error-rates using the EM algorithm.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import FloatArray, IntArray, sum_by
from hebbgraph.formulas.claims import Claims, Votes

__all__ = [
    "Credibility",
    "Standing",
    "allowances",
    "beliefs",
    "judge",
    "records",
    "reliances",
]

#: A record is at least this, in log-odds.
SATURATION = 12.0
#: Honest readers who deny what search finds do so where it is unsure: on average by less than this.
_USUAL = 0.3
#: Search starts out as if others had confirmed and denied it by so much, in log-odds. Each of them
#: counts by at most so many lessons. Search is relied on at least by so much, so that names who lie
#: together where nobody else asks do not excuse one another.
_ASSUMED, _COUNTED_LESSONS, _LEAST = 10.0, 50.0, 0.4
#: Belief needs reliance on search, which needs belief: so often both are computed in turn, and
#: once where much is known before.
_ROUNDS = 4
#: Log-odds that an unknown actor cites what is right.
PRIOR = 3.0
#: An actor with fewer than about 8 lessons is judged as if there were 16 more, like the average
#: lessons of other newcomers; that average counts no lower than -.5.
NEWCOMER, _POOLED_LESSONS, _LOWEST_AVERAGE = 8.0, 16.0, -0.5
#: Each lesson's worth of vouching adds this to the divisor of a bad record.
_PARDON = 3.0
#: Support of the trusted actor.
_TRUSTED = 1000.0
#: Weight of a spared lesson. A lesson is spared only if its side has more than this share.
_SPARED, _UNDISPUTED = 0.95, 0.99


class Standing(NamedTuple):
    """What lessons add up to for each actor, so that later lessons are judged without them.

    All are arrays of shape (n_actors,); the last actor is any newcomer, who gave none.

    Parameters
    ----------
    record
        See :func:`records`.
    vouched
        How far others vouch for the actor's lessons, summed.
    n_lessons, n_new
        How many lessons the actor gave, and how many that do not only repeat others of it.
    earned, n_against
        How many of these earn room for others, and how many contradict search.
    n_corrections
        How many claims cite what search did not find first.
    confirmed, denied
        How far the actor confirms and denies what search says.
    """

    record: FloatArray
    vouched: FloatArray
    n_lessons: FloatArray
    n_new: FloatArray
    earned: FloatArray
    n_against: FloatArray
    n_corrections: FloatArray
    confirmed: FloatArray
    denied: FloatArray

    @classmethod
    def among(cls, n_actors: int, before: Standing | None) -> Standing:
        """Return the standing of so many actors: as before, and that of new ones."""
        if before is None:
            return cls(*np.zeros((len(cls._fields), n_actors)))
        return cls(*(np.pad(sums, (0, n_actors - len(sums))) for sums in before))


class Credibility(NamedTuple):
    """How far actors and lessons are believed; values lie in [0, 1] unless stated.

    Parameters
    ----------
    weights : ndarray of float, shape (n_actors,)
        What a lesson of the actor weighs: belief within the actor's allowance.
    strength : ndarray of float, same shape, not negative
        The support of the actor's side in a dispute.
    beliefs : ndarray of float, shape (n_lessons,)
        What the lesson weighs by its actor.
    shares : ndarray of float, shape (n_lessons,), in [0, 1]
        The share of the lesson's side; 1 if nobody disputes it, 0 if its actor took it back.
    overrules : ndarray of float, shape (n_actors,)
        The share of the actor's weight that puts a chunk first for the very question. As many
        lessons may contradict search as a quarter of ``at_least``, or as others vouch for.
    spared : ndarray of float, shape (n_lessons,)
        What the lesson weighs at least. Search errs, so the first few undisputed words of any
        actor against it count; 0 for other lessons.
    standing : Standing
        What the lessons add up to.
    """

    weights: NDArray[np.float64]
    strength: NDArray[np.float64]
    beliefs: NDArray[np.float64]
    shares: NDArray[np.float64]
    overrules: NDArray[np.float64]
    spared: NDArray[np.float64]
    standing: Standing


def judge(
    votes: Votes,
    n_actors: int,
    *,
    at_least: float,
    share: float,
    before: Standing | None = None,
    n_before: int = 0,
) -> Credibility:
    """Return how far actors and lessons are believed.

    Parameters
    ----------
    votes : Votes
    n_actors : int
    at_least, share : float
        See :func:`allowances`.
    before : Standing, optional
        What earlier lessons add up to.
    n_before : int
        The first so many lessons are among the earlier ones. They only take sides, and nothing is
        said of how far they are spared.

    Examples
    --------
    Two who agree on three other needs, and two who agree on nothing else, dispute the last:

    >>> need = np.array([0, 0, 1, 1, 2, 2, 3, 3, 3, 3])
    >>> actor = np.array([1, 2, 1, 2, 1, 2, 1, 2, 3, 4])
    >>> chunk = np.array([0, 0, 1, 1, 2, 2, 3, 3, 4, 4])
    >>> cites, agrees, openness = np.ones(10, bool), np.zeros(10), np.ones(10)
    >>> votes = Votes(need, chunk, np.arange(10), cites, actor, agrees, openness)
    >>> judge(votes, 5, at_least=20, share=0.1).shares.round(2).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.94, 0.94, 0.06, 0.06]
    """
    actor, claims = votes.actor, Claims(votes, n_actors)
    n_rounds = _ROUNDS if before is None else 1
    before = Standing.among(n_actors, before)
    # A lesson that only repeats its actor's claims counts for nothing below.
    new = np.zeros(len(actor), np.bool_)
    new[votes.lesson[claims.first_vote]] = True
    new[:n_before] = False
    by, agrees = actor[new], votes.agrees[new]

    vouched_by_lesson = np.where(new, _vouching(votes, claims, n_actors), 0.0)
    vouched = before.vouched + sum_by(actor, vouched_by_lesson, n_actors)
    n_lessons = before.n_lessons + np.bincount(actor[n_before:], minlength=n_actors)
    n_new = before.n_new + np.bincount(by, minlength=n_actors)
    # A flood counts by 50 lessons.
    counted = np.minimum(_COUNTED_LESSONS / np.maximum(n_new, 1), 1.0)[by]
    believed = beliefs(before.record / (1.0 + _PARDON * before.vouched), before.n_lessons)
    for _ in range(n_rounds):
        heard = believed[actor] * claims.shares(believed) / claims.n_endorsements()
        counts = heard[new] * counted
        confirmed = before.confirmed + sum_by(by, np.maximum(agrees, 0.0) * counts, n_actors)
        denied = before.denied + sum_by(by, np.maximum(-agrees, 0.0) * counts, n_actors)
        reliance = reliances(confirmed, denied)
        record = records(by, agrees * reliance[by], before.record)
        believed = beliefs(record / (1.0 + _PARDON * vouched), n_lessons)

    strength = believed * (1.0 + vouched)
    strength[0] = _TRUSTED
    shares = claims.shares(strength)

    earns = np.where(agrees > 0, 1.0, vouched_by_lesson[new])
    earned = before.earned + sum_by(by, earns, n_actors)
    allowed = allowances(n_new, earned, at_least=at_least, share=share)
    n_against = before.n_against + np.bincount(by, agrees < 0, n_actors)
    overrules = allowances(n_against, vouched / 2, at_least=at_least / 4, share=0.0)
    corrects, n_corrections = claims.corrections(before.n_corrections, at_least / 4, n_before)
    spared = np.where(corrects & (shares > _UNDISPUTED), (_SPARED * allowed)[actor], 0.0)
    sums = record, vouched, n_lessons, n_new, earned, n_against, n_corrections
    weights, standing = believed * allowed, Standing(*sums, confirmed, denied)
    return Credibility(weights, strength, weights[actor], shares, overrules, spared, standing)


def _vouching(votes: Votes, claims: Claims, n_actors: int) -> FloatArray:
    """Return how far other actors vouch for each lesson, in [0, 1].

    They do if they claim the same, search left the answer open and few dispute it.
    """
    alike = np.ones(n_actors)
    alike[0] = _TRUSTED
    of_others = claims.support(alike)[claims.of_vote] - alike[votes.actor[votes.lesson]]
    agreed = np.zeros(len(votes.actor))
    np.maximum.at(agreed, votes.lesson, of_others / (1.0 + of_others))
    vouching: FloatArray = agreed * votes.openness**3 * claims.shares(alike) ** 4
    return vouching


def records(actor: IntArray, agrees: FloatArray, before: FloatArray) -> NDArray[np.float64]:
    """Return the record of each actor, at most 0: how surely search stands against what it denies.

    Agreeing with search earns nothing, as anybody can ask what is easy, and neither does denying
    it where it is unsure: that only makes up for having denied it before where it was sure.

    Parameters
    ----------
    actor : ndarray of int, shape (n_lessons,)
    agrees : ndarray of float, same shape
    before : ndarray of float, shape (n_actors,)
        The record of each actor before these lessons.

    Examples
    --------
    >>> agrees = np.array([-0.1, 0.5, -0.1, -1.4, -0.1])
    >>> records(np.array([1, 1, 1, 2, 2]), agrees, np.zeros(3)).round(2)
    array([ 0. , -0.1, -1.2])
    """
    record = before.tolist()
    denies = agrees < 0
    for who, step in zip(actor[denies].tolist(), agrees[denies].tolist(), strict=True):
        record[who] = max(min(record[who] + _USUAL, 0.0) + step, -SATURATION)
    return np.array(record)


def reliances(confirmed: FloatArray, denied: FloatArray) -> NDArray[np.float64]:
    """Return how far search is relied on against each actor, in [0.4, 1].

    Where search is poor, everybody denies it, and nobody is to blame. So what it says counts as
    far as other actors confirm it more than they deny it.

    Parameters
    ----------
    confirmed, denied : ndarray of float, shape (n_actors,), not negative
        How far each actor does.

    Examples
    --------
    >>> reliances(np.array([0, 5.0, 5, 0]), np.array([0, 10.0, 10, 0])).round(2).tolist()
    [0.67, 0.75, 0.75, 0.67]
    """
    ratio = (_ASSUMED + confirmed.sum() - confirmed) / (_ASSUMED + denied.sum() - denied)
    return np.asarray(np.clip(ratio, _LEAST, 1.0), np.float64)


def beliefs(record: FloatArray, n_lessons: FloatArray) -> NDArray[np.float64]:
    """Return how far each actor is believed, in (0, 1).

    A logistic function of the record. A new name is judged by other new names too, if enough of
    these are known. So names invented for one lie each are soon worth nothing, and one
    newcomer who errs casts little doubt on the next.

    Parameters
    ----------
    record : ndarray of float, shape (n_actors,)
        See :func:`records`. The first actor is the trusted one.
    n_lessons : ndarray of float, same shape
        How many lessons each gave.

    Examples
    --------
    >>> beliefs(np.array([0.0, 5.0, -5.0]), np.array([9.0, 90.0, 90.0])).round(2).tolist()
    [1.0, 1.0, 0.12]
    >>> liars = np.array([0.0] + 20 * [-1.0])
    >>> beliefs(liars, np.ones(21))[-1:].round(3).tolist()
    [0.013]
    >>> beliefs(np.array([0.0, -1.0]), np.array([9.0, 1.0])).round(2).tolist()
    [1.0, 0.88]
    """
    new = _newness(n_lessons)
    # Each sum leaves out the actor, whose own lessons are in the record already.
    n_others = (new * n_lessons).sum() - new * n_lessons
    average = ((new * record).sum() - new * record) / (n_others + NEWCOMER)
    average = np.maximum(average, _LOWEST_AVERAGE)
    odds = PRIOR + record + _POOLED_LESSONS * new * average
    believed: NDArray[np.float64] = 1.0 / (1.0 + np.exp(-odds))
    believed[0] = 1.0
    return believed


def _newness(n_lessons: FloatArray) -> NDArray[np.float64]:
    """Return how new each actor is, in [0, 1]: 1 before the first lesson, 1/4 after eight."""
    new: NDArray[np.float64] = np.square(NEWCOMER / (NEWCOMER + n_lessons))
    new[0] = 0.0
    return new


def allowances(
    n_lessons: FloatArray, earned: FloatArray, *, at_least: float, share: float
) -> NDArray[np.float64]:
    """Return the factor that bounds the weight of each actor.

    ``min(1, max(at_least, share * lessons of all others, 2 * earned) / n_lessons)``: a lesson
    that agrees with search, or with other actors, earns room for itself and another one.
    Newcomers also share one such allowance, each as far as the name is new. The first actor is
    the trusted one and is not bounded.

    Parameters
    ----------
    n_lessons : ndarray of float, shape (n_actors,)
        How many lessons each gave.
    earned : ndarray of float, same shape
        How many of them agreed with search, or with others where search left it open.
    at_least : float
        Number of lessons that every actor may give in full.
    share : float, in [0, 1]

    Examples
    --------
    >>> given, earned = np.array([300.0, 15, 200, 200]), np.array([0.0, 10, 0, 90])
    >>> allowances(given, earned, at_least=20, share=0.1).round(2).tolist()
    [1.0, 1.0, 0.26, 0.9]
    >>> rotating = np.array([0.0] + 50 * [2.0])
    >>> float(allowances(rotating, 0 * rotating, at_least=20, share=0.1)[1].round(2))
    0.56
    """

    def bound(n: FloatArray, n_others: FloatArray, earned: FloatArray) -> NDArray[np.float64]:
        allowed = np.maximum(np.maximum(at_least, share * n_others), 2.0 * earned)
        factor: NDArray[np.float64] = np.minimum(1.0, allowed / np.maximum(n, 1.0))
        return factor

    total, new = n_lessons.sum(), _newness(n_lessons)
    of_new = (new * n_lessons).sum()
    together = bound(of_new, total - of_new, (new * earned).sum())
    factors = bound(n_lessons, total - n_lessons, earned) * (1.0 - new * (1.0 - together))
    factors[0] = 1.0
    return np.asarray(factors, dtype=np.float64)
