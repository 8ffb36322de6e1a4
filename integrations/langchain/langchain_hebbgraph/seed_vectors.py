"""The vectors of a store, by id: its own where it gives them back, or embedded when wanted."""

from __future__ import annotations

from functools import partial
from inspect import isfunction, signature
from typing import Any

from hebbgraph import HebbianIndex, ParameterError
from hebbgraph.adapters.seed_vectors import (
    EmbeddedTexts,
    NumberedVectors,
    SeedVectors,
    included_vectors,
)
from hebbgraph.protocols import VectorSource
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

__all__ = ["vectors_of"]


def vectors_of(store: Any, way: SeedVectors, index: HebbianIndex) -> VectorSource | None:
    """Return what reads the vectors of a store's documents; None if nothing does.

    Parameters
    ----------
    store : VectorStore or BaseRetriever
    way : callable, "embed" or None
    index : HebbianIndex
        What knows the texts.
    """
    if not isinstance(store, VectorStore) or store.embeddings is None:
        if way is not None:
            raise ParameterError(
                f"seed_vectors needs a vector store with embeddings, got {type(store).__name__}; "
                "the question is embedded too"
            )
        return None
    if callable(way):
        return way
    if way == "embed":
        return EmbeddedTexts(
            lambda ids: {chunk.id: chunk.text for chunk in index.get(ids)},
            store.embeddings.embed_documents,
        )
    if isinstance(store, InMemoryVectorStore):
        return _in_memory(store)
    if hasattr(store, "index_to_docstore_id"):
        faiss: Any = store
        return NumberedVectors(
            lambda: faiss.index_to_docstore_id, lambda number: faiss.index.reconstruct(number)
        )
    if (
        isfunction(get := getattr(type(store), "get", None))
        and "include" in signature(get).parameters
    ):
        return included_vectors(partial(get, store))
    return None


def _in_memory(store: InMemoryVectorStore) -> VectorSource:
    return lambda ids: {id_: store.store[id_]["vector"] for id_ in ids if id_ in store.store}
