"""Which recalls, prompts and answers belong together: LlamaIndex's spans, sorted into requests."""

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

__all__ = ["EventHandler", "ModelReply", "Request", "SeenRecall", "Span", "SpanHandler", "SpanTree"]

logger = logging.getLogger(__name__)

_MAX_OPEN = 50_000
MAX_CLOSED = 2_000
_MAX_RECALLS = 100
_MAX_PROMPTS = 200

#: What a span means for answers. It ``answers`` from sources; it ``echoes`` sources or ignores
#: them; or it ``serves`` a retrieval, so that what a model says inside is no answer.
Kind = Literal["answers", "echoes", "serves"]


@dataclass(frozen=True, slots=True)
class SeenRecall(Recalled):
    """A recall, the span it happened in, and the nodes that came back."""

    span: Span
    nodes: list[BaseNode]

    def plain(self) -> Recalled:
        """Return what may be kept longer than the request."""
        return Recalled(self.index, self.recall)


@dataclass(slots=True)
class ModelReply:
    """A call of a model outside any synthesis: by an agent, or directly."""

    prompt: list[str]
    message: ChatMessage | None = None
    text: str = ""
    structured: Any = None


@dataclass(slots=True)
class Request:
    """Everything below one root span.

    ``last_reply`` is the answer, unless a synthesizer gives one: then it is ``answered``.
    ``talk`` names the conversation that it goes on with, as far as its prompts tell. ``waiting``
    are answers of which only its end tells what the application made of them, the latest of very
    many; within a ``learner.request()``, which ``is_own``, none wait.
    """

    tags: dict[str, Any]
    recalls: list[SeenRecall] = field(default_factory=list)
    last_reply: ModelReply | None = None
    answered: bool = False
    failed: bool = False
    taught: set[str] = field(default_factory=set)
    talk: str | None = None
    waiting: list[Any] = field(default_factory=list)
    is_own: bool = False

    def note_recall(self, recall: SeenRecall) -> None:
        """Note a recall; of very many, the latest stay."""
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

    def ancestors(self) -> Iterator[Span]:
        """Yield this span, its parent, and so on to the root."""
        span: Span | None = self
        while span is not None:
            yield span
            span = span.parent

    def nearest(self, *kinds: Kind) -> Span | None:
        """Return the innermost span of one of these kinds around here."""
        return next((span for span in self.ancestors() if span.kind in kinds), None)

    def until(self, *kinds: Kind) -> Iterator[Span]:
        """Yield this span and those around it, up to one of these kinds."""
        return itertools.takewhile(lambda span: span.kind not in kinds, self.ancestors())

    def note_prompt(self, text: str) -> None:
        """Keep what a model was asked below this span."""
        if len(self.prompts) < _MAX_PROMPTS and (not self.prompts or self.prompts[-1] != text):
            self.prompts.append(text)


class SpanTree:
    """The open spans of the process, and the latest closed ones that late events may name.

    Parameters
    ----------
    matters : callable
        Whether a request may teach anything. Closed spans of others are not kept.
    on_root_exit : callable
        Called with each request that matters when its root span closes, and with what the
        root returned.
    """

    def __init__(
        self, matters: Callable[[Request], bool], on_root_exit: Callable[[Request, Any], None]
    ) -> None:
        self._matters = matters
        self._on_root_exit = on_root_exit
        self._open: OrderedDict[str, Span] = OrderedDict()
        self._closed: OrderedDict[str, Span] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._open) + len(self._closed)

    @property
    def open(self) -> int:
        """How many spans are open."""
        return len(self._open)

    def enter(
        self, id_: str, parent_id: str | None, instance: object, tags: Mapping[str, Any] | None
    ) -> None:
        """Note that a span opens."""
        kind = _kind(instance)
        with self._lock:
            parent = None if parent_id is None else self._find(parent_id)
            self._open[id_] = Span(id_, parent, kind, tags)
            if len(self._open) > _MAX_OPEN:
                self._open.popitem(last=False)

    def leave(self, id_: str, result: object) -> None:
        """Note that a span closes. With a root span, its request is over."""
        with self._lock:
            span = self._open.pop(id_, None)
            if span is None:
                return
            matters = self._matters(span.request)
            if matters:
                self._closed[id_] = span
                if len(self._closed) > MAX_CLOSED:
                    self._closed.popitem(last=False)
        if matters and span.parent is None:
            self._on_root_exit(span.request, result)

    def find(self, id_: str | None) -> Span | None:
        """Return a span that is open, or closed lately."""
        if id_ is None:
            return None
        with self._lock:
            return self._find(id_)

    def _find(self, id_: str) -> Span | None:
        return self._open.get(id_) or self._closed.get(id_)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._open.clear()
            self._closed.clear()


def _kind(instance: object) -> Kind | None:
    if isinstance(instance, BaseSynthesizer):
        return "echoes" if isinstance(instance, NoText | ContextOnly | Generation) else "answers"
    if isinstance(instance, BaseRetriever | BaseNodePostprocessor):
        return "serves"
    return None


class EventHandler(BaseEventHandler):
    """Hands LlamaIndex's events to a callable."""

    _hear: Callable[[BaseEvent], None] = PrivateAttr()

    def __init__(self, hear: Callable[[BaseEvent], None]) -> None:
        super().__init__()
        self._hear = hear

    @classmethod
    def class_name(cls) -> str:
        """Class name."""
        return "HebbgraphEventHandler"

    def handle(self, event: BaseEvent, **kwargs: Any) -> None:
        """Hand an event on."""
        try:
            self._hear(event)
        except Exception:  # the dispatcher would swallow it unseen
            logger.exception("%s could not be heard", type(event).__name__)


class SpanHandler(BaseSpanHandler[BaseSpan]):
    """Keeps a SpanTree up to date, in place of the base class's own bookkeeping."""

    _tree: SpanTree = PrivateAttr()

    def __init__(self, tree: SpanTree) -> None:
        super().__init__()
        self._tree = tree

    @classmethod
    def class_name(cls) -> str:
        """Class name."""
        return "HebbgraphSpanHandler"

    def span_enter(
        self,
        id_: str,
        bound_args: Any,
        instance: Any | None = None,
        parent_id: str | None = None,
        tags: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Note that a span opens."""
        self._tree.enter(id_, parent_id, instance, tags)

    def span_exit(
        self,
        id_: str,
        bound_args: Any,
        instance: Any | None = None,
        result: Any | None = None,
        **kwargs: Any,
    ) -> None:
        """Note that a span closes."""
        try:
            self._tree.leave(id_, result)
        except Exception:
            logger.exception("the end of %s could not be heard", id_)

    def span_drop(
        self,
        id_: str,
        bound_args: Any,
        instance: Any | None = None,
        err: BaseException | None = None,
        **kwargs: Any,
    ) -> None:
        """Note that a span failed. With a root span, nobody got an answer."""
        if (span := self._tree.find(id_)) is not None and span.parent is None:
            span.request.last_reply = None
            span.request.failed = True
        self.span_exit(id_, bound_args, instance)

    def new_span(self, *args: Any, **kwargs: Any) -> BaseSpan | None:
        """Keep none."""
        return None

    prepare_to_exit_span = prepare_to_drop_span = new_span
