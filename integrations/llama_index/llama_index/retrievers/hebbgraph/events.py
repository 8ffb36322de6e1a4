"""The event by which retrievers and stores announce a recall to LlamaIndex."""

from __future__ import annotations

from typing import Any

from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.events.base import BaseEvent
from llama_index.core.schema import BaseNode
from pydantic import model_serializer

from hebbgraph import Recall

__all__ = ["RecallEvent", "announce"]

_dispatcher = get_dispatcher(__name__)


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
