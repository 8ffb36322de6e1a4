"""Which recalls, prompts and answers belong together: the spans of LlamaIndex as a tree."""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.response_synthesizers import BaseSynthesizer, Generation
from llama_index.core.response_synthesizers.context_only import ContextOnly
from llama_index.core.response_synthesizers.no_text import NoText
from llama_index.core.schema import BaseNode

from hebbgraph import HebbianIndex, Recall

__all__ = ["Conversation", "Request", "SeenRecall", "Span", "SpanTree"]

_MAX_OPEN = 50_000
_MAX_CLOSED = 2_000
_MAX_RECALLS = 100
_MAX_PROMPTS = 200

#: What a span does, as far as answers are concerned: it writes one; it hands the sources on
#: or ignores them; it serves a retrieval, so that what a model says there is no answer.
Kind = Literal["answers", "echoes", "serves"]


@dataclass
class SeenRecall:
    """A recall, the span that it happened in, who answered, and the nodes that came back."""

    span: Span
    index: HebbianIndex
    recall: Recall
    nodes: list[BaseNode]


@dataclass
class Conversation:
    """The last call of a model that belongs to no synthesis: an agent's."""

    prompt: list[str]
    message: ChatMessage | None = None
    text: str = ""


@dataclass
class Request:
    """All that happens below one root span."""

    tags: dict[str, Any]
    recalls: list[SeenRecall] = field(default_factory=list)
    conversation: Conversation | None = None
    taught: set[str] = field(default_factory=set)

    def see(self, recall: SeenRecall) -> None:
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
    """The open spans of the process, and some that closed lately; bounded."""

    def __init__(self, on_root_exit: Callable[[Request, Any], None]) -> None:
        self._on_root_exit = on_root_exit
        self._open: OrderedDict[str, Span] = OrderedDict()
        self._closed: OrderedDict[str, Span] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._open) + len(self._closed)

    def enter(
        self, id_: str, parent_id: str | None, instance: object, tags: Mapping[str, Any] | None
    ) -> None:
        """A span opens."""
        kind = _kind(instance)
        with self._lock:
            parent = None if parent_id is None else self._find(parent_id)
            self._open[id_] = Span(id_, parent, kind, tags)
            if len(self._open) > _MAX_OPEN:
                self._open.popitem(last=False)

    def leave(self, id_: str, result: object) -> None:
        """A span closes; of a root, the request is over."""
        with self._lock:
            span = self._open.pop(id_, None)
            if span is None:
                return
            # What may come late concerns requests with a recall alone.
            if span.request.recalls:
                self._closed[id_] = span
                if len(self._closed) > _MAX_CLOSED:
                    self._closed.popitem(last=False)
        if span.parent is None and span.request.recalls:
            self._on_root_exit(span.request, result)

    def find(self, id_: str | None) -> Span | None:
        """Return a span that is open or closed lately."""
        if id_ is None:
            return None
        with self._lock:
            return self._find(id_)

    def _find(self, id_: str) -> Span | None:
        return self._open.get(id_) or self._closed.get(id_)

    def clear(self) -> None:
        """Forget all."""
        with self._lock:
            self._open.clear()
            self._closed.clear()


def _kind(instance: object) -> Kind | None:
    if isinstance(instance, BaseSynthesizer):
        return "echoes" if isinstance(instance, NoText | ContextOnly | Generation) else "answers"
    if isinstance(instance, BaseRetriever | BaseNodePostprocessor):
        return "serves"
    return None
