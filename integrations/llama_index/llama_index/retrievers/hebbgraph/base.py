"""HebbianRetriever: recall from a hebbgraph index as a LlamaIndex retriever."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Unpack

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.callbacks.base import CallbackManager
from llama_index.core.indices.vector_store.base import VectorStoreIndex
from llama_index.core.indices.vector_store.retrievers import VectorIndexRetriever
from llama_index.core.memory.types import BaseMemory
from llama_index.core.node_parser import NodeParser
from llama_index.core.schema import (
    BaseNode,
    Document,
    IndexNode,
    NodeWithScore,
    QueryBundle,
    TransformComponent,
)
from llama_index.core.vector_stores.types import MetadataFilters

from hebbgraph import HebbianIndex, ParameterError, Recall, Settings
from hebbgraph.arguments import check_k
from hebbgraph.limits import MAX_QUERY_CHARACTERS
from llama_index.retrievers.hebbgraph.conversation import (
    ConversationBundle,
    asked_in_full,
    turns_of,
)
from llama_index.retrievers.hebbgraph.embedding import LlamaIndexEmbedder
from llama_index.retrievers.hebbgraph.events import announce
from llama_index.retrievers.hebbgraph.filters import to_where
from llama_index.retrievers.hebbgraph.nodes import chunk_to_node
from llama_index.retrievers.hebbgraph.options import (
    CommonOptions,
    IndexedOptions,
    NodeOptions,
    RetrieverOptions,
    Strategy,
    check_options,
    nodes_of,
)
from llama_index.retrievers.hebbgraph.parsing import HebbianNodeParser
from llama_index.retrievers.hebbgraph.texts import texts_of
from llama_index.retrievers.hebbgraph.writing import add_nodes, mirror

__all__ = ["DEFAULT_TOP_K", "HebbianRetriever", "Strategy"]

logger = logging.getLogger(__name__)

DEFAULT_TOP_K = 10
#: How many seeds a vector index is asked for; recall needs more than it returns.
_SEEDS = 50


_ARGUMENTS = sorted(IndexedOptions.__annotations__)
_OF_NODES = (
    *sorted({**RetrieverOptions.__annotations__, **NodeOptions.__annotations__}),
    "show_progress",
)
_OVER_STORES = (
    *sorted(CommonOptions.__annotations__),
    "filters",
    "nodes",
    "location",
    "namespace",
    "keep_text",
    "seed_top_k",
)
_INSTEAD_OVER_STORES = dict.fromkeys(
    ("embed_model", "embedding", "embedder"), "the vector index embeds, nothing is embedded twice"
)


class HebbianRetriever(BaseRetriever):
    """Retrieves the chunks that a question activates, and learns through a CitationLearner.

    Parameters
    ----------
    index : HebbianIndex
        Shared, not copied; one index serves many retrievers and threads.
    similarity_top_k : int
        How many nodes come back, whenever as many pass the filters.
    filters : MetadataFilters, optional
        All operators, nested as you like. A node that is filtered out neither comes back
        nor passes activation on.
    node_ids, doc_ids : list of str, optional
        Only these nodes; only nodes of these documents.
    strategy : str
        See ``HebbianIndex.recall``.
    source : BaseRetriever, optional
        Another retriever over the same nodes. Its results are the seeds that activation
        starts from, in place of hebbgraph's own search. Give it the same filters, and a
        top k of 50 or so. Nodes that the index does not hold keep the rank that the
        source gave them (with filters here, they are left out).
    embed_model : BaseEmbedding, optional
        Embeds questions, if the index was opened with a ``LlamaIndexEmbedder`` of it: on
        the event loop for async calls, and over ``QueryBundle.custom_embedding_strs``.
    memory : BaseMemory, optional
        That of the chat engine which asks. A follow-up ("and in winter?") is understood
        from the user's messages in it, without a model. A :class:`ConversationBundle`
        carries its own.
    callback_manager, object_map, objects, verbose
        As for every LlamaIndex retriever.

    Notes
    -----
    ``similarity_top_k``, ``filters``, ``node_ids``, ``doc_ids`` and ``strategy`` are plain
    attributes. Scores stand in ``NodeWithScore.score`` alone, the nodes are new copies.

    Examples
    --------
    >>> from llama_index.core.schema import TextNode
    >>> nodes = [
    ...     TextNode(text="The Petrel was built by Ida Moss.", metadata={"title": "Petrel"}),
    ...     TextNode(text="Ida Moss was born in Tessel Bay.", metadata={"title": "Ida Moss"}),
    ... ]
    >>> retriever = HebbianRetriever.from_nodes(nodes, similarity_top_k=2)
    >>> found = retriever.retrieve("Where was the builder of the Petrel born?")
    >>> [one.metadata["title"] for one in found]
    ['Petrel', 'Ida Moss']
    """

    def __init__(
        self,
        index: HebbianIndex,
        *,
        similarity_top_k: int = DEFAULT_TOP_K,
        filters: MetadataFilters | None = None,
        node_ids: list[str] | None = None,
        doc_ids: list[str] | None = None,
        strategy: Strategy = "spreading",
        source: BaseRetriever | None = None,
        embed_model: BaseEmbedding | None = None,
        memory: BaseMemory | None = None,
        callback_manager: CallbackManager | None = None,
        object_map: dict[str, Any] | None = None,
        objects: list[IndexNode] | None = None,
        verbose: bool = False,
    ) -> None:
        if not isinstance(index, HebbianIndex):
            raise ParameterError(
                f"index is a HebbianIndex, got {index!r:.80}; HebbianIndex.open(...) opens one"
            )
        check_options(
            {
                "similarity_top_k": similarity_top_k,
                "filters": filters,
                "node_ids": node_ids,
                "doc_ids": doc_ids,
                "strategy": strategy,
                "source": source,
                "embed_model": embed_model,
            },
            known=_ARGUMENTS,
        )
        super().__init__(
            callback_manager=callback_manager,
            object_map=object_map,
            objects=objects,
            verbose=verbose,
        )
        self.index = index
        self.similarity_top_k = similarity_top_k
        self.filters = filters
        self.node_ids = node_ids
        self.doc_ids = doc_ids
        self.strategy: Strategy = strategy
        self._source = source
        self._embed_model = embed_model
        self._memory = memory

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.index!r}, similarity_top_k={self.similarity_top_k})"

    # -- making one -----------------------------------------------------------------

    @classmethod
    def from_index(cls, index: HebbianIndex, **options: Unpack[IndexedOptions]) -> HebbianRetriever:
        """Retrieve from an index that is open; ``options`` as for the constructor."""
        check_options(options, known=_ARGUMENTS)
        return cls(index, **options)

    @classmethod
    def from_nodes(
        cls,
        nodes: Sequence[BaseNode],
        *,
        location: str | Path = ":memory:",
        namespace: str = "default",
        embed_model: BaseEmbedding | None = None,
        edges: Sequence[str] | None = None,
        show_progress: bool = False,
        **options: Unpack[RetrieverOptions],
    ) -> HebbianRetriever:
        """Add nodes to an index and retrieve from it.

        All arguments are checked before anything is opened or embedded.

        Parameters
        ----------
        nodes : sequence of BaseNode
            Embeddings that they carry are used, if there is an ``embed_model``.
        location : str or Path
            A directory, a database URL or ``":memory:"``. Nodes that the index already
            holds unchanged cost nothing and keep what was learned about them.
        namespace : str
            The tenant.
        embed_model : BaseEmbedding, optional
            Without it nothing is embedded, and it works.
        edges : sequence of str, optional
            Metadata fields whose values join nodes; see ``HebbianIndex.open``.
        show_progress : bool
            Show progress bars.
        **options
            As for the constructor.
        """
        check_options({**options, "embed_model": embed_model}, known=_OF_NODES)
        nodes = nodes_of(nodes)
        index = HebbianIndex.open(
            location,
            namespace=namespace,
            embedder=None if embed_model is None else LlamaIndexEmbedder(embed_model),
            edges=edges,
        )
        add_nodes(index, nodes, show_progress=show_progress)
        objects = [node for node in nodes if isinstance(node, IndexNode) and node.obj is not None]
        return cls(index, embed_model=embed_model, objects=objects or None, **options)

    @classmethod
    def from_documents(
        cls,
        documents: Sequence[Document],
        *,
        node_parser: NodeParser | None = None,
        transformations: Sequence[TransformComponent] | None = None,
        show_progress: bool = False,
        **options: Unpack[NodeOptions],
    ) -> HebbianRetriever:
        """Cut documents into nodes, add them to an index and retrieve from it.

        Parameters
        ----------
        documents : sequence of Document
            Their ids should last; see :class:`HebbianNodeParser`.
        node_parser : NodeParser, optional
            Left out, a :class:`HebbianNodeParser`.
        transformations : sequence of TransformComponent, optional
            In place of a node parser.
        show_progress : bool
            Show progress bars.
        **options
            As for :meth:`from_nodes` and the constructor.
        """
        check_options(options, known=(*_OF_NODES, "node_parser", "transformations"))
        nodes: Sequence[BaseNode] = nodes_of(documents, "documents")
        for step in transformations or [node_parser or HebbianNodeParser()]:
            nodes = step(nodes, show_progress=show_progress)
        return cls.from_nodes(nodes, show_progress=show_progress, **options)

    @classmethod
    def from_vector_store_index(
        cls,
        vector_index: VectorStoreIndex,
        *,
        nodes: Sequence[BaseNode] | None = None,
        location: str | Path = ":memory:",
        namespace: str = "default",
        filters: MetadataFilters | None = None,
        keep_text: bool = True,
        seed_top_k: int = _SEEDS,
        **options: Unpack[CommonOptions],
    ) -> HebbianRetriever:
        """Retrieve over an existing vector index; nothing is embedded twice.

        Parameters
        ----------
        vector_index : VectorStoreIndex
            Searches for the seeds, with its own embedding model.
        nodes : sequence of BaseNode, optional
            Left out, those that the vector index can list. The index at ``location``
            afterwards holds these and no others; call :meth:`refresh` after changes.
        location, namespace
            As for :meth:`from_nodes`.
        filters : MetadataFilters, optional
            In force in both; what the vector store cannot do it must not be given.
        keep_text : bool
            If false, the index at ``location`` keeps no copy of the texts: the docstore of
            the vector index gives them back, or its vector store. Nodes that neither has
            any longer do not come back.
        seed_top_k : int
            How many seeds the vector index is asked for.
        **options
            As for the constructor.
        """
        check_options(
            {**options, "filters": filters}, known=_OVER_STORES, instead=_INSTEAD_OVER_STORES
        )
        if not isinstance(vector_index, VectorStoreIndex):
            raise ParameterError(
                f"vector_index is a VectorStoreIndex, got {type(vector_index).__name__}"
            )
        index = HebbianIndex.open(
            location,
            namespace=namespace,
            settings=Settings(keep_text=keep_text),
            texts=None if keep_text else texts_of(vector_index),
        )
        mirror(index, vector_index, nodes)
        # Unlike as_retriever(), this also finds nodes that are inserted later.
        source = VectorIndexRetriever(
            vector_index,
            similarity_top_k=seed_top_k,
            filters=filters,
            object_map=vector_index._object_map,
        )
        return cls(index, source=source, filters=filters, **options)

    def refresh(
        self, vector_index: VectorStoreIndex, nodes: Sequence[BaseNode] | None = None
    ) -> None:
        """Bring the graph to what a vector index holds now: adds, changes and deletes."""
        mirror(self.index, vector_index, nodes)

    # -- asking ---------------------------------------------------------------------

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        query = query_bundle.query_str[:MAX_QUERY_CHARACTERS]
        history: Sequence[str] = ()
        if isinstance(query_bundle, ConversationBundle):
            history = query_bundle.history
        elif self._memory is not None:
            history = turns_of(self._memory.get_all())
        full = query_bundle
        if self._source is not None and history and query.strip():
            full = asked_in_full(query_bundle, self.index.in_full(query, history))
        seeds = None if self._source is None else self._source.retrieve(full)
        if not query.strip():
            return (seeds or [])[: self.similarity_top_k]
        vector = query_bundle.embedding
        if vector is None and self._embed_model is not None and self._source is None:
            strings = query_bundle.embedding_strs
            vector = self._embed_model.get_agg_embedding_from_queries(strings)
        recall = self.index.recall(query, history=history, **self._options(seeds, vector))
        return self._results(recall, seeds)

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        query = query_bundle.query_str[:MAX_QUERY_CHARACTERS]
        history: Sequence[str] = ()
        if isinstance(query_bundle, ConversationBundle):
            history = query_bundle.history
        elif self._memory is not None:
            history = turns_of(await self._memory.aget_all())
        full = query_bundle
        if self._source is not None and history and query.strip():
            full = asked_in_full(query_bundle, await self.index.ain_full(query, history))
        seeds = None if self._source is None else await self._source.aretrieve(full)
        if not query.strip():
            return (seeds or [])[: self.similarity_top_k]
        vector = query_bundle.embedding
        if vector is None and self._embed_model is not None and self._source is None:
            strings = query_bundle.embedding_strs
            vector = await self._embed_model.aget_agg_embedding_from_queries(strings)
        recall = await self.index.arecall(query, history=history, **self._options(seeds, vector))
        return self._results(recall, seeds)

    def _options(
        self, seeds: list[NodeWithScore] | None, vector: list[float] | None
    ) -> dict[str, Any]:
        check_k(self.similarity_top_k, "similarity_top_k")
        options: dict[str, Any] = {
            "k": self.similarity_top_k,
            "where": to_where(self.filters, node_ids=self.node_ids, doc_ids=self.doc_ids),
            "strategy": self.strategy,
        }
        if seeds is not None:
            options["seeds"] = _scored(seeds)
        if vector is not None:
            options["vector"] = vector
        return options

    def _results(self, recall: Recall, seeds: list[NodeWithScore] | None) -> list[NodeWithScore]:
        found = [
            NodeWithScore(node=chunk_to_node(hit.chunk), score=hit.score)
            for hit in recall.hits
            if not hit.lacks_text
        ]
        announce(recall, self.index, [one.node for one in found])
        if seeds and not (self.filters or self.node_ids or self.doc_ids):
            found = self._with_unknown(found, seeds)
        return found

    def _with_unknown(
        self, found: list[NodeWithScore], seeds: list[NodeWithScore]
    ) -> list[NodeWithScore]:
        """Put seeds that the index does not hold where the source had them."""
        own = {one.node_id for one in found}
        missing = [seed.node_id for seed in seeds if seed.node_id not in own]
        if not missing:
            return found
        held = self.index.holds(missing)
        missing = [id_ for id_ in missing if id_ not in held]
        if not missing:
            return found
        logger.info("%d seeds are not in %r; refresh() adds them", len(missing), self.index)
        for rank, seed in enumerate(seeds[: self.similarity_top_k]):
            if seed.node_id in missing:
                below = found[rank].score if rank < len(found) else found[-1].score if found else 0
                found.insert(rank, NodeWithScore(node=seed.node.model_copy(), score=below))
        return found[: self.similarity_top_k]


def _scored(seeds: list[NodeWithScore]) -> list[tuple[str, float]]:
    """Ids and scores of seeds, best first; by rank if a score is missing."""
    if all(seed.score is not None for seed in seeds):
        return [(seed.node_id, float(seed.score or 0.0)) for seed in seeds]
    return [(seed.node_id, 1.0 / rank) for rank, seed in enumerate(seeds, 1)]
