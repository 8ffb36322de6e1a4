"""CitationLearner: every answer's citations teach the index that its sources came from.

What belongs together is read from LlamaIndex's instrumentation: recalls, prompts and answers
below one root span are one request (:mod:`.tracing`). What was shown and cited is decided by
:mod:`hebbgraph.citations`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import uuid
from collections import deque
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Mapping, Sequence
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

from hebbgraph import HebbianIndex
from llama_index.retrievers.hebbgraph.answers import (
    Answer,
    cited_in,
    contents,
    credit,
    hit_ids,
    render,
    result_of,
    text_of,
)
from llama_index.retrievers.hebbgraph.background import Worker
from llama_index.retrievers.hebbgraph.events import RecallEvent
from llama_index.retrievers.hebbgraph.handlers import EventHandler, SpanHandler
from llama_index.retrievers.hebbgraph.reading import (
    ANSWER_EVENTS,
    PROMPT_EVENTS,
    hear_message,
    prompt_of,
)
from llama_index.retrievers.hebbgraph.tracing import Request, SeenRecall, Span, SpanTree

__all__ = ["CitationLearner"]

logger = logging.getLogger(__name__)

_RECENT = 64


class CitationLearner:
    """Learns from query engines, chat engines, streams and agents, once installed.

    Parameters
    ----------
    index : HebbianIndex, optional
        The only one to learn. Left out, each index learns from the answers to what it
        recalled. Other retrievers' nodes are nobody's business here.
    actor : callable, optional
        Who asked: given the request's instrument tags, a str or None. By default the tag
        ``user_id``, set by ``with instrument_tags({"user_id": ...}):``.
    background : bool
        Always learn in a thread of its own; :meth:`flush` waits for it.

    Notes
    -----
    * An answer teaches once: its cited chunks, of those that stood in the model's prompt.
      Without a citation it teaches nothing; neither do the response modes ``no_text``,
      ``context_only`` and ``generation``.
    * Make models cite: by :class:`CitationFormatter`, or with a ``CitationQueryEngine``.
    * In synchronous code an answer has taught when the call returns, or when its stream is
      at its end. On an event loop, and for streams that are left halfway, a thread does it;
      :meth:`flush` waits.
    * Errors are logged, never raised. Handlers are installed for the whole process.
    * A retriever and a model that are called one after the other, outside any engine, agent
      or workflow, have nothing in common: put them into ``with learner.request():``, or call
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
        actor: Callable[[Mapping[str, Any]], str | None] | None = None,
        background: bool = False,
    ) -> None:
        self.index = index
        self._background = background
        self._actor = actor or _user_id
        self._spans = SpanTree(self._request_ended)
        self._recent: deque[SeenRecall] = deque(maxlen=_RECENT)
        self._worker = Worker()
        self._teaching = threading.Lock()
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
        return self._worker.flush(timeout)

    async def aflush(self, timeout: float | None = None) -> bool:
        """Async twin of :meth:`flush`."""
        return await asyncio.to_thread(self.flush, timeout)

    # -- without an engine ----------------------------------------------------------

    @contextlib.contextmanager
    def request(self, **tags: Any) -> Iterator[None]:
        """Make what happens inside one request, also across ``await``.

        The last answer of a model inside is taken for the answer to what was retrieved
        inside.

        Parameters
        ----------
        **tags
            For the actor, e.g. ``user_id="ida"``.
        """
        id_ = f"CitationLearner.request-{uuid.uuid4()}"
        parent_id = active_span_id.get()
        self._spans.enter(id_, None if self._spans.find(parent_id) is None else parent_id, self,
                          tags)  # fmt: skip
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
        recalls = [seen for seen in reversed(self._recent) if ids & hit_ids(seen)][:1]
        if recalls:
            request = Request(dict(tags or {}))
            text, structured = text_of(answer)
            self._teach(Answer(request, recalls, request.tags, contents(shown), shown, text,
                                structured))  # fmt: skip

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
            hear_message(span, event)

    def _relevant(self, event: BaseEvent) -> Span | None:
        """Return the event's span if its request has a recall of ours."""
        span = self._spans.find(event.span_id)
        return span if span is not None and span.request.recalls else None

    def _hear_recall(self, event: RecallEvent) -> None:
        if self.index is not None and event.index is not self.index:
            return
        span = self._spans.find(event.span_id) or Span("", None, None, event.tags)
        seen = SeenRecall(span, event.index, event.recall, event.nodes)
        span.request.see(seen)
        # A workflow opens its root span outside of the caller's tags.
        span.request.tags = {**event.tags, **span.request.tags}
        self._recent.append(seen)

    def _hear_prompt(self, span: Span, event: BaseEvent) -> None:
        # A synthesizer's own steps are spans too, one within the other.
        writing = [one for one in span.until("serves", "echoes") if one.kind == "answers"]
        if writing:
            text = prompt_of(event)
            for one in writing:
                one.note_prompt(text)

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
        request.conversation = None
        writing = None if span is None else span.nearest("answers")
        prompts = [] if writing is None else list(writing.prompts)
        tags = {**request.tags, **event.tags}
        answer = Answer(request, recalls, tags, "\n\n".join(prompts), nodes)
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
            self._submit(answer, later=not complete)

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
            if seen.recall.query.strip() == question.strip() and ids & hit_ids(seen):
                return [seen]
        return []

    def _request_ended(self, request: Request, result: object) -> None:
        """Take an agent's last word for its answer."""
        said, request.conversation = request.conversation, None
        if said is None:
            return
        text, structured = result_of(result)
        self._submit(
            Answer(
                request,
                list(request.recalls),
                request.tags,
                "\n\n".join(said.prompt),
                text=text or said.text,
                structured=structured,
                message=said.message,
            )
        )

    # -- teaching -------------------------------------------------------------------

    def _submit(self, answer: Answer, *, later: bool = False) -> None:
        if later or self._background or _on_event_loop():
            self._worker.submit(lambda: self._teach(answer))
        else:
            self._teach(answer)

    def _teach(self, answer: Answer) -> None:
        try:
            with self._teaching:
                self._teach_one(answer)
        except Exception:
            logger.exception("an answer could not be learned from")

    def _teach_one(self, answer: Answer) -> None:
        rendered = render(answer)
        cited = cited_in(answer, rendered)
        request = answer.request
        if not cited or not (new := [id_ for id_ in cited if id_ not in request.taught]):
            return
        credited = credit(new, answer.recalls)
        request.taught.update(new)
        actor = self._actor(answer.tags)
        for seen in answer.recalls:
            own = credited.get(seen.recall.id)
            if not own:
                continue
            hits = hit_ids(seen)
            # What another recall gets the credit for is no evidence against this one.
            shown = [
                id_
                for id_ in rendered.ids
                if id_ in hits and (id_ in own or id_ not in request.taught)
            ]
            try:
                seen.index.reinforce(seen.recall, cited=own, shown=shown, actor=actor)
            except Exception as error:
                logger.warning("recall %s could not be reinforced: %s", seen.recall.id, error)


def _user_id(tags: Mapping[str, Any]) -> str | None:
    actor = tags.get("user_id")
    return None if actor is None else str(actor)


def _on_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
