"""CitationLearner: every answer's citations teach the index that its sources came from.

What belongs together is read from LlamaIndex's instrumentation: the recalls, prompts and
answers below one root span are one request (:mod:`.tracing`). What was shown and cited, and
which recall gets the credit, is decided by :mod:`hebbgraph.citations`.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import uuid
from collections import deque
from collections.abc import AsyncGenerator, Generator, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Self

from llama_index.core.base.response.schema import (
    AsyncStreamingResponse,
    PydanticResponse,
    Response,
    StreamingResponse,
)
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.events.base import BaseEvent
from llama_index.core.instrumentation.events.synthesis import SynthesizeEndEvent
from llama_index.core.instrumentation.span import active_span_id
from llama_index.core.schema import NodeWithScore, QueryBundle

from hebbgraph import HebbianIndex, Recall
from hebbgraph.citations import Actor, Exchange, Learner, Recalled, user_id
from hebbgraph.records import Feedback
from llama_index.retrievers.hebbgraph.answers import (
    ANSWER_EVENTS,
    PROMPT_EVENTS,
    Answer,
    contents,
    exchange_of,
    prompt_of,
    reply_in,
    result_of,
    text_of,
)
from llama_index.retrievers.hebbgraph.events import RecallEvent
from llama_index.retrievers.hebbgraph.tracing import (
    EventHandler,
    Request,
    SeenRecall,
    Span,
    SpanHandler,
    SpanTree,
)

__all__ = ["CitationLearner"]

#: Recalls that an answer without a request may still refer to.
_RECENT = 64


class CitationLearner:
    """Learns from query engines, chat engines, streams and agents, once installed.

    Parameters
    ----------
    index : HebbianIndex, optional
        The only one to learn. Left out, each index learns from the answers to what it
        recalled. Nodes of other retrievers are ignored.
    actor : callable, optional
        Takes the request's instrument tags and returns the name that the lesson is
        attributed to, or None. Left out, the tag ``user_id``, which
        ``with instrument_tags({"user_id": ...}):`` sets.
    background : bool
        Always learn in a background thread; :meth:`flush` waits for it.

    Notes
    -----
    * An answer teaches once: the chunks it cites, of those that stood in the model's
      prompt. Without a citation it teaches nothing; neither do the response modes
      ``no_text``, ``context_only`` and ``generation``.
    * Make models cite, with :class:`CitationFormatter` or a ``CitationQueryEngine``.
    * Requests with the same instrument tag ``thread_id`` are turns of one conversation: an
      answer may cite what an earlier turn has found.
    * In synchronous code an answer has taught when the call returns, or when its stream
      ends. On an event loop, and for streams that are abandoned, a background thread does
      the learning; :meth:`flush` waits for it.
    * Errors are logged, never raised. Handlers are installed for the whole process.
    * A retriever and a model that are called one after the other, outside any engine, agent
      or workflow, have nothing in common. Put them into ``with learner.request():``, or call
      :meth:`learn`.

    Examples
    --------
    ::

        with CitationLearner(retriever.index):
            query_engine.query("Where was the builder of the Petrel born?")

    or, for the life of the process, ``CitationLearner().install()``.
    """

    def __init__(
        self,
        index: HebbianIndex | None = None,
        *,
        actor: Actor | None = None,
        background: bool = False,
    ) -> None:
        self.index = index
        self._background = background
        self._actor = actor or user_id
        self._learner = Learner()
        self._spans = SpanTree(self._matters, self._request_ended)
        self._recent: deque[SeenRecall] = deque(maxlen=_RECENT)
        self._installing = threading.Lock()
        self._event_handler = EventHandler(self._hear)
        self._span_handler = SpanHandler(self._spans)

    # -- installing -----------------------------------------------------------------

    def install(self) -> Self:
        """Listen from now on; installing twice is fine."""
        root = get_dispatcher()
        with self._installing:
            if not any(one is self._event_handler for one in root.event_handlers):
                # New lists: other threads walk these.
                root.event_handlers = [*root.event_handlers, self._event_handler]
                root.span_handlers = [*root.span_handlers, self._span_handler]
        return self

    def uninstall(self) -> None:
        """Stop listening, and wait for what was heard to be learned."""
        self._stop()
        self.flush()
        self._spans.clear()

    def _stop(self) -> None:
        root = get_dispatcher()
        with self._installing:
            root.event_handlers = [
                one for one in root.event_handlers if one is not self._event_handler
            ]
            root.span_handlers = [
                one for one in root.span_handlers if one is not self._span_handler
            ]

    def __enter__(self) -> Self:
        return self.install()

    def __exit__(self, *exception: object) -> None:
        self.uninstall()

    async def __aenter__(self) -> Self:
        return self.install()

    async def __aexit__(self, *exception: object) -> None:
        await asyncio.to_thread(self.uninstall)

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until all answers heard so far have taught; False if time ran out."""
        return self._learner.flush(timeout)

    async def aflush(self, timeout: float | None = None) -> bool:
        """Async twin of :meth:`flush`."""
        return await asyncio.to_thread(self.flush, timeout)

    # -- without an engine ----------------------------------------------------------

    @contextlib.contextmanager
    def request(self, **tags: Any) -> Iterator[None]:
        """Make what happens inside one request, also across ``await``.

        The model's last answer inside is taken for the answer to what was retrieved inside.

        Parameters
        ----------
        **tags
            As with ``instrument_tags``: ``user_id="ida"``, ``thread_id="chat-7"``.
        """
        id_ = f"CitationLearner.request-{uuid.uuid4()}"
        parent_id = active_span_id.get()
        known = self._spans.find(parent_id) is not None
        self._spans.enter(id_, parent_id if known else None, self, tags)
        token = active_span_id.set(id_)
        try:
            yield
        finally:
            active_span_id.reset(token)
            self._spans.leave(id_, None)

    def learn(
        self,
        answer: str | Response | PydanticResponse,
        nodes: Sequence[NodeWithScore] | None = None,
        *,
        tags: Mapping[str, Any] | None = None,
    ) -> None:
        """Learn from an answer, explicitly.

        Parameters
        ----------
        answer : str or Response
            A response brings its nodes along.
        nodes : sequence of NodeWithScore
            As they were shown, from one of the latest 64 retrievals while installed.
        tags : mapping, optional
            For the actor.
        """
        shown = list(nodes if nodes is not None else getattr(answer, "source_nodes", ()))
        ids = {one.node_id for one in shown}
        recalls = [seen for seen in reversed(self._recent) if ids & seen.ids][:1]
        if recalls:
            request = Request(dict(tags or {}))
            text, structured = text_of(answer)
            self._submit(
                Answer(
                    request,
                    recalls,
                    request.tags,
                    prompt=contents(shown),
                    nodes=shown,
                    text=text,
                    structured=structured,
                ),
                later=False,
            )

    def feedback(
        self,
        recall: Recall | str,
        good: bool,
        *,
        cited: Sequence[str] | None = None,
        actor: str | None = None,
    ) -> list[Feedback]:
        """Say what became of an answer: thumbs up or down. The last verdict holds.

        Up: what the answer cited is learned, if it was not yet. Down: what was learned
        from it is taken back, and what it cited is rejected.

        Parameters
        ----------
        recall : Recall or its id
            One that the answer was given from; a :class:`RecallEvent` tells of it.
        good : bool
            Up or down.
        cited : sequence of str, optional
            Node ids that the thumb is about, in place of what the answer cited.
        actor : str, optional
            Left out, the request's.

        Returns
        -------
        list of Feedback

        Raises
        ------
        NotFoundError
            For a recall whose answer is not, or no longer, remembered, or cited nothing.
        """
        id_ = recall.id if isinstance(recall, Recall) else recall
        return self._learner.feedback(id_, good, cited=cited, actor=actor, index=self.index)

    async def afeedback(self, *args: Any, **kwargs: Any) -> list[Feedback]:
        """Async twin of :meth:`feedback`."""
        return await asyncio.to_thread(self.feedback, *args, **kwargs)

    # -- hearing --------------------------------------------------------------------

    def _hear(self, event: BaseEvent) -> None:
        if isinstance(event, RecallEvent):
            self._hear_recall(event)
        elif isinstance(event, SynthesizeEndEvent):
            self._hear_synthesis(event)
        elif isinstance(event, PROMPT_EVENTS):
            if (span := self._relevant(event)) is not None:
                self._hear_prompt(span, event)
        elif isinstance(event, ANSWER_EVENTS) and (span := self._relevant(event)) is not None:
            self._hear_reply(span, event)

    def _relevant(self, event: BaseEvent) -> Span | None:
        """Return the event's span if its request may teach anything."""
        span = self._spans.find(event.span_id)
        if span is None:
            return None
        span.request.tags = {**event.tags, **span.request.tags}
        return span if self._matters(span.request) else None

    def _matters(self, request: Request) -> bool:
        return bool(request.recalls or self._earlier(request))

    def _earlier(self, request: Request) -> list[Recalled]:
        """Return what earlier turns of the request's conversation recalled."""
        thread = request.tags.get("thread_id")
        if thread is None:
            return []
        return self._learner.conversations.earlier(str(thread), but=request.recalls)

    def _hear_recall(self, event: RecallEvent) -> None:
        if self.index is not None and event.index is not self.index:
            return
        span = self._spans.find(event.span_id) or Span("", None, None, event.tags)
        seen = SeenRecall(event.index, event.recall, span, event.nodes)
        request = span.request
        request.note_recall(seen)
        # A workflow opens its root span outside of the caller's tags.
        request.tags = {**event.tags, **request.tags}
        if (thread := request.tags.get("thread_id")) is not None:
            self._learner.conversations.note(str(thread), [seen.plain()])
        self._recent.append(seen)

    def _hear_prompt(self, span: Span, event: BaseEvent) -> None:
        # A synthesizer's own steps are spans too, one within the other.
        writing = [one for one in span.until("serves", "echoes") if one.kind == "answers"]
        if writing:
            text = prompt_of(event)
            for one in writing:
                one.note_prompt(text)

    def _hear_reply(self, span: Span, event: BaseEvent) -> None:
        # What a model says within a synthesis or a retrieval is no answer of its own.
        if span.nearest("answers", "echoes", "serves") is None:
            span.request.last_reply = reply_in(event) or span.request.last_reply

    def _hear_synthesis(self, event: SynthesizeEndEvent) -> None:
        response = event.response
        span = self._spans.find(event.span_id)
        if response is None or (span is not None and span.nearest("echoes") is not None):
            return
        nodes = list(response.source_nodes)
        if not nodes:
            return
        recalls = self._recalls_around(span) or self._recalls_like(event.query, nodes)
        if not recalls:
            return
        request = span.request if span is not None else Request(dict(event.tags))
        request.last_reply = None
        writing = None if span is None else span.nearest("answers")
        prompts = [] if writing is None else list(writing.prompts)
        tags = {**request.tags, **event.tags}
        answer = Answer(
            request, recalls, tags, self._earlier(request), prompt="\n\n".join(prompts), nodes=nodes
        )
        if isinstance(response, StreamingResponse):
            if response.response_txt is None and response.response_gen is not None:
                response.response_gen = self._tee(response.response_gen, answer)
        elif isinstance(response, AsyncStreamingResponse):
            if response.response_txt is None and response.response_gen is not None:
                response.response_gen = self._atee(response.response_gen, answer)
        else:
            answer.text, answer.structured = text_of(response)
            self._submit(answer)

    def _tee(self, stream: Generator[str, None, None], answer: Answer) -> Generator[str]:
        parts: list[str] = []
        complete = False
        try:
            for part in stream:
                parts.append(part)
                yield part
            complete = True
        finally:
            answer.text = "".join(map(str, parts))
            # Left halfway, this may run while objects are collected, in any thread.
            self._submit(answer, later=None if complete else True)

    async def _atee(self, stream: AsyncGenerator[str, None], answer: Answer) -> AsyncGenerator[str]:
        parts: list[str] = []
        try:
            async for part in stream:
                parts.append(part)
                yield part
        finally:
            answer.text = "".join(map(str, parts))
            self._submit(answer, later=True)

    def _recalls_around(self, span: Span | None) -> list[SeenRecall]:
        """Return the recalls below the nearest ancestor that has any."""
        if span is None or not span.request.recalls:
            return []
        for ancestor in span.ancestors():
            found = [
                seen
                for seen in span.request.recalls
                if any(one is ancestor for one in seen.span.ancestors())
            ]
            if found:
                return found
        return []

    def _recalls_like(
        self, query: str | QueryBundle | None, nodes: list[NodeWithScore]
    ) -> list[SeenRecall]:
        """Return the latest recall of this question that these nodes came from."""
        question = query.query_str if isinstance(query, QueryBundle) else str(query or "")
        ids = {one.node_id for one in nodes}
        for seen in reversed(list(self._recent)):
            if seen.recall.query.strip() == question.strip() and ids & seen.ids:
                return [seen]
        return []

    def _request_ended(self, request: Request, result: object) -> None:
        """Take an agent's last word for its answer."""
        said, request.last_reply = request.last_reply, None
        if said is None:
            return
        text, structured = result_of(result)
        self._submit(
            Answer(
                request,
                list(request.recalls),
                request.tags,
                self._earlier(request),
                prompt="\n\n".join(said.prompt),
                text=text or said.text,
                structured=structured,
                message=said.message,
            )
        )

    # -- teaching -------------------------------------------------------------------

    def _submit(self, answer: Answer, *, later: bool | None = None) -> None:
        if later is None:
            later = self._background or _on_event_loop()
        self._learner.submit(partial(self._read, answer), background=later)

    def _read(self, answer: Answer) -> Exchange:
        return exchange_of(answer, actor=self._actor(answer.tags))


def _on_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
