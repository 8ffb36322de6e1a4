"""Reads texts from a LlamaIndex store, for an index that keeps none."""

from __future__ import annotations

from collections.abc import Sequence

from llama_index.core.indices.vector_store.base import VectorStoreIndex
from llama_index.core.storage.docstore.types import BaseDocumentStore

from hebbgraph import Chunk
from hebbgraph.protocols import TextSource
from llama_index.retrievers.hebbgraph.nodes import node_to_chunk

__all__ = ["texts_of"]


def texts_of(store: VectorStoreIndex | BaseDocumentStore) -> TextSource:
    """Read texts from a store, for an index opened with ``Settings(keep_text=False)``.

    Parameters
    ----------
    store : VectorStoreIndex or BaseDocumentStore
        Of a vector index, the docstore is read first, then the vector store.

    Examples
    --------
    >>> from llama_index.core.schema import TextNode
    >>> from llama_index.core.storage.docstore import SimpleDocumentStore
    >>> store = SimpleDocumentStore()
    >>> store.add_documents([TextNode(id_="a", text="Owls hunt at night.")])
    >>> texts_of(store)(["a", "b"])
    {'a': 'Owls hunt at night.'}
    """
    docstore = store if isinstance(store, BaseDocumentStore) else store.docstore

    def texts(ids: Sequence[str], /) -> dict[str, str | Chunk | None]:
        nodes = docstore.get_nodes(list(ids), raise_error=False)
        missing = list(set(ids) - {node.node_id for node in nodes})
        if missing and not isinstance(store, BaseDocumentStore) and store.vector_store.stores_text:
            nodes += store.vector_store.get_nodes(node_ids=missing)
        return {node.node_id: node_to_chunk(node).text for node in nodes}

    return texts
