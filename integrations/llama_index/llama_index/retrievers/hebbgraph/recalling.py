"""How a HebbianRetriever answers a question: from the query bundle to nodes."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from datetime import date, datetime
from functools import partial, reduce
from typing import Any, Self

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.instrumentation.dispatcher import active_instrument_tags
from llama_index.core.memory.types import BaseMemory
from llama_index.core.schema import BaseNode, NodeWithScore, QueryBundle
from llama_index.core.vector_stores.types import MetadataFilters

from hebbgraph import HebbianIndex, Hit, IndexPool, ParameterError
from hebbgraph.adapters.latest_recalls import Explaining, LatestRecalls
from hebbgraph.adapters.questions import Found, Question
from hebbgraph.arguments import check_k
from hebbgraph.calling import Steps, astep, in_thread, step, twins
from hebbgraph.filters import joined
from hebbgraph.limits import MAX_K
from hebbgraph.protocols import VectorSource
from hebbgraph.recall.options import check_query
from llama_index.retrievers.hebbgraph.embedding import LlamaIndexEmbedder
from llama_index.retrievers.hebbgraph.filters import to_where
from llama_index.retrievers.hebbgraph.nodes import (
    TRAIL_KEY,
    chunk_to_node,
    node_to_chunk,
    set_hidden,
)
from llama_index.retrievers.hebbgraph.options import SearchOptions
from llama_index.retrievers.hebbgraph.requests import (
    NAMESPACE,
    RecallBundle,
    announce,
    requested_namespace,
    user_turns,
)
from llama_index.retrievers.hebbgraph.wrapped import WrappedIndex

__all__ = ["MMR_CANDIDATES", "RecallingRetriever"]

logger = logging.getLogger(__name__)

#: MMR chooses among this many times k hits.
MMR_CANDIDATES = 4

#: Filters of ``narrowed`` in force, each with its retriever.
_NARROWED: ContextVar[tuple[tuple[object, dict[str, Any] | None], ...]] = ContextVar(
    "hebbgraph_narrowed", default=()
)


class RecallingRetriever(Explaining, BaseRetriever):
    """The part of a :class:`HebbianRetriever` that answers questions."""

    naming_hint = (
        f'ask within instrument_tags({{"{NAMESPACE}": ...}}), or with RecallBundle(namespace=...)'
    )

    def __init__(
        self,
        index: HebbianIndex | None,
        *,
        similarity_top_k: int = 10,
        filters: MetadataFilters | None = None,
        node_ids: list[str] | None = None,
        doc_ids: list[str] | None = None,
        embed_model: BaseEmbedding | None = None,
        memory: BaseMemory | None = None,
        mmr_threshold: float | None = None,
        include_path: bool = False,
        as_of: datetime | date | str | None = None,
        options: SearchOptions,
        **base_options: Any,
    ) -> None:
        super().__init__(**base_options)
        self.similarity_top_k = similarity_top_k
        self.filters = filters
        self.node_ids = node_ids
        self.doc_ids = doc_ids
        self.mmr_threshold = mmr_threshold
        self.include_path = include_path
        self.as_of = as_of
        self.options = options
        self.namespace: str | None = None
        self._index = index
        self._pool: IndexPool | None = None
        self._wrapped: WrappedIndex | None = None
        self._vectors: VectorSource | None = None
        self._embed_model = embed_model
        self._memory = memory
        self._latest: LatestRecalls[HebbianIndex] = LatestRecalls()
        self._has_warned = False

    @contextmanager
    def narrowed(
        self,
        filters: MetadataFilters | None = None,
        *,
        node_ids: list[str] | None = None,
        doc_ids: list[str] | None = None,
    ) -> Iterator[Self]:
        """Add filters to every question within the block, also of engines, tools and agents.

        Parameters
        ----------
        filters, node_ids, doc_ids
            In addition to the retriever's own and a :class:`RecallBundle`'s. An empty list lets
            nothing pass.

        Examples
        --------
        ::

            owner = MetadataFilter(key="owner", value="ida")
            with retriever.narrowed(MetadataFilters(filters=[owner])):
                query_engine.query("Where does my boat lie?")
        """
        where = to_where(filters, node_ids=node_ids, doc_ids=doc_ids, strict=True)
        token = _NARROWED.set((*_NARROWED.get(), (self, where)))
        try:
            yield self
        finally:
            _NARROWED.reset(token)

    @property
    def index(self) -> HebbianIndex:
        """The index; over a pool, that of the namespace that the current request names."""
        index: HebbianIndex = self._index_of(None)
        return index

    def _home(self) -> tuple[HebbianIndex | None, IndexPool | None, str | None]:
        return self._index, self._pool, self.namespace

    def _requested_namespace(self) -> str | None:
        return requested_namespace()

    # -- why (hebbgraph.adapters.latest_recalls.Explaining) ---------------------------------------

    def _known(self, result: NodeWithScore | BaseNode) -> tuple[str, Any, Mapping[str, Any]]:
        node = result.node if isinstance(result, NodeWithScore) else result
        if not isinstance(node, BaseNode):
            raise ParameterError(f"why takes a retrieved node or its id, got {node!r:.80}")
        return node.node_id, node, node.metadata.get(TRAIL_KEY) or {}

    # -- asking -------------------------------------------------------------------------

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return step(self._steps(query_bundle))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await astep(self._steps(query_bundle))

    def _steps(self, bundle: QueryBundle) -> Steps[list[NodeWithScore]]:
        check_query(bundle.query_str)
        question = self._question(bundle)
        source, memory = self.options.source, self._memory
        history = question.options["history"]
        if memory is not None and not history:
            turns = user_turns((yield twins(memory, "get_all")))
            # Some engines put the question into the memory before they retrieve.
            history = turns[:-1] if turns[-1:] == [question.text] else turns
            question.options["history"] = history
        model = self._query_model(question.index, bundle)
        has_reader = source is not None or model is not None
        if history and has_reader and bundle.embedding is None:
            text = yield twins(question.index, "in_full", question.text, history)
            if text != bundle.query_str:
                bundle = replace(bundle, query_str=text)
        vector, seeds = bundle.embedding, None
        if vector is None and model is not None:
            vector = yield twins(model, "get_agg_embedding_from_queries", bundle.embedding_strs)
        if source is not None:
            if vector is not None:  # an array would do for most stores, not for Chroma
                bundle = replace(bundle, embedding=[float(number) for number in vector])
            seeds = yield twins(source, "retrieve", bundle)
            vector = bundle.embedding  # some retrievers set it
            question.options["seeds"] = _scores(seeds)
        if vector is not None:
            question.options["vector"] = vector
            if source is not None and self._vectors is not None:
                question.options["vectors"] = self._vectors
        nodes: list[NodeWithScore] = yield (
            partial(self._nodes, question, seeds),
            partial(in_thread(self._nodes), question, seeds),
        )
        return nodes

    def _question(self, bundle: QueryBundle) -> Question:
        settings = bundle if isinstance(bundle, RecallBundle) else RecallBundle(bundle.query_str)
        if (k := settings.similarity_top_k) is None:
            k = self.similarity_top_k
        check_k(k, "similarity_top_k")
        rule = self.options.rule_for(dict(active_instrument_tags.get()))
        filters = [
            to_where(self.filters, node_ids=self.node_ids, doc_ids=self.doc_ids),
            to_where(settings.filters),
            *(where for retriever, where in _NARROWED.get() if retriever is self),
            to_where(rule, strict=True),
        ]
        as_of = self.as_of if settings.as_of is None else settings.as_of
        mmr = self.mmr_threshold
        return Question(
            index=self._index_of(settings.namespace),
            text=bundle.query_str,
            k=k,
            where=reduce(joined, filters),
            diversity=None if mmr is None else 1.0 - mmr,
            n_candidates=min(MAX_K, MMR_CANDIDATES * k),
            options={**self.options.for_recall, "history": list(settings.history), "as_of": as_of},
        )

    def _query_model(self, index: HebbianIndex, bundle: QueryBundle) -> BaseEmbedding | None:
        """Return the model that embeds the question here; None to leave it to the index."""
        if self.options.source is not None:  # it embeds the question, for its own search
            return None if self._vectors is None else self._embed_model
        if self._embed_model is not None or not bundle.custom_embedding_strs:
            return self._embed_model
        if isinstance(embedder := index.parts.embedder, LlamaIndexEmbedder):
            return embedder.embed_model
        if not self._has_warned:
            self._has_warned = True
            logger.warning(
                "custom_embedding_strs, such as those of HyDE, are ignored without an embed_model; "
                "only the words of the question are searched"
            )
        return None

    def _nodes(self, question: Question, seeds: list[NodeWithScore] | None) -> list[NodeWithScore]:
        found: Found[BaseNode]
        if self._wrapped is None:
            found = question.ask()
        else:
            nodes_by_id = {seed.node_id: seed.node for seed in seeds or ()}
            witness = next(iter(nodes_by_id), None)
            found = question.ask_stored(nodes_by_id, self._wrapped.current, witness=witness)
        results = []
        for hit in found.hits:
            node = _node_of(hit, found.current)
            if self.include_path:
                set_hidden(node, TRAIL_KEY, found.recall.trail(hit.chunk.id))
            elif hit.stale is not None:
                set_hidden(node, TRAIL_KEY, hit.stale_mark)
            results.append(NodeWithScore(node=node, score=hit.score))
        nodes = [result.node for result in results]
        self._latest.add(question.index, found.recall, nodes)
        announce(found.recall, question.index, nodes)
        if seeds and question.where is None:
            results = _with_unknown_seeds(question, seeds, results)
        return results


def _node_of(hit: Hit, current: Mapping[str, BaseNode]) -> BaseNode:
    """Return the node of a hit, as it is now if it was edited."""
    if (node := current.get(hit.chunk.id)) is not None:
        chunk = node_to_chunk(node)
        if (chunk.text, chunk.title) != (hit.chunk.text, hit.chunk.title):
            return node.model_copy(deep=True, update={"embedding": None})
    return chunk_to_node(hit.chunk)


def _with_unknown_seeds(
    question: Question, seeds: list[NodeWithScore], results: list[NodeWithScore]
) -> list[NodeWithScore]:
    """Insert seeds that the index does not hold at the rank that the source gave them."""
    returned = {result.node_id for result in results}
    missing = [seed.node_id for seed in seeds if seed.node_id not in returned]
    unknown = set(missing) - question.index.holds(missing) if missing else set()
    if not unknown:
        return results
    logger.info("%d seeds are not in %r; refresh() adds them", len(unknown), question.index)
    results = list(results)
    for rank, seed in enumerate(seeds[: question.k]):
        if seed.node_id in unknown:
            score = results[min(rank, len(results) - 1)].score if results else 0.0
            results.insert(rank, NodeWithScore(node=seed.node.model_copy(), score=score))
    return results[: question.k]


def _scores(seeds: list[NodeWithScore]) -> list[tuple[str, float]]:
    """Return ids and scores of seeds, best first; scores follow the rank if one is missing."""
    if all(seed.score is not None for seed in seeds):
        return [(seed.node_id, float(seed.score or 0.0)) for seed in seeds]
    return [(seed.node_id, 1.0 / rank) for rank, seed in enumerate(seeds, 1)]
