"""Listens to LlamaIndex's instrumentation, and hands over each answer with its recalls."""

from __future__ import annotations

import contextlib
import threading
import uuid
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncGenerator, Generator, Iterator, Sequence
from typing import Any, Self

from llama_index.core.base.response.schema import AsyncStreamingResponse, StreamingResponse
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.events.base import BaseEvent
from llama_index.core.instrumentation.events.llm import LLMChatStartEvent
from llama_index.core.instrumentation.events.synthesis import SynthesizeEndEvent
from llama_index.core.instrumentation.span import active_span_id
from llama_index.core.schema import NodeWithScore, QueryBundle

from hebbgraph import HebbianIndex, IndexPool
from hebbgraph.citations import Conversations, Reason, Recalled
from hebbgraph.citations.credit import pool_of
from llama_index.retrievers.hebbgraph.answers import (
    ANSWER_EVENTS,
    PROMPT_EVENTS,
    Answer,
    prompt_of,
    reply_in,
    result_of,
    structured_in,
    text_of,
    texts_of_messages,
)
from llama_index.retrievers.hebbgraph.events import RecallEvent
from llama_index.retrievers.hebbgraph.requested import asked_namespace
from llama_index.retrievers.hebbgraph.talks import Talks
from llama_index.retrievers.hebbgraph.tracing import (
    EventHandler,
    Request,
    SeenRecall,
    Span,
    SpanHandler,
    SpanTree,
)

__all__ = ["Listener"]

#: Recalls that an answer without a request may still refer to.
_RECENT = 64
#: Characters of a source by which it is recognised.
_BEGINNING = 60
#: Answers that wait for the end of a request; a span around a whole program ends with it.
_MOST_WAITING = 10


class Listener(ABC):
    """Relates answers to the recalls that they were given from.

    Parameters
    ----------
    conversations : Conversations
        Where to note what each turn recalled.

    Attributes
    ----------
    index, pool : HebbianIndex and IndexPool, optional
        Listen to recalls of these only.
    """

    index: HebbianIndex | None
    pool: IndexPool | None

    def __init__(self, conversations: Conversations) -> None:
        self._conversations = conversations
        self._spans = SpanTree(self._matters, self._request_ended)
        self._recent: deque[SeenRecall] = deque(maxlen=_RECENT)
        self._talks = Talks()
        self._installing = threading.Lock()
        self._event_handler = EventHandler(self._hear)
        self._span_handler = SpanHandler(self._spans)

    @abstractmethod
    def _answered(self, answer: Answer, *, later: bool = False) -> None:
        """Take over an answer; ``later``: this may be no moment to do any work."""

    @abstractmethod
    def _earlier(self, talk: str, request: Request) -> list[Recalled]:
        """Return what earlier turns of a talk recalled in this process."""

    @abstractmethod
    def _missed(self, reason: Reason) -> None:
        """Note that an answer will teach nothing."""

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

    def _stop(self) -> None:
        root = get_dispatcher()
        with self._installing:
            root.event_handlers = [
                one for one in root.event_handlers if one is not self._event_handler
            ]
            root.span_handlers = [
                one for one in root.span_handlers if one is not self._span_handler
            ]

    @contextlib.contextmanager
    def request(self, **tags: Any) -> Iterator[None]:
        """Make what happens inside one request, also across ``await``.

        The model's last answer inside is taken for the answer to what was retrieved inside.

        Parameters
        ----------
        **tags
            As with ``instrument_tags``: ``user_id="ida"``, ``thread_id="chat-7"``,
            ``answer_id="17"``.
        """
        id_ = f"CitationLearner.request-{uuid.uuid4()}"
        parent_id = active_span_id.get()
        known = self._spans.find(parent_id) is not None
        self._spans.enter(id_, parent_id if known else None, self, tags)
        if (span := self._spans.find(id_)) is not None:
            span.request.is_own = True
        token = active_span_id.set(id_)
        try:
            yield
        finally:
            active_span_id.reset(token)
            self._spans.leave(id_, None)

    # -- hearing --------------------------------------------------------------------

    def _hear(self, event: BaseEvent) -> None:
        if isinstance(event, RecallEvent):
            self._hear_recall(event)
        elif isinstance(event, SynthesizeEndEvent):
            self._hear_synthesis(event)
        elif isinstance(event, PROMPT_EVENTS):
            self._join_talk(event)
            if (span := self._relevant(event)) is not None:
                self._hear_prompt(span, event)
        elif isinstance(event, ANSWER_EVENTS) and (span := self._relevant(event)) is not None:
            self._hear_reply(span, event)

    def _join_talk(self, event: BaseEvent) -> None:
        """Note that a model is shown again what an earlier turn found."""
        if isinstance(event, LLMChatStartEvent) and (span := self._spans.find(event.span_id)):
            request = span.request
            request.talk = request.talk or self._talks.of(texts_of_messages(event.messages))

    def _relevant(self, event: BaseEvent) -> Span | None:
        """Return the event's span if its request may teach anything."""
        span = self._spans.find(event.span_id)
        if span is None:
            return None
        span.request.tags = {**event.tags, **span.request.tags}
        return span if self._matters(span.request) else None

    def _matters(self, request: Request) -> bool:
        # What earlier turns recalled, perhaps in another process, is looked up later.
        named = request.tags.get("thread_id") is not None
        return bool(request.recalls or request.waiting) or named or request.talk is not None

    def _hear_recall(self, event: RecallEvent) -> None:
        other = self.index is not None and not _is_same(self.index, event.index)
        if other or self.pool not in (None, pool_of(event.index)):
            self._missed(Reason.OTHER_INDEX)
            return
        span = self._spans.find(event.span_id) or Span("", None, None, event.tags)
        seen = SeenRecall(event.index, event.recall, span, event.nodes)
        request = span.request
        request.note_recall(seen)
        # A workflow opens its root span outside of the caller's tags.
        request.tags = {**event.tags, **request.tags}
        if (thread := request.tags.get("thread_id")) is not None:
            self._conversations.note(str(thread), [seen.plain()])
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
        if span.nearest("answers", "echoes", "serves") is not None:
            return
        last = span.request.last_reply
        if (predicted := structured_in(event)) is not None and last is not None:
            last.structured = predicted  # of what the model has just said
        else:
            span.request.last_reply = reply_in(event) or last

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
        request.last_reply, request.answered = None, True
        writing = None if span is None else span.nearest("answers")
        prompts = [] if writing is None else list(writing.prompts)
        tags = {**request.tags, **event.tags}
        answer = Answer(request, recalls, tags, prompt="\n\n".join(prompts), nodes=nodes)
        if isinstance(response, StreamingResponse):
            if response.response_txt is None and response.response_gen is not None:
                response.response_gen = self._tee(response.response_gen, answer)
        elif isinstance(response, AsyncStreamingResponse):
            if response.response_txt is None and response.response_gen is not None:
                response.response_gen = self._atee(response.response_gen, answer)
        else:
            answer.text, answer.structured = text_of(response)
            if span is None or request.is_own:
                self._answered(answer)
            else:
                request.waiting.append(answer)
                if len(request.waiting) > _MOST_WAITING:
                    self._answered(request.waiting.pop(0))

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
            self._answered(answer, later=not complete)

    async def _atee(self, stream: AsyncGenerator[str, None], answer: Answer) -> AsyncGenerator[str]:
        parts: list[str] = []
        try:
            async for part in stream:
                parts.append(part)
                yield part
        finally:
            answer.text = "".join(map(str, parts))
            self._answered(answer, later=True)

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
        for seen in self._latest_of(asked_namespace()):
            if seen.recall.query.strip() == question.strip() and ids & seen.ids:
                return [seen]
        return []

    def _latest_of(self, namespace: str | None) -> list[SeenRecall]:
        """Return the latest recalls of a namespace, or of all, the last one first."""
        recent = reversed(list(self._recent))
        return [one for one in recent if namespace in (None, one.recall.namespace)]

    def _request_ended(self, request: Request, result: object) -> None:
        """Take what an engine returned, or an agent's last word, for the answer."""
        text, structured = result_of(result)
        said, request.last_reply = request.last_reply, None
        waiting, request.waiting = request.waiting, []
        replaced = said is None and not any(one.text.strip() in text for one in waiting)
        for answer in waiting:
            answer.output = [text] if replaced else []
            self._answered(answer)
        if said is None:
            if request.recalls and not request.answered:
                self._unanswered(request)
            return
        talk = request.talk
        earlier = [] if talk is None else self._earlier(talk, request)
        if talk is not None or _shows(said.prompt, request.recalls):
            talk = self._talks.note(said.prompt, talk)
            self._conversations.note(talk, [seen.plain() for seen in request.recalls])
        self._answered(
            Answer(
                request,
                list(request.recalls),
                request.tags,
                earlier,
                prompt="\n\n".join(said.prompt),
                text=text or said.text,
                structured=said.structured if structured is None else structured,
                message=said.message,
            )
        )

    def _unanswered(self, request: Request) -> None:
        """Note a request that recalled something and got no answer."""
        recalls = list(request.recalls)
        self._answered(Answer(request, recalls, request.tags, silent=True))


def _shows(prompt: Sequence[str], recalls: Sequence[SeenRecall]) -> bool:
    """Tell whether a prompt holds a source, so that no stranger's can be the same by chance."""
    text = " ".join(" ".join(prompt).split())
    return any(
        start in text
        for seen in recalls
        for node in seen.nodes
        if (start := " ".join(node.get_content().split())[:_BEGINNING])
    )


def _is_same(one: HebbianIndex, other: object) -> bool:
    """Return whether two objects read the same index, each perhaps opened by itself."""
    if one is other:
        return True
    return (
        isinstance(other, HebbianIndex)
        and other.namespace == one.namespace
        and other.parts.database.id == one.parts.database.id
    )
