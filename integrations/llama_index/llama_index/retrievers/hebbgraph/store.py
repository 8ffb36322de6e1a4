"""HebbianVectorStore: an index where LlamaIndex expects a vector store."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Unpack

import fsspec
from llama_index.core import QueryBundle
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.span_handlers.base import BaseSpanHandler
from llama_index.core.schema import BaseNode, TransformComponent
from llama_index.core.vector_stores import VectorStoreQuery, VectorStoreQueryResult
from llama_index.core.vector_stores.types import BasePydanticVectorStore, MetadataFilters
from pydantic import PrivateAttr

from hebbgraph import HebbianIndex
from hebbgraph.access import OpenOptions
from hebbgraph.errors import ParameterError
from hebbgraph.index.session import in_thread
from llama_index.retrievers.hebbgraph.nodes import in_order, node_id_of, to_node, write_nodes
from llama_index.retrievers.hebbgraph.opening import Closing, open_index
from llama_index.retrievers.hebbgraph.retriever import HebbianRetriever, of_nodes, to_where

__all__ = ["HebbianVectorStore"]

_WORD_MODES = ("sparse", "text_search")
_MODES = ("default", "hybrid", "semantic_hybrid", *_WORD_MODES)


class HebbianVectorStore(Closing, BasePydanticVectorStore):
    """Store nodes in an index that learns; the sink of an ``IngestionPipeline``.

    Parameters
    ----------
    index : HebbianIndex, optional
        An open index, which stays the caller's to close.
    path : str or Path, optional
        Opens one: a directory, ``":memory:"`` by default, or the URL of a PostgreSQL database.
    embed_model : BaseEmbedding, optional
        With one, embeddings that nodes carry are stored, and bare nodes are embedded. Without,
        search is by words and links, and a pipeline stores its nodes all the same.
    **options
        As for :meth:`hebbgraph.HebbianIndex.open`.

    Examples
    --------
    >>> from llama_index.core.schema import TextNode
    >>> with HebbianVectorStore() as store:
    ...     ids = store.add([TextNode(id_="owls", text="Owls hunt voles.")])
    ...     store.query(VectorStoreQuery(query_str="What do owls hunt?")).ids
    ['owls']
    """

    stores_text: bool = True
    is_embedding_query: bool = False

    _index: HebbianIndex = PrivateAttr()
    _is_owner: bool = PrivateAttr()
    _retriever: HebbianRetriever = PrivateAttr()

    def __init__(
        self,
        index: HebbianIndex | None = None,
        *,
        path: str | Path | None = None,
        embed_model: BaseEmbedding | None = None,
        **options: Unpack[OpenOptions],
    ) -> None:
        opened, is_owner = open_index(index, path, embed_model, options)
        super().__init__(stores_text=True, is_embedding_query=opened.embedder is not None)
        self._index, self._is_owner = opened, is_owner
        self._retriever = HebbianRetriever(opened)
        _store_bare_nodes()

    @property
    def index(self) -> HebbianIndex:
        """The index."""
        return self._index

    client: ClassVar = index

    def add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """Add nodes, which are not modified, and return their ids; the same node replaces."""
        write_nodes(self._index, nodes, show_progress=bool(kwargs.get("show_progress")))
        return [node.node_id for node in nodes]

    def delete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        """Delete the nodes of a document; an unknown one is ignored."""
        self._index.delete(document_id=ref_doc_id)

    def delete_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None, **_: Any
    ) -> None:
        """Delete nodes by id, by filter, or those that fit both; without either, an error."""
        wheres = [*of_nodes(node_ids), to_where(filters)]
        if not any(wheres):
            raise ParameterError("delete_nodes takes node_ids or filters; clear() deletes all")
        self._index.delete(where={"$and": wheres})

    def clear(self) -> None:
        """Delete all nodes of this namespace."""
        self._index.delete(self._index.ids())

    def get_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        """Return nodes by id, by filter, or all, in the order of the ids or of their coming."""
        where = {"$and": [*of_nodes(node_ids), to_where(filters)]}
        nodes = [to_node(chunk) for chunk in in_order(self._index, where)]
        places = {id_: place for place, id_ in enumerate(node_ids or ())}
        return sorted(nodes, key=lambda node: places.get(node.node_id, 0))

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """Recall nodes for ``query_str``, for ``query_embedding``, or for both."""
        if query.mode not in _MODES:
            raise ParameterError(f"no query mode {query.mode!r} here; known are {_MODES}")
        for name in ("alpha", "sparse_top_k", "hybrid_top_k", "mmr_threshold"):
            if getattr(query, name) is not None:
                raise ParameterError(f"{name} has no meaning here; leave it out")
        by_words = query.mode in _WORD_MODES or not self.is_embedding_query
        if query.query_str is None and (by_words or query.query_embedding is None):
            raise ParameterError(
                "set query_str; query_embedding alone takes a store with embed_model="
            )
        # LlamaIndex's own retriever passes [] where it restricts nothing.
        wheres = [to_where(query.filters), *of_nodes(query.node_ids or None, query.doc_ids or None)]
        embedding = None if by_words else query.query_embedding
        bundle = QueryBundle(query.query_str or "", embedding=embedding)
        seeds = () if by_words else None
        recall = self._retriever.ask(bundle, query.similarity_top_k, wheres, seeds=seeds)
        return VectorStoreQueryResult(
            nodes=[to_node(hit) for hit in recall],
            similarities=[float(hit.score) for hit in recall],
            ids=[node_id_of(hit) for hit in recall],
        )

    async_add: ClassVar = in_thread(add)
    adelete: ClassVar = in_thread(delete)
    adelete_nodes: ClassVar = in_thread(delete_nodes)
    aclear: ClassVar = in_thread(clear)
    aget_nodes: ClassVar = in_thread(get_nodes)
    aquery: ClassVar = in_thread(query)

    def persist(self, persist_path: str, fs: fsspec.AbstractFileSystem | None = None) -> None:
        """Do nothing: what is written is stored at ``path``; an index in memory is an error."""
        if self._index._path == ":memory:":
            raise ParameterError("an index in memory cannot be persisted; make it with path=")

    def close(self) -> None:
        """Close the index, unless it was opened elsewhere."""
        if self._is_owner:
            self._index.close()


class _MarkBare(TransformComponent):
    """Gives bare nodes an empty embedding: a pipeline hands only embedded nodes to its store."""

    kind: str = "HebbgraphMarkBare"  # tells it apart in a pipeline's cache

    def __call__(self, nodes: Sequence[BaseNode], **kwargs: Any) -> Sequence[BaseNode]:
        for node in nodes:
            node.embedding = [] if node.embedding is None else node.embedding
        return nodes


class _PipelineWatcher(BaseSpanHandler[Any]):
    """Adds the transformation when a pipeline starts; takes empty embeddings back at its end."""

    def new_span(self, id_: str, bound_args: Any, instance: Any = None, *_: Any, **__: Any) -> None:
        store = getattr(instance, "vector_store", None)
        if isinstance(instance, IngestionPipeline) and isinstance(store, HebbianVectorStore):
            steps = [step for step in instance.transformations if type(step) is not _MarkBare]
            instance.transformations = [*steps, _MarkBare()]

    def prepare_to_exit_span(
        self, id_: str, bound_args: Any, instance: Any = None, result: Any = None, **_: Any
    ) -> None:
        if isinstance(instance, IngestionPipeline) and isinstance(result, list):
            for node in result:
                node.embedding = node.embedding or None

    def prepare_to_drop_span(self, *_: Any, **__: Any) -> None:
        pass


def _store_bare_nodes() -> None:
    """Watch pipelines; once for the process is enough."""
    root = get_dispatcher()
    if not any(isinstance(handler, _PipelineWatcher) for handler in root.span_handlers):
        root.span_handlers = [*root.span_handlers, _PipelineWatcher()]
