"""Has an IngestionPipeline store nodes that have no embedding.

LlamaIndex's pipeline hands only embedded nodes to its vector store, and forgets the others in
silence. So one over a :class:`HebbianVectorStore` gets one more transformation when it runs, which
gives bare nodes an empty embedding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.span_handlers.base import BaseSpanHandler
from llama_index.core.schema import BaseNode, TransformComponent

__all__ = ["store_bare_nodes"]


class _MarkBare(TransformComponent):
    """Gives nodes without an embedding an empty one, which the store ignores."""

    kind: str = "HebbgraphMarkBare"  # tells it apart in a pipeline's cache

    def __call__(self, nodes: Sequence[BaseNode], **kwargs: Any) -> Sequence[BaseNode]:
        for node in nodes:
            node.embedding = [] if node.embedding is None else node.embedding
        return nodes


class _PipelineWatcher(BaseSpanHandler[Any]):
    """Adds the transformation when a pipeline starts; takes empty embeddings back at its end."""

    def new_span(self, id_: str, bound_args: Any, instance: Any = None, *_: Any, **__: Any) -> None:
        store = getattr(instance, "vector_store", None)
        if isinstance(instance, IngestionPipeline) and hasattr(store, "takes_bare_nodes"):
            steps = [step for step in instance.transformations if type(step) is not _MarkBare]
            instance.transformations = [*steps, _MarkBare()]

    def prepare_to_exit_span(
        self, id_: str, bound_args: Any, instance: Any = None, result: Any = None, **_: Any
    ) -> None:
        if isinstance(instance, IngestionPipeline) and isinstance(result, list):
            for node in result:
                node.embedding = node.embedding or None

    def prepare_to_drop_span(self, *_: Any, **__: Any) -> None:
        pass


def store_bare_nodes() -> None:
    """Watch pipelines; once for the process is enough."""
    root = get_dispatcher()
    if not any(isinstance(handler, _PipelineWatcher) for handler in root.span_handlers):
        root.span_handlers = [*root.span_handlers, _PipelineWatcher()]
