"""Documents that come, change and go: what keeps a HebbianRetriever up to date."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from llama_index.core.indices.vector_store.base import VectorStoreIndex
from llama_index.core.schema import BaseNode

from hebbgraph import AddReport, HebbianIndex, ParameterError
from hebbgraph.intake import OnError
from llama_index.retrievers.hebbgraph.options import nodes_of
from llama_index.retrievers.hebbgraph.parsing import Cutting, leaves
from llama_index.retrievers.hebbgraph.recalling import RecallingRetriever
from llama_index.retrievers.hebbgraph.wrapped import Wrapped
from llama_index.retrievers.hebbgraph.writing import mirror, replace_documents

__all__ = ["LivingRetriever", "searched"]

logger = logging.getLogger(__name__)


class LivingRetriever(RecallingRetriever):
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
        """Add documents, each in the place of its former self.

        Over a vector index, to that index too, which embeds them.

        Parameters
        ----------
        documents : sequence of Document or BaseNode
            Documents are cut as :meth:`from_documents` cut them; nodes are taken as they are.
        on_error, strict, show_progress
            As for ``HebbianIndex.add``.
        """
        own = nodes_of(documents, "documents")
        done = replace_documents(
            self.index,
            own,
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
        """Bring the graph to what the documents are now.

        Parameters
        ----------
        documents : sequence of Document, optional
            What has not changed is not written again. Over a vector index, leave it out: the
            graph then holds what that index holds now, and nothing else.
        nodes : sequence of BaseNode, optional
            For a vector index that cannot list its nodes.
        delete_missing : bool
            Whether documents that are not among these are deleted.
        """
        if isinstance(documents, VectorStoreIndex):
            return self._mirror(Wrapped(documents), nodes)
        if documents is not None:
            own = nodes_of(documents, "documents")
            return replace_documents(
                self.index,
                own,
                self._cut,
                delete_missing=delete_missing,
                wrapped=self._wrapped,
            ).report
        if self._wrapped is None:
            raise ParameterError("refresh takes documents; only over a vector index it needs none")
        return self._mirror(self._wrapped, nodes)

    def _mirror(self, wrapped: Wrapped, nodes: Sequence[BaseNode] | None) -> AddReport:
        return mirror(self.index, wrapped.nodes() if nodes is None else nodes_of(nodes))

    async def aadd(self, documents: Sequence[BaseNode], **options: Any) -> AddReport:
        """Async twin of :meth:`add`."""
        return await asyncio.to_thread(self.add, documents, **options)

    async def adelete(
        self, ids: Sequence[str] | None = None, *, document_id: str | None = None
    ) -> int:
        """Async twin of :meth:`delete`."""
        return await asyncio.to_thread(self.delete, ids, document_id=document_id)

    async def arefresh(
        self, documents: Sequence[BaseNode] | None = None, *, delete_missing: bool = False
    ) -> AddReport:
        """Async twin of :meth:`refresh`."""
        return await asyncio.to_thread(self.refresh, documents, delete_missing=delete_missing)

    # -- life -------------------------------------------------------------------------

    def close(self) -> None:
        """Close the index, if this retriever has opened it; one that was handed in stays open."""
        if self._owns_index and self._index is not None:
            self._index.close()

    async def aclose(self) -> None:
        """Async twin of :meth:`close`."""
        await asyncio.to_thread(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    @contextmanager
    def _closed_on_error(self) -> Iterator[None]:
        """Close what was opened for a retriever that nobody will get."""
        try:
            yield
        except BaseException:
            self.close()
            raise


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
