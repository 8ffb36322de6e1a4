"""Claims: what lessons say of chunks, and which side of a dispute counts how far.

A *need* is a question by its words. A *claim* is that a chunk is right, or wrong, for a need.
Where claims on one need contradict each other, each side counts by its support, to the fourth
power, as a share. The support is that of the actors who endorse it
(:mod:`hebbgraph.formulas.credibility`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import BoolArray, FloatArray, IntArray, equal_later, sum_by, unique_inverse

__all__ = ["Claims", "Votes", "contradicted", "settle"]

#: Support of a rejection beside a citation, and of search against a lesson that only rejects.
_REJECTION, _SEARCH = 0.7, 1.0


class Votes(NamedTuple):
    """What lessons say of chunks for needs: columns of votes, then columns of lessons.

    Parameters
    ----------
    need, chunk, lesson : ndarray of int, shape (n_votes,)
    cites : ndarray of bool, shape (n_votes,)
        Whether the vote cites the chunk; otherwise it rejects it.
    actor : ndarray of int, shape (n_lessons,)
        0 is the trusted one.
    agrees, openness : ndarray of float, shape (n_lessons,)
        See :func:`hebbgraph.formulas.agreement.agreement`.
    """

    need: IntArray
    chunk: IntArray
    lesson: IntArray
    cites: BoolArray
    actor: IntArray
    agrees: FloatArray
    openness: FloatArray


def contradicted(cites: BoolArray, *claim: IntArray) -> BoolArray:
    """Return which votes a later one takes back: the same claim with the other sign.

    ``claim`` are columns that say whose vote it is, and of what; votes are in order of time.

    >>> contradicted(np.array([True, False, True]), np.array([4, 4, 5])).tolist()
    [True, False, False]
    """
    return equal_later(*claim) > equal_later(*claim, cites)


def settle(votes: Votes, strength: FloatArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the share of each lesson's side, and how far each vote sinks what it rejects.

    A rejection sinks a chunk by its share beside search and those who cite the chunk: one name
    alone by a fifth, four by four fifths, the trusted one wholly. Citations sink nothing.
    """
    claims = Claims(votes, len(strength))
    return claims.shares(strength), claims.sinks(strength)


class Claims:
    """The distinct claims of votes, and who endorses each.

    ``of_vote`` is the claim of each vote. An endorsement is a claim and an actor who makes it,
    however often: ``endorsement`` is that of each vote, ``first_vote`` the first vote of each.
    """

    def __init__(self, votes: Votes, n_actors: int) -> None:
        self.votes = votes
        _, need = unique_inverse(votes.need)
        _, pair = unique_inverse(need * (int(votes.chunk.max(initial=0)) + 1) + votes.chunk)
        _, at, self.of_vote = np.unique(
            2 * pair + votes.cites, return_index=True, return_inverse=True
        )
        self._need, self._pair, self._cites = need[at], pair[at], votes.cites[at]
        _, self.first_vote, self.endorsement = np.unique(
            self.of_vote * n_actors + votes.actor[votes.lesson],
            return_index=True,
            return_inverse=True,
        )
        self._claim = self.of_vote[self.first_vote]
        self._actor = votes.actor[votes.lesson[self.first_vote]]
        _, self._need_of_actor = unique_inverse(self._need[self._claim] * n_actors + self._actor)

    def n_endorsements(self) -> NDArray[np.float64]:
        """Return how many endorsements the need of each lesson has, at least 1."""
        of_need = _total(self._need[self._claim], np.ones(len(self._claim)))
        n = np.ones(len(self.votes.actor))
        n[self.votes.lesson] = of_need[self.endorsement]
        return n

    def support(self, strength: FloatArray) -> FloatArray:
        """Return the support of each claim, from the strength of each actor."""
        return sum_by(self._claim, self._contributions(strength), len(self._need))

    def _power(self, support: FloatArray) -> NDArray[np.float64]:
        counts = np.where(self._cites, 1.0, _REJECTION)
        return np.asarray((support * counts) ** 4, np.float64)

    def _contributions(self, strength: FloatArray) -> NDArray[np.float64]:
        """Return what each endorsement adds to the support of its claim.

        The strongest counts in full, the second half, the third a third, so many names that say
        the same are worth little more than one.
        """
        strength = strength[self._actor]
        order = np.lexsort((-strength, self._claim))
        claim = self._claim[order]
        rank = np.arange(len(order)) - claim.searchsorted(claim)
        contributions = np.zeros(len(order))
        contributions[order] = strength[order] / (1.0 + rank)
        return contributions

    def shares(self, strength: FloatArray) -> NDArray[np.float64]:
        """Return the support of each lesson's side, to the fourth power, as a share.

        Against a lesson stand other chunks cited for its need, and rejections of what it cites;
        search stands against a lesson that only rejects. An actor's own citations are no rivals:
        one chunk cited now, and another later, may both be right.
        """
        lesson, of_vote, n = self.votes.lesson, self.of_vote, len(self.votes.actor)
        contributions = self._contributions(strength)
        support = sum_by(self._claim, contributions, len(self._need))
        power = self._power(support)
        cited, rejected = np.where(self._cites, power, 0.0), np.where(self._cites, 0.0, power)
        own, own_cited = sum_by(lesson, power[of_vote], n), sum_by(lesson, cited[of_vote], n)

        rejection = np.where(self._cites, _total(self._pair, rejected), 0.0)
        against = np.where(own_cited > 0, sum_by(lesson, rejection[of_vote], n), _SEARCH)
        # Other citations for the need, less what only the actor's own other votes add to them.
        rivals = np.zeros(n)
        rivals[lesson] = _total(self._need, cited)[of_vote]
        without = np.maximum(support[self._claim] - contributions, 0.0) ** 4
        added = np.where(self._cites[self._claim], power[self._claim] - without, 0.0)
        by_actor = np.zeros(n)
        by_actor[lesson] = _total(self._need_of_actor, added)[self.endorsement]
        by_actor -= sum_by(lesson, added[self.endorsement], n)
        against = against + np.maximum(rivals - own_cited - by_actor, 0.0)
        total = own + against
        return np.divide(own, total, out=np.zeros(n), where=total > 0)

    def sinks(self, strength: FloatArray) -> NDArray[np.float64]:
        """Return the share of each rejecting vote's claim; 0 for citing votes."""
        power = self._power(self.support(strength))
        cited = _total(self._pair, np.where(self._cites, power, 0.0))
        sinks = np.where(self._cites, 0.0, power / (power + cited + _SEARCH))
        return np.asarray(sinks[self.of_vote], np.float64)

    def corrections(
        self, made: FloatArray, at_most: float, n_before: int
    ) -> tuple[BoolArray, FloatArray]:
        """Return which lessons only cite, and are among their actor's first against search.

        And how many such claims each actor made in all; ``made`` are those before. Claims are
        counted, not chunks, so nobody can put one chunk first for every question.
        """
        votes = self.votes
        against = votes.cites & (votes.agrees[votes.lesson] < 0)
        is_new = against[self.first_vote] & (votes.lesson[self.first_vote] >= n_before)
        vote = self.first_vote[is_new]
        actor = votes.actor[votes.lesson[vote]]
        order = np.lexsort((vote, actor))
        in_order = actor[order]
        rank = made[in_order] + np.arange(len(order)) - in_order.searchsorted(in_order)
        early = self.endorsement[vote[order[rank < at_most]]]
        corrects = np.zeros(len(votes.actor), np.bool_)
        corrects[votes.lesson[np.isin(self.endorsement, early) & against]] = True
        corrects[votes.lesson[~votes.cites]] = False
        return corrects, made + np.bincount(actor, minlength=len(made))


def _total(group: IntArray, values: FloatArray) -> FloatArray:
    """Return for each row the sum of the values of its group."""
    return sum_by(group, values, int(group.max(initial=-1)) + 1)[group]
