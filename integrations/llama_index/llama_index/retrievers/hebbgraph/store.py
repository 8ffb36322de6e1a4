"""HebbianVectorStore: a hebbgraph index where LlamaIndex expects a vector store."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from inspect import signature
from pathlib import Path
from typing import Any

import fsspec
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import BaseNode
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
    VectorStoreQueryResult,
)
from pydantic import PrivateAttr

from hebbgraph import HebbianIndex, ParameterError, Settings
from hebbgraph.adapters.questions import Question
from hebbgraph.arguments import check_k, check_names
from hebbgraph.calling import in_thread
from hebbgraph.citations import CLOSING_SECONDS, finish_learning
from hebbgraph.limits import MAX_K
from llama_index.retrievers.hebbgraph.embedding import LlamaIndexEmbedder
from llama_index.retrievers.hebbgraph.filters import to_where
from llama_index.retrievers.hebbgraph.nodes import chunk_to_node, node_to_chunk
from llama_index.retrievers.hebbgraph.parsing import leaves
from llama_index.retrievers.hebbgraph.recalling import MMR_CANDIDATES
from llama_index.retrievers.hebbgraph.requests import announce
from llama_index.retrievers.hebbgraph.writing import Written, write_nodes

__all__ = ["MEMORY", "HebbianVectorStore"]

logger = logging.getLogger(__name__)

MEMORY = ":memory:"
_PARENTS_NAMESPACE = "{} (parents of a hierarchy)"

_WORD_MODES = {VectorStoreQueryMode.SPARSE, VectorStoreQueryMode.TEXT_SEARCH}
_MODES = {
    VectorStoreQueryMode.DEFAULT,
    VectorStoreQueryMode.HYBRID,
    VectorStoreQueryMode.SEMANTIC_HYBRID,
    VectorStoreQueryMode.MMR,
    *_WORD_MODES,
}


class _Parents:
    """Stores the parents of an index's nodes in a separate namespace, opened when needed.

    In one graph with their children, they would make a tag of every phrase. Without a location,
    they are not stored.
    """

    def __init__(self, index: HebbianIndex, location: str | Path | None) -> None:
        self._location = location
        self._namespace = _PARENTS_NAMESPACE.format(index.namespace)
        self._opened: HebbianIndex | None = None
        if location is not None and self._namespace in index.namespaces():
            self._open(location)

    def _open(self, location: str | Path) -> HebbianIndex:
        if self._opened is None:
            self._opened = HebbianIndex.open(
                location, namespace=self._namespace, settings=Settings(text_tags=False)
            )
        return self._opened

    def put(self, nodes: Sequence[BaseNode], *, documents: Sequence[str] = ()) -> None:
        """Store the parents in a hierarchy of nodes; delete earlier ones of ``documents``."""
        if self._location is None:
            return
        leaf_ids = {node.node_id for node in leaves(nodes)}
        chunks = [node_to_chunk(node) for node in nodes if node.node_id not in leaf_ids]
        if documents and (chunks or self._opened is not None):
            self._open(self._location).refresh(chunks, document_ids=documents)
        elif chunks:
            self._open(self._location).add(chunks)

    def delete(self, ids: Sequence[str] = (), *, document_id: str | None = None) -> None:
        """Delete parents by id, or those of a document; absent ones are ignored."""
        if self._opened is not None and (ids or document_id is not None):
            self._opened.delete(ids or None, document_id=document_id)

    def clear(self) -> None:
        """Delete all parents."""
        if self._opened is not None:
            self.delete(self._opened.ids())

    def get(self, ids: Sequence[str]) -> list[BaseNode]:
        """Return parents by id; absent ones are left out."""
        return [] if self._opened is None else list(map(chunk_to_node, self._opened.get(ids)))

    def close(self) -> None:
        """Close the namespace if it was opened."""
        if self._opened is not None:
            self._opened.close()


class HebbianVectorStore(BasePydanticVectorStore):
    """The sink of an ``IngestionPipeline``, and a store under ``VectorStoreIndex``.

    When documents are added, changed or deleted, the graph equals one built from scratch.

    Parameters
    ----------
    index : HebbianIndex
        An open index; :meth:`open` opens one.
    is_embedding_query : bool
        Whether ``VectorStoreIndex`` embeds questions. False if the index was opened without an
        embedding model.

    Notes
    -----
    If the index has an embedding model, embeddings that nodes carry are stored, so nothing is
    embedded twice; otherwise they are ignored. In a pipeline that embeds nothing, put
    :class:`SkipEmbedding` last. Of a hierarchy, a store made by :meth:`open` searches the leaves;
    ``get_nodes`` also returns their parents.

    Examples
    --------
    >>> from llama_index.core import Document
    >>> from llama_index.core.ingestion import IngestionPipeline
    >>> from llama_index.retrievers.hebbgraph import HebbianNodeParser
    >>> from llama_index.retrievers.hebbgraph.tags import SkipEmbedding
    >>> store = HebbianVectorStore.open(":memory:")
    >>> pipeline = IngestionPipeline(
    ...     transformations=[HebbianNodeParser(), SkipEmbedding()], vector_store=store
    ... )
    >>> _ = pipeline.run(documents=[Document(text="Built by Ida Moss.", id_="petrel")])
    >>> store.index.stats().chunks
    1
    """

    stores_text: bool = True
    is_embedding_query: bool = False

    _index: HebbianIndex = PrivateAttr()
    _parents: _Parents = PrivateAttr()

    def __init__(self, index: HebbianIndex, *, is_embedding_query: bool = False) -> None:
        super().__init__(stores_text=True, is_embedding_query=is_embedding_query)
        self._index = index
        self._parents = _Parents(index, None)

    @classmethod
    def open(
        cls,
        location: str | Path,
        *,
        embed_model: BaseEmbedding | None = None,
        **options: Any,
    ) -> HebbianVectorStore:
        """Open the index at ``location``; ``options`` as for ``HebbianIndex.open``."""
        check_names(
            options,
            (*signature(HebbianIndex.open).parameters, "embed_model"),
            of="HebbianVectorStore.open",
            instead=dict.fromkeys(("embedding", "embeddings"), "write embed_model=..."),
        )
        if embed_model is not None:
            options["embedder"] = LlamaIndexEmbedder(embed_model)
        index = HebbianIndex.open(location, **options)
        store = cls(index, is_embedding_query=embed_model is not None)
        if "cache_dir" not in options:
            store._parents = _Parents(index, location)
        return store

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._index!r})"

    @classmethod
    def class_name(cls) -> str:
        """Class name."""
        return "HebbianVectorStore"

    @property
    def index(self) -> HebbianIndex:
        """The index."""
        return self._index

    @property
    def is_in_memory(self) -> bool:
        """Whether the index is lost with the process."""
        return self._index.parts.database.place == MEMORY

    client = index

    # -- writing ------------------------------------------------------------------------

    def add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """Add nodes and return their ids; the same id replaces."""
        written = self.write(nodes, show_progress=bool(kwargs.get("show_progress", False)))
        return [node.node_id for node in written.nodes]

    def write(self, nodes: Sequence[BaseNode], **options: Any) -> Written:
        """Write nodes as :func:`~.writing.write_nodes` does, and their parents apart."""
        written = write_nodes(self._index, nodes, **options)
        documents = written.documents if options.get("refresh") else ()
        self._parents.put(written.nodes, documents=documents)
        return written

    def delete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        """Delete the nodes of a document; an absent one is ignored."""
        self._index.delete(document_id=ref_doc_id)
        self._parents.delete(document_id=ref_doc_id)

    def delete_nodes(
        self,
        node_ids: list[str] | None = None,
        filters: MetadataFilters | None = None,
        **delete_kwargs: Any,
    ) -> None:
        """Delete nodes by id, by filter, or those that match both."""
        if node_ids is None and filters is None:
            raise ParameterError("delete_nodes takes node_ids or filters; clear() deletes all")
        if filters is not None:
            node_ids = [node.node_id for node in self.get_nodes(node_ids, filters)]
        if node_ids:
            self._index.delete(node_ids)
            self._parents.delete(node_ids)

    def clear(self) -> None:
        """Delete all nodes of this namespace."""
        if ids := self._index.ids():
            self._index.delete(ids)
        self._parents.clear()

    # -- reading ------------------------------------------------------------------------

    def get_nodes(
        self,
        node_ids: list[str] | None = None,
        filters: MetadataFilters | None = None,
    ) -> list[BaseNode]:
        """Return nodes by id (absent ones are left out), by filter, or all."""
        where = to_where(filters)
        if node_ids is None:
            node_ids = self._index.ids(where)
        elif where is not None:
            matching = set(self._index.ids(where))
            node_ids = [id_ for id_ in node_ids if id_ in matching]
        nodes = [chunk_to_node(chunk) for chunk in self._index.get(node_ids)]
        if where is None:
            missing = set(node_ids) - {node.node_id for node in nodes}
            nodes += self._parents.get([id_ for id_ in node_ids if id_ in missing])
        return nodes

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """Recall nodes for ``query_str``, and for ``query_embedding`` if it is there.

        The mode ``mmr`` chooses nodes that differ, the more so the lower ``mmr_threshold`` is (0
        to 1). The modes ``sparse`` and ``text_search`` ignore vectors.
        """
        if query.mode not in _MODES:
            known = ", ".join(sorted(mode.value for mode in _MODES))
            raise ParameterError(f"query mode {query.mode!r} is not supported; known are {known}")
        for name in ("alpha", "sparse_top_k", "hybrid_top_k"):
            if getattr(query, name, None) is not None:
                raise ParameterError(
                    f"{name} is not supported: the question decides how much words, vectors and "
                    "the graph weigh; leave it out"
                )
        if query.query_str is None:
            raise ParameterError("HebbianVectorStore searches by text too; set query_str")
        check_k(query.similarity_top_k, "similarity_top_k")
        if not query.query_str.strip():
            return VectorStoreQueryResult(nodes=[], similarities=[], ids=[])
        options: dict[str, Any] = {}
        if query.mode in _WORD_MODES:
            options["seeds"] = ()  # replace the search by vectors
        elif self.is_embedding_query and query.query_embedding is not None:
            options["vector"] = query.query_embedding
        diversity = None
        if query.mode == VectorStoreQueryMode.MMR:
            threshold = kwargs.get("mmr_threshold")
            threshold = query.mmr_threshold if threshold is None else threshold
            diversity = 0.5 if threshold is None else 1.0 - threshold
        found = Question(
            index=self._index,
            text=query.query_str,
            k=query.similarity_top_k,
            where=to_where(query.filters, node_ids=query.node_ids, doc_ids=query.doc_ids),
            diversity=diversity,
            n_candidates=min(MAX_K, MMR_CANDIDATES * query.similarity_top_k),
            options=options,
        ).ask()
        nodes = [chunk_to_node(hit.chunk) for hit in found.hits]
        announce(found.recall, self._index, nodes)
        return VectorStoreQueryResult(
            nodes=nodes,
            similarities=[hit.score for hit in found.hits],
            ids=[hit.chunk.id for hit in found.hits],
        )

    async_add = in_thread(add)  # type: ignore[arg-type]  # self
    adelete = in_thread(delete)  # type: ignore[arg-type]  # self
    adelete_nodes = in_thread(delete_nodes)  # type: ignore[arg-type]  # self
    aclear = in_thread(clear)  # type: ignore[arg-type]  # self
    aget_nodes = in_thread(get_nodes)  # type: ignore[arg-type]  # self
    aquery = in_thread(query)  # type: ignore[arg-type]  # self

    def close(self) -> None:
        """Close the index, once pending answers are learned; closing twice is fine."""
        finish_learning(CLOSING_SECONDS)
        self._parents.close()
        self._index.close()

    def persist(self, persist_path: str, fs: fsspec.AbstractFileSystem | None = None) -> None:
        """Do nothing: the index is stored in its directory as it is written.

        Reopen it by ``HebbianVectorStore.open(location)``; an index in memory is lost.
        """
        if self.is_in_memory:
            logger.warning("%r is in memory and is not persisted; open a directory", self._index)
