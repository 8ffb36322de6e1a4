"""Reads texts from a LlamaIndex store, for an index that keeps none itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from llama_index.core.indices.vector_store.base import VectorStoreIndex
from llama_index.core.schema import BaseNode
from llama_index.core.storage.docstore.types import BaseDocumentStore

from hebbgraph import Chunk
from hebbgraph.protocols import TextSource
from llama_index.retrievers.hebbgraph.nodes import node_to_chunk

__all__ = ["texts_of"]


def texts_of(store: VectorStoreIndex | BaseDocumentStore) -> TextSource:
    """Let a store give back the texts of an index opened with ``Settings(keep_text=False)``.

    Parameters
    ----------
    store : VectorStoreIndex or BaseDocumentStore
        For a vector index, its docstore is asked first, then its vector store.

    Examples
    --------
    >>> from llama_index.core.schema import TextNode
    >>> from llama_index.core.storage.docstore import SimpleDocumentStore
    >>> store = SimpleDocumentStore()
    >>> store.add_documents([TextNode(id_="a", text="Owls hunt at night.")])
    >>> texts_of(store)(["a", "b"])
    {'a': 'Owls hunt at night.'}
    """

    def texts(ids: Sequence[str], /) -> dict[str, str | Chunk | None]:
        return {node.node_id: node_to_chunk(node).text for node in _nodes(store, list(ids))}

    return texts


def _nodes(store: VectorStoreIndex | BaseDocumentStore, ids: list[str]) -> Iterable[BaseNode]:
    if isinstance(store, BaseDocumentStore):
        return store.get_nodes(ids, raise_error=False)
    found = store.docstore.get_nodes(ids, raise_error=False)
    held = {node.node_id for node in found}
    rest = [id_ for id_ in ids if id_ not in held]
    if rest and store.vector_store.stores_text:
        found += store.vector_store.get_nodes(node_ids=rest)
    return found
