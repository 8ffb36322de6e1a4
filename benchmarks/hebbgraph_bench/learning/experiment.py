"""The learning protocol: learn on one part, then test frozen on the strata.

For each arm: one pass over the questions to learn from, each asked once with ``k`` hits
in the state that was reached by then, citations given at once; then every stratum is
asked, and nothing is learned from that. Arms with a curve are also tested along the
first pass and after each further round over the same questions. Nothing is tuned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from hebbgraph.arrays import FloatArray
from hebbgraph.errors import ParameterError
from hebbgraph.formulas.bootstrap import Difference, paired_bootstrap
from hebbgraph.settings import LearningSettings

from hebbgraph_bench.datasets import Dataset
from hebbgraph_bench.embedding import CachingEmbedder
from hebbgraph_bench.learning.arms import NONE, PARTS, Arm, arms
from hebbgraph_bench.learning.learners import Lab, Learner
from hebbgraph_bench.learning.splits import Split, split
from hebbgraph_bench.learning.teachers import Event, Shown, Teacher
from hebbgraph_bench.protocol import judge

__all__ = ["ArmResult", "LearningResult", "Point", "run_learning"]

_ALONG = 4
Values = Mapping[str, Mapping[str, FloatArray]]


@dataclass(frozen=True, slots=True)
class Point:
    """One test of an arm: after how many questions, and the mean of R@5 by stratum."""

    asked: int
    recall: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class ArmResult:
    """One arm after the first pass.

    ``values`` holds, by stratum and metric, one value a question (the mean over runs);
    ``cited`` counts feedbacks given in a pass, the mean over runs.
    """

    name: str
    values: Values
    cited: float
    curve: tuple[Point, ...] = ()


@dataclass(frozen=True, slots=True)
class LearningResult:
    """All arms on one set.

    ``exposed`` is the share of a stratum's questions of which some relevant chunk was
    cited to ``none`` while learning: no arm can know more than that.
    """

    name: str
    k: int
    learned: int
    strata: Mapping[str, tuple[str, ...]]
    exposed: Mapping[str, float]
    arms: tuple[ArmResult, ...]

    def arm(self, name: str) -> ArmResult:
        """Return an arm.

        Raises
        ------
        ParameterError
            If there is none of that name.
        """
        for arm in self.arms:
            if arm.name == name:
                return arm
        raise ParameterError(f"no arm is called {name!r}; there are: {[a.name for a in self.arms]}")

    def difference(
        self, first: str, second: str, stratum: str, metric: str, *, seed: int = 0
    ) -> Difference:
        """Compare two arms on a stratum."""
        return paired_bootstrap(
            self.arm(first).values[stratum][metric],
            self.arm(second).values[stratum][metric],
            seed=seed,
        )


def run_learning(
    dataset: Dataset,
    *,
    embedder: CachingEmbedder | None = None,
    k: int = 10,
    rounds: int = 3,
    settings: LearningSettings | None = None,
    parts: Sequence[str] = PARTS,
    seeds: int = 5,
    seed: int = 0,
    at_most: int | None = 300,
    curves: bool = True,
    on_arm: Callable[[str], object] | None = None,
) -> LearningResult:
    """Run the protocol on one set.

    Parameters
    ----------
    dataset : Dataset
    embedder : CachingEmbedder, optional
    k : int
        How many chunks each question is shown.
    rounds : int
        Passes over the questions for arms with a curve; the figures are those after the
        first.
    settings : LearningSettings, optional
        Of ``ours``; the defaults when left out.
    parts : sequence of str
        Which arms run beside ``none`` and ``ours``.
    seeds : int
        Runs of each arm that draws at random.
    seed : int
        Of the split.
    at_most : int, optional
        Test with at most so many questions of each stratum.
    curves : bool
        Without them, every arm makes one pass and is tested once.
    on_arm : callable, optional
        Told the name of each arm before it starts.

    Returns
    -------
    LearningResult

    Raises
    ------
    DatasetError
        If the set offers nothing that learning could help with.
    ParameterError
        If ``k``, ``rounds`` or ``seeds`` is not positive.
    """
    if min(k, rounds, seeds) < 1:
        raise ParameterError(
            f"k, rounds and seeds must be at least 1, got {k!r}, {rounds!r}, {seeds!r}"
        )
    parts_of = split(dataset, seed=seed, at_most=at_most)
    asked = [*parts_of.learn, *(one for some in parts_of.strata.values() for one in some)]
    results = []
    exposed: dict[str, float] = {}
    with Lab(dataset, embedder) as lab:
        for arm in arms(asked, settings=settings, parts=parts, seeds=seeds):
            if on_arm is not None:
                on_arm(arm.name)
            drawn = arm if curves else replace(arm, curve=False)
            result, cited = _run_arm(drawn, lab, parts_of, k, rounds)
            results.append(result)
            if arm.name == NONE:
                exposed = {
                    name: float(np.mean([not cited.isdisjoint(one.relevant) for one in some]))
                    for name, some in parts_of.strata.items()
                }
    return LearningResult(
        name=dataset.name,
        k=k,
        learned=len(parts_of.learn),
        strata={name: tuple(one.id for one in some) for name, some in parts_of.strata.items()},
        exposed=exposed,
        arms=tuple(results),
    )


def _run_arm(arm: Arm, lab: Lab, parts: Split, k: int, rounds: int) -> tuple[ArmResult, set[str]]:
    """Return the result and all that was cited."""
    runs: list[Values] = []
    curve: list[Point] = []
    events: list[Event] = []
    for teacher in arm.teachers:
        with arm.learner(lab) as learner:
            if arm.curve:
                curve.append(_point(0, _test(learner, parts, k)))
                events += _pass_along(learner, teacher, parts, k, curve)
            else:
                events += _pass(learner, teacher, parts, k)
            runs.append(_test(learner, parts, k))
            if arm.curve:
                curve.append(_point(len(parts.learn), runs[-1]))
                for number in range(2, rounds + 1):
                    _pass(learner, teacher, parts, k)
                    curve.append(_point(number * len(parts.learn), _test(learner, parts, k)))
    result = ArmResult(arm.name, _mean(runs), len(events) / len(arm.teachers), tuple(curve))
    return result, {id_ for event in events for id_ in event.cited}


def _pass(learner: Learner, teacher: Teacher, parts: Split, k: int) -> list[Event]:
    def ask(text: str) -> Shown:
        return learner.ask(text, k)

    events = []
    for event in teacher.events(parts.learn, ask):
        learner.learn(event)
        events.append(event)
    return events


def _pass_along(
    learner: Learner, teacher: Teacher, parts: Split, k: int, curve: list[Point]
) -> list[Event]:
    """Pass over the questions in portions, with a test after each but the last."""
    events: list[Event] = []
    n = len(parts.learn)
    ends = sorted({n * part // _ALONG for part in range(1, _ALONG + 1)} - {0})
    for start, end in zip([0, *ends[:-1]], ends, strict=True):
        events += _pass(learner, teacher, Split(parts.learn[start:end], {}), k)
        if end < n:
            curve.append(_point(end, _test(learner, parts, k)))
    return events


def _test(learner: Learner, parts: Split, k: int) -> Values:
    return {
        name: judge(
            [learner.ask(one.text, k).ids for one in some], [one.relevant for one in some], k
        )
        for name, some in parts.strata.items()
    }


def _point(asked: int, values: Values) -> Point:
    return Point(
        asked,
        {name: float(metrics[_curve_metric(metrics)].mean()) for name, metrics in values.items()},
    )


def _curve_metric(metrics: Mapping[str, FloatArray]) -> str:
    return "R@5" if "R@5" in metrics else next(iter(metrics))


def _mean(runs: Sequence[Values]) -> Values:
    return {
        name: {metric: np.mean([run[name][metric] for run in runs], axis=0) for metric in metrics}
        for name, metrics in runs[0].items()
    }
