"""An answer that can be judged: its lessons, the verdict so far, and the rows that outlive it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from hebbgraph.citations.credit import Lesson, Recalled, TeachableIndex
from hebbgraph.records import AnswerRecord, Credit, Feedback

__all__ = ["Answered", "Kept", "Label"]

logger = logging.getLogger(__name__)

#: An answer as indexes keep it: each has its own part.
Kept: TypeAlias = Sequence[tuple[TeachableIndex, AnswerRecord]]


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
        self._taught: list[tuple[TeachableIndex, Feedback]] = []
        self._rows: dict[int, int | None] = {}  # their numbers, by the identity of the index
        self._outcome = ""
        self._lock = threading.Lock()

    @property
    def recalls(self) -> list[Recalled]:
        """Those that it was made from, or gives credit to."""
        return [*self.label.recalls, *(lesson.recalled for lesson in self.lessons)]

    @property
    def indexes(self) -> list[TeachableIndex]:
        """The indexes that were asked for it, and keep it."""
        return list({id(asked.index): asked.index for asked in self.recalls}.values())

    @property
    def names(self) -> tuple[str, ...]:
        """What it may be called: ids of its runs and recalls, and one of the caller's own."""
        return self.label.names

    @property
    def namespaces(self) -> frozenset[str]:
        """The namespaces that its recalls searched."""
        return frozenset(index.namespace for index in self.indexes)

    def teach(self, tell: Callable[[Feedback], None]) -> tuple[list[Feedback], list[Exception]]:
        """Teach what is not taught yet; return the records of it, and the errors."""
        before = len(self._taught)
        feedback, errors = self.judge(True, tell)
        return feedback[before:], errors

    def extend(self, lessons: Sequence[Lesson], label: Label) -> None:
        """Add what another answer to the same request teaches: a verdict is about all of them."""
        with self._lock:
            self.lessons += tuple(lessons)
            recalls = {asked.recall.id: asked for asked in (*self.recalls, *label.recalls)}
            self.label = replace(
                self.label,
                names=tuple(dict.fromkeys((*self.label.names, *label.names))),
                recalls=tuple(recalls.values()),
            )

    def replaces(self, other: Answered) -> bool:
        """Return whether it takes over the names of an earlier answer: its indexes are the same."""
        return set(map(id, self.indexes)) == set(map(id, other.indexes))

    def is_among(self, kept: Kept) -> bool:
        """Return whether these records are its own."""
        return any(record.names == self.names for _, record in kept)

    def is_as_kept(self, kept: Kept) -> bool:
        """Return whether nobody else has judged it since this process kept it."""
        return all(
            (self._rows.get(id(index)), self._outcome) == (record.number, record.outcome)
            for index, record in kept
        )

    def settle(self) -> None:
        """Look up what the log still has of it, after it was forgotten or has become too old."""
        with self._lock:
            still = [
                (index, feedback)
                for index, feedback in self._taught
                if index.find_feedback([feedback.id])
            ]
            if len(still) < len(self._taught):
                self._taught, self._verdict = still, None

    @classmethod
    def recollected(cls, kept: Kept, known: Answered | None = None) -> Answered:
        """Return an answer as indexes have kept it, perhaps for another process.

        Recalls of ``known`` take the place of those that were kept, which lack the question.
        """
        whole = {} if known is None else {asked.recall.id: asked for asked in known.recalls}
        recalls = {
            recall.id: whole.get(recall.id) or Recalled(index, recall)
            for index, record in kept
            for recall in record.recalls
        }
        lessons = [
            Lesson(
                recalls[credit.recall_id],
                credit.cited,
                credit.shown,
                actor=credit.actor,
                trusted=credit.trusted,
                outdated=credit.outdated,
            )
            for _, record in kept
            for credit in record.credits
            if credit.recall_id in recalls
        ]
        first = kept[0][1]
        answered = cls(lessons, Label(first.names, first.conversation, tuple(recalls.values())))
        answered._rows = {id(index): record.number for index, record in kept}
        # What it has taught is what the log says, even if the process died while recording it.
        by_verdict = {
            good: [
                (index, feedback)
                for index, record in kept
                for feedback in index.find_feedback(
                    [it.teaches(good=good) for it in record.credits]
                )
            ]
            for good in (True, False)
        }
        answered._taught = [*by_verdict[True], *by_verdict[False]]
        verdicts = [good for good, taught in by_verdict.items() if taught]
        if len(verdicts) == 1 and len(answered._taught) == len(answered.lessons):
            [answered._verdict] = verdicts
        return answered

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
                self.lessons = tuple(_as_judged(lesson, actor, trusted) for lesson in self.lessons)
            if self._verdict is not good or (
                trusted and not all(feedback.trusted for _, feedback in self._taught)
            ):
                self._take_back()
            for lesson in self.lessons[len(self._taught) :]:
                try:
                    feedback = (lesson if good else lesson.as_rejection()).teach()
                except Exception as error:  # the other lessons are as good as ever
                    errors.append(error)
                else:
                    self._taught.append((lesson.recalled.index, feedback))
                    tell(feedback)
            # What failed may be tried again.
            self._verdict = None if errors else good
            return [feedback for _, feedback in self._taught], errors

    def undo(self) -> int:
        """Take back what was taught; return how much that was."""
        with self._lock:
            self._verdict = None
            return self._take_back()

    def _take_back(self) -> int:
        taught, self._taught = self._taught, []
        for index, feedback in taught:
            index.forget(feedback=feedback.id)
        return len(taught)

    def keep(self, outcome: str) -> None:
        """Let the indexes keep it for later verdicts and turns; what fails is logged."""
        self._outcome = outcome
        # Without lessons or later turns, nobody will ask for its recalls.
        lasts = bool(self.lessons) or self.label.conversation is not None
        for index in self.indexes:
            recalls = {one.recall.id: one.recall for one in self.recalls if one.index is index}
            lessons = [lesson for lesson in self.lessons if lesson.recalled.index is index]
            record = AnswerRecord(
                outcome=outcome,
                names=self.label.names,
                conversation=self.label.conversation,
                recalls=tuple(recalls.values()) if lasts else (),
                credits=tuple(map(_credit, lessons)),
                number=self._rows.get(id(index)),
            )
            try:
                self._rows[id(index)] = index.keep_answer(record).number
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
        outdated=dict(lesson.outdated),
    )
