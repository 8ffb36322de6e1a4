"""Warns of actors whose lessons count next to nothing; ``doctor`` says why."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Iterable
from typing import Any

from hebbgraph.citations.credit import Lesson
from hebbgraph.records import Feedback

__all__ = ["BeliefWatch"]

logger = logging.getLogger("hebbgraph.citations")

#: Search and others have disagreed for long enough when an actor has taught this often.
_FIRST = 8
_LITTLE = 0.1
#: Start counting anew after so many actors.
_MAX_ACTORS = 10_000


class BeliefWatch:
    """Looks how far an actor is believed at the eighth lesson, the sixteenth, and so on.

    Lessons are counted for each learner. Indexes that do not list their lessons, such as a server
    whose token only teaches, are left alone. Thread-safe.
    """

    def __init__(self) -> None:
        self._taught: Counter[tuple[str, str | None]] = Counter()
        self._lock = threading.Lock()

    def note(self, lessons: Iterable[Lesson], taught: Iterable[Feedback]) -> None:
        """Count what lessons have taught; log a warning if it counts for little."""
        index_of = {lesson.recalled.recall.id: lesson.recalled.index for lesson in lessons}
        try:
            for feedback in taught:
                if not feedback.trusted and self._is_due(feedback.namespace, feedback.actor):
                    _look(index_of[feedback.recall_id], feedback)
        except Exception as error:
            logger.debug("how far lessons are believed is not known: %s", error)

    def _is_due(self, namespace: str, actor: str | None) -> bool:
        with self._lock:
            if len(self._taught) >= _MAX_ACTORS:
                self._taught.clear()
            self._taught[namespace, actor] += 1
            n = self._taught[namespace, actor]
        return n >= _FIRST and n & (n - 1) == 0


def _look(index: Any, feedback: Feedback) -> None:
    listed = index.lessons(recall=feedback.recall_id)
    weight = next(lesson.weight for lesson in listed if lesson.feedback_id == feedback.id)
    if weight < _LITTLE:
        logger.warning(
            "lessons %s count %.2f each, as search or others disagree; `hebbgraph doctor` says "
            "which, and trusted=True vouches for what is right",
            f"of {feedback.actor!r}" if feedback.actor else "without an actor",
            weight,
        )
