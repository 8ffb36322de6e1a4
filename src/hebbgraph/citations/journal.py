"""Makes learning visible: each answer is counted, told in a line, and handed to a listener."""

from __future__ import annotations

import logging
import threading
from collections import Counter, deque
from collections.abc import Callable

from hebbgraph.citations.outcomes import Outcome, Reason

__all__ = ["Journal"]

logger = logging.getLogger("hebbgraph.citations")

#: Reasons that are everyday life, and not worth a line at INFO.
_EVERYDAY = frozenset({Reason.NOTHING_RECALLED, Reason.NOTHING_CITED, Reason.ALREADY_TAUGHT})
#: Of these, the first is a warning, as nothing will ever be learned that way.
_MISTAKES = frozenset({
    Reason.OTHER_INDEX, Reason.NOTHING_SHOWN, Reason.NO_KEYS, Reason.UNKNOWN_FORMAT,
})  # fmt: skip
_UNNAMED = (
    "answers teach without an actor: what nobody is named for counts, together, as one actor's. "
    'Name users with metadata={"user_id": ...}, or hand the learner actor=...'
)


class Journal:
    """The latest outcomes, and how many of each there were. Thread-safe.

    Parameters
    ----------
    remember : int
        How many outcomes are kept.
    on_answer : callable, optional
        Called with each outcome. Its errors are logged.
    expects_actor : bool
        Whether to say once that an answer had none.

    Notes
    -----
    What teaches, and what may be a mistake, is a line at INFO, the rest at DEBUG. The first time
    that a mistake is likely, the line is a warning. No line holds a question or an answer.
    """

    def __init__(
        self,
        *,
        remember: int,
        on_answer: Callable[[Outcome], object] | None,
        expects_actor: bool,
    ) -> None:
        self._latest: deque[Outcome] = deque(maxlen=remember)
        self._counts: Counter[str] = Counter()
        self._on_answer = on_answer
        self._expects_actor = expects_actor
        self._lock = threading.Lock()

    @property
    def latest(self) -> tuple[Outcome, ...]:
        """The latest outcomes, oldest first."""
        with self._lock:
            return tuple(self._latest)

    @property
    def counts(self) -> dict[str, int]:
        """How many answers there were, by :attr:`Outcome.code`."""
        with self._lock:
            return dict(sorted(self._counts.items()))

    def note(self, outcome: Outcome) -> None:
        """Take in one more outcome."""
        with self._lock:
            first = not self._counts[outcome.code]
            self._counts[outcome.code] += 1
            self._latest.append(outcome)
            unnamed = self._expects_actor and bool(outcome.feedback) and outcome.actor is None
            self._expects_actor = self._expects_actor and not unnamed
        reason = outcome.reason
        if reason in _MISTAKES and first:
            level = logging.WARNING
        else:
            level = logging.DEBUG if reason in _EVERYDAY else logging.INFO
        logger.log(level, "%s", outcome)
        if unnamed:
            logger.warning(_UNNAMED)
        if self._on_answer is not None:
            try:
                self._on_answer(outcome)
            except Exception:
                logger.exception("on_answer failed")
