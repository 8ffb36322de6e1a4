"""Whether learning helped: the feedback log, replayed on its own later questions.

A memory apart folds the log as far as the first question that is held out, and stops on the way
to ask. What it is asked through shares graph and searches with the index, and writes nothing.
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
#: Below this, an interval would say more than the questions do.
_FEWEST = 10
#: The first cited chunk is looked for this deep.
_DEPTH = 10
#: After these parts of the lessons the questions are asked.
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
    """A recall that was cited: one question, however many said what of it was right."""

    seq: int
    """Of its first lesson."""
    number: int
    """Of that in the log, from 1."""
    feedback: str
    text: str = ""
    cited: set[str] = field(default_factory=set)
    vector: Sequence[float] | None = None


class _Found(NamedTuple):
    """What each question found: recall, one over the rank of the first cited chunk, that rank."""

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
    asked = _still_answered(namespace, kept)
    if not asked:
        advice = _NONE_LEFT if kept else _KEEP_QUESTIONS
        return LessonReport(verdict="no_questions", advice=advice, lessons=lessons, k=k)
    later = asked[len(asked) // 2 :]
    before = {_words(one.text) for one in kept if one.seq < later[0].seq}
    held_out = _spread(later, questions)
    earlier = _spread(asked[: len(asked) // 2], questions)
    _read_vectors(namespace, [*earlier, *held_out])
    found, on_the_way = _learning_curve(namespace, earlier, held_out, later[0].seq, k)
    new = np.array([_words(one.text) not in before for one in held_out])
    return _report(held_out, found, on_the_way, new, k).model_copy(
        update={"lessons": lessons, "kept": len(asked)}
    )


def _spread(questions: Sequence[_Question], most: int) -> list[_Question]:
    """Return so many questions at most, evenly spread over all."""
    some = np.linspace(0, len(questions) - 1, min(most, len(questions))).round()
    return [questions[at] for at in np.unique(some).astype(int).tolist()]


def _questions(namespace: Namespace) -> tuple[int, list[_Question]]:
    """Count the lessons; return what was asked and cited, as far as its text is kept, in order."""
    lessons = 0
    found: dict[str, _Question] = {}
    for seq, one in namespace.log.after(0):
        lessons += 1
        # Who speaks later of a recall says nothing new of the question: it belongs to the first.
        question = found.setdefault(one.recall_id, _Question(seq, lessons, one.id))
        question.text = question.text or (one.query or "").strip()
        question.cited.update(one.cited)
    return lessons, [one for one in found.values() if one.text and one.cited]


def _still_answered(namespace: Namespace, kept: Sequence[_Question]) -> list[_Question]:
    held = namespace.truth.rows_of({id_ for one in kept for id_ in one.cited})
    for one in kept:
        one.cited.intersection_update(held)
    return [one for one in kept if one.cited]


def _read_vectors(namespace: Namespace, questions: Sequence[_Question]) -> None:
    """Read the embeddings that the log keeps, so that no model is asked again."""
    with namespace.held():  # which brings it up to date
        embedding = namespace.derived.embedding
    if embedding is None:
        return
    by_id = {one.feedback: one for one in questions}
    for feedback in namespace.log.select(Selection(ids=tuple(by_id))):
        if feedback.embedder == embedding.name:
            by_id[feedback.id].vector = feedback.vector


def _words(text: str) -> str:
    """Return what two questions in the same words have in common."""
    return " ".join(text.casefold().split())


def _learning_curve(
    namespace: Namespace,
    earlier: Sequence[_Question],
    later: Sequence[_Question],
    until: int,
    k: int,
) -> tuple[dict[int, _Found], dict[int, tuple[_Found, _Found]]]:
    """Return what questions find by number of lessons, of those before ``until``.

    The later ones at each stop; and, unlearned and learned, those of the log that come between it
    and the next, so that each is asked before its own lesson.
    """
    memory = Memory(namespace.log, namespace.truth, namespace.settings.learning)
    with namespace.held():
        memory.corrections = namespace.derived.corrections
    apart = _apart(namespace)
    recaller = Recaller(apart, StepList(apart), learned=memory)
    n = namespace.log.count(until=until - 1)
    stops = sorted({-(-n // part) for part in _PARTS})
    after = {
        stop: [one for one in earlier if stop < one.number <= end] for stop, end in pairwise(stops)
    }
    found = {0: _ask(recaller, later, k)}
    unlearned = {stop: _ask(recaller, some, k) for stop, some in after.items() if some}
    on_the_way: dict[int, tuple[_Found, _Found]] = {}
    for number, (seq, feedback) in enumerate(namespace.log.after(0), start=1):
        if seq >= until:
            break
        memory.fold(feedback)
        if number in stops:
            found[number] = _ask(recaller, later, k)
        if number in unlearned:
            on_the_way[number] = unlearned[number], _ask(recaller, after[number], k)
    return found, on_the_way


def _apart(namespace: Namespace) -> Namespace:
    """Return the namespace for questions that are asked again and again.

    The caller's models see each one once; a reranker would see it with other hits each time.
    """

    def once(ask: Callable[[str], Any] | None) -> Callable[[str], Any] | None:
        return None if ask is None else functools.cache(lambda query: list(ask(query)))

    search, cue_model = once(namespace.search), once(namespace.cue_model)
    return replace(namespace, search=search, cue_model=cue_model, reranker=None, judge=None)


def _ask(recaller: Recaller, questions: Sequence[_Question], k: int) -> _Found:
    recall, reciprocal = np.zeros((2, len(questions)))
    first: list[int | None] = []
    for number, one in enumerate(questions):
        options = RecallOptions(k=max(k, _DEPTH), vector=one.vector)
        answer = recaller.recall(one.text, options)
        one.vector = one.vector or answer.vector
        ranks = [
            rank
            for rank, hit in enumerate(answer.hits, start=1)
            if hit.chunk.id in one.cited and hit.score > 0  # what fills up to k was not found
        ]
        recall[number] = sum(rank <= k for rank in ranks) / len(one.cited)
        first.append(ranks[0] if ranks and ranks[0] <= _DEPTH else None)
        reciprocal[number] = 0.0 if first[-1] is None else 1.0 / first[-1]
    return _Found(recall, reciprocal, first)


def _report(
    questions: Sequence[_Question],
    found: dict[int, _Found],
    on_the_way: dict[int, tuple[_Found, _Found]],
    new: NDArray[np.bool_],
    k: int,
) -> LessonReport:
    plain, taught = found[0], max(found)
    last = found[taught]
    points = tuple(
        LessonPoint(
            lessons=lessons,
            recall=float(some.recall.mean()),
            mrr=float(some.reciprocal.mean()),
            recall_change=_change(some.recall, plain.recall),
            mrr_change=_change(some.reciprocal, plain.reciprocal),
            **_next(on_the_way.get(lessons)),
        )
        for lessons, some in found.items()
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
        repeated=int((~new).sum()),
        k=k,
        points=points,
        new_recall=_change(last.recall[new], plain.recall[new]) if new.any() else None,
        new_mrr=_change(last.reciprocal[new], plain.reciprocal[new]) if new.any() else None,
        moved=tuple(
            MovedQuestion(
                question=questions[number].text,
                before=plain.rank[number],
                after=last.rank[number],
            )
            for number in moved[:_MOST_MOVED]
        ),
    )


def _next(asked: tuple[_Found, _Found] | None) -> dict[str, Any]:
    """Return what a point says of the questions that came next."""
    if asked is None:
        return {}
    before, after = asked
    return {
        "asked_next": len(after.rank),
        "next_recall": _change(after.recall, before.recall),
        "next_mrr": _change(after.reciprocal, before.reciprocal),
    }


def _change(after: NDArray[np.float64], before: NDArray[np.float64]) -> MeanChange:
    by = paired_bootstrap(after, before)
    return MeanChange(mean=by.mean, low=by.low, high=by.high, better=by.wins, worse=by.losses)


def _verdict(last: LessonPoint) -> Verdict:
    changes = (last.recall_change, last.mrr_change)
    up, down = any(one.low > 0 for one in changes), any(one.high < 0 for one in changes)
    if up and down:
        return "mixed"
    return "helped" if up else "harmed" if down else "unclear"
