"""From what is said of a recall to a lesson: the verb behind ``index.reinforce``."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable

import numpy as np

from hebbgraph.errors import LessonError, ParameterError
from hebbgraph.formulas.association import MANY_SHOWN, shared_credit
from hebbgraph.learning.folding import add_lessons
from hebbgraph.learning.lessons import (
    Cues,
    LessonRow,
    path_cues,
    question_cues,
    question_key,
)
from hebbgraph.limits import MAX_ID
from hebbgraph.records import Lesson, Recall
from hebbgraph.records.base import storable
from hebbgraph.settings import Settings
from hebbgraph.store.chunks import chunks_by_id
from hebbgraph.store.database import Session

__all__ = ["cues_of", "key_of", "prepare_lesson", "reinforce"]


def key_of(recall: Recall) -> str:
    """Return the key that a recall's question shares with others of the same words."""
    return question_key(recall.terms)


def cues_of(recall: Recall) -> Cues:
    """Return the question of a recall as a vector over its cues."""
    return question_cues(recall.terms, {cue.tag: cue.weight for cue in recall.cues})


def prepare_lesson(
    session: Session,
    recall: Recall,
    *,
    cited: Iterable[str],
    rejected: Iterable[str],
    rating: float | None,
    shown: Iterable[str] | None,
    actor: str | None,
    trusted: bool,
    reason: str | None,
) -> Lesson:
    """Check what is said of a recall, and return it as a lesson.

    Raises
    ------
    LessonError
        If a chunk is no hit, and the index does not hold it.
    """
    if actor is not None and not (
        isinstance(actor, str) and actor.strip() and actor.isprintable() and len(actor) <= MAX_ID
    ):
        raise ParameterError(f"actor is a printable str, got {actor!r:.80}")
    if reason is not None and not isinstance(reason, str):
        raise ParameterError(f"reason is a str, got {reason!r:.80}")
    good, bad = list(dict.fromkeys(cited)), list(dict.fromkeys(rejected))
    weight = 1.0
    if rating is not None:
        if not isinstance(rating, int | float) or not -1.0 <= rating <= 1.0:
            raise ParameterError(f"rating is a number from -1 to 1, got {rating!r}")
        weight = abs(float(rating))
        if rating < 0:  # what was cited counts as rejected
            good, bad = [], [*good, *bad]
    if both := set(good) & set(bad):
        raise LessonError(f"{sorted(both)[0]!r} is both cited and rejected; say one of them")
    digests = _digests(session, recall, [*good, *bad])
    visible = list(shown) if shown is not None else [hit.id for hit in recall.hits]
    note = ""
    if not good and not bad:
        note = "nothing is cited or rejected"
    elif not weight:
        note = "a rating of 0 says nothing"
    elif not bad and len(visible) >= MANY_SHOWN and set(visible) <= set(good):
        note = f"all {len(visible)} shown chunks are cited, which tells none from another"
    elif not recall.terms:
        note = "the question has no words"
    return Lesson(
        id=uuid.uuid4().hex,
        recall=recall.id,
        question=recall.question,
        cited={id_: digests[id_] for id_ in good},
        rejected={id_: digests[id_] for id_ in bad},
        shown=len(visible),
        weight=weight,
        actor=actor,
        trusted=trusted,
        reason=None if reason is None else storable(reason),
        created=time.time(),
        note=note,
    )


def _digests(session: Session, recall: Recall, ids: list[str]) -> dict[str, str]:
    digests = {hit.id: hit.digest for hit in recall.hits}
    missing = [id_ for id_ in ids if id_ not in digests]
    stored = chunks_by_id(session, missing) if missing else {}
    for id_ in missing:
        if id_ not in stored:
            raise LessonError(f"{id_!r} is no hit of recall {recall.id}, and no chunk of the index")
        digests[id_] = stored[id_].digest
    return digests


def reinforce(session: Session, recall: Recall, lesson: Lesson, settings: Settings) -> None:
    """Store a lesson and change the edges by what it teaches."""
    vector = None if recall.vector is None else np.array(recall.vector, np.float32)
    body = {
        "recall": lesson.recall,
        "question": lesson.question if settings.keep_questions else "",
        "cited": lesson.cited,
        "rejected": lesson.rejected,
        "weight": lesson.weight,
        "credit": shared_credit(len(lesson.cited), lesson.shown),
        "trusted": lesson.trusted,
        "reason": lesson.reason,
        "shown": {hit.digest: round(hit.untaught, 6) for hit in recall.hits},
    }
    row = LessonRow(
        0,
        lesson.id,
        key_of(recall),
        lesson.actor,
        lesson.created,
        body,
        cues_of(recall),
        path_cues(recall.active),
        vector,
    )
    add_lessons(session, [row], quorum=settings.quorum)
