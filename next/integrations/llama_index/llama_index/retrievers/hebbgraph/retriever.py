"""HebbianRetriever: LlamaIndex's retriever over an index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self, TypedDict, Unpack

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.callbacks.base import CallbackManager
from llama_index.core.ingestion.pipeline import run_transformations
from llama_index.core.schema import (
    BaseNode,
    NodeWithScore,
    QueryBundle,
    QueryType,
    TransformComponent,
)
from llama_index.core.vector_stores.types import MetadataFilters

from hebbgraph import HebbianIndex, Recall, Strategy
from hebbgraph.access import Fields, Namespaces
from hebbgraph.errors import ParameterError
from hebbgraph.recall.strategies import RankStep
from llama_index.retrievers.hebbgraph.asking import Asking
from llama_index.retrievers.hebbgraph.embedding import NodeEmbedder
from llama_index.retrievers.hebbgraph.filters import of_nodes, to_where
from llama_index.retrievers.hebbgraph.nodes import listed, to_node
from llama_index.retrievers.hebbgraph.store import HebbianVectorStore, OpenOptions
from llama_index.retrievers.hebbgraph.transforms import HebbianNodeParser
from llama_index.retrievers.hebbgraph.writing import Closing, check_names, in_thread

__all__ = ["HebbianRetriever", "RetrieverOptions"]


class RetrieverOptions(TypedDict, total=False):
    """How a :class:`HebbianRetriever` asks."""

    similarity_top_k: int
    filters: MetadataFilters | None
    node_ids: Sequence[str] | None
    doc_ids: Sequence[str] | None
    filter_by: Callable[[Fields], MetadataFilters] | None
    namespace_by: Callable[[Fields], str] | None
    similarity_cutoff: float | None
    strategy: str | Strategy
    steps: Sequence[RankStep]
    callback_manager: CallbackManager | None
    object_map: dict[str, Any] | None
    verbose: bool


class Options(OpenOptions, RetrieverOptions, total=False):
    """Both."""


class HebbianRetriever(Closing, BaseRetriever):
    """Retrieve the nodes that are most active for a question.

    Parameters
    ----------
    index, path, embed_model
        As for :class:`HebbianVectorStore`.
    similarity_top_k : int
        How many nodes to return, 2 by default.
    filters : MetadataFilters, optional
        Nodes that it excludes have no part in the search.
    node_ids, doc_ids : sequence of str, optional
        Search only these nodes, or those of these documents.
    filter_by, namespace_by : callable, optional
        Make filters, as a rule of access, or choose the namespace, by what a request says: its
        instrument tags.
    similarity_cutoff : float, in [0, 1], optional
        Leave out nodes of a lower score.
    **options
        ``strategy``, ``steps``, and those of opening: as for :class:`hebbgraph.HebbianIndex`;
        ``callback_manager``, ``object_map``, ``verbose``: as for every retriever.

    Examples
    --------
    >>> from llama_index.core.schema import TextNode
    >>> nodes = [TextNode(text="Ida Moss built the Petrel."), TextNode(text="Owls hunt voles.")]
    >>> with HebbianRetriever.from_nodes(nodes, similarity_top_k=1) as retriever:
    ...     retriever.retrieve("Who built the Petrel?")[0].text
    'Ida Moss built the Petrel.'
    """

    def __init__(
        self,
        index: HebbianIndex | None = None,
        *,
        path: str | Path | None = None,
        embed_model: BaseEmbedding | None = None,
        **options: Unpack[Options],
    ) -> None:
        opening_names = OpenOptions.__annotations__
        check_names(options, {**opening_names, **RetrieverOptions.__annotations__}, "a retriever")
        given: dict[str, Any] = {**options}
        if index is None and path is None:
            raise ParameterError("pass an open HebbianIndex, or path=, such as path='memory.hebb'")
        opening: Any = {name: given.pop(name) for name in opening_names if name in given}
        framework = ("callback_manager", "object_map", "verbose")
        of_base = {name: given.pop(name) for name in framework if name in given}
        self.similarity_top_k: int = given.pop("similarity_top_k", 2)
        self.filters: MetadataFilters | None = given.pop("filters", None)
        self.node_ids: Sequence[str] | None = given.pop("node_ids", None)
        self.doc_ids: Sequence[str] | None = given.pop("doc_ids", None)
        to_where(self.filters)  # an invalid one is an error here
        self._store = HebbianVectorStore(index, path=path, embed_model=embed_model, **opening)
        self.index = self._store.index
        self._asking = Asking(Namespaces(self.index), **given)
        super().__init__(**of_base)

    @classmethod
    def from_nodes(
        cls,
        nodes: Sequence[BaseNode],
        *,
        path: str | Path = ":memory:",
        show_progress: bool = False,
        **options: Any,
    ) -> Self:
        """Open an index, add nodes, and return a retriever; the same nodes again change nothing."""
        retriever = cls(path=path, **options)
        with retriever.closed_on_error():
            retriever._store.add(nodes, show_progress=show_progress)
        return retriever

    @classmethod
    def from_documents(
        cls,
        documents: Sequence[BaseNode],
        *,
        transformations: Sequence[TransformComponent] | None = None,
        show_progress: bool = False,
        **options: Any,
    ) -> Self:
        """Split documents, by a :class:`HebbianNodeParser` or otherwise; see :meth:`from_nodes`."""
        steps = [HebbianNodeParser()] if transformations is None else transformations
        documents = listed(documents, "documents")
        nodes = run_transformations(documents, steps, show_progress=show_progress)
        return cls.from_nodes(list(nodes), show_progress=show_progress, **options)

    def recall(self, query: QueryType) -> Recall:
        """Return the recall behind a retrieval: ``recall[0].why``, ``recall.notes``, …"""
        bundle = query if isinstance(query, QueryBundle) else QueryBundle(query)
        wheres = [to_where(self.filters), *of_nodes(self.node_ids, self.doc_ids)]
        vector, embedder = bundle.embedding, self.index.embedder
        if vector is None and bundle.custom_embedding_strs and isinstance(embedder, NodeEmbedder):
            vector = embedder.embed_model.get_agg_embedding_from_queries(bundle.embedding_strs)
        return self._asking.recall(bundle.query_str, self.similarity_top_k, wheres, vector=vector)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        hits = self.recall(query_bundle)
        return [NodeWithScore(node=to_node(hit), score=float(hit.score)) for hit in hits]

    _aretrieve = in_thread(_retrieve)

    def close(self) -> None:
        """Close the index, unless it was opened elsewhere."""
        self._asking.namespaces.close()
        self._store.close()
