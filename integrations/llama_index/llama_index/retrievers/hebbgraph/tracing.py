"""LlamaIndex's spans, grouped into requests: which recalls, prompts and answers belong together."""

from __future__ import annotations

import itertools
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.instrumentation.event_handlers.base import BaseEventHandler
from llama_index.core.instrumentation.events.base import BaseEvent
from llama_index.core.instrumentation.span.base import BaseSpan
from llama_index.core.instrumentation.span_handlers.base import BaseSpanHandler
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.response_synthesizers import BaseSynthesizer, Generation
from llama_index.core.response_synthesizers.context_only import ContextOnly
from llama_index.core.response_synthesizers.no_text import NoText
from llama_index.core.schema import BaseNode
from pydantic import PrivateAttr

from hebbgraph.citations import Recalled

__all__ = ["EventHandler", "ModelReply", "Request", "SeenRecall", "Span", "SpanTree"]

logger = logging.getLogger(__name__)

_MAX_OPEN = 50_000
MAX_CLOSED = 2_000
_MAX_RECALLS = 100
_MAX_PROMPTS = 200

#: What runs in a span: a ``synthesizer`` that answers from sources, one that returns or ignores
#: them ``unread``, or a ``retrieval``, within which a model's reply is no answer.
Kind = Literal["synthesizer", "unread", "retrieval"]


@dataclass(frozen=True, slots=True)
class SeenRecall(Recalled):
    """A recall, its span, and the nodes that came back."""

    span: Span
    nodes: list[BaseNode]

    def plain(self) -> Recalled:
        """Return what may outlive the request."""
        return Recalled(self.index, self.recall)


@dataclass(slots=True)
class ModelReply:
    """A reply of a model outside any synthesis, to an agent or directly."""

    prompt: list[str]
    message: ChatMessage | None = None
    text: str = ""
    structured: Any = None


@dataclass(slots=True)
class Request:
    """Everything below one root span."""

    tags: dict[str, Any]  # instrument tags
    recalls: list[SeenRecall] = field(default_factory=list)  # the latest
    last_reply: ModelReply | None = None  # the answer, unless a synthesizer gives one
    is_answered: bool = False  # by a synthesizer
    failed: bool = False  # the root span raised
    taught: set[str] = field(default_factory=set)  # chunks that its answers have taught
    conversation: str | None = None  # the earlier one that its prompts continue
    pending: list[Any] = field(default_factory=list)  # answers that its end may replace
    is_explicit: bool = False  # opened by learner.request(); no answer waits for its end

    def note_recall(self, recall: SeenRecall) -> None:
        """Note a recall; only the latest are kept."""
        self.recalls.append(recall)
        del self.recalls[:-_MAX_RECALLS]


class Span:
    """One call of the framework."""

    __slots__ = ("id", "kind", "parent", "prompts", "request")

    def __init__(
        self, id_: str, parent: Span | None, kind: Kind | None, tags: Mapping[str, Any] | None
    ) -> None:
        self.id = id_
        self.parent = parent
        self.kind = kind
        self.request: Request = Request(dict(tags or {})) if parent is None else parent.request
        self.prompts: list[str] = []

    def path(self) -> Iterator[Span]:
        """Yield this span, its parent, and so on to the root."""
        span: Span | None = self
        while span is not None:
            yield span
            span = span.parent

    def nearest(self, *kinds: Kind) -> Span | None:
        """Return the innermost span of one of these kinds on the path."""
        return next((span for span in self.path() if span.kind in kinds), None)

    def path_below(self, *kinds: Kind) -> Iterator[Span]:
        """Yield the path up to the first span of one of these kinds."""
        return itertools.takewhile(lambda span: span.kind not in kinds, self.path())

    def note_prompt(self, text: str) -> None:
        """Note a prompt of a model below this span."""
        if len(self.prompts) < _MAX_PROMPTS and (not self.prompts or self.prompts[-1] != text):
            self.prompts.append(text)


class SpanTree(BaseSpanHandler[BaseSpan]):
    """The open spans of the process, and the latest closed ones, which late events may name.

    Closed spans of requests that do not matter are dropped. When the root span of one that matters
    closes, ``on_end`` is called with the request and the span's result.
    """

    _matters: Callable[[Request], bool] = PrivateAttr()
    _on_end: Callable[[Request, Any], None] = PrivateAttr()
    _open: OrderedDict[str, Span] = PrivateAttr(default_factory=OrderedDict)
    _closed: OrderedDict[str, Span] = PrivateAttr(default_factory=OrderedDict)
    _spans_lock: Any = PrivateAttr(default_factory=threading.Lock)

    def __init__(
        self, matters: Callable[[Request], bool], on_end: Callable[[Request, Any], None]
    ) -> None:
        super().__init__()
        self._matters = matters
        self._on_end = on_end

    @classmethod
    def class_name(cls) -> str:
        """Class name."""
        return "HebbgraphSpanHandler"

    @property
    def sizes(self) -> tuple[int, int]:
        """How many open and how many closed spans are kept."""
        return len(self._open), len(self._closed)

    def span_enter(
        self,
        id_: str,
        bound_args: Any,
        instance: Any | None = None,
        parent_id: str | None = None,
        tags: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Open a span."""
        with self._spans_lock:
            self._open[id_] = Span(id_, self._find(parent_id), _kind(instance), tags)
            if len(self._open) > _MAX_OPEN:
                self._open.popitem(last=False)

    def span_exit(
        self,
        id_: str,
        bound_args: Any,
        instance: Any | None = None,
        result: Any | None = None,
        **kwargs: Any,
    ) -> None:
        """Close a span. The end of a root span ends its request."""
        try:
            with self._spans_lock:
                if (span := self._open.pop(id_, None)) is None:
                    return
                if not self._matters(span.request):
                    return
                self._closed[id_] = span
                if len(self._closed) > MAX_CLOSED:
                    self._closed.popitem(last=False)
            if span.parent is None:
                self._on_end(span.request, result)
        except Exception:  # the dispatcher would swallow it
            logger.exception("the end of %s could not be handled", id_)

    def span_drop(
        self,
        id_: str,
        bound_args: Any,
        instance: Any | None = None,
        err: BaseException | None = None,
        **kwargs: Any,
    ) -> None:
        """Close a span that raised. If it is a root span, nobody got an answer."""
        if (span := self.find(id_)) is not None and span.parent is None:
            span.request.last_reply = None
            span.request.failed = True
        self.span_exit(id_, bound_args, instance)

    def new_span(self, *args: Any, **kwargs: Any) -> BaseSpan | None:
        """Do nothing."""
        return None

    prepare_to_exit_span = prepare_to_drop_span = new_span

    def find(self, id_: str | None) -> Span | None:
        """Return a span that is open or was closed lately."""
        with self._spans_lock:
            return self._find(id_)

    def _find(self, id_: str | None) -> Span | None:
        return None if id_ is None else self._open.get(id_) or self._closed.get(id_)

    def clear(self) -> None:
        """Forget all spans."""
        with self._spans_lock:
            self._open.clear()
            self._closed.clear()


def _kind(instance: object) -> Kind | None:
    if isinstance(instance, BaseSynthesizer):
        is_unread = isinstance(instance, NoText | ContextOnly | Generation)
        return "unread" if is_unread else "synthesizer"
    if isinstance(instance, BaseRetriever | BaseNodePostprocessor):
        return "retrieval"
    return None


class EventHandler(BaseEventHandler):
    """Passes LlamaIndex's events to a callable and logs its exceptions."""

    _handle: Callable[[BaseEvent], None] = PrivateAttr()

    def __init__(self, handle: Callable[[BaseEvent], None]) -> None:
        super().__init__()
        self._handle = handle

    @classmethod
    def class_name(cls) -> str:
        """Class name."""
        return "HebbgraphEventHandler"

    def handle(self, event: BaseEvent, **kwargs: Any) -> None:
        """Pass an event on."""
        try:
            self._handle(event)
        except Exception:  # the dispatcher would swallow it
            logger.exception("%s could not be handled", type(event).__name__)
