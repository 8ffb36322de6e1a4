"""What LlamaIndex's dispatcher calls; it passes all on and lets no error out."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from llama_index.core.instrumentation.event_handlers.base import BaseEventHandler
from llama_index.core.instrumentation.events.base import BaseEvent
from llama_index.core.instrumentation.span.base import BaseSpan
from llama_index.core.instrumentation.span_handlers.base import BaseSpanHandler
from pydantic import PrivateAttr

from llama_index.retrievers.hebbgraph.tracing import SpanTree

__all__ = ["EventHandler", "SpanHandler"]

logger = logging.getLogger(__name__)


class EventHandler(BaseEventHandler):
    """Hands events to a callable."""

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
    """Keeps a SpanTree up to date; the base class's own bookkeeping is not needed."""

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
        """A span opens."""
        self._tree.enter(id_, parent_id, instance, tags)

    def span_exit(
        self,
        id_: str,
        bound_args: Any,
        instance: Any | None = None,
        result: Any | None = None,
        **kwargs: Any,
    ) -> None:
        """A span closes."""
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
        """A span fails: of a root, nobody got an answer."""
        if (span := self._tree.find(id_)) is not None and span.parent is None:
            span.request.conversation = None
        self.span_exit(id_, bound_args, instance)

    def new_span(self, *args: Any, **kwargs: Any) -> BaseSpan | None:
        """Keep none."""
        return None

    def prepare_to_exit_span(self, *args: Any, **kwargs: Any) -> BaseSpan | None:
        """Keep none."""
        return None

    def prepare_to_drop_span(self, *args: Any, **kwargs: Any) -> BaseSpan | None:
        """Keep none."""
        return None
