"""A vector index beneath a retriever: what it holds, how that reads now, and writing to it."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from llama_index.core.indices.utils import embed_nodes
from llama_index.core.indices.vector_store.base import VectorStoreIndex
from llama_index.core.schema import BaseNode
from llama_index.core.vector_stores.simple import SimpleVectorStore
from llama_index.core.vector_stores.types import MetadataFilters

from hebbgraph import ParameterError

__all__ = ["Wrapped"]

logger = logging.getLogger(__name__)

_CANNOT = (NotImplementedError, AttributeError, TypeError, ValueError)


class Wrapped:
    """Reads a vector index that others write to, and writes to it what the retriever is handed.

    A node counts as held if the vector store holds it: LlamaIndex leaves deleted nodes in the
    docstore unless told otherwise.

    Parameters
    ----------
    vector_index : VectorStoreIndex
    """

    def __init__(self, vector_index: VectorStoreIndex) -> None:
        if not isinstance(vector_index, VectorStoreIndex):
            raise ParameterError(
                f"vector_index is a VectorStoreIndex, got {type(vector_index).__name__}"
            )
        self.vector_index = vector_index
        self._can_tell = True

    def nodes(self) -> list[BaseNode]:
        """Return all nodes.

        Raises
        ------
        ParameterError
            If the vector store cannot list what it holds.
        """
        store, docstore = self.vector_index.vector_store, self.vector_index.docstore
        if not store.stores_text:
            return docstore.get_nodes(self._held(docstore.docs), raise_error=False)
        try:
            try:
                return list(store.get_nodes(None))
            except AssertionError:  # PGVectorStore's: it wants filters then, if empty ones
                return list(store.get_nodes(filters=MetadataFilters(filters=[])))
        except _CANNOT as error:
            if listed := list(docstore.docs.values()):
                return listed
            raise ParameterError(
                f"{type(store).__name__} cannot list its nodes; pass them as nodes=[...]"
            ) from error

    def current(self, ids: Sequence[str]) -> dict[str, BaseNode] | None:
        """Return those of these nodes that are held, as they are now; None if nobody can tell."""
        store, docstore = self.vector_index.vector_store, self.vector_index.docstore
        if not ids:
            return {}
        if not store.stores_text:
            found = docstore.get_nodes(self._held(ids), raise_error=False)
            return {node.node_id: node for node in found}
        try:
            return {node.node_id: node for node in store.get_nodes(node_ids=list(ids))}
        except _CANNOT as error:
            if self._can_tell:
                self._can_tell = False
                logger.warning(
                    "%s cannot be asked for nodes by id (%s): what is deleted or edited there "
                    "comes back as it was until refresh()",
                    type(store).__name__,
                    error,
                )
            return None

    def put(self, nodes: Sequence[BaseNode], replacing: Sequence[str] = ()) -> None:
        """Insert nodes, once those with some ids are deleted.

        Raises
        ------
        ParameterError
            If the vector store cannot delete nodes.
        """
        nodes = [node.model_copy() for node in nodes]
        vectors = embed_nodes(nodes, self.vector_index._embed_model)  # before anything is deleted
        for node in nodes:
            node.embedding = vectors[node.node_id]
        self.delete(replacing)
        self.vector_index.insert_nodes(nodes)

    def delete(self, ids: Sequence[str] = (), document_id: str | None = None) -> None:
        """Delete nodes by id, and all of a document; what is not there is passed over.

        Raises
        ------
        ParameterError
            If the vector store cannot.
        """
        ids = self._leave_out_the_gone(ids, document_id)
        try:
            if ids:
                self.vector_index.delete_nodes(ids, delete_from_docstore=True)
            if document_id is not None:
                self.vector_index.delete_ref_doc(document_id, delete_from_docstore=True)
        except (NotImplementedError, AttributeError) as error:
            raise ParameterError(
                f"{type(self.vector_index.vector_store).__name__} cannot delete nodes, so nothing "
                "was changed; make a new vector index of the nodes that are to stay"
            ) from error

    def _leave_out_the_gone(self, ids: Iterable[str], document_id: str | None) -> list[str]:
        """Return the ids that LlamaIndex can delete: it fails halfway at those it has deleted.

        Of a document, what a former delete left in the docstore is dropped from there.
        """
        index = self.vector_index
        if index.vector_store.stores_text and not index._store_nodes_override:
            return list(ids)
        listed, docstore = index.index_struct.nodes_dict, index.docstore
        info = None if document_id is None else docstore.get_ref_doc_info(document_id)
        for gone in [] if info is None else [id_ for id_ in info.node_ids if id_ not in listed]:
            docstore.delete_document(gone, raise_error=False)
        return [id_ for id_ in dict.fromkeys(ids) if id_ in listed]

    def _held(self, ids: Iterable[str]) -> list[str]:
        """Return those of these nodes whose vectors are held."""
        store = self.vector_index.vector_store
        if isinstance(store, SimpleVectorStore):
            return [id_ for id_ in ids if id_ in store.data.embedding_dict]
        held = set(self.vector_index.index_struct.nodes_dict.values())
        return [id_ for id_ in ids if id_ in held]
