"""CitationLearner: teaches indexes what answers cite, while chains run as they are."""

from __future__ import annotations

import asyncio
import logging
import re
import threading
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal, cast

from hebbgraph import HebbianIndex, NotFoundError, ParameterError, Recall
from hebbgraph.learning.citations import Rendered, Source, parse_structured, rendered_in
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage
from langchain_core.outputs import LLMResult
from langchain_core.tracers.context import register_configure_hook

from langchain_hebbgraph.answers import Lesson, lessons, message_text, prompt_text, share
from langchain_hebbgraph.runs import Retrieval, Trace
from langchain_hebbgraph.worker import Worker

__all__ = ["CitationLearner"]

logger = logging.getLogger(__name__)

RunId = uuid.UUID | str
Actor = Callable[[Mapping[str, Any]], str | None]

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_ABANDONED = (GeneratorExit, asyncio.CancelledError)
#: Runs noted at once that have not ended. Beyond it the oldest are given up.
_MAX_OPEN = 10_000
#: Seconds after which a run that never ended is given up.
_PATIENCE = 3_600.0
#: Of an abandoned stream the root ends first; so many seconds its model may take.
_GRACE = 60.0
_MAX_ENDING = 1_000


def user_id(metadata: Mapping[str, Any]) -> str | None:
    """Return ``metadata["user_id"]``: whom a lesson is attributed to by default."""
    actor = metadata.get("user_id")
    return None if actor is None else str(actor)


class _Installed:
    """Stands where LangChain expects a ContextVar, but holds for all threads."""

    def __init__(self) -> None:
        self.learner: CitationLearner | None = None

    def get(self) -> CitationLearner | None:
        return self.learner


_everywhere = _Installed()
_session: ContextVar[tuple[CitationLearner, Trace] | None] = ContextVar(
    "langchain_hebbgraph_session", default=None
)


class _InSession:
    """The learner of the session that this context is in."""

    def get(self) -> CitationLearner | None:
        session = _session.get()
        return None if session is None else session[0]


register_configure_hook(cast("ContextVar[Any]", _everywhere), inheritable=True)
register_configure_hook(cast("ContextVar[Any]", _InSession()), inheritable=True)


class CitationLearner(BaseCallbackHandler):
    """Callback handler that teaches an index which chunks the answers cite.

    Put it into ``config["callbacks"]`` of the outermost call, or :meth:`install` it once
    for the whole application. Attached to the retriever alone it would never see an
    answer. It learns from every :class:`HebbianRetriever` and
    :class:`HebbianVectorStore` retriever in the run, of whichever index.

    A chunk is cited if the answer holds the key or the id that the model was shown for
    it (:mod:`hebbgraph.learning.citations`), in its text, in a structured answer or as a
    native citation. What a reranker or a token limit kept from the model is not shown.
    An answer that cites nothing teaches nothing.

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
        self._lock = threading.RLock()
        self._traces: OrderedDict[uuid.UUID, Trace] = OrderedDict()
        self._ending: OrderedDict[uuid.UUID, Trace] = OrderedDict()
        self._trace_of: dict[uuid.UUID, Trace] = {}
        self._answers: OrderedDict[uuid.UUID, _Answered] = OrderedDict()
        self._worker = Worker(self._study)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> CitationLearner:
        """Return the learner itself: its notes are of runs, not of configurations."""
        return self

    __copy__ = __deepcopy__

    # -- where it listens -------------------------------------------------------------

    def install(self) -> CitationLearner:
        """Listen to every run of this process, in all threads; replaces another learner."""
        _everywhere.learner = self
        return self

    def uninstall(self) -> None:
        """Stop listening to runs that it is not attached to."""
        if _everywhere.learner is self:
            _everywhere.learner = None

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
        token = _session.set((self, trace))
        try:
            yield trace.root
        finally:
            _session.reset(token)
            with self._lock:
                trace.finish()
                self._settle(trace)

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until all runs that have ended are learned from; False if time ran out.

        For tests, and before an index is closed. It blocks: not for the event loop.
        """
        return self._worker.flush(timeout)

    # -- what it notes ----------------------------------------------------------------

    def on_chain_start(
        self,
        serialized: dict[str, Any],
        inputs: Any,
        *,
        run_id: uuid.UUID,
        parent_run_id: uuid.UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Note a run."""
        self._started(run_id, parent_run_id, metadata)

    def on_tool_start(
        self,
        serialized: dict[str, Any],
        input_str: str,
        *,
        run_id: uuid.UUID,
        parent_run_id: uuid.UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        inputs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Note a tool that ran."""
        trace = self._started(run_id, parent_run_id, metadata)
        trace.tools.add(str((serialized or {}).get("name") or kwargs.get("name")))

    def on_retriever_start(
        self,
        serialized: dict[str, Any],
        query: str,
        *,
        run_id: uuid.UUID,
        parent_run_id: uuid.UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Note a retriever."""
        self._started(run_id, parent_run_id, metadata)

    def on_hebbian_recall(
        self, index: HebbianIndex, recall: Recall, *, run_id: Any, parent_run_id: Any
    ) -> None:
        """Note a recall; the retriever tells of it."""
        with self._lock:
            trace = self._trace_of.get(run_id) or self._trace_of.get(parent_run_id)
            session = _session.get()
            if trace is None and session is not None and session[0] is self:
                trace = session[1]
            if trace is not None:
                trace.note(Retrieval(index, recall, run_id))
                if run_id not in self._trace_of:
                    self._trace_of[run_id] = trace
                    trace.runs.append(run_id)

    def on_retriever_end(
        self,
        documents: Sequence[Document],
        *,
        run_id: uuid.UUID,
        parent_run_id: uuid.UUID | None = None,
        **kwargs: Any,
    ) -> None:
        """Note what was returned."""
        with self._lock:
            if (trace := self._trace_of.get(run_id)) is not None:
                if run_id not in trace.retrievals:
                    trace.note_documents(run_id, documents)
                self._ended(run_id, trace, documents)

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: uuid.UUID,
        parent_run_id: uuid.UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Note what a chat model was given."""
        with self._lock:
            self._started(run_id, parent_run_id, metadata).begin(run_id, messages)

    def on_llm_start(
        self,
        serialized: dict[str, Any],
        prompts: list[str],
        *,
        run_id: uuid.UUID,
        parent_run_id: uuid.UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Note what a text model was given."""
        with self._lock:
            self._started(run_id, parent_run_id, metadata).begin(run_id, prompts)

    def on_llm_end(
        self,
        response: LLMResult,
        *,
        run_id: uuid.UUID,
        parent_run_id: uuid.UUID | None = None,
        **kwargs: Any,
    ) -> None:
        """Note what a model said."""
        self._said(run_id, response)

    def on_llm_error(
        self,
        error: BaseException,
        *,
        run_id: uuid.UUID,
        parent_run_id: uuid.UUID | None = None,
        **kwargs: Any,
    ) -> None:
        """Forget what a model failed to say; of an abandoned stream, keep what it said."""
        response = kwargs.get("response")
        self._said(run_id, response if isinstance(error, _ABANDONED) else None)

    def on_chain_end(
        self,
        outputs: Any,
        *,
        run_id: uuid.UUID,
        parent_run_id: uuid.UUID | None = None,
        **kwargs: Any,
    ) -> None:
        """Note that a run ended; at the root, hand the trace over."""
        with self._lock:
            if (trace := self._trace_of.get(run_id)) is not None:
                self._ended(run_id, trace, outputs)

    def on_tool_end(
        self,
        output: Any,
        *,
        run_id: uuid.UUID,
        parent_run_id: uuid.UUID | None = None,
        **kwargs: Any,
    ) -> None:
        """Note that a tool ended."""
        self.on_chain_end(output, run_id=run_id)

    def on_chain_error(
        self,
        error: BaseException,
        *,
        run_id: uuid.UUID,
        parent_run_id: uuid.UUID | None = None,
        **kwargs: Any,
    ) -> None:
        """Note that a run failed: at the root, its answer teaches nothing."""
        with self._lock:
            trace = self._trace_of.get(run_id)
            if trace is not None and trace.root == run_id and not trace.is_session:
                if not isinstance(error, _ABANDONED):
                    trace.failed = True
                    trace.open_calls = 0  # it came up from below: nothing follows
                self._ended(run_id, trace, None)

    on_tool_error = on_chain_error
    on_retriever_error = on_chain_error

    def _started(
        self, run_id: uuid.UUID, parent: uuid.UUID | None, metadata: Mapping[str, Any] | None
    ) -> Trace:
        with self._lock:
            trace = None if parent is None else self._trace_of.get(parent)
            if trace is None and (session := _session.get()) is not None and session[0] is self:
                trace = session[1]
            if trace is None:
                trace = Trace(run_id, metadata or {})
                self._keep(trace)
            trace.runs.append(run_id)
            self._trace_of[run_id] = trace
            return trace

    def _said(self, run_id: uuid.UUID, response: LLMResult | None) -> None:
        with self._lock:
            trace = self._trace_of.get(run_id)
            if trace is None:
                return
            trace.end(run_id, None if response is None else response.generations)
            if trace.root == run_id and not trace.is_session:  # a model called by itself
                trace.finish()
            self._settle(trace)

    def _ended(self, run_id: uuid.UUID, trace: Trace, output: Any) -> None:
        if trace.is_session:
            return
        if trace.root == run_id:
            trace.finish(output)
            self._settle(trace)

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

    def _drop(self, trace: Trace) -> None:
        self._traces.pop(trace.root, None)
        self._ending.pop(trace.root, None)
        for run_id in trace.runs:
            self._trace_of.pop(run_id, None)

    def _settle(self, trace: Trace) -> None:
        """Hand a trace over once nothing more is to come."""
        if not trace.complete:
            if trace.ended is not None:
                self._ending[trace.root] = trace
            return
        self._drop(trace)
        if trace.retrievals and trace.calls and not trace.failed:
            if self.background:
                self._worker.put(trace)
            else:
                self._study(trace)

    # -- what it makes of it ------------------------------------------------------------

    def _study(self, trace: Trace) -> None:
        try:
            found = lessons(trace)
            answered = _Answered(found, self.actor(trace.metadata))
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

    def _teach(self, answered: _Answered, *, good: bool = True) -> list[Any]:
        """Give the lessons of an answer, as citations or rejections; the last verdict holds."""
        with answered.lock:
            if answered.verdict is good:
                return answered.given
            for lesson, feedback in zip(answered.lessons, answered.given, strict=False):
                lesson.retrieval.index.forget(feedback=feedback.id)
            answered.given, answered.verdict = [], good
            for lesson in answered.lessons:
                feedback = lesson.retrieval.index.reinforce(
                    lesson.retrieval.recall,
                    cited=lesson.cited if good else (),
                    rejected=() if good else lesson.cited,
                    shown=lesson.shown,
                    actor=answered.actor,
                )
                answered.given.append(feedback)
                if self.on_lesson is not None:
                    self.on_lesson(feedback)
            return answered.given

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
            for recall in (_found(index, recall) for recall in wanted)
        ]
        hits = [hit.chunk for retrieval in retrievals for hit in retrieval.recall.hits]
        sources = [Source(chunk.id, chunk.text, chunk.title) for chunk in hits]
        if prompt is None:
            rendered = Rendered(tuple(dict.fromkeys(sources)))
        else:
            text, blocks = prompt_text(prompt)
            rendered = rendered_in(text, sources, blocks=blocks)
        said = message_text(answer) if isinstance(answer, BaseMessage) else answer
        cited = parse_structured(said, rendered)
        found = share(retrievals, cited, rendered.ids)
        return self._teach(_Answered(found, actor))

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
        key = _as_uuid(run_id)
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
        self, key: uuid.UUID, cited: Sequence[str], known: _Answered | None
    ) -> _Answered | None:
        retrievals = [lesson.retrieval for lesson in known.lessons] if known else []
        if not retrievals and self.index is not None:
            recall = self.index.find_recall(str(key))
            if recall is not None:
                retrievals = [Retrieval(self.index, recall, key)]
        if not retrievals:
            return None
        shown = [id_ for lesson in known.lessons for id_ in lesson.shown] if known else cited
        return _Answered(share(retrievals, cited, [*shown, *cited]), known.actor if known else None)


class _Answered:
    """The lessons of one answer, the verdict on it so far, and what was given for it."""

    __slots__ = ("actor", "given", "lessons", "lock", "verdict")

    def __init__(self, lessons: list[Lesson], actor: str | None) -> None:
        self.lessons = lessons
        self.actor = actor
        self.verdict: bool | None = None
        self.given: list[Any] = []
        self.lock = threading.Lock()


def _found(index: HebbianIndex, recall: Recall | RunId) -> Recall:
    if isinstance(recall, Recall):
        return recall
    found = index.find_recall(str(recall))
    if found is None:
        raise NotFoundError(f"recall {str(recall)!r} is not, or no longer, kept by {index!r}")
    return found


def _as_uuid(run_id: RunId) -> uuid.UUID:
    if isinstance(run_id, uuid.UUID):
        return run_id
    found = _UUID.search(run_id[:512])  # a message's id reads lc_run--<uuid>-0
    if found is None:
        raise NotFoundError(f"{run_id!r} is not the id of a run")
    return uuid.UUID(found.group())
