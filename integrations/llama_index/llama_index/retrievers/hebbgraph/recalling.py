"""From a question to nodes: what a HebbianRetriever does when it is asked."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import partial, reduce
from typing import Any, Self

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.instrumentation.dispatcher import active_instrument_tags
from llama_index.core.memory.types import BaseMemory
from llama_index.core.schema import BaseNode, NodeWithScore, QueryBundle
from llama_index.core.vector_stores.types import MetadataFilters

from hebbgraph import (
    HebbianIndex,
    Hit,
    IndexPool,
    ParameterError,
    Recall,
)
from hebbgraph.adapters.diversity import diverse_hits
from hebbgraph.adapters.latest_recalls import Explaining, LatestRecalls
from hebbgraph.arguments import agreed_namespace, check_k
from hebbgraph.calling import Steps, astep, in_thread, step
from hebbgraph.filters import joined
from hebbgraph.limits import MAX_K
from hebbgraph.protocols import VectorSource
from hebbgraph.recall.options import check_query
from llama_index.retrievers.hebbgraph.conversation import (
    RecallBundle,
    asked_in_full,
    turns_of,
)
from llama_index.retrievers.hebbgraph.embedding import LlamaIndexEmbedder
from llama_index.retrievers.hebbgraph.events import announce
from llama_index.retrievers.hebbgraph.filters import to_where
from llama_index.retrievers.hebbgraph.nodes import (
    TRAIL_KEY,
    chunk_to_node,
    node_to_chunk,
)
from llama_index.retrievers.hebbgraph.options import SearchOptions
from llama_index.retrievers.hebbgraph.requested import NAMESPACE, asked_namespace
from llama_index.retrievers.hebbgraph.tags import set_hidden
from llama_index.retrievers.hebbgraph.wrapped import Wrapped

__all__ = ["DEFAULT_TOP_K", "RecallingRetriever"]

logger = logging.getLogger(__name__)

DEFAULT_TOP_K = 10
#: How often a recall is repeated without the nodes that another store has deleted.
_REPEATS = 4
#: With MMR, as many times k are chosen from.
_CHOICE = 4


#: Filters of ``narrowed`` that are in force, each with its retriever.
_NARROWED: ContextVar[tuple[tuple[object, dict[str, Any] | None], ...]] = ContextVar(
    "hebbgraph_narrowed", default=()
)


@dataclass
class _Asked:
    """One question, as it is put to an index."""

    index: HebbianIndex
    query: str
    k: int
    where: dict[str, Any] | None
    history: list[str]
    as_of: datetime | date | str | None
    seeds: list[NodeWithScore] | None = None
    vector: list[float] | None = None


class RecallingRetriever(Explaining, BaseRetriever):
    """Asks an index, and another retriever for seeds; :class:`HebbianRetriever` makes them."""

    def __init__(
        self,
        index: HebbianIndex | None,
        *,
        similarity_top_k: int = DEFAULT_TOP_K,
        filters: MetadataFilters | None = None,
        node_ids: list[str] | None = None,
        doc_ids: list[str] | None = None,
        embed_model: BaseEmbedding | None = None,
        memory: BaseMemory | None = None,
        mmr_threshold: float | None = None,
        include_path: bool = False,
        as_of: datetime | date | str | None = None,
        options: SearchOptions,
        **of_base: Any,
    ) -> None:
        super().__init__(**of_base)
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
        self._wrapped: Wrapped | None = None
        self._vectors: VectorSource | None = None
        self._embed_model = embed_model
        self._memory = memory
        self._latest: LatestRecalls[HebbianIndex] = LatestRecalls()
        self._told = False  # that nothing embeds what HyDE wrote

    @contextmanager
    def narrowed(
        self,
        filters: MetadataFilters | None = None,
        *,
        node_ids: list[str] | None = None,
        doc_ids: list[str] | None = None,
    ) -> Iterator[Self]:
        """Add filters to all that is asked within: by engines, tools and agents too.

        Parameters
        ----------
        filters, node_ids, doc_ids
            In force beside the retriever's own and a :class:`RecallBundle`'s: they narrow a search
            and never widen it. Of an empty list, nothing comes back.

        Examples
        --------
        ::

            with retriever.narrowed(MetadataFilters.from_dict({"owner": "ida"})):
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
        """The index; over a pool, that of the namespace that the present request names."""
        return self._index_of(None)

    def _index_of(self, namespace: str | None) -> HebbianIndex:
        """Return the index of a request; it may name a namespace itself, or by its tags."""
        asked = agreed_namespace(namespace, asked_namespace())
        if self._index is not None:
            if asked not in (None, self._index.namespace):
                raise ParameterError(
                    f"the request names namespace {asked!r}, and this retriever searches "
                    f"{self._index.namespace!r} alone; make it by from_pool"
                )
            return self._index
        assert self._pool is not None
        if (asked := asked or self.namespace) is None:
            raise ParameterError(
                "the request names no namespace; ask within "
                f'instrument_tags({{"{NAMESPACE}": ...}}), or with RecallBundle(namespace=...)'
            )
        return self._pool[str(asked)]

    # -- why --------------------------------------------------------------------------

    def _known(self, result: NodeWithScore | BaseNode | str) -> tuple[str, Any, Mapping[str, Any]]:
        own = result.node if isinstance(result, NodeWithScore) else result
        if not isinstance(own, BaseNode | str):
            raise ParameterError(f"why takes a node that came back, or its id; got {own!r:.80}")
        if isinstance(own, str):
            return own, None, {}
        return own.node_id, own, own.metadata.get(TRAIL_KEY) or {}

    def _whose(self, namespace: str | None) -> str | None:
        if self._index is not None:
            return self._index.namespace
        return agreed_namespace(namespace, asked_namespace()) or self.namespace

    @property
    def pool(self) -> IndexPool | None:
        """The pool whose namespaces it searches, if it was made by ``from_pool``."""
        return self._pool

    # -- asking -----------------------------------------------------------------------

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return step(self._steps(query_bundle))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await astep(self._steps(query_bundle))

    def _steps(self, bundle: QueryBundle) -> Steps[list[NodeWithScore]]:
        check_query(bundle.query_str)
        asked = self._asked(bundle)
        source, memory = self.options.source, self._memory
        if memory is not None and not asked.history:
            turns = turns_of((yield memory.get_all, memory.aget_all))
            # An engine that notes the question first has it in its memory already.
            asked.history = turns[:-1] if turns[-1:] == [asked.query] else turns
        model = self._model(asked.index, bundle)
        full = bundle
        if asked.history and (source is not None or model is not None):
            text = yield (
                partial(asked.index.in_full, asked.query, asked.history),
                partial(asked.index.ain_full, asked.query, asked.history),
            )
            full = asked_in_full(bundle, text)
        vector = full.embedding
        if vector is None and model is not None:
            strings = full.embedding_strs
            vector = yield (
                partial(model.get_agg_embedding_from_queries, strings),
                partial(model.aget_agg_embedding_from_queries, strings),
            )
        if source is not None:
            full = full if vector is None else replace(full, embedding=vector)
            asked.seeds = yield partial(source.retrieve, full), partial(source.aretrieve, full)
            vector = full.embedding  # some retrievers note it there
        asked.vector = bundle.embedding if vector is None else vector
        found: list[NodeWithScore] = yield (
            partial(self._found, asked),
            partial(in_thread(self._found), asked),
        )
        return found

    def _model(self, index: HebbianIndex, bundle: QueryBundle) -> BaseEmbedding | None:
        """Return what embeds this question here; None if nothing does, or the index does it."""
        if self.options.source is not None:  # it embeds, unless its vectors are compared with
            return None if self._vectors is None else self._embed_model
        if self._embed_model is not None or not bundle.custom_embedding_strs:
            return self._embed_model
        if isinstance(embedder := index.parts.embedder, LlamaIndexEmbedder):
            return embedder.embed_model
        if not self._told:
            self._told = True
            logger.warning(
                "custom_embedding_strs, such as those of HyDE, are not searched for, as no "
                "embed_model embeds them; the words of the question are"
            )
        return None

    def _asked(self, bundle: QueryBundle) -> _Asked:
        own = bundle if isinstance(bundle, RecallBundle) else RecallBundle(bundle.query_str)
        k = self.similarity_top_k if own.similarity_top_k is None else own.similarity_top_k
        check_k(k, "similarity_top_k")
        return _Asked(
            self._index_of(own.namespace),
            bundle.query_str,
            k,
            self._where(own.filters),
            list(own.history),
            self.as_of if own.as_of is None else own.as_of,
        )

    def _where(self, given: MetadataFilters | None) -> dict[str, Any] | None:
        """Return what a node has to pass: own filters, the question's and the request's."""
        rule = self.options.rule_for(dict(active_instrument_tags.get()))
        parts = [
            to_where(self.filters, node_ids=self.node_ids, doc_ids=self.doc_ids),
            to_where(given),
            *(where for whose, where in _NARROWED.get() if whose is self),
            to_where(rule, strict=True),
        ]
        return reduce(joined, parts)

    def _found(self, asked: _Asked) -> list[NodeWithScore]:
        recall, current = self._verified(asked, asked.where)
        hits: Sequence[Hit] = recall.hits
        if self.mmr_threshold is not None:
            hits = diverse_hits(hits, asked.k, diversity=1.0 - self.mmr_threshold)
        found = [
            NodeWithScore(node=node, score=hit.score)
            for hit in hits
            if (node := _node_of(hit, current)) is not None
        ]
        for one in found:
            if self.include_path:
                set_hidden(one.node, TRAIL_KEY, recall.trail(one.node_id))
            elif (hit := recall.hit(one.node_id)) is not None and hit.stale is not None:
                set_hidden(one.node, TRAIL_KEY, hit.stale_mark)
        self._latest.add(asked.index, recall, [one.node for one in found])
        announce(recall, asked.index, [one.node for one in found])
        if asked.seeds and asked.where is None:
            found = _with_unknown(asked.index, found, asked.seeds, asked.k)
        return found

    def _recall(self, asked: _Asked, where: dict[str, Any] | None) -> Recall:
        options: dict[str, Any] = {} if asked.vector is None else {"vector": asked.vector}
        if asked.seeds is not None:
            options["seeds"] = _scored(asked.seeds)
            if self._vectors is not None and asked.vector is not None:
                options["vectors"] = self._vectors
        k = asked.k if self.mmr_threshold is None else min(MAX_K, _CHOICE * asked.k)
        return asked.index.recall(
            asked.query,
            k=k,
            where=where,
            **self.options.for_recall,
            history=asked.history,
            as_of=asked.as_of,
            **options,
        )

    # -- a store that others write to -------------------------------------------------

    def _verified(
        self, asked: _Asked, where: dict[str, Any] | None
    ) -> tuple[Recall, Mapping[str, BaseNode]]:
        """Recall what a wrapped store still holds; return it, and the nodes as they are now."""
        recall = self._recall(asked, where)
        if self._wrapped is None:
            return recall, {}
        current = {seed.node_id: seed.node for seed in asked.seeds or ()}  # just found, so held
        witness = list(current)[:1]
        gone: list[str] = []
        for _ in range(_REPEATS):
            unseen = [hit.chunk.id for hit in recall.hits if hit.chunk.id not in current]
            told = self._wrapped.current([*witness, *unseen]) if unseen else {}
            # A store that does not know what its own search has just found cannot be asked.
            if told is None or (unseen and not told.keys() >= set(witness)):
                return recall, current
            current |= told
            missing = [id_ for id_ in unseen if id_ not in told]
            if not missing:
                break
            gone += missing
            recall = self._recall(asked, joined(where, {"$id": {"$nin": gone}}))
        else:  # still more is gone: rather too few than one of these
            kept = tuple(hit for hit in recall.hits if hit.chunk.id in current)
            recall = recall.model_copy(update={"hits": kept})
        if gone:
            logger.info(
                "%d nodes of %r are gone from the store; refresh() forgets them",
                len(gone),
                asked.index,
            )
        return recall, current


def _with_unknown(
    index: HebbianIndex, found: list[NodeWithScore], seeds: list[NodeWithScore], k: int
) -> list[NodeWithScore]:
    """Put seeds that the index does not hold where the source had them."""
    own = {one.node_id for one in found}
    missing = [seed.node_id for seed in seeds if seed.node_id not in own]
    held = index.holds(missing) if missing else set()
    missing = [id_ for id_ in missing if id_ not in held]
    if not missing:
        return found
    logger.info("%d seeds are not in %r; refresh() adds them", len(missing), index)
    for rank, seed in enumerate(seeds[:k]):
        if seed.node_id in missing:
            below = found[rank].score if rank < len(found) else found[-1].score if found else 0
            found.insert(rank, NodeWithScore(node=seed.node.model_copy(), score=below))
    return found[:k]


def _node_of(hit: Hit, current: Mapping[str, BaseNode]) -> BaseNode | None:
    """Make the node of a hit; of one that its store has changed, the node as it is now."""
    now = current.get(hit.chunk.id)
    if now is not None:
        chunk = node_to_chunk(now)
        if (chunk.text, chunk.title) != (hit.chunk.text, hit.chunk.title):
            return now.model_copy(deep=True, update={"embedding": None})
    return None if hit.lacks_text else chunk_to_node(hit.chunk)


def _scored(seeds: list[NodeWithScore]) -> list[tuple[str, float]]:
    """Ids and scores of seeds, best first; by rank if a score is missing."""
    if all(seed.score is not None for seed in seeds):
        return [(seed.node_id, float(seed.score or 0.0)) for seed in seeds]
    return [(seed.node_id, 1.0 / rank) for rank, seed in enumerate(seeds, 1)]
