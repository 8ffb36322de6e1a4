"""CitationLearner: teaches indexes what answers cite, while chains run as they are."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, cast

from hebbgraph import HebbianIndex, NotFoundError, ParameterError, Recall
from hebbgraph.citations import Rendered, Source, parse_structured, rendered_in
from langchain_core.messages import BaseMessage

from langchain_hebbgraph import sessions
from langchain_hebbgraph.answers import lessons, message_text, prompt_text, share
from langchain_hebbgraph.noting import RunNotes
from langchain_hebbgraph.runs import Retrieval, Trace
from langchain_hebbgraph.teaching import Answered, RunId, as_uuid, find_recall, teach
from langchain_hebbgraph.worker import Worker

__all__ = ["CitationLearner"]

logger = logging.getLogger(__name__)

Actor = Callable[[Mapping[str, Any]], str | None]

#: Runs noted at once that have not ended. Beyond it the oldest are given up.
_MAX_OPEN = 10_000
#: Seconds after which a run that never ended is given up.
_PATIENCE = 3_600.0
#: Conversations whose sources are remembered, and how many retrievals of each.
_MAX_THREADS = 256
_MAX_EARLIER = 8
#: Of an abandoned stream the root ends first; so many seconds its model may take.
_GRACE = 60.0
_MAX_ENDING = 1_000


def user_id(metadata: Mapping[str, Any]) -> str | None:
    """Return ``metadata["user_id"]``: whom a lesson is attributed to by default."""
    actor = metadata.get("user_id")
    return None if actor is None else str(actor)


class CitationLearner(RunNotes):
    """Callback handler that teaches an index which chunks the answers cite.

    Put it into ``config["callbacks"]`` of the outermost call, or :meth:`install` it once
    for the whole application. Attached to the retriever alone it would never see an
    answer. It learns from every :class:`HebbianRetriever` and
    :class:`HebbianVectorStore` retriever in the run, of whichever index.

    A chunk is cited if the answer holds the key or the id that the model was shown for
    it (:mod:`hebbgraph.citations`), in its text, in a structured answer or as a
    native citation. What a reranker or a token limit kept from the model is not shown.
    An answer that cites nothing teaches nothing. Runs with the same
    ``metadata["thread_id"]``, which LangGraph sets from the configuration, are turns of one
    conversation: an answer may cite what an earlier turn has found.

    While a chain runs, references are noted down and no more; reading and learning
    happen in a background thread once the run has ended. Nothing here ever raises into
    a chain: errors are logged.

    Parameters
    ----------
    index : HebbianIndex, optional
        Where :meth:`feedback` and :meth:`learn` look for recalls by id.
    actor : callable, optional
        The root run's metadata to a name that the lesson is attributed to, or None. Left
        out, ``metadata["user_id"]``.
    learn_on : {"citation", "approval"}
        ``"approval"``: lessons wait until :meth:`feedback` says that the answer was good.
    background : bool
        False learns before the outermost call returns: for processes that are frozen or
        ended right after an answer.
    remember : int
        How many answers are kept for late feedback.
    on_lesson : callable, optional
        Called with each feedback record that an index returned.

    Examples
    --------
    >>> learner = CitationLearner()
    >>> # chain.invoke(question, config={"callbacks": [learner]})
    >>> learner.flush()
    True
    """

    raise_error = False

    def __init__(
        self,
        index: HebbianIndex | None = None,
        *,
        actor: Actor | None = None,
        learn_on: Literal["citation", "approval"] = "citation",
        background: bool = True,
        remember: int = 1_000,
        on_lesson: Callable[[Any], Any] | None = None,
    ) -> None:
        super().__init__()
        if learn_on not in ("citation", "approval"):
            raise ParameterError(f"learn_on is 'citation' or 'approval', got {learn_on!r}")
        self.index = index
        self.actor = actor or user_id
        self.learn_on = learn_on
        self.background = background
        # It only notes references; a switch to a thread would cost more. Unless it learns.
        self.run_inline = background
        self.remember = remember
        self.on_lesson = on_lesson
        self._answers: OrderedDict[uuid.UUID, Answered] = OrderedDict()
        self._threads: OrderedDict[str, list[Retrieval]] = OrderedDict()
        self._worker = Worker(self._study)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> CitationLearner:
        """Return the learner itself: its notes are of runs, not of configurations."""
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
        """Relate what happens inside, where no chain does.

        A retriever and a model that are called one after the other are two runs that
        nothing links; within a session they are one, which ends with it.

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

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until all runs that have ended are learned from; False if time ran out.

        For tests, and before an index is closed. It blocks: not for the event loop.
        """
        return self._worker.flush(timeout)

    # -- when a run is over ------------------------------------------------------------

    def _keep(self, trace: Trace) -> None:
        """Take in a new trace, and give up those of which nothing more is to be hoped."""
        self._traces[trace.root] = trace
        while self._ending:
            oldest = next(iter(self._ending.values()))
            if len(self._ending) <= _MAX_ENDING and (
                oldest.ended is None or oldest.ended > trace.started - _GRACE
            ):
                break
            oldest.open_calls = 0
            self._settle(oldest)
        while self._traces:
            oldest = next(iter(self._traces.values()))
            if len(self._traces) <= _MAX_OPEN and oldest.started > trace.started - _PATIENCE:
                return
            self._drop(oldest)

    def _settle(self, trace: Trace) -> None:
        """Hand a trace over once nothing more is to come."""
        if not trace.complete:
            if trace.ended is not None:
                self._ending[trace.root] = trace
            return
        self._drop(trace)
        self._relate(trace)
        if (trace.retrievals or trace.earlier) and trace.calls and not trace.failed:
            if self.background:
                self._worker.put(trace)
            else:
                self._study(trace)

    def _relate(self, trace: Trace) -> None:
        """Give a turn of a conversation the sources that earlier ones had found."""
        if (thread := trace.metadata.get("thread_id")) is None:
            return
        held = self._threads.pop(str(thread), [])
        trace.earlier = tuple(held)
        fresh = [*trace.retrievals.values()][::-1]
        if kept := (fresh + held)[:_MAX_EARLIER]:
            self._threads[str(thread)] = kept
        while len(self._threads) > _MAX_THREADS:
            self._threads.popitem(last=False)

    # -- what it makes of it ------------------------------------------------------------

    def _study(self, trace: Trace) -> None:
        try:
            found = lessons(trace)
            answered = Answered(found, self.actor(trace.metadata))
        except Exception:
            logger.exception("run %s could not be read; it teaches nothing", trace.root)
            return
        if not found:
            return
        with self._lock:
            for run_id in (trace.root, *trace.retrievals, *trace.calls):
                self._answers[run_id] = answered
            while len(self._answers) > 4 * self.remember:
                self._answers.popitem(last=False)
        if self.learn_on == "citation":
            try:
                self._teach(answered)
            except Exception:
                logger.exception("the answer of run %s could not be learned", trace.root)

    def _teach(self, answered: Answered, *, good: bool = True) -> list[Any]:
        return teach(answered, good=good, on_lesson=self._tell)

    def _tell(self, feedback: Any) -> None:
        if self.on_lesson is not None:
            self.on_lesson(feedback)

    # -- where no run tells -------------------------------------------------------------

    def learn(
        self,
        answer: Any,
        recalls: Recall | RunId | Iterable[Recall | RunId],
        *,
        prompt: str | Sequence[BaseMessage] | None = None,
        index: HebbianIndex | None = None,
        actor: str | None = None,
    ) -> list[Any]:
        """Learn from one answer, where there is no chain to listen to.

        Parameters
        ----------
        answer : str, message, dict or pydantic model
        recalls : Recall or id, or several
            An id is that of a retriever's run.
        prompt : str or list of messages, optional
            What the model was given; keys are read from it. Left out, all hits count as
            shown, and citations by id or quotation alone.
        index : HebbianIndex, optional
            Left out, the learner's.
        actor : str, optional

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
        retrievals = [
            Retrieval(index, recall, uuid.uuid4())
            for recall in (find_recall(index, recall) for recall in wanted)
        ]
        hits = [
            hit.chunk
            for retrieval in retrievals
            for hit in retrieval.recall.hits
            if not hit.lacks_text
        ]
        sources = [Source(chunk.id, chunk.text, chunk.title) for chunk in hits]
        if prompt is None:
            rendered = Rendered(tuple(dict.fromkeys(sources)))
        else:
            text, blocks = prompt_text(prompt)
            rendered = rendered_in(text, sources, blocks=blocks)
        said = message_text(answer) if isinstance(answer, BaseMessage) else answer
        cited = parse_structured(said, rendered)
        found = share(retrievals, cited, rendered.ids)
        return self._teach(Answered(found, actor))

    async def alearn(self, *args: Any, **kwargs: Any) -> list[Any]:
        """Async twin of :meth:`learn`."""
        return await asyncio.to_thread(self.learn, *args, **kwargs)

    def feedback(
        self,
        run_id: RunId,
        good: bool,
        *,
        cited: Sequence[str] | None = None,
        actor: str | None = None,
    ) -> list[Any]:
        """Tell what became of an answer: thumbs up or down.

        Up: what the answer cited is learned, if it was not yet. Down: what was learned
        from it is taken back, and what it cited is rejected.

        Parameters
        ----------
        run_id : UUID or str
            Of the root run, the model call or the retriever. ``message.id``, which holds
            it, fits as well.
        good : bool
        cited : sequence of str, optional
            Chunk ids that the thumb is about, in place of what the answer cited; then
            ``run_id`` must be a retriever's.
        actor : str, optional
            Left out, the run's.

        Returns
        -------
        list
            The feedback records.

        Raises
        ------
        NotFoundError
            For a run that is not, or no longer, remembered, or whose answer cited nothing.
        """
        self.flush()
        key = as_uuid(run_id)
        with self._lock:
            answered = self._answers.get(key)
        if cited is not None:
            answered = self._about(key, cited, answered)
        if answered is None:
            raise NotFoundError(
                f"no citing answer of run {str(run_id)!r} is remembered (the last "
                f"{self.remember} are); name the chunks by cited=[...] with a retriever's run"
            )
        if actor is not None:
            answered.actor = actor
        return self._teach(answered, good=good)

    async def afeedback(self, *args: Any, **kwargs: Any) -> list[Any]:
        """Async twin of :meth:`feedback`."""
        return await asyncio.to_thread(self.feedback, *args, **kwargs)

    def _about(
        self, key: uuid.UUID, cited: Sequence[str], known: Answered | None
    ) -> Answered | None:
        retrievals = [lesson.retrieval for lesson in known.lessons] if known else []
        if not retrievals and self.index is not None:
            recall = self.index.find_recall(str(key))
            if recall is not None:
                retrievals = [Retrieval(self.index, recall, key)]
        if not retrievals:
            return None
        shown = [id_ for lesson in known.lessons for id_ in lesson.shown] if known else cited
        return Answered(share(retrievals, cited, [*shown, *cited]), known.actor if known else None)
