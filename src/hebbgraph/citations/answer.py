"""An answer that can be judged: its lessons, what they taught, and the records that outlive it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import TypeAlias

from hebbgraph.citations.credit import Lesson, Recalled, TeachableIndex
from hebbgraph.records import AnswerRecord, Credit, Feedback

__all__ = ["Answer", "KeptAnswer"]

logger = logging.getLogger(__name__)

#: The records of one answer: each index keeps its own part.
KeptAnswer: TypeAlias = Sequence[tuple[TeachableIndex, AnswerRecord]]


class Answer:
    """The lessons of one answer, and the verdict on it.

    Parameters
    ----------
    lessons : sequence of Lesson
    names : sequence of str
        The ids of its runs and recalls, and one that the caller gave it.
    conversation : str, optional
    recalls : sequence of Recalled
        The recalls made for it, whether they taught or not.
    request : object, optional
        An object that all answers to one request share.
    """

    def __init__(
        self,
        lessons: Sequence[Lesson],
        *,
        names: Sequence[str] = (),
        conversation: str | None = None,
        recalls: Sequence[Recalled] = (),
        request: object = None,
    ) -> None:
        self.lessons = tuple(lessons)
        self.names = tuple(names)
        self.conversation = conversation
        self.request = request
        self._made = tuple(recalls)
        self._verdict: bool | None = None
        self._taught: list[tuple[TeachableIndex, Feedback]] = []
        self._row_numbers: dict[int, int | None] = {}  # by the identity of the index
        self._outcome = ""
        self._lock = threading.Lock()

    @property
    def recalls(self) -> list[Recalled]:
        """Its recalls and those of earlier turns that it credits, oldest first."""
        made = {recalled.recall.id: recalled for recalled in self._made}
        earlier = [
            lesson.recalled for lesson in self.lessons if lesson.recalled.recall.id not in made
        ]
        by_id = {recalled.recall.id: recalled for recalled in earlier}
        return [*by_id.values(), *made.values()]

    @property
    def indexes(self) -> list[TeachableIndex]:
        """The indexes that its recalls asked."""
        return list({id(recalled.index): recalled.index for recalled in self.recalls}.values())

    @property
    def namespaces(self) -> frozenset[str]:
        """The namespaces that its recalls searched."""
        return frozenset(index.namespace for index in self.indexes)

    def extend(
        self, lessons: Sequence[Lesson], names: Sequence[str], recalls: Sequence[Recalled]
    ) -> None:
        """Add the lessons of another answer to the same request: one verdict judges them all."""
        with self._lock:
            known = {recalled.recall.id: recalled for recalled in (*self.recalls, *recalls)}
            self.lessons += tuple(lessons)
            self.names = tuple(dict.fromkeys((*self.names, *names)))
            self._made = tuple(known.values())

    # -- teaching ----------------------------------------------------------------------

    def teach(
        self, on_feedback: Callable[[Feedback], None]
    ) -> tuple[list[Feedback], list[Exception]]:
        """Teach the lessons that are not taught yet; return their records and the errors."""
        count = len(self._taught)
        feedback, errors = self.judge(True, on_feedback)
        return feedback[count:], errors

    def judge(
        self,
        good: bool,
        on_feedback: Callable[[Feedback], None],
        actor: str | None = None,
        *,
        trusted: bool = False,
    ) -> tuple[list[Feedback], list[Exception]]:
        """Teach the lessons, or their opposite; return all their records and the errors.

        A trusted verdict teaches again what was taught without trust.
        """
        errors: list[Exception] = []
        with self._lock:
            if actor is not None or trusted:
                self.lessons = tuple(_attributed(lesson, actor, trusted) for lesson in self.lessons)
            if self._verdict is not good or (
                trusted and not all(feedback.trusted for _, feedback in self._taught)
            ):
                self._take_back()
            for lesson in self.lessons[len(self._taught) :]:
                try:
                    feedback = (lesson if good else lesson.as_rejection()).teach()
                except Exception as error:  # the other lessons are taught all the same
                    errors.append(error)
                else:
                    self._taught.append((lesson.recalled.index, feedback))
                    on_feedback(feedback)
            self._verdict = None if errors else good  # after an error, judging again retries
            return [feedback for _, feedback in self._taught], errors

    def undo(self) -> int:
        """Take back what was taught; return the number of lessons."""
        with self._lock:
            self._verdict = None
            return self._take_back()

    def _take_back(self) -> int:
        taught, self._taught = self._taught, []
        for index, feedback in taught:
            index.forget(feedback=feedback.id)
        return len(taught)

    def sync_with_logs(self) -> None:
        """Drop feedback that the logs no longer have, as it was forgotten or has expired."""
        with self._lock:
            logged = [
                (index, feedback)
                for index, feedback in self._taught
                if index.find_feedback([feedback.id])
            ]
            if len(logged) < len(self._taught):
                self._taught, self._verdict = logged, None

    # -- records -----------------------------------------------------------------------

    def keep(self, outcome: str) -> None:
        """Have the indexes keep the answer for later verdicts and turns; errors are logged."""
        self._outcome = outcome
        # Without lessons or later turns, nobody will ask for its recalls.
        is_needed = bool(self.lessons) or self.conversation is not None
        for index in self.indexes:
            recalls = [recalled.recall for recalled in self.recalls if recalled.index is index]
            lessons = [lesson for lesson in self.lessons if lesson.recalled.index is index]
            record = AnswerRecord(
                outcome=outcome,
                names=self.names,
                conversation=self.conversation,
                recalls=tuple(recalls) if is_needed else (),
                credits=tuple(map(_credit, lessons)),
                number=self._row_numbers.get(id(index)),
            )
            try:
                self._row_numbers[id(index)] = index.keep_answer(record).number
            except Exception as error:
                logger.warning("an answer is not kept for later verdicts: %s", error)

    def is_unchanged_in(self, kept: KeptAnswer) -> bool:
        """Return whether no other process has judged the answer since this one kept it."""
        return all(
            (self._row_numbers.get(id(index)), self._outcome) == (record.number, record.outcome)
            for index, record in kept
        )

    @classmethod
    def from_records(cls, kept: KeptAnswer, known: Answer | None = None) -> Answer:
        """Restore an answer from its records, perhaps those of another process.

        Kept recalls lack the question, so recalls of ``known`` take their place.
        """
        known_recalls = (
            {} if known is None else {recalled.recall.id: recalled for recalled in known.recalls}
        )
        recalls = {
            recall.id: known_recalls.get(recall.id) or Recalled(index, recall)
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
        answer = cls(
            lessons,
            names=first.names,
            conversation=first.conversation,
            recalls=tuple(recalls.values()),
        )
        answer._row_numbers = {id(index): record.number for index, record in kept}
        # The log says what was taught, even if a process died before it kept the outcome.
        by_verdict = {
            good: [
                (index, feedback)
                for index, record in kept
                for feedback in index.find_feedback(
                    [credit.teaches(good=good) for credit in record.credits]
                )
            ]
            for good in (True, False)
        }
        answer._taught = [*by_verdict[True], *by_verdict[False]]
        verdicts = [good for good, taught in by_verdict.items() if taught]
        if len(verdicts) == 1 and len(answer._taught) == len(answer.lessons):
            [answer._verdict] = verdicts
        return answer


def _attributed(lesson: Lesson, actor: str | None, trusted: bool) -> Lesson:
    """Attribute a lesson to its judge; trust in one actor does not extend to another."""
    was_trusted = lesson.trusted and actor in (None, lesson.actor)
    return lesson.by(actor or lesson.actor, trusted=trusted or was_trusted)


def _credit(lesson: Lesson) -> Credit:
    return Credit(
        recall_id=lesson.recalled.recall.id,
        cited=lesson.cited,
        shown=lesson.shown,
        actor=lesson.actor,
        trusted=lesson.trusted,
        outdated=dict(lesson.outdated),
    )
