"""Credibility: whom to believe, by what each says of needs that others speak of too.

Nothing tells what is right. But independent people who read what is shown agree where search left
the answer open, and nobody but the like-minded agrees with a lie. So those who agree with others
on what nobody disputes are vouched for, and where people disagree the side counts whose people are
vouched for elsewhere: truth discovery [1]_, of the log alone. Search is a judge only of those for
whom nobody vouches: whoever cites at any rank, or avoids what is best, is believed little, while
what anybody would cite says nothing of who does.

References
----------
.. [1] Li et al. (2016), A survey on truth discovery; after Dawid and Skene (1979), Maximum
   likelihood estimation of observer error-rates using the EM algorithm.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import BoolArray, FloatArray, IntArray, sum_by, unique_inverse

__all__ = ["Judgement", "Votes", "agreement", "allowances", "credibilities", "judged", "records"]

#: What a lesson weighs of somebody of whom nothing is known: the belief that follows.
_AT_FIRST, _UNDISPUTED = 0.95, 0.99
#: Log-odds that somebody of whom nothing is known cites what is right.
PRIOR = 3.0
#: The record of an actor lies within this, in log-odds, and half of it is of his last lessons: it
#: can be lost, and mended, in a few dozen.
SATURATION, _HALF_LIFE = 8.0, 24.0
#: An actor with fewer lessons than about this many is judged with other newcomers, as if he had
#: given so many more.
NEWCOMER, _LIKE_OTHERS = 8.0, 16.0
#: ... at least at this: a crowd of liars is no proof against whoever comes among them.
_WORST = -0.5
#: What a reader cites: sharper than this, and a near tie would count against him.
_SHARPNESS, _AT_RANDOM = 12.0, 0.2
#: So far do readers agree where search serves; told of others by more lessons than about so many.
_USUAL, _UNSURE = 0.2, 200.0
#: ... of each by at most so many, or a name that floods the log would excuse all other liars.
_HEARD = 50
#: Makes up for what telling evidence is counted less.
_TELLING = 2.0
#: One lesson's worth of being vouched for divides what search has against somebody by 1 + this.
_PARDON = 3.0
#: What is vouched for by the application outweighs so many newcomers.
_TRUSTED = 1000.0
#: What a rejection counts, beside a citation; and what search says against one that cites nothing.
_REJECTS, _BY_SEARCH = 0.7, 1.0


def agreement(
    evidence: Sequence[float] | FloatArray, cited: Sequence[int], *, telling: bool = True
) -> tuple[float, float]:
    """Return how much more likely a reader cites these chunks than somebody who picks at random.

    The logarithm of that likelihood ratio, a mean over the cited ones; and how far direct evidence
    left it open that they are cited, in [0, 1]. Each draws one after the other from what is left
    (Plackett–Luce [1]_): a reader mostly by weights ``evidence ** 12``, and in one case of five at
    random. It counts by how telling it is.

    Parameters
    ----------
    evidence : sequence of float, in [0, 1]
        Direct evidence of all chunks that were found.
    cited : sequence of int
        Positions of the cited ones.
    telling : bool
        Count what speaks for a reader by how open it was, to the fourth power: what nearly
        everybody would cite says nothing of who does, so nobody earns belief by questions that
        have but one answer. And what speaks against by how sure evidence is, the highest
        probability, in the same way: who is right contradicts search where it is unsure, who lies
        where it is sure, and that tells them apart.

    References
    ----------
    .. [1] Plackett (1975), The analysis of permutations.

    Examples
    --------
    >>> evidence = [1.0, 0.9, 0.6, 0.6]
    >>> [round(agreement(evidence, [at])[0], 2) for at in range(4)]
    [0.0, -0.04, -0.64, -0.64]
    >>> agreement([1.0], [0])
    (0.0, 0.0)
    """
    n = len(evidence)
    best = float(max(evidence, default=0.0))
    if not cited or best <= 0.0:
        return 0.0, 0.0
    # Few numbers, for each lesson of a log: arrays would take three times as long.
    by_evidence = [(float(one) / best) ** _SHARPNESS for one in evidence]
    among = sum(by_evidence)
    by_evidence = [one / among for one in by_evidence]
    weight = [(1.0 - _AT_RANDOM) * one + _AT_RANDOM / n for one in by_evidence]
    total, left, found, opened, sure = 1.0, n, 0.0, 0.0, max(weight)
    remains = 1.0
    for at in sorted(cited, key=lambda at: -weight[at]):
        one, plain = weight[at], by_evidence[at]
        if left > 1:
            ratio = math.log(left * one / total)
            is_open = max(1.0 - plain / remains, 0.0)
            told = (is_open if ratio > 0 else sure) ** 4
            found += _TELLING * told * ratio if telling else ratio
            opened += is_open
        left -= 1
        total, remains = max(total - one, 1e-9), max(remains - plain, 1e-9)
    return found / len(cited), opened / len(cited)


class Votes(NamedTuple):
    """What lessons say of chunks for needs: columns of votes, and columns of lessons.

    Parameters
    ----------
    need, chunk, lesson : ndarray of int, shape (n_votes,)
    cites : ndarray of bool, shape (n_votes,)
        Else it rejects.
    actor : ndarray of int, shape (n_lessons,)
        0 is the trusted one.
    agrees, left_open : ndarray of float, shape (n_lessons,)
        See :func:`agreement`.
    """

    need: IntArray
    chunk: IntArray
    lesson: IntArray
    cites: BoolArray
    actor: IntArray
    agrees: FloatArray
    left_open: FloatArray


class Judgement(NamedTuple):
    """What a lesson of each actor weighs, in [0, 1], and what the side of each lesson is worth.

    ``spared`` is what a lesson weighs at least: the first few words of an actor against search
    count, whoever he is, as search is wrong, too; 0 for other lessons.
    ``overrules`` is the share of an actor's weight that leads for the very question: so many of his
    lessons may contradict search so as a quarter of ``at_least``, or as many as others vouch for.
    """

    weights: NDArray[np.float64]
    worth: NDArray[np.float64]
    overrules: NDArray[np.float64]
    spared: NDArray[np.float64]


def judged(votes: Votes, n_actors: int, *, at_least: float, share: float) -> Judgement:
    """Return whom to believe.

    Each chunk that is cited (or rejected) for a need has the support of those who do so; the
    second of them counts half, the third a third: names that only say the same are about one. A
    lesson is worth the fourth power of the support of what it says, as a share of that and of what
    is said against it: other chunks cited, its own rejected. A rejection counts less than a
    citation, and search speaks against whoever only rejects: a newcomer alone sinks little.

    An actor's support is belief in him, times one more for each lesson whose answer search left
    open, that others give too, and few dispute, whoever they are. The more of these, the less it
    is held against him that he disagrees with search.

    Parameters
    ----------
    votes : Votes
    n_actors : int
    at_least, share : float
        See :func:`allowances`.

    Examples
    --------
    Two who agree on three other needs, and two who agree on nothing else, dispute the last:

    >>> need = np.array([0, 0, 1, 1, 2, 2, 3, 3, 3, 3])
    >>> actor = np.array([1, 2, 1, 2, 1, 2, 1, 2, 3, 4])
    >>> chunk = np.array([0, 0, 1, 1, 2, 2, 3, 3, 4, 4])
    >>> cites, agrees, left_open = np.ones(10, bool), np.zeros(10), np.ones(10)
    >>> votes = Votes(need, chunk, np.arange(10), cites, actor, agrees, left_open)
    >>> judged(votes, 5, at_least=20, share=0.1).worth.round(2).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.94, 0.94, 0.06, 0.06]
    """
    n, whose = len(votes.actor), votes.actor
    at = _Said.of(votes)
    # Whoever says it again says nothing new.
    new = np.zeros(n, np.bool_)
    new[votes.lesson[at.first]] = True
    events, told = (
        np.bincount(one, minlength=n_actors).astype(np.float64) for one in (whose, whose[new])
    )
    record = records(whose[new], _expected(whose[new], votes.agrees[new], n_actors), n_actors)
    known = np.ones(n_actors)
    known[0] = _TRUSTED
    others = at.together(known) - known[whose[votes.lesson]]
    agreed = np.zeros(n)
    np.maximum.at(agreed, votes.lesson, others / (1.0 + others))
    gained = np.where(new, agreed * votes.left_open**3 * at.worth(known) ** 4, 0.0)
    vouched = sum_by(whose, gained, n_actors)
    doubted = 1.0 + _PARDON * np.where(record < 0, vouched, 0.0)
    believed = credibilities(record / doubted, events)
    strength = believed * (1.0 + vouched)
    strength[0] = _TRUSTED
    earned = sum_by(whose[new], np.where(votes.agrees[new] > 0, 1.0, gained[new]), n_actors)
    allowed = allowances(told, earned, at_least=at_least, share=share)
    against = sum_by(whose[new], (votes.agrees[new] < 0).astype(np.float64), n_actors)
    overrules = allowances(against, vouched / 2, at_least=at_least / 4, share=0.0)
    worth = at.worth(strength)
    # ... unless somebody says otherwise: then it is judged whom to believe.
    spares = _corrects(at, at_least / 4) & (worth > _UNDISPUTED)
    spared = np.where(spares, (_AT_FIRST * allowed)[whose], 0.0)
    return Judgement(believed * allowed, worth, overrules, spared)


def _corrects(at: _Said, at_most: float) -> BoolArray:
    """Return which lessons only cite, and are among the first words of their actor against search.

    A word is a chunk for a need, so that nobody puts one chunk before everything.
    """
    votes = at.votes
    actor = votes.actor[votes.lesson]
    told = votes.cites & (votes.agrees[votes.lesson] < 0)
    first = at.first[told[at.first]]
    order = first[np.lexsort((first, actor[first]))]
    few = order[np.arange(len(order)) - actor[order].searchsorted(actor[order]) < at_most]
    found = np.zeros(len(votes.actor), np.bool_)
    found[votes.lesson[np.isin(at.word, at.word[few]) & told]] = True
    found[votes.lesson[~votes.cites]] = False
    return found


def _expected(actor: IntArray, agrees: FloatArray, n_actors: int) -> FloatArray:
    """Return how far lessons agree with search, the more where all others seldom do.

    Where search is poor, everybody corrects it, and nobody is to be doubted for that.
    """
    n = np.bincount(actor, minlength=n_actors)
    heard = np.minimum(n, _HEARD)
    heard[0] = n[0]
    total = sum_by(actor, agrees, n_actors) * heard / np.maximum(n, 1)
    others, theirs = heard.sum() - heard, total.sum() - total
    lacking = np.maximum(_USUAL * others - theirs, 0.0) / (others + _UNSURE)
    expected: FloatArray = agrees + lacking[actor]
    return expected


def records(actor: IntArray, agrees: FloatArray, n_actors: int) -> NDArray[np.float64]:
    """Return the record of each actor: how far his lessons agree with search, the last ones most.

    A lesson fades as others say more of him, so what says next to nothing hides nothing.

    >>> records(np.array([1, 1, 2]), np.array([0.5, 0.5, -20.0]), 3).round(2).tolist()
    [0.0, 0.99, -8.0]
    """
    order = np.argsort(actor, kind="stable")
    actor, agrees = actor[order], agrees[order]
    told = np.minimum(np.abs(agrees), 1.0).cumsum()
    last = actor.searchsorted(actor, side="right") - 1
    faded = agrees * 0.5 ** ((told[last] - told) / _HALF_LIFE)
    summed = sum_by(actor, faded, n_actors)
    found: NDArray[np.float64] = np.clip(summed, -SATURATION, SATURATION)
    return found


class _Said(NamedTuple):
    """Votes, and for each the number of what it says, of its need and chunk, and of its need."""

    votes: Votes
    said: IntArray
    #: The votes that their actors give for the first time, and for each vote which of them it is.
    first: IntArray
    word: IntArray
    pair: IntArray
    need: IntArray

    @classmethod
    def of(cls, votes: Votes) -> _Said:
        _, need = unique_inverse(votes.need)
        _, pair = unique_inverse(need * (int(votes.chunk.max(initial=0)) + 1) + votes.chunk)
        _, said = unique_inverse(2 * pair + votes.cites)
        actor = votes.actor[votes.lesson]
        key = said * (int(actor.max(initial=0)) + 1) + actor
        _, first, word = np.unique(key, return_index=True, return_inverse=True)
        return cls(votes, said, first, word, pair, need)

    def together(self, strength: FloatArray) -> FloatArray:
        """Return for each vote the support of what it says."""
        return self._summed(self._shares(strength))

    def _summed(self, shares: FloatArray) -> FloatArray:
        return sum_by(self.said[self.first], shares, int(self.said.max(initial=-1)) + 1)[self.said]

    def _shares(self, strength: FloatArray) -> NDArray[np.float64]:
        """Return what each word adds to the support of what it says."""
        said = self.said[self.first]
        strength = strength[self.votes.actor[self.votes.lesson[self.first]]]
        order = np.lexsort((-strength, said))
        ordered = said[order]
        rank = np.arange(len(order)) - ordered.searchsorted(ordered)
        found = np.zeros(len(order))
        found[order] = strength[order] / (1.0 + rank)
        return found

    def worth(self, strength: FloatArray) -> NDArray[np.float64]:
        """Return for each lesson the support of its side, to the fourth power, as a share.

        Nobody is his own rival: who cites one chunk, and later another, may want both.
        """
        cites, lesson, n = self.votes.cites, self.votes.lesson, len(self.votes.actor)
        shares = self._shares(strength)
        together = self._summed(shares)
        support = (together * np.where(cites, 1.0, _REJECTS)) ** 4
        once = np.zeros(len(support), np.bool_)
        once[np.unique(self.said, return_index=True)[1]] = True

        def total(group: IntArray, of: BoolArray) -> FloatArray:
            values = np.where(once & of, support, 0.0)
            return sum_by(group, values, int(group.max(initial=-1)) + 1)[group]

        own, own_cited = (
            sum_by(lesson, support, n),
            sum_by(lesson, np.where(cites, support, 0.0), n),
        )
        against = sum_by(lesson, np.where(cites, total(self.pair, ~cites), 0.0), n)
        against = np.where(own_cited > 0, against, _BY_SEARCH)
        all_cited = np.zeros(n)
        all_cited[lesson] = total(self.need, cites)
        # Of each word what is its actor's alone; and of a need, all that is his.
        without = np.maximum(together[self.first] - shares, 0.0)
        his = np.where(cites[self.first], support[self.first] - without**4, 0.0)
        actor, need = self.votes.actor[lesson[self.first]], self.need[self.first]
        keys, whose = unique_inverse(need * (int(actor.max(initial=0)) + 1) + actor)
        his_rivals = np.zeros(n)
        his_rivals[lesson] = sum_by(whose, his, len(keys))[whose][self.word]
        his_rivals -= sum_by(lesson, his[self.word], n)
        against = against + np.maximum(all_cited - own_cited - his_rivals, 0.0)
        found: NDArray[np.float64] = np.where(own > 0, own / np.maximum(own + against, 1e-12), 1.0)
        return found


def credibilities(record: FloatArray, events: FloatArray) -> NDArray[np.float64]:
    """Return how far each actor is believed, in (0, 1).

    A logistic function of the actor's record. New names are judged by each other too: an actor
    counts as if he had given up to sixteen lessons more, such as newcomers give on average, as far
    as enough of these are known. So a name that is invented for each lie is worth no more than
    those before it, and whoever comes after a single one who errs is believed all the same.

    Parameters
    ----------
    record : ndarray of float, shape (n_actors,)
        See :func:`records`. The first actor is the trusted one.
    events : ndarray of float, same shape
        How many lessons each gave.

    Examples
    --------
    >>> credibilities(np.array([0.0, 5.0, -5.0]), np.array([9.0, 90.0, 90.0])).round(2).tolist()
    [1.0, 1.0, 0.12]
    >>> liars = np.array([0.0] + 20 * [-1.0])
    >>> credibilities(liars, np.ones(21))[-1:].round(3).tolist()
    [0.013]
    >>> credibilities(np.array([0.0, -1.0]), np.array([9.0, 1.0])).round(2).tolist()
    [1.0, 0.88]
    """
    new = _newness(events)
    # Of all others, not of the actor: nobody's word counts twice.
    lessons = (new * events).sum() - new * events
    common = ((new * record).sum() - new * record) / (lessons + NEWCOMER)
    common = np.maximum(common, _WORST)
    odds = PRIOR + record + _LIKE_OTHERS * new * common
    found: NDArray[np.float64] = 1.0 / (1.0 + np.exp(-odds))
    found[0] = 1.0
    return found


def _newness(events: FloatArray) -> NDArray[np.float64]:
    """Return how new each actor is, in [0, 1]: 1 before the first lesson, 1/4 after eight."""
    new: NDArray[np.float64] = np.square(NEWCOMER / (NEWCOMER + events))
    new[0] = 0.0
    return new


def allowances(
    events: FloatArray, earned: FloatArray, *, at_least: float, share: float
) -> NDArray[np.float64]:
    """Return the factor that bounds the weight of each actor.

    ``min(1, max(at_least, share * events of all others, 2 * earned) / events)``: a lesson that
    agrees with direct evidence, or with others, earns room for itself and another one.
    Newcomers share one such allowance beside their own, each of them as far as he is new. The first
    actor is the trusted one and is not bounded.

    Parameters
    ----------
    events : ndarray of float, shape (n_actors,)
        How many lessons each gave.
    earned : ndarray of float, same shape
        How many of them agreed with direct evidence, or with others where that left it open.
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

    def bounded(mine: FloatArray, others: FloatArray, earned: FloatArray) -> NDArray[np.float64]:
        allowed = np.maximum(np.maximum(at_least, share * others), 2.0 * earned)
        found: NDArray[np.float64] = np.minimum(1.0, allowed / np.maximum(mine, 1.0))
        return found

    total = events.sum()
    new = _newness(events)
    mine, theirs = (new * events).sum(), (new * earned).sum()
    together = bounded(mine, total - mine, theirs)
    scales = bounded(events, total - events, earned) * (1.0 - new * (1.0 - together))
    scales[0] = 1.0
    return np.asarray(scales, dtype=np.float64)
