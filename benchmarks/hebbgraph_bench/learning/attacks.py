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
from hebbgraph_bench.learning.teachers import Event, Gold, Shown, Teacher
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


class _Farming:
    """Asks easy questions of its own and cites the first hit, some for each lie.

    Parameters
    ----------
    easy : sequence of str
        Questions whose first hit is right.
    for_each : int
        How many of them a lie.
    inner : _Wrong or _Rejecting
        Who lies.
    actor : callable
        The name of the n-th lie.
    """

    def __init__(
        self,
        easy: Sequence[str],
        for_each: int,
        inner: _Wrong | _Rejecting,
        actor: Callable[[int], str | None],
    ) -> None:
        self._easy = easy
        self._for_each = for_each
        self._inner = inner
        self._actor = actor

    def events(
        self, questions: Sequence[Question], ask: Callable[[str], Shown], /
    ) -> Iterator[Event]:
        """Ask and judge."""
        for number, lie in enumerate(self._inner.events(questions, ask)):
            first = number * self._for_each
            for at in range(first, first + self._for_each):
                shown = ask(self._easy[at % len(self._easy)])
                if shown.ids:
                    yield Event(shown, [shown.ids[0]], self._actor(number))
            yield lie


class _Rejecting:
    """Rejects what is right, and cites nothing."""

    def __init__(self, actor: Callable[[int], str | None]) -> None:
        self._actor = actor

    def events(
        self, questions: Sequence[Question], ask: Callable[[str], Shown], /
    ) -> Iterator[Event]:
        """Ask and judge."""
        for number, event in enumerate(Gold().events(questions, ask)):
            yield event._replace(cited=[], rejected=event.cited[:1], actor=self._actor(number))


def _easy_questions(dataset: Dataset, n: int, seed: int) -> list[str]:
    """Return the beginnings of passages: what nobody can get wrong."""
    chunks = random.Random(seed).sample(list(dataset.corpus), min(n, len(dataset.corpus)))
    return [f"{chunk.title} {' '.join(chunk.text.split()[:8])}" for chunk in chunks]


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

    Some attackers farm belief: they ask easy questions of their own for each lie.

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
        easy = _easy_questions(dataset, 2 * len(questions), seed)
        for name, asked, passes in (*_attacks(questions, seed), *_farmed(questions, easy, seed)):
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
) -> Iterator[tuple[str, Sequence[Question], Sequence[Teacher]]]:
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


def _farmed(
    questions: Sequence[Question], easy: Sequence[str], seed: int
) -> Iterator[tuple[str, Sequence[Question], Sequence[Teacher]]]:
    def liar(names: int, for_each: int, pass_: int) -> _Farming:
        def actor(at: int) -> str:
            return f"name-{at % names}"

        return _Farming(easy, for_each, _Wrong("first", actor, seed=seed + pass_), actor)

    for passes in (1, 3):
        lies = [liar(1, 2, at) for at in range(passes)]
        yield f"one name, two easy questions a lie, {passes} wrong passes (first)", questions, lies
    yield "25 names, one easy question a lie (first)", questions, [liar(25, 1, 0)]
    yield (
        "one name, two easy questions for each right chunk it rejects",
        questions,
        [_Farming(easy, 2, _Rejecting(_one), _one)],
    )
    yield (
        "the ten names of two easy questions a lie (first), and a right pass by 10",
        questions,
        [liar(10, 2, 0), _Named(lambda at: f"reader-{at % 10}")],
    )


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
