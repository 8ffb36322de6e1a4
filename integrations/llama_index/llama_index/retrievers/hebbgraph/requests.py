"""What a request says besides its question, and the event that announces its recall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.dispatcher import active_instrument_tags
from llama_index.core.instrumentation.events.base import BaseEvent
from llama_index.core.schema import BaseNode, QueryBundle
from llama_index.core.vector_stores.types import MetadataFilters
from pydantic import model_serializer

from hebbgraph import Recall
from hebbgraph.citations.options import NAMESPACE

__all__ = [
    "NAMESPACE",
    "RecallBundle",
    "RecallEvent",
    "announce",
    "requested_namespace",
    "user_turns",
]

_dispatcher = get_dispatcher(__name__)


@dataclass
class RecallBundle(QueryBundle):
    """A question with its own settings, for retrievers and query engines.

    Parameters
    ----------
    history : list of str
        The user's earlier questions, oldest first.
    similarity_top_k : int, optional
        Replaces the retriever's.
    filters : MetadataFilters, optional
        Narrow the retriever's filters.
    namespace : str, optional
        The namespace to search, for a retriever over a pool.
    as_of : datetime, date or str, optional
        Search only what was valid at that moment. Replaces the retriever's.

    Examples
    --------
    >>> RecallBundle("And in winter?", history=["What does mooring cost?"]).history
    ['What does mooring cost?']
    """

    history: list[str] = field(default_factory=list)
    similarity_top_k: int | None = None
    filters: MetadataFilters | None = None
    namespace: str | None = None
    as_of: datetime | date | str | None = None


def requested_namespace(tags: Mapping[str, Any] | None = None) -> str | None:
    """Return the namespace that instrument tags name, by default those of the current request."""
    namespace = (active_instrument_tags.get() if tags is None else tags).get(NAMESPACE)
    return None if namespace is None else str(namespace)


def user_turns(messages: Sequence[ChatMessage]) -> list[str]:
    """Return the texts of the user's messages."""
    return [message.content or "" for message in messages if message.role == MessageRole.USER]


class RecallEvent(BaseEvent):
    """A recall, announced within the span of its retrieval.

    Attributes
    ----------
    recall : Recall
    index : HebbianIndex
        The index that answered.
    nodes : list of BaseNode
        The hits as they were returned.
    """

    recall: Recall
    index: Any
    nodes: list[Any]

    @classmethod
    def class_name(cls) -> str:
        """Class name."""
        return "HebbgraphRecallEvent"

    @model_serializer(mode="plain")
    def _log_fields(self) -> dict[str, Any]:
        """Return what can be logged: no texts and no vector."""
        return {
            "id_": self.id_,
            "timestamp": self.timestamp,
            "span_id": self.span_id,
            "tags": self.tags,
            "class_name": self.class_name(),
            "recall_id": self.recall.id,
            "query": self.recall.query,
            "cues": [cue.tag for cue in self.recall.cues],
            "chunk_ids": [hit.chunk.id for hit in self.recall.hits],
            "scores": [hit.score for hit in self.recall.hits],
        }


def announce(recall: Recall, index: object, nodes: list[BaseNode]) -> None:
    """Announce a recall to all event handlers."""
    _dispatcher.event(RecallEvent(recall=recall, index=index, nodes=nodes))
