"""What happens below an outermost call of LlamaIndex: recalls, calls of models, the result.

Spans show what belongs together; an event names its span, even long after the span has ended. A
stream is created after all spans have ended, so it is consumed in a span of our own.
"""

from __future__ import annotations

import asyncio
import logging
import re
import threading
import uuid
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.response.schema import AsyncStreamingResponse, StreamingResponse
from llama_index.core.instrumentation.event_handlers.base import BaseEventHandler
from llama_index.core.instrumentation.events import BaseEvent, exception, llm, synthesis
from llama_index.core.instrumentation.span_handlers.base import BaseSpanHandler
from llama_index.core.response_synthesizers import BaseSynthesizer
from llama_index.core.schema import BaseNode, IndexNode
from llama_index_instrumentation.span import active_span_id
from pydantic import PrivateAttr

from hebbgraph import HebbianIndex, Recall
from hebbgraph.citations import Passage
from llama_index.retrievers.hebbgraph.nodes import text_of, to_node
from llama_index.retrievers.hebbgraph.retriever import RecallEvent

__all__ = ["Follower", "Trace", "passages_of"]

logger = logging.getLogger(__name__)

#: Traces that are followed at once.
_TRACES = 10_000
#: The user did not wait for the rest of the answer.
_ABANDONED = (GeneratorExit, asyncio.CancelledError)
_STARTS = (llm.LLMChatStartEvent, llm.LLMCompletionStartEvent)
_ENDS = (llm.LLMChatEndEvent, llm.LLMCompletionEndEvent)
_PARTS_OR_ENDS = (llm.LLMChatInProgressEvent, llm.LLMCompletionInProgressEvent, *_ENDS)
#: The first line of a passage that the framework or a CitationFormatter numbered.
_HEAD = re.compile(r"\s*(?:Source \d+:|\[\d+\][^\n]*)\n")
#: Of each trace the latest are kept.
_latest = partial(deque[Any], maxlen=200)


@dataclass(slots=True)
class Trace:
    """What happened below an outermost span: references, read once all has ended."""

    root: str
    tags: Mapping[str, Any]
    is_retrieval: bool
    recalls: deque[RecallEvent] = field(default_factory=_latest)
    #: Answers of models and their prompts, with those before in the same synthesis.
    calls: deque[tuple[Any, list[Any]]] = field(default_factory=_latest)
    sources: deque[BaseNode] = field(default_factory=_latest)
    output: Any = None
    is_over: bool = False
    open: dict[str, tuple[Any, list[Any]]] = field(default_factory=dict)
    spans: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Span:
    trace: Trace
    prompts: list[Any] | None = None  # of the synthesis that it belongs to
    prediction: tuple[str, int] = ("", -1)  # its prompt, and how many calls there were before


class Follower(BaseSpanHandler[Any], BaseEventHandler):
    """Collects traces, and hands each on once all of it has ended."""

    _is_own: Callable[[HebbianIndex], bool] = PrivateAttr()
    _read: Callable[[Trace], None] = PrivateAttr()
    _spans: dict[str, _Span] = PrivateAttr(default_factory=dict)
    _traces: OrderedDict[str, Trace] = PrivateAttr(default_factory=OrderedDict)
    _tracing: Any = PrivateAttr(default_factory=threading.RLock)

    def __init__(self, is_own: Callable[[HebbianIndex], bool], read: Callable[[Trace], None]):
        super().__init__()
        self._is_own, self._read = is_own, read

    def new_span(self, id_: str, bound_args: Any, instance: Any = None, parent_span_id: Any = None,
                 tags: Any = None, **_: Any) -> None:  # fmt: skip
        """Follow a span."""
        with self._tracing:
            parent = self._spans.get(parent_span_id or "")
            if parent is None:
                parent = _Span(Trace(id_, tags or {}, isinstance(instance, BaseRetriever)))
                self._traces[id_] = parent.trace
                if len(self._traces) > _TRACES:
                    self._drop(next(iter(self._traces.values())))
            is_first = parent.prompts is None and isinstance(instance, BaseSynthesizer)
            self._add(id_, _Span(parent.trace, [] if is_first else parent.prompts))

    def prepare_to_exit_span(self, id_: str, bound_args: Any, instance: Any = None,
                             result: Any = None, **_: Any) -> None:  # fmt: skip
        """Note the end of a span."""
        with self._tracing:
            if (span := self._spans.get(id_)) is None:
                return
            if id_ == span.trace.root:
                span.trace.is_over, span.trace.output = True, _output_of(result)
                self._finish(span.trace)
            elif id_ not in span.trace.open:
                self._forget(span.trace, id_)

    def prepare_to_drop_span(self, id_: str, bound_args: Any, instance: Any = None,
                             err: Any = None, **_: Any) -> None:  # fmt: skip
        """Note a failure: if the outermost call fails, its answer teaches nothing."""
        with self._tracing:
            span = self._spans.get(id_)
            if span is not None and id_ == span.trace.root and not isinstance(err, _ABANDONED):
                self._drop(span.trace)
            elif span is not None:
                self._end(span.trace, id_)  # a model's call that fails may tell no end
                self.prepare_to_exit_span(id_, bound_args)

    def _add(self, id_: str, span: _Span) -> None:
        self._spans[id_] = span
        span.trace.spans.add(id_)

    def _forget(self, trace: Trace, id_: str) -> None:
        """Forget a span, since the outermost one may surround a whole program."""
        self._spans.pop(id_, None)
        trace.spans.discard(id_)

    def _drop(self, trace: Trace) -> None:
        self._traces.pop(trace.root, None)
        for id_ in trace.spans:
            self._spans.pop(id_, None)

    def _finish(self, trace: Trace) -> None:
        if not trace.open and trace.root in self._traces:
            self._drop(trace)
            try:
                self._read(trace)
            except Exception:  # the dispatcher would swallow it
                logger.exception("an answer could not be read")

    def handle(self, event: BaseEvent, **_: Any) -> None:
        """Note an event within a span that is followed."""
        id_ = event.span_id or ""
        with self._tracing:
            if (span := self._spans.get(id_)) is None:
                return
            # A workflow opens its outermost span outside of its caller's tags.
            trace = span.trace
            trace.tags = {**event.tags, **trace.tags}
            said, prompts = trace.open.get(id_, (None, None))
            if isinstance(event, RecallEvent):
                trace.recalls += [event] if self._is_own(event.index) else []
            elif isinstance(event, _STARTS):
                prompt: Any = getattr(event, "messages", None) or getattr(event, "prompt", "")
                trace.open[id_] = None, _prompts(span, prompt)
            elif isinstance(event, _PARTS_OR_ENDS) and prompts is not None:
                made: Any = event.response
                made = getattr(made, "message", None) or getattr(made, "text", None)
                trace.open[id_] = made or said, prompts
                if isinstance(event, _ENDS):
                    self._end(trace, id_)
            elif isinstance(event, exception.ExceptionEvent) and prompts is not None:
                trace.open[id_] = said if isinstance(event.exception, _ABANDONED) else None, prompts
                self._end(trace, id_)
            elif isinstance(event, synthesis.SynthesizeEndEvent):
                self._note_response(span, event.response)
            elif isinstance(event, llm.LLMPredictStartEvent):
                text = event.template.format(**(event.template_args or {}))
                span.prediction = text, len(trace.calls)
            elif isinstance(event, llm.LLMPredictEndEvent):
                text, n_before = span.prediction
                if n_before == len(trace.calls):  # the model's own methods report nothing
                    trace.calls.append((event.output, _prompts(span, text)))

    def _end(self, trace: Trace, id_: str) -> None:
        with self._tracing:
            said, prompts = trace.open.pop(id_, (None, []))
            if said is not None:
                trace.calls.append((said, prompts))
            if trace.is_over:
                self._forget(trace, id_)
                self._finish(trace)

    def _note_response(self, span: _Span, response: Any) -> None:
        """Note the sources of a synthesis; follow a stream, which is the object that users get."""
        span.trace.sources.extend(r.node for r in getattr(response, "source_nodes", None) or ())
        if isinstance(response, StreamingResponse | AsyncStreamingResponse):
            self._add(id_ := f"hebbgraph-stream-{uuid.uuid4()}", _Span(span.trace, span.prompts))
            span.trace.open[id_] = None, []
            is_async = isinstance(response, AsyncStreamingResponse)
            follow: Any = self._afollowed if is_async else self._followed
            response.response_gen = follow(response.response_gen, span.trace, id_)

    def _followed(self, stream: Any, trace: Trace, id_: str) -> Iterator[str]:
        context = _context_of(id_)
        try:
            while (part := context.run(next, stream, None)) is not None:
                yield part
        finally:
            stream.close()
            self._end(trace, id_)

    async def _afollowed(self, stream: Any, trace: Trace, id_: str) -> AsyncIterator[str]:
        async def following() -> Any:
            return await anext(stream, None)

        context = _context_of(id_)
        try:
            while (part := await asyncio.create_task(following(), context=context)) is not None:
                yield part
        finally:
            await stream.aclose()
            self._end(trace, id_)


def _context_of(id_: str) -> Context:
    context = copy_context()
    context.run(active_span_id.set, id_)
    return context


def _prompts(span: _Span, prompt: Any) -> list[Any]:
    """Return a prompt, behind those before it in the same synthesis."""
    if span.prompts is None:
        return [prompt]
    if prompt not in span.prompts:  # a model's chat may call its own complete
        span.prompts.append(prompt)
    return list(span.prompts)


def _output_of(result: Any) -> Any:
    """Return what an engine, an agent or a workflow answered; None of a stream."""
    parts = (getattr(result, name, None) for name in ("response", "result", "message"))
    found = next((part for part in parts if part and not callable(part)), None)
    return result if found is None and isinstance(result, str) else found


def passages_of(sources: Iterable[BaseNode], recalls: Sequence[Recall]) -> list[Passage]:
    """Return other texts under which chunks were shown: parts, parents, nodes referred to."""
    found = [(to_node(hit), hit) for recall in recalls for hit in recall.hits]
    by_node = {node.node_id: hit for node, hit in found}
    referring = {node.index_id: hit for node, hit in found[::-1] if isinstance(node, IndexNode)}
    squashed = [(" ".join(hit.text.split()), hit) for _, hit in found]
    passages = dict[tuple[str, str], Passage]()
    for node in sources:
        text = _HEAD.sub("", text_of(node), count=1).strip()
        part = " ".join(text.split())
        holders = (hit for whole, hit in squashed if part in whole or (whole and whole in part))
        hit = by_node.get(node.node_id) or next(holders, referring.get(node.node_id))
        if part and hit is not None and text != hit.text.strip():
            passages[hit.id, text] = Passage(hit.id, text)
    return list(passages.values())
