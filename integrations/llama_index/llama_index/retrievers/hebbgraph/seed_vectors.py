"""The vectors of a vector index, by node id: the store's own, or embedded when wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llama_index.core.schema import BaseNode, MetadataMode
from llama_index.core.vector_stores.simple import SimpleVectorStore

from hebbgraph.adapters.seed_vectors import (
    EmbeddedTexts,
    NumberedVectors,
    SeedVectors,
    included_vectors,
)
from hebbgraph.protocols import VectorSource
from llama_index.retrievers.hebbgraph.wrapped import Wrapped

__all__ = ["vectors_of"]


def vectors_of(wrapped: Wrapped, way: SeedVectors) -> VectorSource | None:
    """Return what reads the vectors of a vector index; None if nothing does."""
    vector_index = wrapped.vector_index
    store = vector_index.vector_store
    if callable(way):
        return way
    if way == "embed":
        return EmbeddedTexts(
            lambda ids: _embedded_texts(wrapped.current(ids) or {}),
            vector_index._embed_model.get_text_embedding_batch,
        )
    if isinstance(store, SimpleVectorStore):
        return _simple(store)
    client: Any = getattr(store, "client", None)
    if hasattr(client, "reconstruct"):
        return NumberedVectors(lambda: vector_index.index_struct.nodes_dict, client.reconstruct)
    if type(client).__name__ == "Collection":
        return included_vectors(client.get)
    return None


def _embedded_texts(nodes: Mapping[str, BaseNode]) -> dict[str, str]:
    return {id_: node.get_content(metadata_mode=MetadataMode.EMBED) for id_, node in nodes.items()}


def _simple(store: SimpleVectorStore) -> VectorSource:
    def vectors(ids: Sequence[str], /) -> dict[str, Any]:
        held = store.data.embedding_dict
        return {id_: held[id_] for id_ in ids if id_ in held}

    return vectors
