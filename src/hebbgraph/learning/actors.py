"""Actors: who taught, and how far each is believed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np

from hebbgraph.arrays import FloatArray, IntArray, unique_inverse
from hebbgraph.formulas.agreement import agreement
from hebbgraph.formulas.claims import Votes, contradicted
from hebbgraph.formulas.credibility import Credibility, judge
from hebbgraph.learning.lessons import CITED, Lessons
from hebbgraph.records import Feedback
from hebbgraph.settings import LearningSettings
from hebbgraph.store.feedback_rows import LessonBody, StoredChunk, StoredLesson, lesson_of

__all__ = [
    "TRUSTED",
    "ActorKey",
    "actor_key",
    "credibility_of",
    "lesson_beliefs",
    "search_agreement",
    "weights_of",
]

ActorKey: TypeAlias = str | None
"""An actor's name; ``""`` for all who are unnamed, None for what the application vouches for."""

#: The number of the actor None, which is not bounded.
TRUSTED = 0
#: The graph brought a chunk whose score exceeds its direct evidence by this, both relative to the
#: best: search cannot tell whether it is right.
_BROUGHT = 0.2
#: Share of what search says against a lesson that only rejects: it may well be right.
_REJECTS_ONLY = 0.5


def actor_key(feedback: Feedback | StoredLesson) -> ActorKey:
    """Return the actor of a feedback."""
    return None if feedback.trusted else feedback.actor or ""


def search_agreement(body: LessonBody) -> tuple[float, float]:
    """Return how far a lesson agrees with search, in log-odds, and how open search left it.

    Cited chunks that the graph brought say nothing for or against the actor.

    Examples
    --------
    >>> from hebbgraph.records import ShownChunk
    >>> shown = [ShownChunk(chunk_id=str(n), rank=n, text_hash="0" * 16) for n in (1, 2)]
    >>> recall = {"namespace": "n", "recall_id": "r", "shown": shown, "evidence": [1.0, 0.5]}
    >>> lessons = [lesson_of(Feedback(id="f", cited=[id_], **recall)) for id_ in "12"]
    >>> [round(search_agreement(lesson.body)[0], 2) for lesson in lessons]
    [0.0, -2.11]
    """
    # Earlier versions, and strategies that do not search, give none.
    evidence = body.evidence or tuple(
        rank**-0.1 for rank in range(1, max([chunk["rank"] for chunk in body.shown], default=0) + 1)
    )
    wanted = {*(body.cited or body.rejected)}
    judged = [chunk for chunk in body.shown if chunk["chunk_id"] in wanted]
    if body.cited:
        judged = _found(judged, body)
    positions = list({min(chunk["rank"], len(evidence)) - 1: None for chunk in judged})
    agrees, openness = agreement(evidence, positions, telling=bool(body.cited))
    return (agrees, openness) if body.cited else (-_REJECTS_ONLY * max(agrees, 0.0), 1.0)


def _found(cited: list[StoredChunk], body: LessonBody) -> list[StoredChunk]:
    """Return the cited chunks that direct search found; the graph brought the others."""
    evidence = body.evidence
    best_score = max([chunk.get("score") or 0.0 for chunk in body.shown], default=0.0)
    best = max(evidence, default=0.0)
    if best_score <= 0.0 or best <= 0.0:
        return cited
    return [
        chunk
        for chunk in cited
        if (rank := chunk["rank"]) > len(evidence)
        or (chunk.get("score") or 0.0) / best_score <= evidence[rank - 1] / best + _BROUGHT
    ]


def credibility_of(
    lessons: Lessons,
    until: int,
    settings: LearningSettings,
    before: Credibility | None = None,
) -> Credibility:
    """Return whom the lessons up to ``until`` let us believe; the last actor is any newcomer.

    Of the lessons that were judged ``before``, only those on the questions of the others are read,
    to settle disputes anew. Implicit feedback speaks for and against nobody
    (:mod:`hebbgraph.learning.kinds`).

    Examples
    --------
    >>> credibility_of(Lessons(), 0, LearningSettings()).weights.round(2).tolist()
    [1.0, 0.95]
    """
    first = 0 if before is None else len(before.shares)
    explicit = first + np.flatnonzero(lessons.kind[first:until] == CITED)
    asked = _with_earlier(lessons, explicit, first)
    links = lessons.links_of(asked)
    lesson = asked.searchsorted(lessons.link_lesson[links])
    rejects = lessons.rejects
    chunk = np.where(rejects >= 0, rejects, np.arange(len(lessons.nodes)))
    chunk, cites = chunk[lessons.link_node[links]], lessons.link_credit[links] > 0
    need = unique_inverse(lessons.question[asked])[1]
    actor = lessons.actor[asked].astype(np.int64)
    holds = ~contradicted(cites, need[lesson], chunk, actor[lesson])
    votes = Votes(
        need[lesson][holds],
        chunk[holds],
        lesson[holds],
        cites[holds],
        actor,
        lessons.agrees[asked].astype(np.float64),
        lessons.openness[asked].astype(np.float64),
    )
    judged = judge(
        votes,
        int(lessons.actor[:until].max(initial=TRUSTED)) + 2,
        at_least=settings.actor_events,
        share=settings.actor_share,
        before=before and before.standing,
        n_before=(n_before := len(asked) - len(explicit)),
    )
    beliefs, shares, spared = judged.weights[lessons.actor[:until]], np.ones(until), np.zeros(until)
    if before is not None:
        beliefs[:first], shares[:first] = before.beliefs, before.shares
        spared[:first] = before.spared
    shares[asked], spared[explicit] = judged.shares, judged.spared[n_before:]
    return judged._replace(beliefs=beliefs, shares=shares, spared=spared)


def _with_earlier(lessons: Lessons, explicit: IntArray, first: int) -> IntArray:
    """Return explicit lessons and those before ``first`` on the same questions."""
    if not first:
        return explicit
    questions = np.unique(lessons.question[explicit]).tolist()
    same = (lessons.on_question(question) for question in questions)
    earlier = np.array(sorted(at for found in same for at in found if at < first), np.int64)
    return np.concatenate((earlier[lessons.kind[earlier] == CITED], explicit))


def lesson_beliefs(lessons: Lessons, credibility: Credibility) -> FloatArray:
    """Return how far each lesson is believed, before it ages.

    Implicit feedback has 0.
    """
    weight = np.maximum(credibility.beliefs, credibility.spared)
    return np.where(lessons.kind == CITED, weight * credibility.shares, 0.0)


def weights_of(log: Iterable[Feedback], settings: LearningSettings) -> list[float]:
    """Return how far each feedback of a whole log is believed; implicit feedback has 0."""
    lessons = Lessons()
    numbers: dict[ActorKey, int] = {None: TRUSTED}
    for lesson in map(lesson_of, log):
        actor = numbers.setdefault(actor_key(lesson), len(numbers))
        lessons.add(lesson, actor, *search_agreement(lesson.body))
    credibility = credibility_of(lessons, len(lessons), settings)
    weights: list[float] = lesson_beliefs(lessons, credibility).tolist()
    return weights
