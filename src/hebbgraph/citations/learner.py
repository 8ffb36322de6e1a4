"""Learns from answers, at once or in the background; takes verdicts on them, and takes it back."""

from __future__ import annotations

import logging
import threading
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Literal, Never

from hebbgraph.arguments import agreed_namespace, check_names
from hebbgraph.calling import Closing, in_thread
from hebbgraph.citations.answer import Answer, about_chunks, teach
from hebbgraph.citations.answers import Answers
from hebbgraph.citations.cited import Judge
from hebbgraph.citations.credit import Lesson, Recalled, TeachablePool
from hebbgraph.citations.exchange import Exchange
from hebbgraph.citations.options import (
    NAMESPACE,
    Actor,
    LearnerOptions,
    Trusted,
    actor_by,
    check_options,
    check_verdict,
    home_of,
)
from hebbgraph.citations.outcomes import Journal, Outcome, Reason
from hebbgraph.citations.rewordings import is_reworded
from hebbgraph.citations.worker import Worker
from hebbgraph.errors import NotFoundError
from hebbgraph.learning.judgements import judgements_of
from hebbgraph.records import Feedback

__all__ = ["FrameworkLearner", "Learner"]

logger = logging.getLogger(__name__)


class FrameworkLearner(Closing):
    """Base of the adapters' ``CitationLearner``.

    An adapter listens to its framework's events, and submits each request as an
    :class:`~hebbgraph.citations.Exchange`; everything else happens here.

    Parameters
    ----------
    index : HebbianIndex or IndexPool, optional
        What learns; or a retriever or vector store over it. Searched for answers that other
        processes have kept.
    actor : callable or str, optional
        From a request's metadata to the name that its lessons are attributed to, or one name for
        all. Left out, ``user_id`` and the like.
    trusted : bool or callable
        Whether the application vouches for what answers cite, as where only editors ask; a
        callable takes a request's metadata. Such lessons count in full at once.
    judge : callable, optional
        ``judge(sentence, text)`` says whether a source supports a sentence that names it: True,
        False, or None to leave it to the rule.
    implicit : bool
        Whether asking again at once in other words teaches doubt about what the first answer
        cited; it is believed as far as citations bear it out.
    learn_on : {"citation", "approval"}
        ``"approval"``: lessons wait until :meth:`feedback` says that the answer was good.
    remember : int
        How many answers are kept in memory for late feedback; the index keeps more.
    on_lesson : callable, optional
        Called with each feedback record that an index returned.
    on_answer : callable, optional
        Called with the :class:`~hebbgraph.citations.Outcome` of each answer, which says what was
        learned, or why nothing.
    """

    #: How a request names its user, for a warning.
    _naming_hint: ClassVar[str]

    def __init__(
        self,
        index: Any = None,
        *,
        actor: Actor | str | None = None,
        trusted: Trusted = False,
        judge: Judge | None = None,
        implicit: bool = False,
        learn_on: Literal["citation", "approval"] = "citation",
        remember: int = 1_000,
        on_lesson: Callable[[Feedback], object] | None = None,
        on_answer: Callable[[Outcome], object] | None = None,
        **unknown: Never,
    ) -> None:
        options = ("index", "background", *LearnerOptions.__annotations__)
        check_names(unknown, options, of=type(self).__name__)
        callbacks = {"on_lesson": on_lesson, "on_answer": on_answer}
        check_options(learn_on, implicit, judge, trusted, remember, **callbacks)
        home, self._namespace = home_of(index)
        self.pool: Any = home if isinstance(home, TeachablePool) else None
        self.index: Any = None if self.pool is not None else home
        self.actor = actor_by(actor)
        self._only_actor = actor if isinstance(actor, str) else None
        self.trusted = trusted
        self.judge = judge
        self.implicit = implicit
        self.learn_on = learn_on
        self.on_lesson = on_lesson
        self._answers = Answers(remember, home)
        hint = self._naming_hint if actor is None else None
        self._journal = Journal(remember=remember, on_answer=on_answer, naming_hint=hint)
        self._worker = Worker()
        self._reading = threading.RLock()

    @abstractmethod
    def uninstall(self) -> None:
        """Stop listening."""

    @abstractmethod
    def _names_of(self, answer: Any) -> Sequence[str]:
        """Return the names that an answer may have, the likeliest first."""

    @abstractmethod
    def _asked_namespace(self) -> str | None:
        """Return the namespace that the present request names."""

    def _whose(self, namespace: str | None) -> str | None:
        """Return the namespace of a call: its argument, the request's, or the retriever's."""
        return agreed_namespace(namespace, self._asked_namespace()) or self._namespace

    def _attributed(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the actor of a request, and whether it is trusted."""
        trusted = self.trusted(request) if callable(self.trusted) else self.trusted
        return {"actor": self.actor(request), "trusted": trusted}

    def _fields_of(self, request: Mapping[str, Any], recalls: Sequence[Recalled]) -> dict[str, Any]:
        """Return the fields of an exchange that a request's metadata set.

        ``answer_id`` names the answer. Requests with the same ``thread_id`` are turns of one
        conversation, so the recalls of the earlier ones come with it.
        """
        fields, name = self._attributed(request), request.get("answer_id")
        fields["ids"] = [] if name is None or not str(name).strip() else [str(name)]
        if (thread := request.get("thread_id")) is not None:
            namespace = agreed_namespace(request.get(NAMESPACE), None)
            fields["conversation"] = str(thread)
            fields["earlier"] = self._answers.earlier(str(thread), recalls, namespace)
        return fields

    # -- learning ----------------------------------------------------------------------

    def _submit(self, read: Callable[[], Exchange], *, background: bool = True) -> None:
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

    def _study(self, read: Callable[[], Exchange]) -> None:
        try:
            exchange = read()
            outcome, answer = self._read_answer(exchange)
        except Exception:
            logger.exception("an answer could not be read; it teaches nothing")
            self._journal.note(Outcome(reason=Reason.UNREADABLE))
            return
        _, errors = self._teach(outcome, answer, waits=self.learn_on == "approval")
        for error in errors:
            logger.error("an answer could not be learned: %s", error, exc_info=error)

    def _learn_now(self, exchange: Exchange) -> Outcome:
        """Learn from one exchange at once, approved or not; raise the first error of an index.

        The lessons of other recalls are taught all the same.
        """
        outcome, errors = self._teach(*self._read_answer(exchange))
        if errors:
            raise errors[0]
        return outcome

    def _read_answer(self, exchange: Exchange) -> tuple[Outcome, Answer]:
        for recalled in (*exchange.recalls, *exchange.earlier):
            self._answers.add_index(recalled.index)
        if exchange.judge is None:
            exchange.judge = self.judge
        taught = set(exchange.taught)
        outcome = exchange.outcome()  # without the lock: a judge may take long
        with self._reading:  # two answers to one request must not both teach the same chunk
            if exchange.taught != taught:
                outcome = exchange.outcome()
            answer = self._answers.of_request(exchange.taught, exchange.ids)
            if answer is None:
                answer = Answer(conversation=exchange.conversation, request=exchange.taught)
            answer.actor = exchange.actor
            answer.extend(outcome.lessons, exchange.ids, exchange.recalls)
            if outcome.lessons:
                exchange.taught.update(outcome.cited)
            self._answers.add(answer)
        return outcome, answer

    def _teach(
        self, outcome: Outcome, answer: Answer, *, waits: bool = False
    ) -> tuple[Outcome, list[Exception]]:
        """Teach the lessons of an answer, unless it waits for approval; keep and note it."""
        self._doubt(answer)
        feedback, errors = teach(() if waits else outcome.lessons, self._call_on_lesson)
        outcome = replace(
            outcome,
            feedback=tuple(feedback),
            reason=Reason.REFUSED if errors and not feedback else outcome.reason,
        )
        # Of several answers to one request, a verdict is about those that taught.
        answer.keep(outcome.code if outcome.lessons or not answer.lessons else "learned")
        self._journal.note(outcome)
        return outcome, errors

    def _doubt(self, answer: Answer) -> None:
        """Doubt what the last answer cited, if the conversation asks again in other words."""
        is_turn = self.implicit and answer.conversation is not None and bool(answer.made)
        if not is_turn or (before := self._answers.before(answer)) is None:
            return
        queries = {recalled.recall.query for recalled in answer.made}
        doubted = {feedback.recall_id for _, feedback in answer.doubts}  # by the same request
        for lesson in before.lessons:
            recall = lesson.recalled.recall
            if recall.id not in doubted and any(is_reworded(recall.query, q) for q in queries):
                self._teach_doubt(lesson, answer, before)

    def _teach_doubt(self, lesson: Lesson, *concerned: Answer) -> None:
        doubts = [lesson.by(lesson.actor)]
        feedback, errors = teach(doubts, self._call_on_lesson, good=False, kind="asked again")
        for error in errors:  # the answer at hand teaches all the same
            logger.warning("that a question was asked again teaches nothing: %s", error)
        for answer in concerned:
            answer.doubts += [(lesson.recalled.index, doubted) for doubted in feedback]

    def _call_on_lesson(self, feedback: Feedback) -> None:
        if self.on_lesson is not None:
            try:
                self.on_lesson(feedback)
            except Exception:
                logger.exception("on_lesson failed for feedback %s", feedback.id)

    def close(self) -> None:
        """Stop listening, and wait until everything heard is learned."""
        self.uninstall()
        self.flush()

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until all answers heard so far are learned; False after ``timeout`` seconds.

        It blocks: on an event loop, await :meth:`aflush`.
        """
        return self._worker.flush(timeout)

    aflush = in_thread(flush)

    # -- outcomes ----------------------------------------------------------------------

    @property
    def lessons(self) -> tuple[Outcome, ...]:
        """The outcomes of the latest answers, oldest first: what was learned, or why nothing.

        Those of all tenants; :meth:`outcomes` selects. ``index.lessons()`` lists what an index
        has learned, from all processes.
        """
        return self._journal.latest

    def outcomes(self, answer: Any = None, *, namespace: str | None = None) -> tuple[Outcome, ...]:
        """Return the outcomes of an answer, or of the latest answers of one tenant, oldest first.

        Parameters
        ----------
        answer : str or other, optional
            As for :meth:`feedback`. Left out, all of them.
        namespace : str, optional
            Left out, that of the request.
        """
        whose = self._whose(namespace)
        names = None if answer is None else set(self._names_of(answer))
        return tuple(
            outcome
            for outcome in self.lessons
            if (whose is None or whose in outcome.namespaces)
            and (names is None or not names.isdisjoint(outcome.names))
        )

    @property
    def counts(self) -> dict[str, int]:
        """How many answers there were, by outcome."""
        return self._journal.counts

    # -- verdicts ----------------------------------------------------------------------

    def feedback(
        self,
        answer: Any,
        good: bool,
        *,
        cited: Sequence[str] | None = None,
        outdated: Mapping[str, str] | None = None,
        actor: str | None = None,
        trusted: bool = False,
        namespace: str | None = None,
    ) -> list[Feedback]:
        """Judge an answer: thumbs up or down. The last verdict holds.

        Up teaches what was not taught yet. Down takes back what was, and rejects what is cited.
        The same again changes nothing, whoever says it, unless it is ``trusted`` and was not.

        Parameters
        ----------
        answer : str or other
            The id that the request gave its answer, or another name; the class says which.
        good : bool
        cited : sequence of str, optional
            The ids of the chunks to judge, of the index, in place of those that the answer cited.
            If the answer is not remembered, the name must be a recall's.
        outdated : mapping of str to str, optional
            With a thumb down: maps chunks that no longer hold to those that do, as for
            ``index.reinforce``.
        actor : str, optional
            Left out, the request's, or the learner's if that is a name.
        trusted : bool
            Whether the application vouches for the verdict, as for an editor's.
        namespace : str, optional
            The namespace of the answer. Left out, that of the request, if this is called within
            one, or that of the retriever. Needed over a pool for names that are not random, and
            wherever several namespaces have an answer of this name.

        Returns
        -------
        list of Feedback
            Empty if the answer cited nothing; its :class:`~hebbgraph.citations.Outcome` says why.

        Raises
        ------
        NotFoundError
            If the answer is not, or no longer, remembered.
        FeedbackError
            If a chunk in ``cited`` is in no index that was asked.
        ParameterError
            If several tenants may have an answer of this name, and no namespace is given.
            Nothing is judged then.
        """
        check_verdict(good, cited, outdated, trusted)
        whose = self._whose(namespace)
        names = self._names_of(answer)
        found = self._find(names, whose)
        if outdated is not None:
            outdated = judgements_of((), None, None, None, outdated).outdated
            cited = [*(cited or ()), *outdated]
        if cited is not None:
            index = self._answers.index_of(whose)
            found = about_chunks(cited, outdated or {}, names, found, index, self._only_actor)
        elif found is not None and not found.lessons:
            logger.info("answer %r cited nothing to judge; name the chunks by cited=[...]", names)
            return []
        if found is None or not found.lessons:
            unknown = self._answers.unknown(names[-1], whose)
            raise NotFoundError(f"{unknown}; name the chunks by cited=[...] with a retriever's run")
        feedback, errors = found.judge(good, self._call_on_lesson, actor, trusted=trusted)
        found.keep(("learned" if good else "rejected") if feedback else "waiting")
        if errors:
            raise errors[0]
        return feedback

    afeedback = in_thread(feedback)

    def undo(self, answer: Any, *, namespace: str | None = None) -> int:
        """Take back what an answer has taught, thumbs included; return how many lessons.

        Also takes back the doubts that it raised, or that were raised about it. Parameters and
        errors are those of :meth:`feedback`.
        """
        whose = self._whose(namespace)
        names = self._names_of(answer)
        found = self._find(names, whose)
        if found is None:
            raise NotFoundError(self._answers.unknown(names[-1], whose))
        count = sum(index.forget(feedback=doubt.id) for index, doubt in found.doubts)
        if found.lessons:
            count += found.undo()
            found.keep("undone")
        return count

    aundo = in_thread(undo)

    def _find(self, names: Sequence[str], namespace: str | None) -> Answer | None:
        """Return the answer that the first known of these names means, once all is learned."""
        self.flush()
        self._answers.add_index(self._answers.index_of(namespace))
        found = (self._answers.find(name, namespace) for name in names)
        return next((answer for answer in found if answer is not None), None)


class Learner(FrameworkLearner):
    """Learns from answers of any framework; requests are submitted as exchanges.

    Parameters are those of :class:`FrameworkLearner`. ``actor`` is for exchanges that name none,
    ``trusted`` for all; callables get an empty mapping, as there are no metadata.

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

    _naming_hint = "pass actor=... to each Exchange"
    submit = FrameworkLearner._submit
    learn = FrameworkLearner._learn_now

    def earlier(self, conversation: str, *, but: Sequence[Recalled] = ()) -> list[Recalled]:
        """Return the recalls of earlier turns of a conversation, oldest first.

        Includes turns that another process answered, as far as an index has kept them; without
        the recalls of the present turn, ``but``.
        """
        return self._answers.earlier(conversation, but)

    def _read_answer(self, exchange: Exchange) -> tuple[Outcome, Answer]:
        default = self._attributed({})
        exchange.actor = default["actor"] if exchange.actor is None else exchange.actor
        exchange.trusted = exchange.trusted or default["trusted"]
        return super()._read_answer(exchange)

    def uninstall(self) -> None:
        """Do nothing: it listens to nothing."""

    def _names_of(self, answer: str) -> Sequence[str]:
        return [answer]

    def _asked_namespace(self) -> None:
        return None
