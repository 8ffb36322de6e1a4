"""What follows from the lessons up to the clock's last step, and from those since.

At each step of the clock, all lessons are judged and summed anew, and exams say how far to trust
memory. Between two steps, only the lessons since are judged, and those on the same questions anew:
what that adds or takes back comes to the sums.
"""

from __future__ import annotations

from functools import cached_property, partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from hebbgraph.arrays import BoolArray, FloatArray, IntArray
from hebbgraph.formulas.credibility import Credibility
from hebbgraph.formulas.trust import Trust
from hebbgraph.learning.actors import credibility_of
from hebbgraph.learning.associations import Associations, LessonSums, QuestionStatistics
from hebbgraph.learning.exams import examine
from hebbgraph.learning.kinds import ImplicitWeights
from hebbgraph.learning.lessons import CITED, Lessons
from hebbgraph.learning.weighing import Weights, count_repeats, decayed
from hebbgraph.settings import LearningSettings

__all__ = ["Epoch"]

#: The lessons since the clock's last step are judged and summed in two spans. The latter has fewer
#: than this many, and only it is judged and summed anew with each lesson.
_FEW = 64


class _Judged(NamedTuple):
    """What the first lessons say of each other, and what each then weighs."""

    credibility: Credibility
    weights: Weights


class Epoch:
    """What follows from the first ``until`` lessons, and the weights and sums of all.

    Parameters
    ----------
    lessons : Lessons
        May grow.
    until : int
        See :func:`hebbgraph.learning.weighing.clock`.
    settings : LearningSettings
    takes_part : ndarray of bool, shape (n_kinds,)
        Which kinds of memory recalls use.
    """

    def __init__(
        self, lessons: Lessons, until: int, settings: LearningSettings, takes_part: BoolArray
    ) -> None:
        self._lessons, self.until = lessons, until
        self._settings, self._takes_part = settings, takes_part
        #: None while people only cite.
        self.implicit: ImplicitWeights | None = None
        self._at_step = self._judge(None, until)
        #: What is judged and summed, by the end of each span since the step.
        self._since: dict[int, _Judged] = {}
        self._sums: dict[int, LessonSums] = {}
        self._associations: tuple[int, Associations] | None = None

    def credibility(self) -> Credibility:
        """Return whom to believe, and how far each lesson is believed."""
        return self._judged()[-1].credibility

    def weights(self) -> Weights:
        """Return what each lesson weighs: belief in it, decayed to the clock."""
        return self._judged()[-1].weights

    def _judged(self) -> list[_Judged]:
        """Return what is judged at the step, and after each span of lessons since."""
        ends, known = self._ends(), self._since
        if any(end not in known for end in ends):
            self._since, earlier = {}, self._at_step
            for end in ends:
                earlier = self._since[end] = known.get(end) or self._judge(earlier, end)
        return [self._at_step, *(self._since[end] for end in ends)]

    def _judge(self, earlier: _Judged | None, until: int) -> _Judged:
        """Judge the lessons up to ``until``, of which some were judged earlier."""
        lessons = self._lessons
        judged = credibility_of(
            lessons, until, self._settings, None if earlier is None else earlier.credibility
        )
        repeats: IntArray = np.empty(0, np.int64) if earlier is None else earlier.weights.repeats
        repeats = np.concatenate((repeats, count_repeats(lessons, len(repeats), until)))
        belief = np.maximum(judged.beliefs, np.where(repeats, 0.0, judged.spared))
        retention = 0.5 ** (1.0 / self._settings.half_life_events)
        weigh = partial(
            decayed, self.until, repeats=repeats, shares=judged.shares, retention=retention
        )
        if len(lessons.kinds) > 1:
            if self.implicit is None:
                explicit = np.where(lessons.kind[:until] == CITED, belief, 0.0)
                amount = (weigh(explicit) if earlier is None else self._at_step.weights).amount
                self.implicit = ImplicitWeights.of(lessons, self.until, amount, self._settings)
            belief *= self.implicit.factors(lessons)[:until]
        return _Judged(judged, weigh(belief))

    def associations(self) -> Associations:
        """Return the sums of all lessons."""
        n = len(self._lessons)
        if self._associations is None or self._associations[0] != n:
            known, self._sums = self._sums, {}
            for earlier, later in pairwise(self._judged()):
                amount = later.weights.amount
                end = len(amount)
                self._sums[end] = known.get(end) or self._changes(earlier.weights.amount, amount)
            base = self._base
            parts = *base.parts, *self._sums.values()
            self._associations = n, Associations(base.statistics, *parts)
        return self._associations[1]

    def _changes(self, before: FloatArray, amount: FloatArray) -> LessonSums:
        """Return the sums of new lessons, and of what they change about lessons before them."""
        n = len(before)
        changes = amount.copy()
        changes[:n] -= before
        changed = np.concatenate((np.flatnonzero(changes[:n]), np.arange(n, len(amount))))
        return LessonSums(self._lessons, changed, changes, self._base.statistics)

    @cached_property
    def _base(self) -> Associations:
        """The sums of the first ``until`` lessons."""
        amount = self._at_step.weights.amount
        statistics = QuestionStatistics.of(self._lessons, self.until, amount)
        return Associations(
            statistics, LessonSums(self._lessons, np.arange(self.until), amount, statistics)
        )

    @cached_property
    def trust(self) -> Trust:
        """How far exams on the first ``until`` lessons trust memory."""
        amount = self._at_step.weights.amount
        return examine(self._lessons, self.until, self._base, amount, self._takes_part)

    def _ends(self) -> list[int]:
        """Return the ends of the spans of lessons since the clock's last step."""
        n = len(self._lessons)
        return sorted({max(self.until, n - n % _FEW), n} - {self.until})
