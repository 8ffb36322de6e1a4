"""An answer that can be judged: its lessons, the verdict so far, and the rows that outlive it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from hebbgraph.citations.credit import (
    LastingIndex,
    Lesson,
    Recalled,
    TeachableIndex,
    namespace_of,
)
from hebbgraph.records import AnswerRecord, Credit, Feedback

__all__ = ["Answered", "Label"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Label:
    """What an answer is kept under.

    Attributes
    ----------
    names : tuple of str
        Ids of its runs and recalls.
    conversation : str, optional
    recalls : tuple of Recalled
        Those made for it, whether they taught or not.
    """

    names: tuple[str, ...] = ()
    conversation: str | None = None
    recalls: tuple[Recalled, ...] = ()


class Answered:
    """The lessons of one answer, and what was made of them.

    Parameters
    ----------
    lessons : sequence of Lesson
    label : Label
    request : object, optional
        What all answers of one request have in common.
    """

    def __init__(
        self, lessons: Sequence[Lesson], label: Label | None = None, request: object = None
    ) -> None:
        self.lessons = tuple(lessons)
        self.label = label or Label()
        self.request = request
        self._verdict: bool | None = None
        self._given: list[tuple[TeachableIndex, Feedback]] = []
        self._numbers: dict[int, int | None] = {}
        self._outcome = ""
        self._lock = threading.Lock()

    @property
    def _recalls(self) -> list[Recalled]:
        return [*self.label.recalls, *(lesson.recalled for lesson in self.lessons)]

    @property
    def names(self) -> tuple[str, ...]:
        """What it may be called: ids of its runs and recalls, and one of the caller's own."""
        return self.label.names

    @property
    def namespaces(self) -> frozenset[str]:
        """The namespaces that its recalls searched."""
        return frozenset(namespace_of(one.index) for one in self._recalls)

    @property
    def lasting(self) -> list[LastingIndex]:
        """The indexes that keep it."""
        own = {id(one.index): one.index for one in self._recalls}
        return [index for index in own.values() if isinstance(index, LastingIndex)]

    def teach(self, tell: Callable[[Feedback], None]) -> tuple[list[Feedback], list[Exception]]:
        """Teach what is not taught yet; return the records of it, and the errors."""
        before = len(self._given)
        feedback, errors = self.judge(True, tell)
        return feedback[before:], errors

    def extend(self, lessons: Sequence[Lesson], label: Label) -> None:
        """Add what another answer to the same request teaches: a verdict is about all of them."""
        with self._lock:
            self.lessons += tuple(lessons)
            self.label = replace(
                self.label,
                names=tuple(dict.fromkeys((*self.label.names, *label.names))),
                recalls=tuple(
                    {one.recall.id: one for one in (*self._recalls, *label.recalls)}.values()
                ),
            )

    def replaces(self, other: Answered) -> bool:
        """Return whether it takes over the names of an earlier answer: its indexes are the same."""
        return {id(one.index) for one in self._recalls} == {id(one.index) for one in other._recalls}

    def is_among(self, kept: Sequence[tuple[LastingIndex, AnswerRecord]]) -> bool:
        """Return whether these records are its own."""
        return any(record.names == self.names for _, record in kept)

    def is_as_kept(self, kept: Sequence[tuple[LastingIndex, AnswerRecord]]) -> bool:
        """Return whether nobody else has judged it since this process kept it."""
        return all(
            (self._numbers.get(id(index)), self._outcome) == (record.number, record.outcome)
            for index, record in kept
        )

    def settle(self) -> None:
        """Look up what the log still has of it, after it was forgotten or has become too old."""
        with self._lock:
            given = [
                (index, feedback)
                for index, feedback in self._given
                if not isinstance(index, LastingIndex) or index.find_feedback([feedback.id])
            ]
            if len(given) < len(self._given):
                self._given, self._verdict = given, None

    @classmethod
    def recollected(
        cls, kept: Sequence[tuple[LastingIndex, AnswerRecord]], known: Answered | None = None
    ) -> Answered:
        """Return an answer as indexes have kept it, perhaps for another process.

        Recalls of ``known`` take the place of those that were kept, which lack the question.
        """
        whole = {} if known is None else {one.recall.id: one for one in known._recalls}
        recalls = {
            recall.id: whole.get(recall.id) or Recalled(index, recall)
            for index, record in kept
            for recall in record.recalls
        }
        lessons = [
            Lesson(
                recalls[one.recall_id], one.cited, one.shown, actor=one.actor, trusted=one.trusted
            )
            for _, record in kept
            for one in record.credits
            if one.recall_id in recalls
        ]
        _, first = kept[0]
        found = cls(lessons, Label(first.names, first.conversation, tuple(recalls.values())))
        found._numbers = {id(index): record.number for index, record in kept}
        # What it has taught is what the log says, whoever was killed while noting it.
        taught = {good: found._in_logs(kept, good) for good in (True, False)}
        found._given = [*taught[True], *taught[False]]
        signs = [good for good, given in taught.items() if given]
        if len(signs) == 1 and len(found._given) == len(found.lessons):
            [found._verdict] = signs
        return found

    @staticmethod
    def _in_logs(
        kept: Sequence[tuple[LastingIndex, AnswerRecord]], good: bool
    ) -> list[tuple[TeachableIndex, Feedback]]:
        return [
            (index, feedback)
            for index, record in kept
            for feedback in index.find_feedback([one.teaches(good=good) for one in record.credits])
        ]

    def judge(
        self,
        good: bool,
        tell: Callable[[Feedback], None],
        actor: str | None = None,
        *,
        trusted: bool = False,
    ) -> tuple[list[Feedback], list[Exception]]:
        """Teach the lessons, or their opposite; return the records and the errors.

        What is vouched for is taught again, if it was taught without.
        """
        errors: list[Exception] = []
        with self._lock:
            if actor is not None or trusted:
                self.lessons = tuple(_as_judged(one, actor, trusted) for one in self.lessons)
            if self._verdict is not good or (
                trusted and not all(feedback.trusted for _, feedback in self._given)
            ):
                self._take_back()
            for lesson in self.lessons[len(self._given) :]:
                try:
                    feedback = (lesson if good else lesson.as_rejection()).teach()
                except Exception as error:  # the other lessons are as good as ever
                    errors.append(error)
                else:
                    self._given.append((lesson.recalled.index, feedback))
                    tell(feedback)
            # What failed may be tried again.
            self._verdict = None if errors else good
            return [feedback for _, feedback in self._given], errors

    def undo(self) -> int:
        """Take back what was taught; return how much that was."""
        with self._lock:
            self._verdict = None
            return self._take_back()

    def _take_back(self) -> int:
        given, self._given = self._given, []
        for index, feedback in given:
            index.forget(feedback=feedback.id)
        return len(given)

    def keep(self, outcome: str) -> None:
        """Let the indexes keep it for later verdicts and turns; what fails is logged."""
        self._outcome = outcome
        everything = self._recalls
        # Without lessons or later turns, nobody will ask for its recalls.
        lasts = bool(self.lessons) or self.label.conversation is not None
        for index in {id(one.index): one.index for one in everything}.values():
            if not isinstance(index, LastingIndex):
                continue
            own = {one.recall.id: one.recall for one in everything if one.index is index}
            record = AnswerRecord(
                outcome=outcome,
                names=self.label.names,
                conversation=self.label.conversation,
                recalls=tuple(own.values()) if lasts else (),
                credits=tuple(_credit(one) for one in self.lessons if one.recalled.index is index),
                number=self._numbers.get(id(index)),
            )
            try:
                self._numbers[id(index)] = index.keep_answer(record).number
            except Exception as error:
                logger.warning("an answer is not kept for later verdicts: %s", error)


def _as_judged(lesson: Lesson, actor: str | None, trusted: bool) -> Lesson:
    """Attribute a lesson to its judge; what was vouched for is not what another actor says."""
    vouched = lesson.trusted and actor in (None, lesson.actor)
    return lesson.by(actor or lesson.actor, trusted=trusted or vouched)


def _credit(lesson: Lesson) -> Credit:
    return Credit(
        recall_id=lesson.recalled.recall.id,
        cited=lesson.cited,
        shown=lesson.shown,
        actor=lesson.actor,
        trusted=lesson.trusted,
    )
