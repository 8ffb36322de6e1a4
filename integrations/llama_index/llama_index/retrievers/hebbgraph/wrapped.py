"""The vector index beneath a retriever: reads and writes its nodes, reads its vectors."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any

from llama_index.core.indices.utils import embed_nodes
from llama_index.core.indices.vector_store.base import VectorStoreIndex
from llama_index.core.schema import BaseNode, MetadataMode
from llama_index.core.vector_stores.simple import SimpleVectorStore
from llama_index.core.vector_stores.types import MetadataFilters

from hebbgraph import ParameterError
from hebbgraph.adapters.seed_vectors import (
    EmbeddedTexts,
    NumberedVectors,
    SeedVectors,
    included_vectors,
)
from hebbgraph.protocols import VectorSource

__all__ = ["WrappedIndex"]

logger = logging.getLogger(__name__)

_UNSUPPORTED = (NotImplementedError, AttributeError, TypeError, ValueError)


class WrappedIndex:
    """Reads a vector index that others write to, and writes the retriever's nodes to it.

    What counts is what the vector store holds: LlamaIndex leaves deleted nodes in the docstore
    unless told otherwise.
    """

    def __init__(self, vector_index: VectorStoreIndex) -> None:
        if not isinstance(vector_index, VectorStoreIndex):
            raise ParameterError(
                f"vector_index is a VectorStoreIndex, got {type(vector_index).__name__}"
            )
        self.vector_index = vector_index
        self._has_warned = False

    def nodes(self) -> list[BaseNode]:
        """Return all nodes.

        Raises
        ------
        ParameterError
            If the vector store cannot list its nodes.
        """
        store, docstore = self.vector_index.vector_store, self.vector_index.docstore
        if not store.stores_text:
            return docstore.get_nodes(self._stored(docstore.docs), raise_error=False)
        try:
            try:
                return list(store.get_nodes(None))
            except AssertionError:  # PGVectorStore requires filters, even empty ones
                return list(store.get_nodes(filters=MetadataFilters(filters=[])))
        except _UNSUPPORTED as error:
            if documents := list(docstore.docs.values()):
                return documents
            raise ParameterError(
                f"{type(store).__name__} cannot list its nodes; pass them as nodes=[...]"
            ) from error

    def current(self, ids: Sequence[str]) -> dict[str, BaseNode] | None:
        """Return the stored ones of these nodes, as they are now; None if the store cannot tell."""
        store = self.vector_index.vector_store
        if not ids:
            return {}
        try:
            if store.stores_text:
                nodes = store.get_nodes(node_ids=list(ids))
            else:
                docstore = self.vector_index.docstore
                nodes = docstore.get_nodes(self._stored(ids), raise_error=False)
        except _UNSUPPORTED as error:
            if not self._has_warned:
                self._has_warned = True
                logger.warning(
                    "%s cannot return nodes by id (%r), so nodes that are deleted or edited there "
                    "come back unchanged until refresh()",
                    type(store).__name__,
                    error,
                )
            return None
        return {node.node_id: node for node in nodes}

    def vectors(self, source: SeedVectors) -> VectorSource | None:
        """Return a source of the nodes' vectors by id; None if there is none."""
        store = self.vector_index.vector_store
        client: Any = getattr(store, "client", None)
        if callable(source):
            return source
        if source == "embed":
            return EmbeddedTexts(
                self._embedded_texts, self.vector_index._embed_model.get_text_embedding_batch
            )
        if isinstance(store, SimpleVectorStore):
            return lambda ids: {
                id_: store.data.embedding_dict[id_]
                for id_ in ids
                if id_ in store.data.embedding_dict
            }
        if hasattr(client, "reconstruct"):  # FAISS
            return NumberedVectors(
                lambda: self.vector_index.index_struct.nodes_dict, client.reconstruct
            )
        return included_vectors(client.get) if type(client).__name__ == "Collection" else None

    def put(self, nodes: Sequence[BaseNode], replaced: Sequence[str] = ()) -> None:
        """Delete the nodes with the ``replaced`` ids, then insert these.

        Raises
        ------
        ParameterError
            If the vector store cannot delete nodes.
        """
        nodes = [node.model_copy() for node in nodes]
        vectors = embed_nodes(nodes, self.vector_index._embed_model)  # may fail: before deleting
        for node in nodes:
            node.embedding = vectors[node.node_id]
        self.delete(replaced)
        self.vector_index.insert_nodes(nodes)

    def delete(self, ids: Sequence[str] = (), document_id: str | None = None) -> None:
        """Delete nodes by id, and all nodes of a document; absent ones are ignored.

        Raises
        ------
        ParameterError
            If the vector store cannot delete nodes.
        """
        ids = self._deletable(ids, document_id)
        try:
            if ids:
                self.vector_index.delete_nodes(ids, delete_from_docstore=True)
            if document_id is not None:
                self.vector_index.delete_ref_doc(document_id, delete_from_docstore=True)
        except (NotImplementedError, AttributeError) as error:
            raise ParameterError(
                f"{type(self.vector_index.vector_store).__name__} cannot delete nodes, so nothing "
                "was changed; make a new vector index of the remaining nodes"
            ) from error

    def _deletable(self, ids: Iterable[str], document_id: str | None) -> list[str]:
        """Leave out ids that were deleted before, at which LlamaIndex would fail halfway.

        Removes what an earlier delete left of the document in the docstore.
        """
        index = self.vector_index
        if index.vector_store.stores_text and not index._store_nodes_override:
            return list(ids)
        nodes, docstore = index.index_struct.nodes_dict, index.docstore
        document = None if document_id is None else docstore.get_ref_doc_info(document_id)
        for id_ in [] if document is None else list(document.node_ids):
            if id_ not in nodes:
                docstore.delete_document(id_, raise_error=False)
        return [id_ for id_ in dict.fromkeys(ids) if id_ in nodes]

    def _stored(self, ids: Iterable[str]) -> list[str]:
        """Return those ids whose vectors the store holds."""
        store = self.vector_index.vector_store
        if isinstance(store, SimpleVectorStore):
            return [id_ for id_ in ids if id_ in store.data.embedding_dict]
        stored = set(self.vector_index.index_struct.nodes_dict.values())
        return [id_ for id_ in ids if id_ in stored]

    def _embedded_texts(self, ids: Sequence[str]) -> dict[str, str]:
        nodes = self.current(ids) or {}
        return {
            id_: node.get_content(metadata_mode=MetadataMode.EMBED) for id_, node in nodes.items()
        }
