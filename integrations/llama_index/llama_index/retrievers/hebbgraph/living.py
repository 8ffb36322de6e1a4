"""Documents that come, change and go: what keeps a HebbianRetriever up to date."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from llama_index.core.indices.vector_store.base import VectorStoreIndex
from llama_index.core.schema import BaseNode

from hebbgraph import AddReport, HebbianIndex, ParameterError
from hebbgraph.calling import Closing, in_thread
from hebbgraph.citations import CLOSING_SECONDS, finish_learning
from hebbgraph.ingest import OnError
from llama_index.retrievers.hebbgraph.options import nodes_of
from llama_index.retrievers.hebbgraph.parsing import Cutting, leaves
from llama_index.retrievers.hebbgraph.recalling import RecallingRetriever
from llama_index.retrievers.hebbgraph.wrapped import Wrapped
from llama_index.retrievers.hebbgraph.writing import write_documents, write_nodes

__all__ = ["LivingRetriever", "searched"]

logger = logging.getLogger(__name__)


class LivingRetriever(Closing, RecallingRetriever):
    """Writes to the index that it asks; :class:`HebbianRetriever` makes them."""

    def __init__(self, index: HebbianIndex | None, **options: Any) -> None:
        super().__init__(index, **options)
        self._cut = Cutting()
        self._owns_index = False

    def add(
        self,
        documents: Sequence[BaseNode],
        *,
        on_error: OnError = "raise",
        strict: bool = False,
        show_progress: bool = False,
    ) -> AddReport:
        """Add documents; a node with the same id is replaced, and nothing else.

        See :meth:`refresh` for documents that have changed. Over a vector index, they are added
        to that index too, which embeds them.

        Parameters
        ----------
        documents : sequence of Document or BaseNode
            Documents are cut as :meth:`from_documents` cut them; nodes are taken as they are.
        on_error, strict, show_progress
            As for ``HebbianIndex.add``.
        """
        done = write_documents(
            self.index,
            nodes_of(documents, "documents"),
            self._cut,
            on_error=on_error,
            strict=strict,
            show_progress=show_progress,
            wrapped=self._wrapped,
        )
        searched(done.nodes)
        return done.report

    def delete(self, ids: Sequence[str] | None = None, *, document_id: str | None = None) -> int:
        """Delete nodes by id, or all of a document; return how many were deleted.

        Over a vector index, from there too.
        """
        if self._wrapped is not None:
            self._wrapped.delete(ids or (), document_id)
        return self.index.delete(ids, document_id=document_id)

    def refresh(
        self,
        documents: Sequence[BaseNode] | VectorStoreIndex | None = None,
        nodes: Sequence[BaseNode] | None = None,
        *,
        delete_missing: bool = False,
    ) -> AddReport:
        """Put whole documents in the place of their former selves.

        Parameters
        ----------
        documents : sequence of Document, optional
            Of nodes, all that their documents have now. What has not changed is not written
            again. Over a vector index, leave it out: the graph then holds what that index holds
            now, and nothing else.
        nodes : sequence of BaseNode, optional
            For a vector index that cannot list its nodes.
        delete_missing : bool
            Whether documents that are not among these are deleted.
        """
        if documents is None or isinstance(documents, VectorStoreIndex):
            return self._mirror(None if documents is None else Wrapped(documents), nodes)
        done = write_documents(
            self.index,
            nodes_of(documents, "documents"),
            self._cut,
            refresh=True,
            delete_missing=delete_missing,
            wrapped=self._wrapped,
        )
        return done.report

    def _mirror(self, wrapped: Wrapped | None, nodes: Sequence[BaseNode] | None) -> AddReport:
        """Make the index hold what a vector index holds, and nothing else."""
        if (wrapped := wrapped or self._wrapped) is None:
            raise ParameterError("refresh takes documents; only over a vector index it needs none")
        own = wrapped.nodes() if nodes is None else nodes_of(nodes)
        return write_nodes(self.index, own, refresh=True, delete_missing=True).report

    aadd = in_thread(add)
    adelete = in_thread(delete)
    arefresh = in_thread(refresh)

    # -- life -------------------------------------------------------------------------

    def close(self) -> None:
        """Close the index, if this retriever has opened it, once what was cited is learned.

        An index that was handed in stays open.
        """
        if self._owns_index and self._index is not None:
            finish_learning(CLOSING_SECONDS)
            self._index.close()


def searched(nodes: Sequence[BaseNode]) -> list[BaseNode]:
    """Return the leaves of a hierarchy, and say that there are parents."""
    found = leaves(nodes)
    if len(found) < len(nodes):
        logger.info(
            "%d nodes are parents of others and are not searched; "
            "HebbianGraphIndex keeps them, and merges into them",
            len(nodes) - len(found),
        )
    return found
