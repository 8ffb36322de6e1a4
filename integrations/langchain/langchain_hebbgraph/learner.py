"""CitationLearner: teaches indexes what answers cite, while chains run as they are."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal, TypeVar, cast

from hebbgraph import HebbianIndex, NotFoundError, ParameterError, Recall
from hebbgraph.calling import in_thread
from hebbgraph.citations import (
    Actor,
    Exchange,
    Judge,
    Learner,
    Outcome,
    Reason,
    Recalled,
    Rendered,
    Reply,
    Trusted,
    actor_by,
    check_trusted,
    sources_of,
)
from hebbgraph.limits import MAX_ID
from langchain_core.messages import BaseMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore

from langchain_hebbgraph import sessions
from langchain_hebbgraph.answers import exchange_of, reply_to
from langchain_hebbgraph.tracing import Trace, TracingHandler

__all__ = ["CitationLearner"]

RunId = uuid.UUID | str
_T = TypeVar("_T")

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


class CitationLearner(TracingHandler):
    """Callback handler that teaches an index which chunks the answers cite.

    Put it into ``config["callbacks"]`` of the outermost call, or :meth:`install` it once
    for the whole application. Attached to the retriever alone it would never see an
    answer. It learns from every :class:`HebbianRetriever` and
    :class:`HebbianVectorStore` retriever in the run, of whichever index.

    A chunk is cited if the answer holds the key or the id that the model was shown for
    it (:mod:`hebbgraph.citations`): in its text, in a structured answer or as a native
    citation. What a reranker or a token limit kept from the model was not shown. An
    answer that cites nothing teaches nothing. Runs with the same
    ``metadata["thread_id"]``, which LangGraph sets from the configuration, are turns of
    one conversation: an answer may cite what an earlier turn has found.

    While a chain runs, the learner only notes references. It reads and learns in a
    background thread once the run has ended. Nothing here ever raises into a chain:
    errors are logged.

    Parameters
    ----------
    index : HebbianIndex, optional
        Where :meth:`feedback` and :meth:`learn` look for recalls by id. A retriever or a vector
        store over one fits as well.
    actor : callable or str, optional
        Takes the root run's metadata and returns the name that the lesson is attributed
        to, or None. Left out, ``metadata["user_id"]`` and the like, where also the
        ``configurable`` of a call arrives, or the ``user_id`` of LangGraph's runtime context.
    trusted : bool or callable
        Whether the application vouches for what answers cite, as where editors alone ask; a
        callable takes what ``actor`` takes. Such lessons count in full at once.
    judge : callable, optional
        ``judge(sentence, text)`` says whether a source supports a sentence that names it: True,
        False, or None to leave it to the rule.
    learn_on : {"citation", "approval"}
        ``"approval"``: lessons wait until :meth:`feedback` says that the answer was good.
    background : bool
        False learns before the outermost call returns: for processes that are frozen or
        ended right after an answer.
    remember : int
        How many answers are kept in memory for late feedback; the index keeps more.
    on_lesson : callable, optional
        Called with each feedback record that an index returned.
    on_answer : callable, optional
        Called with what became of each answer: an
        :class:`~hebbgraph.citations.Outcome`, which says what was learned, or why nothing.

    Examples
    --------
    >>> learner = CitationLearner()
    >>> # chain.invoke(question, config={"callbacks": [learner]})
    >>> learner.flush()
    True
    """

    def __init__(
        self,
        index: HebbianIndex | BaseRetriever | VectorStore | None = None,
        *,
        actor: Actor | str | None = None,
        trusted: Trusted = False,
        judge: Judge | None = None,
        learn_on: Literal["citation", "approval"] = "citation",
        background: bool = True,
        remember: int = 1_000,
        on_lesson: Callable[[Any], Any] | None = None,
        on_answer: Callable[[Outcome], Any] | None = None,
    ) -> None:
        super().__init__()
        self.index = _index_of(index)
        self.actor = actor_by(actor)
        self.trusted = check_trusted(trusted)
        self.background = background
        # Noting references is faster than switching to a thread; learning is not.
        self.run_inline = background
        self._learner = Learner(
            learn_on=learn_on,
            remember=remember,
            index=self.index,
            on_lesson=on_lesson,
            on_answer=on_answer,
            expects_actor=actor is None,
            judge=judge,
        )

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> CitationLearner:
        """Return the learner itself: its notes belong to runs, not to configurations."""
        return self

    __copy__ = __deepcopy__

    # -- where it listens -------------------------------------------------------------

    def install(self) -> CitationLearner:
        """Listen to every run of this process, in all threads; replaces another learner."""
        sessions.everywhere.learner = self
        return self

    def uninstall(self) -> None:
        """Stop listening to runs that it is not attached to."""
        if sessions.everywhere.learner is self:
            sessions.everywhere.learner = None

    @contextmanager
    def session(self, metadata: Mapping[str, Any] | None = None) -> Iterator[uuid.UUID]:
        """Relate calls that no chain relates.

        A retriever and a model that are called one after the other are two runs that
        nothing links. Within a session they are one, which ends with it.

        Yields
        ------
        UUID
            The id of the session, for :meth:`feedback`.
        """
        trace = Trace(uuid.uuid4(), dict(metadata or {}), is_session=True)
        with self._lock:
            self._keep(trace)
        token = sessions.enter(self, trace)
        try:
            yield trace.root
        finally:
            sessions.leave(token)
            with self._lock:
                trace.finish()
                self._settle(trace)

    def _session(self) -> Trace | None:
        return sessions.session_of(self)

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until all runs that have ended are learned from; False if time ran out.

        For tests, and before an index is closed. It blocks: do not call it on an event
        loop.
        """
        return self._learner.flush(timeout)

    # -- when a run is over -----------------------------------------------------------

    def _completed(self, trace: Trace) -> None:
        thread = trace.metadata.get("thread_id")
        recalls = list(trace.recalls.values())
        if thread is not None:
            self._learner.conversations.note(str(thread), recalls)
        if recalls or (thread is not None and trace.calls):
            self._learner.submit(partial(self._read, trace), background=self.background)
        elif trace.calls:
            self._learner.missed(Reason.NOTHING_RECALLED)

    def _read(self, trace: Trace) -> Exchange:
        if (thread := trace.metadata.get("thread_id")) is not None:
            recalls = list(trace.recalls.values())
            trace.earlier = self._learner.earlier(str(thread), but=recalls)
        metadata = {**trace.context, **trace.metadata}
        trusted = self.trusted(metadata) if callable(self.trusted) else self.trusted
        return exchange_of(trace, actor=self.actor(metadata), trusted=trusted)

    # -- what was learned -------------------------------------------------------------

    @property
    def lessons(self) -> tuple[Outcome, ...]:
        """What became of the latest answers, oldest first: what was learned, or why nothing.

        ``index.lessons()`` lists what an index has learned, from all processes.
        """
        return self._learner.journal.latest

    @property
    def counts(self) -> dict[str, int]:
        """How many answers there were, by what became of them.

        >>> CitationLearner().counts
        {}
        """
        return self._learner.journal.counts

    def undo(self, run_id: RunId) -> int:
        """Take back what an answer has taught, thumbs included; return how many lessons.

        Parameters
        ----------
        run_id : UUID or str
            As for :meth:`feedback`.

        Raises
        ------
        NotFoundError
            For an answer that is not, or no longer, remembered.
        """
        return self._named(run_id, self._learner.undo)

    aundo = in_thread(undo)

    # -- where no run tells -----------------------------------------------------------

    def learn(
        self,
        answer: Any,
        recalls: Recall | RunId | Iterable[Recall | RunId],
        *,
        prompt: str | Sequence[BaseMessage] | None = None,
        index: HebbianIndex | None = None,
        actor: str | None = None,
        trusted: bool = False,
    ) -> list[Any]:
        """Learn from one answer, where there is no chain to listen to.

        Parameters
        ----------
        answer : str, message, dict or pydantic model
        recalls : Recall or id, or several
            An id is that of a retriever's run.
        prompt : str or list of messages, optional
            What the model was given; keys are read from it. Left out, all hits count as
            shown, and only citations by id or quotation count.
        index : HebbianIndex, optional
            Left out, the learner's.
        actor : str, optional
        trusted : bool
            Whether the application vouches for it.

        Returns
        -------
        list
            The feedback records; empty if nothing was cited.

        Raises
        ------
        NotFoundError
            For a recall that is not, or no longer, kept.
        """
        index = index or self.index
        if index is None:
            raise ParameterError("learn needs an index; hand it over here or to the learner")
        one = isinstance(recalls, Recall | str | uuid.UUID)
        wanted = cast("Iterable[Recall | RunId]", [recalls] if one else recalls)
        recalled = [Recalled(index, _find_recall(index, recall)) for recall in wanted]
        if prompt is None:
            rendered = Rendered(tuple(sources_of(recalled)))
            reply = Reply(structured=[_said(answer)], rendered=rendered)
        else:
            reply = reply_to(prompt, answer)
        outcome = self._learner.learn(
            Exchange(recalls=recalled, replies=[reply], actor=actor, trusted=trusted)
        )
        return list(outcome.feedback)

    alearn = in_thread(learn)

    def feedback(
        self,
        run_id: RunId,
        good: bool,
        *,
        cited: Sequence[str] | None = None,
        actor: str | None = None,
        trusted: bool = False,
    ) -> list[Any]:
        """Say what became of an answer: thumbs up or down. The last verdict holds.

        Up: what the answer cited is learned, if it was not yet. Down: what was learned
        from it is taken back, and what it cited is rejected.

        Parameters
        ----------
        run_id : UUID or str
            The id that the call gave its answer, ``{"metadata": {"answer_id": ...}}``. Or that of
            the root run, the model call or the retriever, or ``message.id``, whether it holds the
            run's or is the provider's own.
        good : bool
        cited : sequence of str, optional
            Chunk ids that the thumb is about, in place of what the answer cited. If the
            answer is not remembered, ``run_id`` must be a retriever's.
        actor : str, optional
            Left out, the run's.
        trusted : bool
            Whether the application vouches for it, as for an editor's word.

        Returns
        -------
        list
            The feedback records; empty if the answer cited nothing.

        Raises
        ------
        NotFoundError
            For an answer that is not, or no longer, remembered.
        """
        judge = partial(
            self._learner.feedback,
            good=good,
            cited=cited,
            actor=actor,
            trusted=trusted,
            index=self.index,
        )
        return list(self._named(run_id, judge))

    def _named(self, name: RunId, what: Callable[[str], _T]) -> _T:
        """Do something with an answer by its name, or by the run's id within that of a message."""
        whole, within = _ids_in(name)
        try:
            return what(whole)
        except NotFoundError:
            if within in (None, whole):
                raise
        return what(str(within))

    afeedback = in_thread(feedback)


def _index_of(given: object) -> HebbianIndex | None:
    """Return the index of what has one."""
    if given is None or isinstance(given, HebbianIndex):
        return given
    index = getattr(getattr(given, "vectorstore", given), "index", None)
    if not isinstance(index, HebbianIndex):
        raise ParameterError(
            f"index is a HebbianIndex, or a retriever or vector store over one; got {given!r:.80}"
        )
    return index


def _said(answer: Any) -> Any:
    return str(answer.text) if isinstance(answer, BaseMessage) else answer


def _find_recall(index: HebbianIndex, recall: Recall | RunId) -> Recall:
    if isinstance(recall, Recall):
        return recall
    found = index.find_recall(str(recall))
    if found is None:
        raise NotFoundError(f"recall {str(recall)!r} is not, or no longer, kept by {index!r}")
    return found


def _ids_in(run_id: RunId) -> tuple[str, str | None]:
    """Return an id as it is, and that of a run which the id of a message contains."""
    if isinstance(run_id, uuid.UUID):
        return str(run_id), None
    if not (isinstance(run_id, str) and run_id.strip()):
        raise NotFoundError(f"{run_id!r} is not the id of an answer, a run or a message")
    found = _UUID.search(run_id[:MAX_ID])
    return run_id[:MAX_ID], None if found is None else str(uuid.UUID(found.group()))
