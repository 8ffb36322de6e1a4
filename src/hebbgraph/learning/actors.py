"""Who taught, and how far each is believed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np

from hebbgraph.arrays import FloatArray, unique_inverse
from hebbgraph.formulas.credibility import Judgement, Votes, agreement, allowances, judged
from hebbgraph.learning.lessons import CITED, Lessons
from hebbgraph.records import Feedback
from hebbgraph.settings import LearningSettings

__all__ = [
    "TRUSTED",
    "Voice",
    "allowed_deeds",
    "believed",
    "judgement_of",
    "standing",
    "voice_of",
    "weights_of",
]

Voice: TypeAlias = str | None
"""Whose word a lesson is: an actor's name, ``""`` for all that are unnamed, None for those that
the application vouches for."""

#: A chunk whose score is so much higher than its direct evidence, both relative to the best, was
#: brought by the graph: who cites it may well be right, and direct evidence cannot tell.
_BROUGHT = 0.2
#: The number of the voice that is not bounded.
TRUSTED = 0


def voice_of(feedback: Feedback) -> Voice:
    """Return whose word a feedback is."""
    return None if feedback.trusted else feedback.actor or ""


def standing(feedback: Feedback) -> tuple[float, float]:
    """Return how far a feedback agrees with direct evidence, in log-odds, and what that left open.

    Cited chunks that the graph brought say nothing for or against it.

    Examples
    --------
    >>> from hebbgraph.records import ShownChunk
    >>> shown = [ShownChunk(chunk_id=str(n), rank=n, text_hash="0" * 16) for n in (1, 2)]
    >>> found = {"namespace": "n", "recall_id": "r", "shown": shown, "evidence": [1.0, 0.5]}
    >>> [round(standing(Feedback(id="f", cited=[one], **found))[0], 2) for one in "12"]
    [0.0, -2.11]
    """
    ranks = {one.chunk_id: one.rank for one in feedback.shown}
    # Of an earlier version, or of a strategy that does not search, there is none.
    evidence = feedback.evidence or tuple(
        rank**-0.1 for rank in range(1, max(ranks.values(), default=0) + 1)
    )

    def positions(ids: Sequence[str]) -> list[int]:
        return list({min(ranks[id_], len(evidence)) - 1: None for id_ in ids if id_ in ranks})

    if feedback.cited:
        brought = _brought(feedback, evidence)
        return agreement(evidence, positions([id_ for id_ in feedback.cited if id_ not in brought]))
    # Who only rejects what search finds good may be right, but others cannot tell.
    likely, _ = agreement(evidence, positions(feedback.rejected), telling=False)
    return -0.5 * max(likely, 0.0), 0.0


def _brought(feedback: Feedback, evidence: Sequence[float]) -> set[str]:
    """Return the shown chunks that the graph brought, not direct search."""
    scores = {one.chunk_id: one.score for one in feedback.shown if one.score is not None}
    best_score, best = max(scores.values(), default=0.0), max(evidence, default=0.0)
    if not feedback.evidence or best_score <= 0.0 or best <= 0.0:
        return set()
    return {
        one.chunk_id
        for one in feedback.shown
        if one.rank <= len(evidence)
        and scores.get(one.chunk_id, 0.0) / best_score > evidence[one.rank - 1] / best + _BROUGHT
    }


def judgement_of(
    lessons: Lessons, until: int, n_actors: int, settings: LearningSettings
) -> Judgement:
    """Return whom the first so many lessons let us believe; the last actor is whoever comes next.

    Examples
    --------
    >>> judgement_of(Lessons(), 0, 1, LearningSettings()).weights.round(2).tolist()
    [1.0, 0.95]
    """
    # What people do is judged by what they say (:mod:`.kinds`), and speaks for nobody.
    said = np.flatnonzero(lessons.kind[:until] == CITED)
    links = lessons.links_of(said)
    chunk = np.arange(len(lessons.names))
    rejections = lessons.rejects >= 0
    chunk[rejections] = lessons.rejects[rejections]
    lesson = said.searchsorted(lessons.link_lesson[links])
    votes = Votes(
        unique_inverse(lessons.question[said])[1][lesson],
        chunk[lessons.link_node[links]],
        lesson,
        lessons.link_credit[links] > 0,
        lessons.voice[said].astype(np.int64),
        lessons.agrees[said].astype(np.float64),
        lessons.left_open[said].astype(np.float64),
    )
    found = judged(votes, n_actors + 1, at_least=settings.actor_events, share=settings.actor_share)
    worth, spared = np.ones(until), np.zeros(until)
    worth[said], spared[said] = found.worth, found.spared
    return found._replace(worth=worth, spared=spared)


def allowed_deeds(lessons: Lessons, until: int, settings: LearningSettings) -> FloatArray:
    """Return the factor that bounds what each actor's deeds weigh, together."""
    done = lessons.voice[:until][lessons.kind[:until] != CITED]
    events = np.bincount(done, minlength=int(lessons.voice.max(initial=TRUSTED)) + 1).astype(float)
    earned = np.zeros_like(events)
    return allowances(events, earned, at_least=settings.actor_events, share=settings.actor_share)


def weights_of(log: Iterable[Feedback], settings: LearningSettings) -> list[float]:
    """Return what each feedback of a whole log weighs, before it ages; what was done, nothing."""
    lessons = Lessons()
    voices: dict[Voice, int] = {None: TRUSTED}
    for feedback in log:
        voice = voices.setdefault(voice_of(feedback), len(voices))
        lessons.add(feedback, voice, standing(feedback))
    weights: list[float] = believed(
        lessons, judgement_of(lessons, len(lessons), len(voices), settings)
    ).tolist()
    return weights


def believed(lessons: Lessons, found: Judgement) -> FloatArray:
    """Return what each lesson that was judged weighs, before it ages; what was done, nothing."""
    until = len(found.worth)
    said = np.maximum(found.weights[lessons.voice[:until]], found.spared) * found.worth
    return np.where(lessons.kind[:until] == CITED, said, 0.0)
