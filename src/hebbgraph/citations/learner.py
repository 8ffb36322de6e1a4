"""Teaches indexes what answers cite, at once or in the background, and takes it back."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

from hebbgraph.citations.answer import Answer
from hebbgraph.citations.cited import Judge
from hebbgraph.citations.conversations import Conversations, Rewordings
from hebbgraph.citations.credit import (
    Recalled,
    TeachableIndex,
    TeachablePool,
    namespace_of,
    pool_of,
    share_credit,
)
from hebbgraph.citations.exchange import Exchange
from hebbgraph.citations.known_answers import KnownAnswers, read_kept
from hebbgraph.citations.outcomes import Journal, Outcome, Reason
from hebbgraph.citations.worker import Worker
from hebbgraph.errors import FeedbackError, NotFoundError, ParameterError
from hebbgraph.learning.judgements import judgements_of
from hebbgraph.records import Feedback

__all__ = ["Learner"]

logger = logging.getLogger(__name__)


class Learner:
    """Learns from answers of any framework.

    An adapter listens to its framework's events and submits each request as an
    :class:`~hebbgraph.citations.Exchange`; everything else happens here.

    Parameters
    ----------
    learn_on, remember, on_lesson, on_answer, judge, implicit
        As for :class:`~hebbgraph.citations.FrameworkLearner`.
    index : HebbianIndex or pool of them, optional
        Searched for answers that other processes have kept.
    expects_actor : bool
        Whether to warn once if an answer has no actor.

    Attributes
    ----------
    conversations : Conversations
        The recalls of earlier turns, noted by adapters.
    journal : Journal
        The latest outcomes, and how many there were of each.

    Examples
    --------
    >>> from hebbgraph import HebbianIndex
    >>> from hebbgraph.citations import Recalled, Reply
    >>> with HebbianIndex.open(":memory:") as index:
    ...     report = index.add([{"id": "owl", "text": "Owls hunt at night."}])
    ...     recall = index.recall("When do owls hunt?")
    ...     reply = Reply(prompt="[1] Owls hunt at night.", text="I do not know.")
    ...     outcome = Learner().learn(Exchange(recalls=[Recalled(index, recall)], replies=[reply]))
    >>> outcome.lessons, outcome.reason.value
    ((), 'nothing was cited')
    """

    def __init__(
        self,
        *,
        learn_on: Literal["citation", "approval"] = "citation",
        remember: int = 1_000,
        index: TeachableIndex | TeachablePool | None = None,
        on_lesson: Callable[[Feedback], object] | None = None,
        on_answer: Callable[[Outcome], object] | None = None,
        expects_actor: bool = False,
        judge: Judge | None = None,
        implicit: bool = False,
    ) -> None:
        if not isinstance(implicit, bool):
            raise ParameterError(f"implicit is True or False, got {implicit!r:.80}")
        if learn_on not in ("citation", "approval"):
            raise ParameterError(f"learn_on is 'citation' or 'approval', got {learn_on!r}")
        if not (judge is None or callable(judge)):
            raise ParameterError(
                "judge is a callable from a sentence and the text of a source to whether that "
                f"supports it; got {judge!r:.80}"
            )
        self.learn_on = learn_on
        self.on_lesson = on_lesson
        self.judge = judge
        self.implicit = implicit
        self.conversations = Conversations()
        self.journal = Journal(remember=remember, on_answer=on_answer, expects_actor=expects_actor)
        self.known = KnownAnswers(remember, index)
        self._rewordings = Rewordings()
        self._worker = Worker()
        self._lock = threading.RLock()

    # -- learning ---------------------------------------------------------------------

    def submit(self, read: Callable[[], Exchange], *, background: bool = True) -> None:
        """Learn from a finished request. Never raises: errors are logged.

        Parameters
        ----------
        read : callable
            Builds the exchange from what was collected during the request.
        background : bool
            Learn in a thread. If False, learn before this returns.
        """
        if not background:
            self._study(read)
        elif not self._worker.put(partial(self._study, read)):
            logger.warning(
                "an answer ended while Python was exiting, too late to be learned; "
                "read its stream to the end, or close it, before the program ends"
            )

    def learn(self, exchange: Exchange) -> Outcome:
        """Learn from one exchange at once, approved or not.

        Returns
        -------
        Outcome
            With the feedback records, or the reason why there are none.

        Raises
        ------
        HebbgraphError
            The first error of an index; the lessons of other recalls are taught all the same.
        """
        outcome, errors = self._teach(exchange, *self._read(exchange))
        if errors:
            raise errors[0]
        return outcome

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until everything submitted is learned; False after ``timeout`` seconds."""
        return self._worker.flush(timeout)

    def missed(self, reason: Reason) -> None:
        """Note an answer that teaches nothing, if only the reason is known."""
        self.journal.note(Outcome(reason=reason))

    def _study(self, read: Callable[[], Exchange]) -> None:
        try:
            exchange = read()
            outcome, answer = self._read(exchange)
        except Exception:
            logger.exception("an answer could not be read; it teaches nothing")
            self.missed(Reason.UNREADABLE)
            return
        _, errors = self._teach(exchange, outcome, answer, waits=self.learn_on == "approval")
        for error in errors:
            logger.error("an answer could not be learned: %s", error, exc_info=error)

    def _read(self, exchange: Exchange) -> tuple[Outcome, Answer]:
        for recalled in (*exchange.recalls, *exchange.earlier):
            self.known.add_index(recalled.index)
        if self.judge is not None and exchange.judge is None:
            exchange.judge = self.judge
        taught = set(exchange.taught)
        outcome = exchange.outcome()  # without the lock: a judge may take long
        with self._lock:  # two answers to one request must not both teach the same chunk
            if exchange.taught != taught:
                outcome = exchange.outcome()
            answer = self.known.of_request(exchange.taught, exchange.ids)
            if answer is not None:
                answer.extend(outcome.lessons, exchange.ids, exchange.recalls)
            else:
                answer = Answer(
                    outcome.lessons,
                    names=exchange.ids,
                    conversation=exchange.conversation,
                    recalls=exchange.recalls,
                    request=exchange.taught,
                )
            if outcome.lessons:
                exchange.taught.update(outcome.cited)
            self.known.add(answer)
        return outcome, answer

    def _teach(
        self, exchange: Exchange, outcome: Outcome, answer: Answer, *, waits: bool = False
    ) -> tuple[Outcome, list[Exception]]:
        """Teach the lessons of an answer, unless it waits for approval; keep and note it."""
        self._doubt(exchange, outcome)
        feedback: list[Feedback] = []
        errors: list[Exception] = []
        if outcome.lessons and not waits:
            feedback, errors = answer.teach(self._call_on_lesson)
        outcome = replace(
            outcome,
            feedback=tuple(feedback),
            reason=Reason.REFUSED if errors and not feedback else outcome.reason,
        )
        # Of several answers to one request, a verdict is about those that taught.
        answer.keep(outcome.code if outcome.lessons or not answer.lessons else "learned")
        self.journal.note(outcome)
        return outcome, errors

    def _doubt(self, exchange: Exchange, outcome: Outcome) -> None:
        """Doubt what the last answer cited, if the conversation asks again in other words."""
        if not self.implicit:
            return
        recalls = exchange.recalls
        for lesson in self._rewordings.doubts(exchange.conversation, recalls, outcome.lessons):
            try:
                feedback = lesson.teach()
                doubted = lesson.recalled
                ids = (recalled.recall.id for recalled in (*recalls, doubted))
                self._rewordings.note((*exchange.ids, *ids), doubted.index, feedback)
                self._call_on_lesson(feedback)
            except Exception as error:  # the answer at hand teaches all the same
                logger.warning("that a question was asked again teaches nothing: %s", error)

    def _call_on_lesson(self, feedback: Feedback) -> None:
        if self.on_lesson is not None:
            try:
                self.on_lesson(feedback)
            except Exception:
                logger.exception("on_lesson failed for feedback %s", feedback.id)

    # -- earlier turns ------------------------------------------------------------------

    def earlier(
        self,
        conversation: str,
        *,
        but: Sequence[Recalled] = (),
        namespace: str | None = None,
        kept: bool = True,
    ) -> list[Recalled]:
        """Return the recalls of earlier turns of a conversation, oldest first.

        Includes turns that another process answered, as far as an index has kept them.

        Parameters
        ----------
        conversation : str
        but : sequence of Recalled
            The recalls of the present turn, which are left out.
        namespace : str, optional
            The namespace of the request. Left out, those that ``but`` searched: two tenants
            never share a conversation, even if theirs have the same name.
        kept : bool
            Whether to look into indexes, too.
        """
        pooled = [recalled.index for recalled in but if pool_of(recalled.index) is not None]
        namespaces = set(map(namespace_of, pooled))
        if not pooled and pool_of(self.known.home) is not None:
            namespaces = {namespace_of(self.known.home)}
        searched = {namespace} if namespace is not None else namespaces or None
        remembered = {
            recalled.recall.id: recalled
            for recalled in self.conversations.earlier(conversation, but=but, namespaces=searched)
        }
        present = {recalled.recall.id for recalled in but}
        lasting = {
            recall.id: Recalled(index, recall)
            for index in (self.known.indexes(searched) if kept else ())
            for recall in read_kept(index.earlier_recalls, conversation) or ()
            if recall.id not in present and recall.id not in remembered
        }
        return [*lasting.values(), *remembered.values()]

    # -- late feedback ----------------------------------------------------------------

    def feedback(
        self,
        id: str,
        good: bool,
        *,
        cited: Sequence[str] | None = None,
        outdated: Mapping[str, str] | None = None,
        actor: str | None = None,
        trusted: bool = False,
        index: TeachableIndex | None = None,
        namespace: str | None = None,
    ) -> list[Feedback]:
        """Judge an answer; see :meth:`hebbgraph.citations.FrameworkLearner.feedback`.

        Parameters
        ----------
        id : str
            One of the ids of the exchange.
        good, cited, outdated, actor, trusted
            As there.
        index : TeachableIndex, optional
            Searched for a recall with this ``id`` if ``cited`` is given and the answer is not
            remembered.
        namespace : str, optional
            The namespace of the answer; needed if several have an answer with this id.

        Raises
        ------
        NotFoundError
            If no answer with this id is remembered.
        FeedbackError
            If no recall of it found a chunk in ``cited``.
        HebbgraphError
            The first error of an index.
        """
        if not isinstance(good, bool):
            raise ParameterError(f"good is True (thumbs up) or False (thumbs down), got {good!r}")
        if not isinstance(trusted, bool):
            raise ParameterError(f"trusted is True or False, got {trusted!r:.80}")
        if isinstance(cited, str):
            raise ParameterError(f"cited is a list of chunk ids, got {cited!r}; put it in a list")
        if cited is not None and not (cited or outdated):
            raise ParameterError(
                "cited names no chunk; leave it out to judge what the answer cited"
            )
        if outdated is not None:
            if good:
                raise ParameterError("outdated= says what was wrong in an answer: give good=False")
            outdated = judgements_of((), None, None, None, outdated).outdated
            cited = [*(cited or ()), *outdated]
        self.flush()
        self.known.add_index(index)
        answer = self.known.find(id, namespace)
        if cited is not None:
            answer = _about_chunks(id, cited, answer, index)
            if answer is not None and outdated:
                answer.lessons = tuple(lesson.replacing(outdated) for lesson in answer.lessons)
        elif answer is not None and not answer.lessons:
            logger.info("answer %r cited nothing to judge; name the chunks by cited=[...]", id)
            return []
        if answer is None or not answer.lessons:
            raise NotFoundError(
                f"{self._unknown(id, namespace)}; name the chunks by cited=[...] with a "
                "retriever's run"
            )
        feedback, errors = answer.judge(good, self._call_on_lesson, actor, trusted=trusted)
        answer.keep(("learned" if good else "rejected") if feedback else "waiting")
        if errors:
            raise errors[0]
        return feedback

    def undo(self, id: str, *, namespace: str | None = None) -> int:
        """Take back what an answer has taught, verdicts included; return how many lessons.

        Also takes back the doubts that it raised, or that were raised about it.
        """
        self.flush()
        answer = self.known.find(id, namespace)
        if answer is None:
            raise NotFoundError(self._unknown(id, namespace))
        names = {id, *(recalled.recall.id for recalled in answer.recalls)}
        count = self._rewordings.undo(names, namespace)
        if answer.lessons:
            count += answer.undo()
            answer.keep("undone")
        return count

    def _unknown(self, id: str, namespace: str | None) -> str:
        where = f" in namespace {namespace!r}" if namespace is not None else ""
        if where or self.known.has_indexes:
            return (
                f"no answer of run {id!r} is remembered{where}, neither by this process "
                f"(the last {self.known.remember}) nor by an index"
            )
        return (
            f"no answer of run {id!r} is remembered (the last {self.known.remember} are; "
            "hand the learner its index, which keeps more)"
        )


def _about_chunks(
    id: str, cited: Sequence[str], answer: Answer | None, index: TeachableIndex | None
) -> Answer | None:
    """Return an answer that cites these chunks, of the same recalls; None if there are none."""
    lessons = answer.lessons if answer is not None else ()
    recalls = answer.recalls if answer is not None else []
    if not recalls and index is not None and (recall := index.find_recall(id)) is not None:
        recalls = [Recalled(index, recall)]
    if not recalls:
        return None
    hit_ids = {id_ for recalled in recalls for id_ in recalled.ids}
    if unknown := [id_ for id_ in cited if id_ not in hit_ids]:
        raise FeedbackError(
            f"chunk {unknown[0]!r} is not among the hits that run {id!r} was given; "
            "only what a recall found can be judged"
        )
    shown = [id_ for lesson in lessons for id_ in lesson.shown]
    actor, trusted = (lessons[0].actor, lessons[0].trusted) if lessons else (None, False)
    return Answer(
        [
            lesson.by(actor, trusted=trusted)
            for lesson in share_credit(cited, [*shown, *cited], recalls)
        ],
        names=(id,) if answer is None else answer.names,
        conversation=None if answer is None else answer.conversation,
        recalls=() if answer is None else recalls,
    )
