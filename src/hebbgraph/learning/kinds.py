"""Implicit feedback: what people do besides citing, such as opening or copying a passage.

It says less than a citation, and citations for similar questions tell how much: a kind of
feedback weighs as much as it chooses better than the chunk that was shown first. Readers who open
anything, or always the first hit, choose no better.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import FloatArray, IntArray
from hebbgraph.formulas.association import likeness
from hebbgraph.formulas.credibility import allowances
from hebbgraph.learning.actors import TRUSTED
from hebbgraph.learning.associations import Associations, LessonSums, QuestionStatistics
from hebbgraph.learning.exams import without
from hebbgraph.learning.lessons import CITED, Lessons
from hebbgraph.settings import LearningSettings

__all__ = ["UNKNOWN", "ImplicitWeights"]

#: Weight of an unknown kind, which counts as four comparisons; and the highest weight of any kind.
UNKNOWN, _PRIOR_COMPARISONS, _MOST = 0.1, 4.0, 0.5
#: How many lessons of each kind are compared; drawn by what they say.
_N_COMPARED = 256


class ImplicitWeights(NamedTuple):
    """What each kind weighs, where a citation weighs 1, and a bound for each actor in all."""

    by_kind: NDArray[np.float64]
    allowed: FloatArray

    @classmethod
    def of(
        cls, lessons: Lessons, until: int, amount: FloatArray, settings: LearningSettings
    ) -> ImplicitWeights:
        """Weigh kinds by the citations among the first ``until`` lessons, of these amounts."""
        statistics = QuestionStatistics.of(lessons, until, amount)
        sums = LessonSums(lessons, np.arange(until), amount, statistics)
        by_kind = _kind_weights(lessons, until, Associations(statistics, sums), amount)
        actors = lessons.actor[:until][lessons.kind[:until] != CITED]
        n_actors = int(lessons.actor.max(initial=TRUSTED)) + 1
        n_lessons = np.bincount(actors, minlength=n_actors).astype(float)
        bounds = {"at_least": settings.actor_events, "share": settings.actor_share}
        return cls(by_kind, allowances(n_lessons, np.zeros_like(n_lessons), **bounds))

    def factors(self, lessons: Lessons) -> NDArray[np.float64]:
        """Return the factor of each lesson: 1 for citations."""
        known = lessons.kind < len(self.by_kind)
        by_kind = np.where(known, self.by_kind[np.where(known, lessons.kind, 0)], UNKNOWN)
        allowed = self.allowed[np.minimum(lessons.actor, len(self.allowed) - 1)]
        return np.where(lessons.kind == CITED, 1.0, by_kind * allowed)


class _Comparison(NamedTuple):
    """What citations for similar questions say of the chunks that a lesson was shown.

    ``weight`` is the squared likeness of those questions, ``share`` how much of it cites each
    chunk, relative to the best one. ``cited`` and ``rejected`` are positions among the chunks.
    """

    weight: float
    share: FloatArray
    cited: IntArray
    rejected: IntArray


def _kind_weights(
    lessons: Lessons, until: int, associations: Associations, amount: FloatArray
) -> NDArray[np.float64]:
    """Return the weight of each kind: what it gained, as a share of what could be gained.

    A cited chunk gains its share less that of the chunk shown first. A rejected chunk gains what
    its share lacks of the mean share at its rank.
    """

    def comparisons(kind: int) -> Iterator[_Comparison]:
        for lesson in _drawn(lessons, until, kind).tolist():
            comparison = _compare(lessons, lesson, associations, amount)
            if comparison is not None:
                yield comparison

    weights = np.full(len(lessons.kinds), UNKNOWN)
    weights[CITED] = 1.0
    mean = _mean_shares(comparisons(CITED))
    for kind in range(CITED + 1, len(weights)):
        gained, possible = UNKNOWN * _PRIOR_COMPARISONS, _PRIOR_COMPARISONS
        for weight, share, cited, rejected in comparisons(kind):
            gained += weight * float((share[cited] - share[0]).sum())
            possible += weight * float(1.0 - share[0]) * len(cited)
            expected = mean[np.minimum(rejected, len(mean) - 1)]
            gained += weight * float((expected - share[rejected]).sum())
            possible += weight * float(expected.sum())
        weights[kind] = min(max(gained / possible, 0.0), _MOST)
    return weights


def _mean_shares(comparisons: Iterator[_Comparison]) -> FloatArray:
    """Return the mean share of the chunks shown at each rank; 0 if nothing is known."""
    known = list(comparisons)
    width = max((len(comparison.share) for comparison in known), default=1)
    total, weights = np.zeros((2, width))
    for weight, share, _, _ in known:
        total[: len(share)] += weight * share
        weights[: len(share)] += weight
    return total / np.maximum(weights, 1e-9)


def _drawn(lessons: Lessons, until: int, kind: int) -> IntArray:
    """Return some lessons of a kind that say what was shown."""
    able = np.flatnonzero(
        (np.diff(lessons.shown_ends[: until + 1]) > 0) & (lessons.kind[:until] == kind)
    )
    return able[np.unique(lessons.draw[able], return_index=True)[1][:_N_COMPARED]]


def _compare(
    lessons: Lessons, lesson: int, associations: Associations, amount: FloatArray
) -> _Comparison | None:
    """Compare a lesson with citations for similar questions, without its own; None if none is."""
    shown, _ = lessons.shown(lesson)
    links = lessons.links_of([lesson])
    nodes, credit = lessons.link_node[links], lessons.link_credit[links]
    added = amount[lesson] * np.maximum(credit, 0.0).astype(np.float64)
    query = associations.query(lessons.cues(lesson), None, "")
    dot, squared = without(associations.match_cues(query), nodes, added)
    best = float(dot[shown].max())
    if best <= 1e-6:
        return None
    weight = float(likeness(dot[shown], squared[shown])[0].max()) ** 2
    cited = np.flatnonzero(np.isin(shown, nodes[credit > 0]))
    rejected = np.flatnonzero(np.isin(shown, lessons.rejects[nodes[credit < 0]]))
    return _Comparison(weight, dot[shown] / best, cited, rejected)
