"""What became of each answer: what it taught, or the reason why nothing; counted and logged."""

from __future__ import annotations

import logging
import threading
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from hebbgraph.citations.belief import BeliefWatch
from hebbgraph.citations.credit import Lesson
from hebbgraph.labels import counted
from hebbgraph.records import Feedback

__all__ = ["Journal", "Outcome", "Reason"]

logger = logging.getLogger("hebbgraph.citations")

#: Chunks named in the line about an answer, and characters of its own name.
_MAX_NAMED, _MAX_NAME = 5, 80
_UNNAMED = (
    "answers teach without an actor: all unnamed feedback counts, together, as one actor's; %s, or "
    "pass actor=... to the learner"
)


class Reason(StrEnum):
    """Why an answer teaches nothing."""

    NOTHING_RECALLED = "no index was asked"
    OTHER_INDEX = "the index that was asked is not the one that this learner teaches"
    FAILED = "the run failed"
    NO_REPLY = "no model answered"
    NOTHING_SHOWN = "no recalled chunk stood in a prompt"
    NO_KEYS = "nothing was cited, and no chunk had a key in the prompt"
    NOTHING_CITED = "nothing was cited"
    OUT_OF_RANGE = (
        "the cited keys stand before no chunk in the prompt, or also within a chunk's text"
    )
    FOREIGN = "the cited texts are another retriever's, and no index holds them"
    UNKNOWN_FORMAT = "the answer points to sources in a form that is not read"
    DISMISSED = "chunks were named only to say that they do not help"
    ASKED_FOR = "the question itself named the keys that the answer repeats"
    REPLACED = "the application replaced the model's answer by one that cites nothing"
    ALL_OF_MANY = "all of many chunks were cited, which prefers none of them"
    ALREADY_TAUGHT = "an earlier answer to the same request has taught these citations"
    UNREADABLE = "the answer could not be read"
    REFUSED = "the index refused the lesson"

    @property
    def code(self) -> str:
        """The reason in a word, as it is counted: ``"no_keys"``."""
        return self.name.lower()

    @property
    def remedy(self) -> str:
        """What to do about it if it is likely a mistake; otherwise empty."""
        return _REMEDIES.get(self, "")


_REMEDIES = {
    Reason.OTHER_INDEX: "hand the learner the index that the retriever asks, or none",
    Reason.NO_REPLY: "let the learner listen to the outermost call, or put the calls into one "
    "learner.session() (LangChain) or learner.request() (LlamaIndex); a LlamaIndex model of yours "
    "is heard only with its decorators llm_completion_callback and llm_chat_callback",
    Reason.NOTHING_SHOWN: "the texts were rewritten or dropped before the model saw them",
    Reason.NO_KEYS: "put keys before the texts, with this package's formatter",
    Reason.OUT_OF_RANGE: "this package's formatter chooses keys that occur in no text",
    Reason.FOREIGN: "add those texts to the index, with the ids that they have there",
    Reason.UNKNOWN_FORMAT: "ask the model for the keys in square brackets, exactly as given",
}
#: Too common for a line at INFO.
_COMMON = frozenset({Reason.NOTHING_RECALLED, Reason.NOTHING_CITED, Reason.ALREADY_TAUGHT})
#: The first of each is logged as a warning: nothing will ever be learned that way.
_MISTAKES = frozenset({
    Reason.OTHER_INDEX, Reason.NOTHING_SHOWN, Reason.NO_KEYS, Reason.UNKNOWN_FORMAT,
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an answer teaches, or why it teaches nothing.

    Attributes
    ----------
    lessons : tuple of Lesson
        One for each credited recall.
    reason : Reason, optional
        Set if there are no lessons.
    shown, cited : tuple of str
        The ids of the chunks in the prompt, and of those that the answer cites.
    dismissed : tuple of str
        The ids of the chunks that it names only to say that they do not help.
    feedback : tuple of Feedback
        The indexes' records, once the lessons are taught.
    names : tuple of str
        The ids of runs and recalls by which feedback may refer to the answer.
    actor : str, optional
    namespaces : frozenset of str
        Where its recalls searched.
    """

    lessons: tuple[Lesson, ...] = ()
    reason: Reason | None = None
    shown: tuple[str, ...] = ()
    cited: tuple[str, ...] = ()
    dismissed: tuple[str, ...] = ()
    feedback: tuple[Feedback, ...] = ()
    names: tuple[str, ...] = ()
    actor: str | None = None
    namespaces: frozenset[str] = frozenset()

    @property
    def code(self) -> str:
        """The outcome in a word: ``"learned"``, ``"waiting"`` for approval, or the reason."""
        if self.reason is not None:
            return self.reason.code
        return "learned" if self.feedback else "waiting"

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self}>"

    def __str__(self) -> str:
        """Describe the outcome in one line, without a word of the question or the answer."""
        name = self.names[0] if self.names else ""
        # A request may choose the name, so it could write lines of its own into the log.
        name = (name if name.isprintable() else repr(name))[:_MAX_NAME]
        name = f"run {name}: " if name else ""
        if self.reason is not None:
            shown = f" ({counted(len(self.shown), 'chunk')} shown)" if self.shown else ""
            hint = f"; {self.reason.remedy}" if self.reason.remedy else ""
            return f"{name}learned nothing: {self.reason.value}{shown}{hint}"
        chunks = ", ".join(map(repr, self.cited[:_MAX_NAMED]))
        more = f" and {len(self.cited) - _MAX_NAMED} more" if len(self.cited) > _MAX_NAMED else ""
        by = f", by {self.actor!r}" if self.actor is not None else ""
        did = "learned that it cites" if self.feedback else "waits for approval; it cites"
        return f"{name}{did} {chunks}{more} of {counted(len(self.shown), 'chunk')} shown{by}"


class Journal:
    """The latest outcomes, and how many of each there were. Thread-safe.

    Outcomes that teach, and likely mistakes, are logged at INFO, the rest at DEBUG; the first
    likely mistake of a kind is a warning, and so are actors who are hardly believed. No line
    contains a question or an answer.

    Parameters
    ----------
    remember : int
        How many outcomes are kept.
    on_answer : callable, optional
        Called with each outcome. Its errors are logged.
    naming_hint : str, optional
        How to name an actor. With it, the first answer in the process without one is a warning.
    """

    _has_warned: ClassVar[bool] = False

    def __init__(
        self,
        *,
        remember: int,
        on_answer: Callable[[Outcome], object] | None,
        naming_hint: str | None,
    ) -> None:
        self._latest: deque[Outcome] = deque(maxlen=remember)
        self._counts: Counter[str] = Counter()
        self._on_answer = on_answer
        self._naming_hint = naming_hint
        self._beliefs = BeliefWatch()
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
        """Count, log and hand on an outcome."""
        with self._lock:
            is_first = not self._counts[outcome.code]
            self._counts[outcome.code] += 1
            self._latest.append(outcome)
            lacks_actor = bool(self._naming_hint and outcome.feedback) and outcome.actor is None
            is_warning = lacks_actor and not Journal._has_warned
            Journal._has_warned |= is_warning
        if is_first and outcome.reason in _MISTAKES:
            level = logging.WARNING
        else:
            level = logging.DEBUG if outcome.reason in _COMMON else logging.INFO
        logger.log(level, "%s", outcome)
        if is_warning:
            logger.warning(_UNNAMED, self._naming_hint)
        self._beliefs.note(outcome.lessons, outcome.feedback)
        if self._on_answer is not None:
            try:
                self._on_answer(outcome)
            except Exception:
                logger.exception("on_answer failed")
