"""Teaching the lessons of an answer to the indexes, and taking them back."""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Callable
from typing import Any

from hebbgraph import HebbianIndex, NotFoundError, Recall

from langchain_hebbgraph.answers import Lesson

__all__ = ["Answered", "RunId", "as_uuid", "find_recall", "teach"]

RunId = uuid.UUID | str

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


class Answered:
    """The lessons of one answer, the verdict on it so far, and what was given for it."""

    __slots__ = ("actor", "given", "lessons", "lock", "verdict")

    def __init__(self, lessons: list[Lesson], actor: str | None) -> None:
        self.lessons = lessons
        self.actor = actor
        self.verdict: bool | None = None
        self.given: list[Any] = []
        self.lock = threading.Lock()


def teach(answered: Answered, *, good: bool, on_lesson: Callable[[Any], object]) -> list[Any]:
    """Give the lessons of an answer, as citations or rejections; the last verdict holds."""
    with answered.lock:
        if answered.verdict is good:
            return answered.given
        for lesson, feedback in zip(answered.lessons, answered.given, strict=False):
            lesson.retrieval.index.forget(feedback=feedback.id)
        answered.given, answered.verdict = [], good
        for lesson in answered.lessons:
            feedback = lesson.retrieval.index.reinforce(
                lesson.retrieval.recall,
                cited=lesson.cited if good else (),
                rejected=() if good else lesson.cited,
                shown=lesson.shown,
                actor=answered.actor,
            )
            answered.given.append(feedback)
            on_lesson(feedback)
        return answered.given


def find_recall(index: HebbianIndex, recall: Recall | RunId) -> Recall:
    """Return a recall as it is, or the one that an index keeps by that id."""
    if isinstance(recall, Recall):
        return recall
    found = index.find_recall(str(recall))
    if found is None:
        raise NotFoundError(f"recall {str(recall)!r} is not, or no longer, kept by {index!r}")
    return found


def as_uuid(run_id: RunId) -> uuid.UUID:
    """Return the id of a run, be it in the id of a message."""
    if isinstance(run_id, uuid.UUID):
        return run_id
    found = _UUID.search(run_id[:512])  # a message's id reads lc_run--<uuid>-0
    if found is None:
        raise NotFoundError(f"{run_id!r} is not the id of a run")
    return uuid.UUID(found.group())
