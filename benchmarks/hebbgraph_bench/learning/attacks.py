"""What hostile lessons do to the questions they target, with honest users or without.

Each attack starts on an index that has learned nothing. Next to it act no honest users, as many as
there are hostile names, or three times as many. Each honest user asks the attacked questions and as
many others once or twice, cites the relevant chunks among the hits, and rejects poison. Hostile
names

- ``lie``: cite the best wrong chunk among the hits,
- ``reject``: reject a relevant chunk and cite nothing,
- ``promote``: cite two poisoned documents for each question, which repeat it and add a false
  statement.

For each attack they may also ask easy questions of their own, and cite the first hit of each.
"""

from __future__ import annotations

import io
import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from hebbgraph.arrays import FloatArray
from hebbgraph.hebbian_index import HebbianIndex
from hebbgraph.records import Chunk, Recall
from hebbgraph.settings import LearningSettings

from hebbgraph_bench.datasets import Dataset
from hebbgraph_bench.embedding import CachingEmbedder
from hebbgraph_bench.learning.lab import Lab
from hebbgraph_bench.learning.splits import Question
from hebbgraph_bench.protocol import judge
from hebbgraph_bench.tables import Grid

__all__ = ["ATTACKS", "Attack", "AttackResult", "grid", "measure_attacks"]

_POISON = "poison:"
_HONEST = (0, 1, 3)


@dataclass(frozen=True, slots=True)
class Attack:
    """An attack.

    Parameters
    ----------
    name : str
    does : {"lie", "reject", "promote"}
    names : int
        Number of hostile names.
    each : bool
        Whether each name attacks every question, or the names take turns.
    passes : int
    easy : int
        Easy questions per attack.
    answers : int
        How often each honest user asks.
    """

    name: str
    does: Literal["lie", "reject", "promote"] = "lie"
    names: int = 1
    each: bool = True
    passes: int = 1
    easy: int = 0
    answers: int = 1


ATTACKS = (
    Attack("one new name lies, one pass"),
    Attack("– three passes", passes=3),
    Attack("– one pass, two easy questions a lie", easy=2),
    Attack("– three passes, two easy questions a lie", passes=3, easy=2),
    Attack("25 names in turn, one easy question a lie", names=25, each=False, easy=1),
    Attack("ten names lie, two easy questions a lie", names=10, easy=2),
    Attack("one name rejects what is right, two easy questions each", "reject", easy=2),
    Attack("two poisoned documents a question", "promote", names=10, passes=0),
    Attack("– and ten fans of them", "promote", names=10),
    Attack("– and each honest reader asks again", "promote", names=10, answers=2),
    Attack("– who ask two easy questions each time", "promote", names=10, easy=2),
)


@dataclass(frozen=True, slots=True)
class AttackResult:
    """Metrics of the attacked questions before, with honest lessons alone, and with the attack.

    Each metric has one value per question; ``believed`` is the mean weight of hostile and honest
    lessons.
    """

    name: str
    honest: int
    questions: int
    before: Mapping[str, FloatArray]
    alone: Mapping[str, FloatArray]
    after: Mapping[str, FloatArray]
    believed: Mapping[str, float]

    def means(self) -> dict[str, Any]:
        """Return the means as JSON-serialisable data."""
        return {
            "name": self.name,
            "honest": self.honest,
            "questions": self.questions,
            **{
                when: {name: float(values.mean()) for name, values in getattr(self, when).items()}
                for when in ("before", "alone", "after")
            },
            "believed": dict(self.believed),
        }


class _Target:
    """A set, its attacked questions, and the index that is taught."""

    def __init__(
        self, dataset: Dataset, index: HebbianIndex, *, k: int, seed: int, at_most: int
    ) -> None:
        rng = random.Random(seed)
        queries = sorted(dataset.queries, key=lambda query: query.id)
        drawn = [Question(q.id, q.text, q.relevant) for q in rng.sample(queries, len(queries))]
        n = min(at_most, len(drawn) // 2)
        self.attacked, self.others = drawn[:n], drawn[n : 2 * n]
        chunks = rng.sample(list(dataset.corpus), min(6 * n, len(dataset.corpus)))
        #: The beginnings of passages: questions that nobody can get wrong.
        self.easy = [f"{chunk.title} {' '.join(chunk.text.split()[:8])}" for chunk in chunks]
        self.index, self._k = index, k

    def ask(self, question: str) -> Recall:
        return self.index.recall(question, k=self._k)

    def poison(self) -> list[Chunk]:
        return [
            Chunk(
                id=f"{_POISON}{question.id}:{number}",
                text=f"{question.text} {saying} {question.id[::-1]}.",
            )
            for question in self.attacked
            for number, saying in enumerate(("It is well known to be", "Experts say that it is"))
        ]

    def strike(self, attack: Attack) -> None:
        """Run the attack."""
        easy = itertools.cycle(self.easy)
        for _ in range(attack.passes):
            lessons: list[tuple[Recall, list[str], list[str], Sequence[str]]] = []
            for turn, question in enumerate(self.attacked):
                numbers = range(attack.names) if attack.each else [turn % attack.names]
                names = [f"eve-{number}" for number in numbers]
                for _ in range(attack.easy):
                    recall, right, wrong = self._recall_judged(Question("", next(easy), {}))
                    lessons.append((recall, wrong[:1], [], names))
                recall, right, wrong = self._recall_judged(question)
                poison = [id_ for id_ in wrong if id_.startswith(f"{_POISON}{question.id}:")]
                cited = {"lie": wrong[:1], "reject": [], "promote": poison}[attack.does]
                lessons.append((recall, cited, right[:1] if attack.does == "reject" else [], names))
            self._teach(lessons)

    def help(self, names: Sequence[str]) -> None:
        """Let honest users ask each question once, and cite what is right."""
        lessons = []
        for question in (*self.attacked, *self.others):
            recall, right, wrong = self._recall_judged(question)
            lessons.append(
                (recall, right, [id_ for id_ in wrong if id_.startswith(_POISON)], names)
            )
        self._teach(lessons)

    def _recall_judged(self, question: Question) -> tuple[Recall, list[str], list[str]]:
        recall = self.ask(question.text)
        ids = [hit.chunk.id for hit in recall.hits]
        right = [id_ for id_ in ids if id_ in question.relevant]
        return recall, right, [id_ for id_ in ids if id_ not in question.relevant]

    def _teach(self, lessons: Iterable[tuple[Recall, list[str], list[str], Sequence[str]]]) -> None:
        """Let the first name teach each lesson, and copy it for the other names."""
        copies = []
        for recall, cited, rejected, names in lessons:
            if names and (cited or rejected):
                first = self.index.reinforce(recall, cited, rejected=rejected, actor=names[0])
                for number, name in enumerate(names[1:]):
                    identity = {"id": f"{first.id[:56]}-{number}", "actor": name}
                    copies.append(first.model_copy(update=identity).model_dump_json())
        self.index.log.import_(io.StringIO("\n".join(copies)), origin="copies")

    def judged(self) -> dict[str, FloatArray]:
        ids = [[hit.chunk.id for hit in self.ask(question.text).hits] for question in self.attacked]
        relevant = [question.relevant for question in self.attacked]
        first = [bool(some) and some[0] in gold for some, gold in zip(ids, relevant, strict=True)]
        return {"hit@1": np.array(first, np.float64)} | judge(ids, relevant, self._k)

    def believed(self) -> dict[str, float]:
        weights: dict[str, list[float]] = {}
        for lesson in self.index.lessons():
            weights.setdefault((lesson.actor or "").split("-")[0], []).append(lesson.weight)
        return {name: float(np.mean(some)) for name, some in weights.items()}


def measure_attacks(
    dataset: Dataset,
    *,
    embedder: CachingEmbedder | None = None,
    settings: LearningSettings | None = None,
    k: int = 10,
    seed: int = 0,
    at_most: int = 50,
    attacks: Sequence[Attack] = ATTACKS,
    on_arm: Callable[[str], object] | None = None,
) -> list[AttackResult]:
    """Run every attack on one set, with each number of honest users.

    Parameters
    ----------
    dataset : Dataset
    embedder : CachingEmbedder, optional
    settings : LearningSettings, optional
    k : int
        Chunks retrieved per question.
    seed : int
    at_most : int
        Attack at most this many questions.
    attacks : sequence of Attack
    on_arm : callable, optional
        Called with the name of each attack before it starts.

    Returns
    -------
    list of AttackResult
    """
    return list(_results(dataset, embedder, settings, k, seed, at_most, attacks, on_arm))


def _results(
    dataset: Dataset,
    embedder: CachingEmbedder | None,
    settings: LearningSettings | None,
    k: int,
    seed: int,
    at_most: int,
    attacks: Sequence[Attack],
    on_arm: Callable[[str], object] | None,
) -> Iterator[AttackResult]:
    alone: dict[tuple[int, int], dict[str, FloatArray]] = {}
    with Lab(dataset, embedder) as lab, lab.fresh(settings) as index:
        target = _Target(dataset, index, k=k, seed=seed, at_most=at_most)
        for attack in sorted(attacks, key=lambda attack: attack.does == "promote"):
            for times in _HONEST:
                names = [f"reader-{number}" for number in range(times * attack.names)]
                if on_arm is not None:
                    on_arm(f"{attack.name}, {len(names)} honest")
                arm = len(names), attack.answers if names else 0
                if arm not in alone:
                    for _ in range(attack.answers):
                        target.help(names)
                    alone[arm] = target.judged()
                    index.forget(everything=True)
                if attack.does == "promote":
                    index.add(target.poison())
                target.strike(attack)
                for _ in range(attack.answers):
                    target.help(names)
                yield AttackResult(
                    attack.name,
                    len(names),
                    len(target.attacked),
                    alone[0, 0],
                    alone[arm],
                    target.judged(),
                    target.believed(),
                )
                index.forget(everything=True)
                index.delete(ids=[chunk.id for chunk in target.poison()])


def grid(name: str, results: Sequence[AttackResult], k: int = 10) -> Grid:
    """Lay out one row per attack and number of honest users."""
    rows = []
    for result in results:
        before, alone, after = (
            values["MRR"].mean() for values in (result.before, result.alone, result.after)
        )
        believed = [result.believed.get(who, float("nan")) for who in ("eve", "reader")]
        rows.append(
            (
                result.name,
                str(result.honest),
                *(f"{value:.3f}" for value in (before, alone, after)),
                f"{after - alone:+.3f}",
                *("" if value != value else f"{value:.2f}" for value in believed),
            )
        )
    headings = ("", "honest", "before", "honest alone", "attacked", "lost", "in them", "in honest")
    return Grid(f"{name}: attacks on {results[0].questions} questions", headings, rows)
