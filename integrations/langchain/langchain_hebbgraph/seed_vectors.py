"""The vectors of a store, by id: its own where it gives them back, or embedded when wanted."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import isfunction, signature
from typing import Any

from hebbgraph import HebbianIndex, ParameterError
from hebbgraph.protocols import VectorSource
from hebbgraph.recall.elsewhere import EmbeddedTexts, SeedVectors
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
        return _InMemory(store)
    if hasattr(store, "index_to_docstore_id"):
        return _Faiss(store)
    if (
        isfunction(get := getattr(type(store), "get", None))
        and "include" in signature(get).parameters
    ):
        return _Chroma(store)
    return None


class _InMemory:
    def __init__(self, store: InMemoryVectorStore) -> None:
        self._store = store

    def __call__(self, ids: Sequence[str], /) -> dict[str, Any]:
        held = self._store.store
        return {id_: held[id_]["vector"] for id_ in ids if id_ in held}


class _Chroma:
    """Chroma, and whatever has its ``get(ids, include=...)``."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def __call__(self, ids: Sequence[str], /) -> dict[str, Any]:
        found = self._store.get(ids=list(ids), include=["embeddings"])
        return dict(zip(found["ids"], found["embeddings"], strict=True))


class _Faiss:
    """FAISS, which numbers its vectors; a delete makes the store number them anew."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self._ids: dict[int, str] = {}
        self._numbers: dict[str, int] = {}

    def __call__(self, ids: Sequence[str], /) -> dict[str, Any]:
        of, numbers = self._store.index_to_docstore_id, self._numbers
        if of is not self._ids or len(of) != len(numbers):
            numbers = {id_: number for number, id_ in of.items()}
            self._ids, self._numbers = of, numbers
        index = self._store.index
        return {id_: index.reconstruct(numbers[id_]) for id_ in ids if id_ in numbers}
