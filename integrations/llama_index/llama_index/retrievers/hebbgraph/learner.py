"""CitationLearner: listens to LlamaIndex's instrumentation, and teaches what answers cite.

It relates each answer to its recalls; :mod:`hebbgraph.citations` decides what was shown and cited,
and which recall gets the credit.
"""

from __future__ import annotations

import contextlib
import threading
import uuid
from collections import deque
from collections.abc import AsyncGenerator, Generator, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Self, Unpack

from llama_index.core.base.response.schema import (
    RESPONSE_TYPE,
    AsyncStreamingResponse,
    PydanticResponse,
    Response,
    StreamingResponse,
)
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.events.base import BaseEvent
from llama_index.core.instrumentation.events.llm import LLMChatStartEvent
from llama_index.core.instrumentation.events.synthesis import SynthesizeEndEvent
from llama_index.core.instrumentation.span import active_span_id
from llama_index.core.schema import NodeWithScore, QueryBundle

from hebbgraph import HebbianIndex, NotFoundError, ParameterError, Recall
from hebbgraph.calling import on_event_loop
from hebbgraph.citations import Exchange, FrameworkLearner, LearnerOptions, Outcome, Reason
from hebbgraph.citations.credit import pool_of
from llama_index.retrievers.hebbgraph.answers import (
    ANSWER_EVENTS,
    PROMPT_EVENTS,
    Answer,
    chunk_id,
    exchange_of,
    message_texts,
    prompt_of,
    prompt_text_of,
    reply_in,
    result_of,
    text_of,
)
from llama_index.retrievers.hebbgraph.nodes import TRAIL_KEY
from llama_index.retrievers.hebbgraph.requests import NAMESPACE, RecallEvent, requested_namespace
from llama_index.retrievers.hebbgraph.tracing import (
    EventHandler,
    PromptHistory,
    Request,
    SeenRecall,
    Span,
    SpanTree,
)

__all__ = ["CitationLearner"]

#: Recalls that an answer without a request may still refer to.
_MAX_RECENT = 64
#: Characters of a source by which it is recognised in a prompt.
_BEGINNING = 60
#: Most answers that wait for the end of a request; its span may surround a whole program.
_MAX_PENDING = 10

_REGISTERING = threading.Lock()


class CitationLearner(FrameworkLearner):
    """Learns from query engines, chat engines, streams and agents while it is installed.

    Parameters
    ----------
    index, actor, trusted, judge, implicit, learn_on, remember, on_lesson, on_answer
        As for :class:`~hebbgraph.citations.FrameworkLearner`; ``actor`` and ``trusted`` get a
        request's instrument tags. Without an index, every index learns from the answers to its own
        recalls.
    background : bool
        Always learn in a background thread; :meth:`flush` waits for it.

    Notes
    -----
    * An answer teaches once: the chunks it cites among those in the model's prompt. Without a
      citation it teaches nothing. The response modes ``no_text``, ``context_only`` and
      ``generation`` teach nothing.
    * Make models cite with a :class:`CitationFormatter` or a ``CitationQueryEngine``.
    * :meth:`feedback` and :meth:`undo` take the instrument tag ``answer_id`` of the request, the
      response, a recall or its id (a :class:`RecallEvent` has it). With ``include_path``, a
      response names its recall; otherwise the latest recall that returned its nodes counts.
    * Requests with the same instrument tag ``thread_id`` are one conversation: an answer may cite
      what an earlier turn found. An agent that gets its ``memory`` or ``ctx`` again needs no tag.
    * In synchronous code an answer is learned when the call returns or its stream ends. On an
      event loop, and for abandoned streams, a background thread learns; :meth:`flush` waits.
    * If a guardrail or workflow replaces an answer, the replacement is read. Of a stream, what the
      model said is read.
    * Errors are logged, never raised. Handlers are installed for the whole process.
    * A retriever and a model that are called outside any engine, agent or workflow are not
      related: put both into ``with learner.request():``, or call :meth:`learn`.

    Examples
    --------
    ::

        with CitationLearner(retriever.index):
            query_engine.query("Where was the builder of the Petrel born?")

    or, for the life of the process, ``CitationLearner().install()``.
    """

    _naming_hint = 'name the user of each request within instrument_tags({"user_id": ...})'

    def __init__(
        self, index: Any = None, *, background: bool = False, **options: Unpack[LearnerOptions]
    ) -> None:
        super().__init__(index, **options)
        self._background = background
        self._spans = SpanTree(self._matters, self._end_request)
        self._recent: deque[SeenRecall] = deque(maxlen=_MAX_RECENT)
        self._prompts = PromptHistory()
        self._event_handler = EventHandler(self._handle)

    # -- installing ---------------------------------------------------------------------

    def install(self) -> Self:
        """Listen from now on; installing twice is fine."""
        self._register([self._event_handler], [self._spans])
        return self

    def uninstall(self) -> None:
        """Stop listening, and wait until pending answers are learned."""
        self._register([], [])
        self.flush()
        self._spans.clear()

    def _register(self, events: list[Any], spans: list[Any]) -> None:
        """Replace this learner's handlers, in new lists, since other threads iterate over these."""
        root = get_dispatcher()
        with _REGISTERING:
            other_events = [one for one in root.event_handlers if one is not self._event_handler]
            other_spans = [one for one in root.span_handlers if one is not self._spans]
            root.event_handlers, root.span_handlers = other_events + events, other_spans + spans

    def __enter__(self) -> Self:
        return self.install()

    async def __aenter__(self) -> Self:
        return self.install()

    @contextlib.contextmanager
    def request(self, **tags: Any) -> Iterator[None]:
        """Treat everything within the block as one request, also across ``await``.

        The model's last reply in it is the answer to what was retrieved in it. If the block
        raises, that reply teaches nothing.

        Parameters
        ----------
        **tags
            As with ``instrument_tags``: ``user_id="ida"``, ``thread_id="chat-7"``,
            ``answer_id="17"``.
        """
        id_ = f"CitationLearner.request-{uuid.uuid4()}"
        bound: Any = None  # no method is called
        self._spans.span_enter(id_, bound, self, active_span_id.get(), tags)
        if (span := self._spans.find(id_)) is not None:
            span.request.is_explicit = True
        token = active_span_id.set(id_)
        close: Any = self._spans.span_exit
        try:
            yield
        except Exception:  # not GeneratorExit: an abandoned stream has answered
            close = self._spans.span_drop
            raise
        finally:
            active_span_id.reset(token)
            close(id_, bound)

    # -- events -------------------------------------------------------------------------

    def _handle(self, event: BaseEvent) -> None:
        if isinstance(event, RecallEvent):
            self._handle_recall(event)
        elif isinstance(event, SynthesizeEndEvent):
            self._handle_synthesis(event)
        elif isinstance(event, PROMPT_EVENTS + ANSWER_EVENTS):
            span = self._spans.find(event.span_id)
            if span is None:
                return
            request = span.request
            if isinstance(event, LLMChatStartEvent) and request.earlier is None:
                request.earlier = self._prompts.find(message_texts(event.messages))
            request.tags = {**event.tags, **request.tags}
            if not self._matters(request):
                return
            if isinstance(event, PROMPT_EVENTS):
                # The steps of a synthesizer are nested synthesizer spans.
                for part in span.path_below("retrieval", "unread"):
                    if part.kind == "synthesizer":
                        part.note_prompt(prompt_of(event))
            elif span.nearest("synthesizer", "unread", "retrieval") is None:
                request.last_reply = reply_in(event, request.last_reply)

    def _matters(self, request: Request) -> bool:
        """Return whether a request may teach anything."""
        # Recalls of earlier turns of a thread, perhaps in another process, are read later.
        has_thread = request.tags.get("thread_id") is not None
        return bool(request.recalls or request.pending or has_thread or request.earlier)

    def _handle_recall(self, event: RecallEvent) -> None:
        is_other = self.index is not None and not _is_same(self.index, event.index)
        if is_other or self.pool not in (None, pool_of(event.index)):
            self._journal.note(Outcome(reason=Reason.OTHER_INDEX))
            return
        span = self._spans.find(event.span_id) or Span("", None, None, event.tags)
        recall = SeenRecall(event.index, event.recall, span, event.nodes)
        request = span.request
        request.note_recall(recall)
        # A workflow opens its root span outside of the caller's tags.
        request.tags = {**event.tags, **request.tags}
        self._recent.append(recall)

    def _handle_synthesis(self, event: SynthesizeEndEvent) -> None:
        response, span = event.response, self._spans.find(event.span_id)
        nodes = [] if response is None else list(response.source_nodes)
        if not nodes or (span is not None and span.nearest("unread") is not None):
            return
        recalls = self._recalls_around(span) or self._recalls_like(event.query, nodes)
        if not recalls:
            return
        request = span.request if span is not None else Request(dict(event.tags))
        request.last_reply, request.is_answered = None, True
        synthesizer = None if span is None else span.nearest("synthesizer")
        prompts = [] if synthesizer is None else synthesizer.prompts
        tags = {**request.tags, **event.tags}
        answer = Answer(request, recalls, tags, prompt="\n\n".join(prompts), nodes=nodes)
        if isinstance(response, StreamingResponse | AsyncStreamingResponse):
            if response.response_txt is None and response.response_gen is not None:
                tee: Any = self._tee if isinstance(response, StreamingResponse) else self._atee
                response.response_gen = tee(response.response_gen, answer)
        else:
            answer.text, answer.structured = text_of(response)
            if span is None or request.is_explicit:
                self._learn_from(answer)
            else:
                request.pending.append(answer)
                if len(request.pending) > _MAX_PENDING:
                    self._learn_from(request.pending.pop(0))

    def _tee(self, stream: Generator[str, None, None], answer: Answer) -> Generator[str]:
        parts: list[str] = []
        is_complete = False
        try:
            for part in stream:
                parts.append(part)
                yield part
            is_complete = True
        finally:
            answer.text = "".join(map(str, parts))
            # An abandoned stream may end during garbage collection, in any thread.
            self._learn_from(answer, later=not is_complete)

    async def _atee(self, stream: AsyncGenerator[str, None], answer: Answer) -> AsyncGenerator[str]:
        parts: list[str] = []
        try:
            async for part in stream:
                parts.append(part)
                yield part
        finally:
            answer.text = "".join(map(str, parts))
            self._learn_from(answer, later=True)

    # -- recalls ------------------------------------------------------------------------

    def _recalls_around(self, span: Span | None) -> list[SeenRecall]:
        """Return the recalls below the nearest ancestor that has any."""
        if span is not None and span.request.recalls:
            for ancestor in span.path():
                recalls = [
                    recall
                    for recall in span.request.recalls
                    if any(part is ancestor for part in recall.span.path())
                ]
                if recalls:
                    return recalls
        return []

    def _recalls_like(
        self, query: str | QueryBundle | None, nodes: list[NodeWithScore]
    ) -> list[SeenRecall]:
        """Return the latest recall of this question that returned some of these nodes."""
        question = query.query_str if isinstance(query, QueryBundle) else str(query or "")
        ids = {result.node_id for result in nodes}
        alike = [
            recall
            for recall in self._latest_of(requested_namespace())
            if recall.recall.query.strip() == question.strip() and ids & recall.ids
        ]
        return [_first(alike)] if alike else []

    def _latest_of(self, namespace: str | None) -> list[SeenRecall]:
        """Return the latest recalls of a namespace, or of all, the last one first."""
        recent = reversed(list(self._recent))
        return [recall for recall in recent if namespace in (None, recall.recall.namespace)]

    # -- the end of a request -----------------------------------------------------------

    def _end_request(self, request: Request, result: object) -> None:
        """Learn from pending answers and from the last reply, or from what replaced them."""
        text, structured = result_of(result)
        reply, request.last_reply = request.last_reply, None
        pending, request.pending = request.pending, []
        is_replaced = reply is None and not any(a.text.strip() in text for a in pending)
        for answer in pending:
            answer.output = [text] if is_replaced else []
            self._learn_from(answer)
        recalls = list(request.recalls)
        if reply is None:
            if recalls and not request.is_answered:
                self._learn_from(Answer(request, recalls, request.tags, is_missing=True))
            return
        answer = Answer(
            request,
            recalls,
            request.tags,
            prompt="\n\n".join(reply.prompt),
            text=text or reply.text,
            structured=reply.structured if structured is None else structured,
            message=reply.message,
        )
        earlier = request.earlier or ()
        answer.earlier = self._answers.own(earlier, recalls, requested_namespace(request.tags))
        if request.earlier is not None or _shows(reply.prompt, recalls):
            plain = [recall.plain() for recall in recalls]
            self._prompts.note(reply.prompt, [*earlier, *plain])
        self._learn_from(answer)

    def learn(
        self,
        answer: str | Response | PydanticResponse,
        nodes: Sequence[NodeWithScore] | None = None,
        *,
        tags: Mapping[str, Any] | None = None,
    ) -> None:
        """Learn from an answer that no engine gave.

        Parameters
        ----------
        answer : str or Response
            What the model said.
        nodes : sequence of NodeWithScore
            As shown to the model, from one of the latest 64 retrievals while installed. By default
            the response's.
        tags : mapping, optional
            Name the actor.

        Raises
        ------
        NotFoundError
            If none of these retrievals returned one of the nodes.
        """
        nodes = list(nodes if nodes is not None else getattr(answer, "source_nodes", ()))
        ids = {result.node_id for result in nodes}
        namespace = self._whose((tags or {}).get(NAMESPACE))
        recalls = [recall for recall in self._latest_of(namespace) if ids & recall.ids]
        if not recalls:
            raise NotFoundError(
                "no recall of the latest ones returned these nodes; install the learner before "
                "they are retrieved"
            )
        request = Request(dict(tags or {}))
        prompt = prompt_text_of(nodes)
        exchange = Answer(request, [_first(recalls)], request.tags, prompt=prompt, nodes=nodes)
        exchange.text, exchange.structured = text_of(answer)
        self._submit(partial(self._read, exchange), background=False)

    # -- names of answers ---------------------------------------------------------------

    def _names_of(self, answer: Recall | RESPONSE_TYPE | str | int) -> Sequence[str]:
        if isinstance(answer, str | int):  # as instrument tags may hold it
            return [str(answer)]
        if isinstance(answer, Recall):
            return [answer.id]
        nodes: Sequence[NodeWithScore] | None = getattr(answer, "source_nodes", None)
        if nodes is None:
            raise ParameterError(f"name a Recall, its id or a response; got {answer!r:.80}")
        for result in nodes:
            if trail := result.metadata.get(TRAIL_KEY):
                return [str(trail["recall_id"])]
        similar, exact = [], []
        for recall in self._latest_of(self._whose(None)):
            # The parts that a CitationQueryEngine makes have new ids.
            scores = {(chunk_id(result.node, [recall]), result.score) for result in nodes}
            if recall.ids.isdisjoint(id_ for id_, _ in scores):
                continue
            similar.append(recall)
            if scores <= {(hit.chunk.id, hit.score) for hit in recall.recall.hits}:
                exact.append(recall)
        if not similar:
            raise NotFoundError("no recall of the latest ones returned the nodes of this response")
        return [_first(exact or similar).recall.id]

    def _asked_namespace(self) -> str | None:
        return requested_namespace()

    # -- teaching -----------------------------------------------------------------------

    def _learn_from(self, answer: Answer, *, later: bool = False) -> None:
        background = later or self._background or on_event_loop()
        self._submit(partial(self._read, answer), background=background)

    def _read(self, answer: Answer) -> Exchange:
        return exchange_of(answer, **self._fields_of(answer.tags, answer.recalls))


def _shows(prompt: Sequence[str], recalls: Sequence[SeenRecall]) -> bool:
    """Return whether a prompt contains a recalled text, and so is no other conversation's."""
    text = " ".join(" ".join(prompt).split())
    return any(
        beginning in text
        for recall in recalls
        for node in recall.nodes
        if (beginning := " ".join(node.get_content().split())[:_BEGINNING])
    )


def _is_same(index: HebbianIndex, other: object) -> bool:
    """Return whether two objects read the same index, which each may have opened."""
    return index is other or (
        isinstance(other, HebbianIndex)
        and other.namespace == index.namespace
        and other.parts.database.id == index.parts.database.id
    )


def _first(recalls: Sequence[SeenRecall]) -> SeenRecall:
    """Return the first recall; refuse recalls of several tenants of a pool."""
    tenants = {recall.recall.namespace for recall in recalls if pool_of(recall.index) is not None}
    if len(tenants) > 1:
        raise ParameterError(
            "several tenants were given these nodes; name the one that is meant, within "
            f'instrument_tags({{"{NAMESPACE}": ...}})'
        )
    return recalls[0]
