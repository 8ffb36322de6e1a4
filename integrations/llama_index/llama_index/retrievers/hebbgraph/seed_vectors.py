"""The vectors of a vector index, by node id: the store's own, or embedded when wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llama_index.core.indices.vector_store.base import VectorStoreIndex
from llama_index.core.schema import BaseNode, MetadataMode
from llama_index.core.vector_stores.simple import SimpleVectorStore

from hebbgraph.protocols import VectorSource
from hebbgraph.recall.elsewhere import EmbeddedTexts, SeedVectors
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
        return _Simple(store)
    client = getattr(store, "client", None)
    if hasattr(client, "reconstruct"):
        return _Faiss(vector_index, client)
    if type(client).__name__ == "Collection":
        return _Chroma(client)
    return None


def _embedded_texts(nodes: Mapping[str, BaseNode]) -> dict[str, str]:
    return {id_: node.get_content(metadata_mode=MetadataMode.EMBED) for id_, node in nodes.items()}


class _Simple:
    def __init__(self, store: SimpleVectorStore) -> None:
        self._store = store

    def __call__(self, ids: Sequence[str], /) -> dict[str, Any]:
        held = self._store.data.embedding_dict
        return {id_: held[id_] for id_ in ids if id_ in held}


class _Chroma:
    """A collection of Chroma."""

    def __init__(self, collection: Any) -> None:
        self._collection = collection

    def __call__(self, ids: Sequence[str], /) -> dict[str, Any]:
        found = self._collection.get(ids=list(ids), include=["embeddings"])
        return dict(zip(found["ids"], found["embeddings"], strict=True))


class _Faiss:
    """FAISS, whose numbers the vector index keeps."""

    def __init__(self, vector_index: VectorStoreIndex, faiss_index: Any) -> None:
        self._vector_index = vector_index
        self._faiss_index = faiss_index
        self._numbers: dict[str, int] = {}

    def __call__(self, ids: Sequence[str], /) -> dict[str, Any]:
        of, numbers = self._vector_index.index_struct.nodes_dict, self._numbers
        if len(of) != len(numbers):  # nothing is ever deleted from it
            numbers = self._numbers = {id_: int(number) for number, id_ in of.items()}
        read = self._faiss_index.reconstruct
        return {id_: read(numbers[id_]) for id_ in ids if id_ in numbers}
