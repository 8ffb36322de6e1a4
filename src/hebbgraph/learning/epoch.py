"""What follows from the lessons up to the clock's last step, and from those since.

At each step of the clock, all lessons are judged and summed anew, and exams say how far to trust
memory. Between two steps, only the lessons since are judged, and added to the sums.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise

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
        self._at_step = self._credibility = credibility_of(lessons, until, settings)
        self._repeats = count_repeats(lessons, 0, until)
        #: None while people only cite.
        self.implicit: ImplicitWeights | None = None
        self._weights: Weights | None = None
        self._judged: dict[tuple[int, int], Credibility] = {}
        self._since: dict[tuple[int, int], LessonSums] = {}
        self._associations: tuple[int, Associations] | None = None

    # The sums of a span are kept, so lessons after it must change nothing that is said of it.
    def credibility(self) -> Credibility:
        """Return whom to believe, and how far each lesson is believed."""
        lessons = self._lessons
        if len(self._credibility.shares) != len(lessons):
            known, self._judged, found = self._judged, {}, self._at_step
            for first, until in self._spans():
                span = first, until
                self._judged[span] = known.get(span) or credibility_of(
                    lessons, until, self._settings, first, found.standing
                )
                found = self._judged[span].after(found)
            self._credibility = found
        return self._credibility

    def weights(self) -> Weights:
        """Return what each lesson weighs: belief in it, decayed to the clock."""
        lessons, until = self._lessons, self.until
        if self._weights is not None and len(self._weights.amount) == len(lessons):
            return self._weights
        since = (count_repeats(lessons, *span) for span in self._spans())
        repeats = np.concatenate((self._repeats, *since))
        judged = self.credibility()
        belief = np.maximum(judged.beliefs, np.where(repeats, 0.0, judged.spared))
        if len(lessons.kinds) > 1:
            if self.implicit is None:
                explicit = np.where(lessons.kind == CITED, belief, 0.0)
                amount = self._decayed(explicit, repeats).amount
                self.implicit = ImplicitWeights.of(lessons, until, amount, self._settings)
            belief *= self.implicit.factors(lessons)
        self._weights = self._decayed(belief, repeats)
        return self._weights

    def _decayed(self, belief: FloatArray, repeats: IntArray) -> Weights:
        retention = 0.5 ** (1.0 / self._settings.half_life_events)
        return decayed(self.until, belief, repeats, self.credibility().shares, retention)

    def associations(self) -> Associations:
        """Return the sums of all lessons."""
        n = len(self._lessons)
        if self._associations is None or self._associations[0] != n:
            spans, base = self._spans(), self._base
            if any(span not in self._since for span in spans):
                amount = self.weights().amount
                self._since = {
                    span: self._since.get(span)
                    or LessonSums(self._lessons, *span, amount, base.statistics)
                    for span in spans
                }
            sums = (self._since[span] for span in spans)
            self._associations = n, Associations(base.statistics, *base.sums, *sums)
        return self._associations[1]

    @cached_property
    def _base(self) -> Associations:
        """The sums of the first ``until`` lessons."""
        amount = self.weights().amount
        statistics = QuestionStatistics.of(self._lessons, self.until, amount)
        return Associations(
            statistics, LessonSums(self._lessons, 0, self.until, amount, statistics)
        )

    @cached_property
    def trust(self) -> Trust:
        """How far exams on the first ``until`` lessons trust memory."""
        amount = self.weights().amount
        return examine(self._lessons, self.until, self._base, amount, self._takes_part)

    def _spans(self) -> list[tuple[int, int]]:
        """Return the spans of the lessons since the clock's last step."""
        n = len(self._lessons)
        ends = pairwise((self.until, max(self.until, n - n % _FEW), n))
        return [(first, until) for first, until in ends if first < until]
