"""A vector index that somebody else writes to: which nodes it holds, and how they read now."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from llama_index.core.indices.vector_store.base import VectorStoreIndex
from llama_index.core.schema import BaseNode
from llama_index.core.vector_stores.simple import SimpleVectorStore

from hebbgraph import ParameterError

__all__ = ["Wrapped"]

logger = logging.getLogger(__name__)

_CANNOT = (NotImplementedError, AttributeError, TypeError, ValueError)


class Wrapped:
    """Reads a vector index, and never writes to it.

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
            return list(store.get_nodes(None))
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

    def _held(self, ids: Iterable[str]) -> list[str]:
        """Return those of these nodes whose vectors are held."""
        store = self.vector_index.vector_store
        if isinstance(store, SimpleVectorStore):
            return [id_ for id_ in ids if id_ in store.data.embedding_dict]
        held = set(self.vector_index.index_struct.nodes_dict.values())
        return [id_ for id_ in ids if id_ in held]
