"""LlamaIndex's spans, grouped into requests, and the conversations that requests continue.

They tell which recalls, prompts and answers belong together.
"""

from __future__ import annotations

import hashlib
import itertools
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.instrumentation.event_handlers.base import BaseEventHandler
from llama_index.core.instrumentation.events.base import BaseEvent
from llama_index.core.instrumentation.span_handlers.base import BaseSpanHandler
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.response_synthesizers import BaseSynthesizer, Generation
from llama_index.core.response_synthesizers.context_only import ContextOnly
from llama_index.core.response_synthesizers.no_text import NoText
from llama_index.core.schema import BaseNode
from pydantic import PrivateAttr

from hebbgraph.citations import Recalled

__all__ = [
    "EventHandler",
    "ModelReply",
    "PromptHistory",
    "Request",
    "SeenRecall",
    "Span",
    "SpanTree",
]

logger = logging.getLogger(__name__)

_MAX_OPEN = 50_000
MAX_CLOSED = 2_000
_MAX_RECALLS = 100
_MAX_PROMPTS = 200
#: Conversations remembered, those used last.
_MAX_CONVERSATIONS = 256
#: Latest recalls remembered of each.
_MAX_EARLIER = 8
#: Fewest messages of a prompt to continue: a question and its sources.
_MIN_MESSAGES = 2

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
    earlier: Sequence[Recalled] | None = None  # of the conversation that its prompts continue
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


class SpanTree(BaseSpanHandler[Any]):
    """The open spans of the process, and the latest closed ones, which late events may name.

    Closed spans of requests that do not matter are dropped. When the root span of one that matters
    closes, ``on_end`` is called with the request and the span's result.
    """

    _matters: Callable[[Request], bool] = PrivateAttr()
    _on_end: Callable[[Request, Any], None] = PrivateAttr()
    _closed: OrderedDict[str, Span] = PrivateAttr(default_factory=OrderedDict)

    def __init__(
        self, matters: Callable[[Request], bool], on_end: Callable[[Request, Any], None]
    ) -> None:
        super().__init__()
        self._matters = matters
        self._on_end = on_end

    def find(self, id_: str | None) -> Span | None:
        """Return a span that is open or was closed lately."""
        return None if id_ is None else self.open_spans.get(id_) or self._closed.get(id_)

    def clear(self) -> None:
        """Forget all spans."""
        self.open_spans.clear()
        self._closed.clear()

    def new_span(
        self,
        id_: str,
        bound_args: Any,
        instance: Any | None = None,
        parent_span_id: str | None = None,
        tags: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Span:
        """Open a span."""
        with self.lock:
            while len(self.open_spans) >= _MAX_OPEN:
                del self.open_spans[next(iter(self.open_spans))]
        return Span(id_, self.find(parent_span_id), _kind(instance), tags)

    def prepare_to_exit_span(
        self,
        id_: str,
        bound_args: Any,
        instance: Any | None = None,
        result: Any | None = None,
        **kwargs: Any,
    ) -> Span | None:
        """Close a span. The end of a root span ends its request."""
        span: Span | None = self.open_spans.get(id_)
        try:
            if span is not None and self._matters(span.request):
                self._closed[id_] = span
                while len(self._closed) > MAX_CLOSED:
                    self._closed.popitem(last=False)
                if span.parent is None:
                    self._on_end(span.request, result)
        except Exception:  # the dispatcher would swallow it
            logger.exception("the end of %s could not be handled", id_)
        return span

    def prepare_to_drop_span(
        self,
        id_: str,
        bound_args: Any,
        instance: Any | None = None,
        err: BaseException | None = None,
        **kwargs: Any,
    ) -> Span | None:
        """Close a span that raised. If it is a root span, nobody got an answer."""
        if (span := self.find(id_)) is not None and span.parent is None:
            span.request.last_reply = None
            span.request.failed = True
        return self.prepare_to_exit_span(id_, bound_args, instance)


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

    def handle(self, event: BaseEvent, **kwargs: Any) -> None:
        """Pass an event on."""
        try:
            self._handle(event)
        except Exception:  # the dispatcher would swallow it
            logger.exception("%s could not be handled", type(event).__name__)


class PromptHistory:
    """The latest recalls of conversations, which are recognised by the messages of their prompts.

    An agent's memory, or its context, gives a model the messages of earlier turns again, with
    their sources. So the next prompt starts with the whole prompt of the last turn.

    Examples
    --------
    >>> history = PromptHistory()
    >>> turn = ["Cite your sources.", "Who built the Petrel?", "[k7] Ida Moss built the Petrel."]
    >>> history.note(turn, [])
    >>> history.find([*turn, "Ida Moss [k7].", "When?"])
    []
    >>> history.find(["Cite.", "Who?"]) is None
    True
    """

    def __init__(self) -> None:
        self._by_digest: OrderedDict[bytes, list[Recalled]] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, messages: Sequence[str]) -> list[Recalled] | None:
        """Return the recalls of the conversation that these messages continue, if there is one."""
        if not self._by_digest:
            return None
        with self._lock:
            known = [self._by_digest.get(digest) for digest in _prefix_digests(messages)]
        return next((recalls for recalls in reversed(known) if recalls is not None), None)

    def note(self, messages: Sequence[str], recalls: Sequence[Recalled]) -> None:
        """Remember the prompt of a turn, and the recalls of its conversation, oldest first."""
        digests = list(_prefix_digests(messages))
        with self._lock:
            if digests:
                self._by_digest[digests[-1]] = list(recalls[-_MAX_EARLIER:])
                self._by_digest.move_to_end(digests[-1])
            while len(self._by_digest) > _MAX_CONVERSATIONS:
                self._by_digest.popitem(last=False)


def _prefix_digests(messages: Sequence[str]) -> Iterator[bytes]:
    """Yield a digest of each long enough prefix, the shortest first."""
    digest = hashlib.sha256()
    for count, message in enumerate(messages, 1):
        digest.update(hashlib.sha256(message.encode("utf-8", "replace")).digest())
        if count >= _MIN_MESSAGES:
            yield digest.copy().digest()
