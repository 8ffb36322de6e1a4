"""Teaches indexes what answers cite, at once or in the background, and takes it back."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, TypeAlias

from hebbgraph.citations.answered import Answered, Label
from hebbgraph.citations.cited import Judge
from hebbgraph.citations.conversations import Conversations
from hebbgraph.citations.credit import (
    Recalled,
    TeachableIndex,
    TeachablePool,
    namespace_of,
    pool_of,
    share_credit,
)
from hebbgraph.citations.exchange import Exchange
from hebbgraph.citations.journal import Journal
from hebbgraph.citations.known import KnownAnswers, reading
from hebbgraph.citations.outcomes import Outcome, Reason
from hebbgraph.citations.rewordings import Rewordings
from hebbgraph.citations.worker import Worker
from hebbgraph.errors import FeedbackError, NotFoundError, ParameterError
from hebbgraph.learning.judgements import said_of
from hebbgraph.records import Feedback

__all__ = ["Actor", "Learner", "Trusted", "actor_by", "check_trusted", "user_id"]

logger = logging.getLogger(__name__)

Actor: TypeAlias = Callable[[Mapping[str, Any]], str | None]
"""From a request's metadata to the name that its lessons are attributed to, or None."""

Trusted: TypeAlias = bool | Callable[[Mapping[str, Any]], bool]
"""Whether the application vouches for what answers cite, or how a request's metadata says so."""


#: Where frameworks and tracers put the user of a request.
_USER_KEYS = ("user_id", "userId", "user-id", "langfuse_user_id", "user", "actor")


def user_id(metadata: Mapping[str, Any]) -> str | None:
    """Return the user of a request, from where people put it in metadata: the default actor.

    Under ``user_id``, ``userId``, ``langfuse_user_id``, ``user`` (a name, or a mapping with an
    ``id``) or ``actor``, the first that is there.

    >>> user_id({"user_id": 7}), user_id({"user": {"id": "ida"}}), user_id({})
    ('7', 'ida', None)
    """
    for key in _USER_KEYS:
        found = metadata.get(key)
        if isinstance(found, Mapping):
            found = found.get("id", found.get("user_id"))
        if found is not None and not isinstance(found, bool) and str(found).strip():
            return str(found)
    return None


def actor_by(actor: Actor | str | None) -> Actor:
    """Return what names the actor of a request: a callable, one name for all, or :func:`user_id`.

    >>> actor_by("ida")({}), actor_by(None)({"user_id": 7})
    ('ida', '7')
    """
    if actor is None:
        return user_id
    if isinstance(actor, str) and actor.strip():
        return lambda metadata: actor
    if not callable(actor):
        raise ParameterError(
            f"actor is a name, or a callable from a request's metadata to one; got {actor!r:.80}"
        )
    return actor


def check_trusted(trusted: Trusted) -> Trusted:
    """Return it; raise ParameterError for anything else, such as a name."""
    if not (isinstance(trusted, bool) or callable(trusted)):
        raise ParameterError(
            "trusted is True, False, or a callable that says so of a request's metadata; "
            f"got {trusted!r:.80}"
        )
    return trusted


class Learner:
    """Learns from answers of any framework.

    An adapter listens to its framework's events and passes each request on as an
    :class:`~hebbgraph.citations.Exchange`; everything else happens here.

    Parameters
    ----------
    learn_on, remember, on_lesson, on_answer, judge, implicit
        As for :class:`~hebbgraph.citations.FrameworkLearner`.
    index : HebbianIndex or pool of them, optional
        Where answers of other processes may be kept, before the first answer comes from it.
    expects_actor : bool
        Whether to say once that an answer had no actor.

    Attributes
    ----------
    conversations : Conversations
        For adapters: the recalls of earlier turns.
    journal : Journal
        The latest outcomes, and how many there were of each.

    Examples
    --------
    >>> from hebbgraph import HebbianIndex
    >>> from hebbgraph.citations import Recalled, Reply
    >>> with HebbianIndex.open(":memory:") as index:
    ...     report = index.add([{"id": "owl", "text": "Owls hunt at night."}])
    ...     recall = index.recall("When do owls hunt?")
    ...     said = Reply(prompt="[1] Owls hunt at night.", text="I do not know.")
    ...     outcome = Learner().learn(Exchange(recalls=[Recalled(index, recall)], replies=[said]))
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
        self.remember = remember
        self.on_lesson = on_lesson
        self.judge = judge
        self.implicit = implicit
        self._rewordings = Rewordings()
        self.conversations = Conversations()
        self.journal = Journal(remember=remember, on_answer=on_answer, expects_actor=expects_actor)
        self.known = KnownAnswers(remember, index)
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
            Run in a thread. If False, before this returns.
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
        outcome, answered = self._read(exchange)
        self._doubt(exchange, outcome)
        feedback: list[Feedback] = []
        errors: list[Exception] = []
        if outcome.lessons:
            feedback, errors = answered.teach(self._tell)
        outcome = self._noted(answered, replace(outcome, feedback=tuple(feedback)), errors)
        if errors:
            raise errors[0]
        return outcome

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until everything submitted is learned; False after ``timeout`` seconds."""
        return self._worker.flush(timeout)

    def missed(self, reason: Reason) -> None:
        """Note an answer of which nothing but the reason is known why it teaches nothing."""
        self.journal.note(Outcome(reason=reason))

    def _study(self, read: Callable[[], Exchange]) -> None:
        try:
            exchange = read()
            outcome, answered = self._read(exchange)
        except Exception:
            logger.exception("an answer could not be read; it teaches nothing")
            self.missed(Reason.UNREADABLE)
            return
        self._doubt(exchange, outcome)
        feedback: list[Feedback] = []
        errors: list[Exception] = []
        if outcome.lessons and self.learn_on == "citation":
            feedback, errors = answered.teach(self._tell)
            for error in errors:
                logger.error("an answer could not be learned: %s", error, exc_info=error)
        self._noted(answered, replace(outcome, feedback=tuple(feedback)), errors)

    def _read(self, exchange: Exchange) -> tuple[Outcome, Answered]:
        for one in (*exchange.recalls, *exchange.earlier):
            self.known.meet(one.index)
        if self.judge is not None and exchange.judge is None:
            exchange.judge = self.judge
        taught = set(exchange.taught)
        outcome = exchange.outcome()  # without the lock: a judge may take long
        with self._lock:  # two answers of one request must not both teach the same chunk
            if exchange.taught != taught:
                outcome = exchange.outcome()
            label = Label(tuple(exchange.ids), exchange.conversation, tuple(exchange.recalls))
            before = self.known.of_request(exchange.taught, exchange.ids)
            if before is not None:
                before.extend(outcome.lessons, label)
            answered = before or Answered(outcome.lessons, label, exchange.taught)
            if outcome.lessons:
                exchange.taught.update(outcome.cited)
            if answered.lessons:
                self.known.add(answered)
            else:
                self.known.add_uncited(exchange.ids, answered.namespaces)
        return outcome, answered

    def _doubt(self, exchange: Exchange, outcome: Outcome) -> None:
        """Doubt what the last answer of the conversation cited, if it was asked again at once."""
        if not self.implicit:
            return
        for lesson in self._rewordings.doubts(exchange, outcome.lessons):
            try:
                feedback = lesson.teach()
                about = lesson.recalled
                recalls = (one.recall.id for one in (*exchange.recalls, about))
                self._rewordings.note((*exchange.ids, *recalls), about.index, feedback)
                self._tell(feedback)
            except Exception as error:  # the answer at hand teaches all the same
                logger.warning("that a question was asked again teaches nothing: %s", error)

    def _noted(self, answered: Answered, outcome: Outcome, errors: Sequence[Exception]) -> Outcome:
        if errors and not outcome.feedback:
            outcome = replace(outcome, reason=Reason.REFUSED)
        # Of several answers to a request, those that taught are what a verdict is about.
        answered.keep(outcome.code if outcome.lessons or not answered.lessons else "learned")
        self.journal.note(outcome)
        return outcome

    def _tell(self, feedback: Feedback) -> None:
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
        """Return what earlier turns of a conversation recalled, oldest first.

        Also those that another process answered, as far as an index has kept them.

        Parameters
        ----------
        conversation : str
        but : sequence of Recalled
            Those of the present turn.
        namespace : str, optional
            That of the request. Left out, those that ``but`` searched: a tenant's conversation
            is nobody else's, even if it has the same name.
        kept : bool
            Whether indexes are asked, too.
        """
        tenants = {namespace_of(one.index) for one in but if pool_of(one.index) is not None}
        if not tenants and pool_of(self.known.home) is not None:
            tenants = {namespace_of(self.known.home)}
        about = {namespace} if namespace is not None else tenants or None
        found = {
            one.recall.id: one
            for one in self.conversations.earlier(conversation, but=but, namespaces=about)
        }
        own = {one.recall.id for one in but}
        lasting = {
            recall.id: Recalled(index, recall)
            for index in (self.known.indexes(about) if kept else ())
            for recall in reading(index.earlier_recalls, conversation) or ()
            if recall.id not in own and recall.id not in found
        }
        return [*lasting.values(), *found.values()]

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
            Where to look for a recall with this ``id``, if ``cited`` is given and the answer is not
            remembered.
        namespace : str, optional
            Whose answer it is; needed if several have one of this id.

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
        if outdated is not None:
            if good:
                raise ParameterError("outdated= says what was wrong in an answer: give good=False")
            replaced = said_of((), None, None, None, outdated).outdated
            cited = [*(cited or ()), *replaced]
        self.flush()
        self.known.meet(index)
        answered = self.known.find(id, namespace)
        if cited is not None:
            answered = self._about(id, cited, answered, index)
            if answered is not None and outdated:
                answered.lessons = tuple(one.replacing(outdated) for one in answered.lessons)
        elif self._has_none(id, answered, namespace):
            logger.info("answer %r cited nothing to judge; name the chunks by cited=[...]", id)
            return []
        if answered is None or not answered.lessons:
            raise NotFoundError(
                f"{self._unknown(id, namespace)}; name the chunks by cited=[...] with a "
                "retriever's run"
            )
        feedback, errors = answered.judge(good, self._tell, actor, trusted=trusted)
        answered.keep(("learned" if good else "rejected") if feedback else "waiting")
        if errors:
            raise errors[0]
        return feedback

    def undo(self, id: str, *, namespace: str | None = None) -> int:
        """Take back what an answer has taught, verdicts included; return how many lessons.

        Also the doubt that it raised, or that was raised about it, as it was asked again.
        """
        self.flush()
        answered = self.known.find(id, namespace)
        recalls = () if answered is None else answered.recalls
        doubts = self._rewordings.undo({id, *(one.recall.id for one in recalls)}, namespace)
        if self._has_none(id, answered, namespace):
            return doubts
        if answered is None:
            raise NotFoundError(self._unknown(id, namespace))
        count = answered.undo()
        answered.keep("undone")
        return count + doubts

    def _has_none(self, id: str, answered: Answered | None, namespace: str | None) -> bool:
        """Return whether an answer is known to have cited nothing."""
        return self.known.cited_nothing(id, namespace) if answered is None else not answered.lessons

    def _unknown(self, id: str, namespace: str | None) -> str:
        where = f" in namespace {namespace!r}" if namespace is not None else ""
        hint = "" if where or self.known.home or len(self.known) else "; hand the learner its index"
        return f"no answer of run {id!r} is remembered{where} (the last {self.remember} are{hint})"

    @staticmethod
    def _about(
        id: str, cited: Sequence[str], known: Answered | None, index: TeachableIndex | None
    ) -> Answered | None:
        lessons = known.lessons if known is not None else ()
        recalls = [lesson.recalled for lesson in lessons]
        if known is not None:
            recalls += [one for one in known.label.recalls if one not in recalls]
        if not recalls and index is not None and (recall := index.find_recall(id)) is not None:
            recalls = [Recalled(index, recall)]
        found_ids = {hit.chunk.id for one in recalls for hit in one.recall.hits}
        if recalls and (unknown := [id_ for id_ in cited if id_ not in found_ids]):
            raise FeedbackError(
                f"chunk {unknown[0]!r} is not among the hits that run {id!r} was given; "
                "only what a recall found can be judged"
            )
        shown = [id_ for lesson in lessons for id_ in lesson.shown]
        actor = lessons[0].actor if lessons else None
        found = share_credit(cited, [*shown, *cited], recalls)
        if not recalls:
            return None
        label = known.label if known is not None else Label((id,))
        vouched = bool(lessons) and lessons[0].trusted
        return Answered([lesson.by(actor, trusted=vouched) for lesson in found], label)
