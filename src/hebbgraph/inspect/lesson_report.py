"""Whether learning helped: replay the feedback log on its own later questions.

A separate memory learns the log up to the first held-out question, and stops on the way to ask
questions. They go through a recaller that shares graph and searches with the index and writes
nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arguments import check_k
from hebbgraph.errors import ParameterError
from hebbgraph.formulas.bootstrap import paired_bootstrap
from hebbgraph.learning.memory import Memory
from hebbgraph.namespace import Namespace
from hebbgraph.recall.options import RecallOptions
from hebbgraph.recall.recaller import Recaller
from hebbgraph.recall.step_list import StepList
from hebbgraph.records.lesson_report import (
    LessonPoint,
    LessonReport,
    MeanChange,
    MovedQuestion,
    Verdict,
)
from hebbgraph.store.feedback_log import Selection

__all__ = ["lesson_report"]

_MOST_QUESTIONS = 1000
#: With fewer questions, an interval means nothing.
_FEWEST = 10
#: Look for the first cited chunk among this many hits.
_DEPTH = 10
#: Ask after an eighth, a quarter, half and all of the lessons.
_PARTS = (8, 4, 2, 1)
_MOST_MOVED = 20

_KEEP_QUESTIONS = (
    "The log keeps no text of questions. Open the index where it is taught with "
    "Settings(learning=LearningSettings(store_queries=True)), on the command line with "
    "--settings FILE (cite, mcp, serve); what is learned from then on can be asked again, for "
    "query_retention_days."
)
_NONE_LEFT = (
    "Of the questions that are kept, none has a cited chunk that still exists; come back when "
    "new ones were answered."
)
_TOO_FEW = (
    f"An interval takes at least {_FEWEST} later questions, and there are {{}}: come back when "
    "more were answered."
)


@dataclass
class _Question:
    """The question of a recall that was cited, perhaps by several actors.

    ``seq``, ``number`` (from 1) and ``feedback`` identify its first lesson in the log.
    """

    seq: int
    number: int
    feedback: str
    text: str = ""
    cited: set[str] = field(default_factory=set)
    vector: Sequence[float] | None = None


class _Figures(NamedTuple):
    """By question: recall, and the rank of the first cited chunk with its reciprocal."""

    recall: NDArray[np.float64]
    reciprocal: NDArray[np.float64]
    rank: list[int | None]


def lesson_report(namespace: Namespace, questions: int, k: int) -> LessonReport:
    """See ``index.inspect.lesson_report``."""
    check_k(k)
    whole = isinstance(questions, int) and not isinstance(questions, bool)
    if not whole or not 1 <= questions <= _MOST_QUESTIONS:
        raise ParameterError(
            f"questions is a whole number from 1 to {_MOST_QUESTIONS}, got {questions!r:.80}"
        )
    lessons, kept = _questions(namespace)
    if not lessons:
        advice = "Cite what answers rest on: reinforce, or a CitationLearner of the adapters."
        return LessonReport(verdict="no_lessons", advice=advice, k=k)
    answered = _still_answered(namespace, kept)
    if not answered:
        advice = _NONE_LEFT if kept else _KEEP_QUESTIONS
        return LessonReport(verdict="no_questions", advice=advice, lessons=lessons, k=k)
    half = len(answered) // 2
    first_held_out = answered[half].seq
    before = {_words(question.text) for question in kept if question.seq < first_held_out}
    earlier, held_out = _spread(answered[:half], questions), _spread(answered[half:], questions)
    _read_vectors(namespace, [*earlier, *held_out])
    figures, on_the_way = _learning_curve(namespace, earlier, held_out, first_held_out, k)
    is_new = np.array([_words(question.text) not in before for question in held_out])
    return _report(held_out, figures, on_the_way, is_new, k).model_copy(
        update={"lessons": lessons, "kept": len(answered)}
    )


def _spread(questions: Sequence[_Question], limit: int) -> list[_Question]:
    """Return at most this many questions, evenly spread over all."""
    positions = np.linspace(0, len(questions) - 1, min(limit, len(questions))).round()
    return [questions[at] for at in np.unique(positions).astype(int).tolist()]


def _questions(namespace: Namespace) -> tuple[int, list[_Question]]:
    """Count the lessons; return the cited questions whose text is kept, in order."""
    lessons = 0
    by_recall: dict[str, _Question] = {}
    for seq, feedback in namespace.log.after(0):
        lessons += 1
        # Later feedback on a recall adds citations to the question of the first one.
        question = by_recall.setdefault(feedback.recall_id, _Question(seq, lessons, feedback.id))
        question.text = question.text or (feedback.query or "").strip()
        question.cited.update(feedback.cited)
    questions = by_recall.values()
    return lessons, [question for question in questions if question.text and question.cited]


def _still_answered(namespace: Namespace, questions: Sequence[_Question]) -> list[_Question]:
    """Drop citations of chunks that no longer exist, and questions without any other."""
    existing = namespace.truth.rows_of({id_ for question in questions for id_ in question.cited})
    for question in questions:
        question.cited.intersection_update(existing)
    return [question for question in questions if question.cited]


def _read_vectors(namespace: Namespace, questions: Sequence[_Question]) -> None:
    """Read embeddings from the log, so that no model has to embed the questions again."""
    with namespace.reading():  # brings the embedding up to date
        embedding = namespace.derived.embedding
    if embedding is None:
        return
    by_id = {question.feedback: question for question in questions}
    for feedback in namespace.log.select(Selection(ids=tuple(by_id))):
        if feedback.embedder == embedding.name:
            by_id[feedback.id].vector = feedback.vector


def _words(text: str) -> str:
    """Normalise a question, to find others in the same words."""
    return " ".join(text.casefold().split())


def _learning_curve(
    namespace: Namespace,
    earlier: Sequence[_Question],
    held_out: Sequence[_Question],
    until: int,
    k: int,
) -> tuple[dict[int, _Figures], dict[int, tuple[_Figures, _Figures]]]:
    """Return figures by number of lessons, out of those before sequence number ``until``.

    The first dict is about the held-out questions. The second is about the questions of the log
    between one stop and the next, each asked before its own lesson: unlearned, and learned.
    """
    memory = Memory(namespace.log, namespace.truth, namespace.settings.learning)
    with namespace.reading():
        memory.corrections = namespace.derived.corrections
    copy = _copy(namespace)
    recaller = Recaller(copy, StepList(copy), memory=memory)
    n_lessons = namespace.log.count(until=until - 1)
    stops = sorted({-(-n_lessons // part) for part in _PARTS})
    following = {
        stop: [question for question in earlier if stop < question.number <= end]
        for stop, end in pairwise(stops)
    }
    figures = {0: _ask(recaller, held_out, k)}
    unlearned = {
        stop: _ask(recaller, questions, k) for stop, questions in following.items() if questions
    }
    on_the_way: dict[int, tuple[_Figures, _Figures]] = {}
    for number, (seq, lesson) in enumerate(namespace.log.lessons_after(0), start=1):
        if seq >= until:
            break
        memory.fold(lesson)
        if number in stops:
            figures[number] = _ask(recaller, held_out, k)
        if number in unlearned:
            on_the_way[number] = unlearned[number], _ask(recaller, following[number], k)
    return figures, on_the_way


def _copy(namespace: Namespace) -> Namespace:
    """Return the namespace without reranker and judge, with the caller's models cached.

    Each model sees a question once, however often it is asked.
    """

    def cached(ask: Callable[[str], Any] | None) -> Callable[[str], Any] | None:
        return None if ask is None else functools.cache(lambda query: list(ask(query)))

    search, cue_model = cached(namespace.search), cached(namespace.cue_model)
    return replace(namespace, search=search, cue_model=cue_model, reranker=None, judge=None)


def _ask(recaller: Recaller, questions: Sequence[_Question], k: int) -> _Figures:
    recall, reciprocal = np.zeros((2, len(questions)))
    first: list[int | None] = []
    for number, question in enumerate(questions):
        options = RecallOptions(k=max(k, _DEPTH), vector=question.vector)
        answer = recaller.recall(question.text, options)
        question.vector = question.vector or answer.vector
        ranks = [
            hit.rank
            for hit in answer.hits
            if hit.chunk.id in question.cited and hit.score > 0  # chunks of score 0 only fill up
        ]
        recall[number] = sum(rank <= k for rank in ranks) / len(question.cited)
        first.append(ranks[0] if ranks and ranks[0] <= _DEPTH else None)
        reciprocal[number] = 0.0 if first[-1] is None else 1.0 / first[-1]
    return _Figures(recall, reciprocal, first)


def _report(
    questions: Sequence[_Question],
    figures: dict[int, _Figures],
    on_the_way: dict[int, tuple[_Figures, _Figures]],
    is_new: NDArray[np.bool_],
    k: int,
) -> LessonReport:
    plain, taught = figures[0], max(figures)
    last = figures[taught]
    points = tuple(
        LessonPoint(
            lessons=lessons,
            recall=float(after.recall.mean()),
            mrr=float(after.reciprocal.mean()),
            recall_change=_change(after.recall, plain.recall),
            mrr_change=_change(after.reciprocal, plain.reciprocal),
            **_next(on_the_way.get(lessons)),
        )
        for lessons, after in figures.items()
    )
    few = len(questions) < _FEWEST
    moved = sorted(
        (number for number in range(len(questions)) if last.rank[number] != plain.rank[number]),
        key=lambda number: -abs(last.reciprocal[number] - plain.reciprocal[number]),
    )
    return LessonReport(
        verdict="too_few" if few else _verdict(points[-1]),
        advice=_TOO_FEW.format(len(questions)) if few else "",
        taught=taught,
        asked=len(questions),
        repeated=int((~is_new).sum()),
        k=k,
        points=points,
        new_recall=_change(last.recall[is_new], plain.recall[is_new]) if is_new.any() else None,
        new_mrr=(
            _change(last.reciprocal[is_new], plain.reciprocal[is_new]) if is_new.any() else None
        ),
        moved=tuple(
            MovedQuestion(
                question=questions[number].text,
                before=plain.rank[number],
                after=last.rank[number],
            )
            for number in moved[:_MOST_MOVED]
        ),
    )


def _next(figures: tuple[_Figures, _Figures] | None) -> dict[str, Any]:
    """Return the fields of a point about the questions that came next."""
    if figures is None:
        return {}
    before, after = figures
    return {
        "asked_next": len(after.rank),
        "next_recall": _change(after.recall, before.recall),
        "next_mrr": _change(after.reciprocal, before.reciprocal),
    }


def _change(after: NDArray[np.float64], before: NDArray[np.float64]) -> MeanChange:
    test = paired_bootstrap(after, before)
    return MeanChange(
        mean=test.mean, low=test.low, high=test.high, better=test.wins, worse=test.losses
    )


def _verdict(last: LessonPoint) -> Verdict:
    changes = (last.recall_change, last.mrr_change)
    up, down = any(change.low > 0 for change in changes), any(change.high < 0 for change in changes)
    if up and down:
        return "mixed"
    return "helped" if up else "harmed" if down else "unclear"
