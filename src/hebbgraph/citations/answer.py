"""An answer that can be judged: its lessons, and what they taught."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from hebbgraph.citations.credit import (
    Lesson,
    Recalled,
    TeachableIndex,
    namespace_of,
    share_credit,
)
from hebbgraph.errors import FeedbackError
from hebbgraph.records import AnswerRecord, Feedback

__all__ = ["Answer", "KeptAnswer", "about_chunks", "teach"]

logger = logging.getLogger(__name__)

#: The records of one answer: each index keeps its own part.
KeptAnswer: TypeAlias = list[tuple[TeachableIndex, AnswerRecord]]


@dataclass(slots=True, eq=False, kw_only=True)
class Answer:
    """The lessons of an answer. What they taught is in the logs of their indexes, not here.

    Attributes
    ----------
    names : tuple of str
        The ids of its runs and recalls, and one that the caller gave it.
    lessons : tuple of Lesson
    made : tuple of Recalled
        The recalls made for it, whether they taught or not.
    conversation, actor : str, optional
    request : object, optional
        An object that all answers to one request share.
    doubts : list
        Feedback on a reworded question, with its index: raised by this answer, or about it.
    """

    names: tuple[str, ...] = ()
    lessons: tuple[Lesson, ...] = ()
    made: tuple[Recalled, ...] = ()
    conversation: str | None = None
    actor: str | None = None
    request: object = None
    doubts: list[tuple[TeachableIndex, Feedback]] = field(default_factory=list)
    _rows: dict[int, int | None] = field(default_factory=dict)  # by the identity of the index
    _lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def recalls(self) -> list[Recalled]:
        """Its recalls and those of earlier turns that it credits, oldest first."""
        made = {recalled.recall.id: recalled for recalled in self.made}
        credited = {lesson.recalled.recall.id: lesson.recalled for lesson in self.lessons}
        return [*(credited[id_] for id_ in credited if id_ not in made), *made.values()]

    @property
    def indexes(self) -> dict[int, TeachableIndex]:
        """The indexes that its recalls asked, by identity."""
        return {id(recalled.index): recalled.index for recalled in self.recalls}

    @property
    def namespaces(self) -> frozenset[str]:
        """The namespaces that its recalls searched."""
        return frozenset(map(namespace_of, self.indexes.values()))

    def extend(
        self, lessons: Iterable[Lesson], names: Iterable[str], made: Iterable[Recalled]
    ) -> None:
        """Add another answer to the same request: one verdict judges them all."""
        with self._lock:
            known = {recalled.recall.id: recalled for recalled in (*self.made, *made)}
            self.made = tuple(known.values())
            self.lessons += tuple(lessons)
            self.names = tuple(dict.fromkeys((*self.names, *names)))

    def judge(
        self,
        good: bool,
        on_feedback: Callable[[Feedback], None],
        actor: str | None = None,
        *,
        trusted: bool = False,
    ) -> tuple[list[Feedback], list[Exception]]:
        """Teach the lessons, or their opposite; return all their records and the errors.

        The last verdict holds, and replaces the others. A verdict that is given again changes
        nothing, except that trust is taught.
        """
        with self._lock:
            logged = self._logged()
            taught = [logged.get(lesson.credit.teaches(good=good)) for lesson in self.lessons]
            if all(taught) and not (trusted and any(not old.trusted for old in taught if old)):
                return [feedback for feedback in taught if feedback], []
            lessons = self.lessons
            if actor is not None or trusted:
                lessons = tuple(_attributed(lesson, actor, trusted) for lesson in lessons)
            if lessons != self.lessons or any(
                lesson.credit.teaches(good=not good) in logged for lesson in lessons
            ):
                self.undo()
                taught = [None] * len(lessons)
            self.lessons = lessons
            pairs = zip(lessons, taught, strict=True)
            missing = [lesson for lesson, known in pairs if known is None]
            feedback, errors = teach(missing, on_feedback, good=good)
            return [*filter(None, taught), *feedback], errors

    def undo(self) -> int:
        """Take back what the lessons taught; return the number of records."""
        with self._lock:
            index_of = {lesson.recalled.recall.id: lesson.recalled.index for lesson in self.lessons}
            logged = self._logged()
            for id_, feedback in logged.items():
                index_of[feedback.recall_id].forget(feedback=id_)
            return len(logged)

    def _logged(self) -> dict[str, Feedback]:
        """Return what the lessons or their opposites have taught, by id."""
        return {
            feedback.id: feedback
            for index in self.indexes.values()
            for feedback in index.find_feedback(
                [
                    lesson.credit.teaches(good=good)
                    for lesson in self.lessons
                    if lesson.recalled.index is index
                    for good in (True, False)
                ]
            )
        }

    def keep(self, outcome: str) -> None:
        """Have the indexes keep the answer for later verdicts and turns; errors are logged."""
        # Without lessons or later turns, nobody will ask for its recalls.
        is_needed = bool(self.lessons) or self.conversation is not None
        for at, index in self.indexes.items():
            recalls = [recalled.recall for recalled in self.recalls if recalled.index is index]
            lessons = [lesson for lesson in self.lessons if lesson.recalled.index is index]
            try:
                record = AnswerRecord(
                    outcome=outcome,
                    names=self.names,
                    conversation=self.conversation,
                    recalls=tuple(recalls) if is_needed else (),
                    credits=tuple(lesson.credit for lesson in lessons),
                    number=self._rows.get(at),
                )
                self._rows[at] = index.keep_answer(record).number
            except Exception as error:
                logger.warning("an answer is not kept for later verdicts: %s", error)

    @classmethod
    def restored(cls, kept: KeptAnswer, known: Answer | None) -> Answer:
        """Return the answer that its indexes keep; another process may have changed it.

        Kept recalls lack the question, so those of the ``known`` answer are preferred.
        """
        first = kept[0][1]
        answer = known or cls(names=first.names, conversation=first.conversation)
        with answer._lock:
            recalls = {
                recall.id: Recalled(index, recall)
                for index, record in kept
                for recall in record.recalls
            }
            ids = set(recalls)  # not those of indexes, as one may be open twice
            recalls |= {recalled.recall.id: recalled for recalled in answer.recalls}
            answer._rows |= {id(index): record.number for index, record in kept}
            answer.made = answer.made or tuple(recalls.values())
            lessons = [
                Lesson.of(credit, recalls[credit.recall_id])
                for _, record in kept
                for credit in record.credits
                if credit.recall_id in recalls
            ]
            lessons += [lesson for lesson in answer.lessons if lesson.recalled.recall.id not in ids]
            answer.lessons = tuple(lessons)
        return answer


def teach(
    lessons: Iterable[Lesson],
    on_feedback: Callable[[Feedback], None],
    *,
    good: bool = True,
    kind: str = "cited",
) -> tuple[list[Feedback], list[Exception]]:
    """Teach lessons, or their opposites; return the records, and the errors, which stop none."""
    taught: list[Feedback] = []
    errors: list[Exception] = []
    for lesson in lessons:
        try:
            taught.append(lesson.teach(good=good, kind=kind))
        except Exception as error:
            errors.append(error)
        else:
            on_feedback(taught[-1])
    return taught, errors


def _attributed(lesson: Lesson, actor: str | None, trusted: bool) -> Lesson:
    """Attribute a lesson to its judge; trust in one actor does not extend to another."""
    was_trusted = lesson.trusted and actor in (None, lesson.actor)
    return lesson.by(actor or lesson.actor, trusted=trusted or was_trusted)


def about_chunks(
    cited: Sequence[str],
    outdated: Mapping[str, str],
    names: Sequence[str],
    answer: Answer | None,
    index: TeachableIndex | None,
    actor: str | None,
) -> Answer | None:
    """Return an answer that cites these chunks, of the same recalls; None if there are none.

    ``actor`` judges recalls whose answer is not remembered.
    """
    lessons = answer.lessons if answer is not None else ()
    recalls = answer.recalls if answer is not None else []
    if not recalls and index is not None:
        kept = filter(None, map(index.find_recall, names))
        recalls = [Recalled(index, recall) for recall in kept]
    if not recalls:
        return None
    hit_ids = {id_ for recalled in recalls for id_ in recalled.ids}
    others = [id_ for id_ in cited if id_ not in hit_ids]
    beside: dict[str, Recalled] = {}
    for recalled in recalls if others else ():
        beside |= dict.fromkeys(recalled.index.holds(others), recalled)
    if unknown := [id_ for id_ in others if id_ not in beside]:
        raise FeedbackError(
            f"chunk {unknown[0]!r} is not among the hits that run {names[-1]!r} was given, and the "
            "index that was asked holds no such chunk"
        )
    shown = [id_ for lesson in lessons for id_ in lesson.shown]
    asking = actor if answer is None else answer.actor
    actor, trusted = (lessons[0].actor, lessons[0].trusted) if lessons else (asking, False)
    return Answer(
        names=tuple(names) if answer is None else answer.names,
        lessons=tuple(
            replace(
                lesson,
                actor=actor,
                trusted=trusted,
                outdated={old: outdated[old] for old in lesson.cited if old in outdated},
            )
            for lesson in share_credit(cited, [*shown, *cited], recalls, beside=beside)
        ),
        made=() if answer is None else tuple(recalls),
        conversation=None if answer is None else answer.conversation,
    )
