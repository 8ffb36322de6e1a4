"""What wrong citations do to the questions that they are about, and what right ones bring.

Each attack meets an index that has learned nothing, or in one case what is right. An attacker
asks the questions that others will ask and cites, of the chunks that are shown, a wrong one:

- ``random``: any of them,
- ``first``: the best, which often stands right below the right one,
- ``last``: the lowest.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from hebbgraph.arrays import FloatArray
from hebbgraph.settings import LearningSettings

from hebbgraph_bench.datasets import Dataset
from hebbgraph_bench.embedding import CachingEmbedder
from hebbgraph_bench.learning.learners import IndexLearner, Lab
from hebbgraph_bench.learning.splits import Question, split
from hebbgraph_bench.learning.teachers import Event, Gold, Shown
from hebbgraph_bench.protocol import judge
from hebbgraph_bench.tables import Grid

__all__ = ["AttackResult", "grid", "measure_attacks"]

Choice: TypeAlias = Literal["random", "first", "last"]
_CHOICES: tuple[Choice, ...] = ("random", "first", "last")
#: Wrong passes of the unnamed, questions of the single wrong citations, and rotating names.
_PASSES, _SINGLE, _NAMES = 5, 30, 40


@dataclass(frozen=True, slots=True)
class AttackResult:
    """The questions of one attack, before and after it, by metric; one value a question."""

    name: str
    questions: int
    before: Mapping[str, FloatArray]
    after: Mapping[str, FloatArray]

    def means(self) -> dict[str, Any]:
        """Return the means, as what JSON can hold."""
        return {
            "name": self.name,
            "questions": self.questions,
            "before": {name: float(values.mean()) for name, values in self.before.items()},
            "after": {name: float(values.mean()) for name, values in self.after.items()},
        }


class _Wrong:
    """Cites one wrong chunk a question."""

    def __init__(self, choice: Choice, actor: Callable[[int], str | None], *, seed: int) -> None:
        self._choice = choice
        self._actor = actor
        self._rng = random.Random(seed)
        self._times = 0

    def events(
        self, questions: Sequence[Question], ask: Callable[[str], Shown], /
    ) -> Iterator[Event]:
        """Ask and judge."""
        for question in questions:
            shown = ask(question.text)
            wrong = [id_ for id_ in shown.ids if id_ not in question.relevant]
            if wrong:
                at = {"random": self._rng.randrange(len(wrong)), "first": 0, "last": -1}
                yield Event(shown, [wrong[at[self._choice]]], self._actor(self._times))
                self._times += 1


class _Named:
    """Cites what is right, under names."""

    def __init__(self, actor: Callable[[int], str | None]) -> None:
        self._actor = actor

    def events(
        self, questions: Sequence[Question], ask: Callable[[str], Shown], /
    ) -> Iterator[Event]:
        """Ask and judge."""
        for number, event in enumerate(Gold().events(questions, ask)):
            yield event._replace(actor=self._actor(number))


def _nobody(_: int) -> str | None:
    return None


def _one(_: int) -> str | None:
    return "eve"


def measure_attacks(
    dataset: Dataset,
    *,
    embedder: CachingEmbedder | None = None,
    settings: LearningSettings | None = None,
    k: int = 10,
    seed: int = 0,
    at_most: int = 100,
    on_arm: Callable[[str], object] | None = None,
) -> list[AttackResult]:
    """Run every attack on one set, and right passes beside them.

    Parameters
    ----------
    dataset : Dataset
    embedder : CachingEmbedder, optional
    settings : LearningSettings, optional
    k : int
        How many chunks each question is shown.
    seed : int
    at_most : int
        Questions that are taught and asked, at most.
    on_arm : callable, optional
        Told the name of each attack before it starts.

    Returns
    -------
    list of AttackResult
    """
    questions = split(dataset, seed=seed).learn[:at_most]
    results = []
    with Lab(dataset, embedder) as lab:
        with lab.unlearned() as ask:
            before = [ask(one.text, k).ids for one in questions]
        for name, asked, passes in _attacks(questions, seed):
            if on_arm is not None:
                on_arm(name)
            with lab.fresh(settings) as index:
                learner = IndexLearner(index)

                def shown(text: str, learner: IndexLearner = learner) -> Shown:
                    return learner.ask(text, k)

                for teacher in passes:
                    for event in teacher.events(asked, shown):
                        learner.learn(event)
                after = [learner.ask(one.text, k).ids for one in asked]
            relevant = [one.relevant for one in asked]
            results.append(
                AttackResult(
                    name,
                    len(asked),
                    _judged(before[: len(asked)], relevant, k),
                    _judged(after, relevant, k),
                )
            )
    return results


def _attacks(
    questions: Sequence[Question], seed: int
) -> Iterator[tuple[str, Sequence[Question], list[_Wrong | _Named]]]:
    right: list[_Wrong | _Named]
    for who, actor in (("nobody", _nobody), ("one actor", _one), ("each another", "{}".format)):
        yield f"one right pass by {who}", questions, [_Named(actor)]
    for choice in _CHOICES:
        passes: list[_Wrong | _Named] = [
            _Wrong(choice, _nobody, seed=seed + number) for number in range(_PASSES)
        ]
        yield f"{_PASSES} wrong passes by nobody ({choice})", questions, passes
    for choice in _CHOICES:
        single: list[_Wrong | _Named] = [_Wrong(choice, _one, seed=seed)]
        yield f"{_SINGLE} single wrong by one actor ({choice})", questions[:_SINGLE], single
    for choice in _CHOICES:
        names: list[_Wrong | _Named] = [
            _Wrong(choice, lambda at: f"name-{at % _NAMES}", seed=seed + number)
            for number in range(_PASSES)
        ]
        yield f"{_PASSES} wrong passes by {_NAMES} new names ({choice})", questions, names
    for choice in _CHOICES:
        right = [_Named(lambda at: f"reader-{at % 10}")]
        right += [_Wrong(choice, lambda at: f"name-{at % _NAMES}", seed=seed)]
        yield f"right pass by 10, wrong one by {_NAMES} new names ({choice})", questions, right


def _judged(
    rankings: Sequence[Sequence[str]], relevant: Sequence[Mapping[str, int]], k: int
) -> dict[str, FloatArray]:
    first = [bool(ids) and ids[0] in gold for ids, gold in zip(rankings, relevant, strict=True)]
    return {"hit@1": np.array(first, dtype=np.float64)} | judge(rankings, relevant, k)


def grid(name: str, results: Sequence[AttackResult], k: int = 10) -> Grid:
    """Lay out one row an attack: means before and after."""
    metrics = ("hit@1", "MRR", f"R@{min(5, k)}", f"nDCG@{min(10, k)}")
    rows = [
        (
            result.name,
            str(result.questions),
            *(
                f"{result.before[metric].mean():.3f} → {result.after[metric].mean():.3f}"
                for metric in metrics
            ),
        )
        for result in results
    ]
    return Grid(f"{name}: attacks and what is right", ("", "questions", *metrics), rows)
