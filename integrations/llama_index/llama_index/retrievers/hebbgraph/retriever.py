"""HebbianRetriever: LlamaIndex's retriever, from a question to a recall with all that restricts it.

What a request says are its instrument tags: ``with instrument_tags({"user_id": "ann"}):``.
:mod:`hebbgraph.access` has the order of precedence: what the application binds always wins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self, TypedDict, Unpack

from llama_index.core import QueryBundle, VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.callbacks.base import CallbackManager
from llama_index.core.ingestion.pipeline import run_transformations
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.events.base import BaseEvent
from llama_index.core.schema import BaseNode, NodeWithScore, QueryType
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
)
from llama_index_instrumentation.dispatcher import active_instrument_tags
from pydantic import Field, SkipValidation

from hebbgraph import AddReport, HebbianIndex, Recall, Strategy
from hebbgraph.access import Fields, Namespaces, OpenOptions, fields_of, is_empty, joined, ruled
from hebbgraph.errors import FilterError, ParameterError, check_share, check_whole
from hebbgraph.index.session import in_thread
from hebbgraph.recall.strategies import RankStep
from hebbgraph.records.base import MAX_K
from hebbgraph.text.query import usable_question
from llama_index.retrievers.hebbgraph.nodes import NODE_KEY, listed, to_node, write_nodes
from llama_index.retrievers.hebbgraph.opening import OPENING, Closing, check_names, open_index
from llama_index.retrievers.hebbgraph.over_index import MARGIN, IndexBeneath, renewed
from llama_index.retrievers.hebbgraph.transforms import HebbianNodeParser

__all__ = ["HebbianRetriever", "RecallEvent", "RetrieverOptions", "of_nodes", "to_where"]

_SIGNS = {"==": "$eq", "!=": "$ne", ">": "$gt", ">=": "$gte", "<": "$lt", "<=": "$lte"}
_dispatcher = get_dispatcher(__name__)


class RecallEvent(BaseEvent):
    """Announces a recall to learners, in the span of its retrieval; its log has no text."""

    recall: SkipValidation[Recall] = Field(exclude=True, repr=False)
    index: SkipValidation[Any] = Field(exclude=True, repr=False)
    fields: SkipValidation[Any] = Field(exclude=True, repr=False)
    learner: SkipValidation[Any] = Field(None, exclude=True, repr=False)


class RetrieverOptions(TypedDict, total=False):
    """How a :class:`HebbianRetriever` asks."""

    similarity_top_k: int
    filters: MetadataFilters | None
    node_ids: Sequence[str] | None
    doc_ids: Sequence[str] | None
    filter_by: Callable[[Fields], MetadataFilters] | None
    namespace_by: Callable[[Fields], str] | None
    similarity_cutoff: float | None
    vector_index: VectorStoreIndex | None
    seed_kwargs: Mapping[str, Any]
    strategy: str | Strategy
    steps: Sequence[RankStep]
    callback_manager: CallbackManager | None
    object_map: dict[str, Any] | None
    verbose: bool


class _Options(OpenOptions, RetrieverOptions, total=False):
    pass


_DEFAULTS: RetrieverOptions = {"similarity_top_k": 2, "strategy": "spreading", "steps": ()}
_OF_BASE = ("callback_manager", "object_map", "verbose")


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
        Make filters, or choose the namespace, by a request's instrument tags: rules of access.
    similarity_cutoff : float, in [0, 1], optional
        Leave out nodes of a lower score.
    vector_index : VectorStoreIndex, optional
        Yours, searched for seeds (``seed_kwargs`` go to its retriever) in place of own vectors. Its
        nodes are copied. What is gone there never comes back, and what has changed comes back new.
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
        **options: Unpack[_Options],
    ) -> None:
        given: Any = {**_DEFAULTS, **options}
        check_names(given, {*OPENING, *RetrieverOptions.__annotations__}, "a retriever")
        if index is None and path is None:
            raise ParameterError("pass an open HebbianIndex, or path=, such as path='memory.hebb'")
        check_whole(given["similarity_top_k"], "similarity_top_k", MAX_K)
        check_share(given.get("similarity_cutoff"), "similarity_cutoff")
        opening: Any = {name: given.pop(name) for name in OPENING if name in given}
        of_base = {name: given.pop(name) for name in _OF_BASE if name in given}
        if not isinstance(mine := given.get("vector_index"), VectorStoreIndex | None):
            raise ParameterError(f"vector_index is a VectorStoreIndex, got {type(mine).__name__}")
        if mine is not None and given.get("namespace_by") is not None:
            raise ParameterError("one index would mix tenants; make a retriever for each of them")
        self.similarity_top_k: int = given["similarity_top_k"]
        self._bound: RetrieverOptions = given
        to_where(given.get("filters"))  # an invalid one is an error here
        self.index, self._is_owner = open_index(index, path, embed_model, opening)
        self._namespaces = Namespaces(self.index)
        super().__init__(**of_base)
        self._beneath: IndexBeneath | None = None
        if mine is not None:
            self._beneath = IndexBeneath(mine, given.get("seed_kwargs") or {})
            is_new = not self.index.read_only and is_empty(self.index)
            with self.closed_on_error(), suppress(ParameterError):
                if is_new:
                    self.refresh()

    @classmethod
    def from_nodes(
        cls, nodes: Sequence[BaseNode], *, show_progress: bool = False, **options: Any
    ) -> Self:
        """Open an index, add nodes, and return a retriever; the same nodes again change nothing."""
        retriever = cls(**{"path": ":memory:", **options})
        with retriever.closed_on_error():
            if retriever._beneath is not None:  # these are the nodes that it holds
                retriever.refresh(nodes)
            else:
                write_nodes(retriever.index, nodes, show_progress=show_progress)
        return retriever

    @classmethod
    def from_documents(cls, documents: Sequence[BaseNode], **options: Any) -> Self:
        """Split documents by ``transformations=``, or a :class:`HebbianNodeParser`; add nodes."""
        steps = options.pop("transformations", None) or [HebbianNodeParser()]
        nodes = run_transformations(listed(documents, "documents"), steps)
        return cls.from_nodes(list(nodes), **options)

    def recall(self, query: QueryType) -> Recall:
        """Return the recall behind a retrieval: ``recall[0].why``, ``recall.notes``, …"""
        bundle = query if isinstance(query, QueryBundle) else QueryBundle(query)
        bound, some = self._bound, of_nodes(self._bound.get("node_ids"), self._bound.get("doc_ids"))
        wheres = [to_where(bound.get("filters")), *some]
        model = getattr(self.index.embedder, "embed_model", None)
        if bundle.embedding is None and bundle.custom_embedding_strs and model is not None:
            vector = model.get_agg_embedding_from_queries(bundle.embedding_strs)
            bundle = QueryBundle(bundle.query_str, embedding=vector)
        return self.ask(bundle, self.similarity_top_k, wheres)

    def ask(
        self,
        query: QueryBundle,
        k: int,
        wheres: Iterable[Mapping[str, Any]],
        *,
        seeds: Sequence[tuple[str, float]] | None = None,
    ) -> Recall:
        """Return the recall of a question within the bounds of application and request."""
        question, beneath, bound = query.query_str, self._beneath, self._bound
        if not isinstance(question, str):
            raise ParameterError(f"a question is a str, got {type(question).__name__}")
        fields = fields_of(active_instrument_tags.get(), {})
        name = self.index.namespace
        if (rule := bound.get("namespace_by")) is not None:
            name = ruled(rule, fields, "namespace_by")
        narrowing = [to_where(fields.get(f"hebbgraph_{name}")) for name in ("filter", "filters")]
        if (by := bound.get("filter_by")) is not None:
            narrowing.append(to_where(ruled(by, fields, "filter_by")))
        where = joined([*wheres, *narrowing])
        if not usable_question(question)[0].strip():
            if query.embedding is None:
                return Recall(id="", namespace=name, question="")
            question = "?"  # no words: a search by embedding alone
        is_checked = beneath is not None and beneath.is_readable
        recall = self._namespaces.recall(
            name,
            question,
            k + MARGIN if is_checked else k,
            where=where,
            seeds=seeds if beneath is None else beneath.search(query),
            vector=query.embedding,  # which that search may have made
            strategy=bound["strategy"],
            steps=bound["steps"],
            min_score=bound.get("similarity_cutoff"),
        )
        if beneath is not None and is_checked:
            held = beneath.read([hit.id for hit in recall]) if recall else {}
            recall = renewed(recall, held, k, is_filtered=where is not None)
        if recall:
            _dispatcher.event(RecallEvent(recall=recall, index=self.index, fields=fields))
        return recall

    def refresh(self, nodes: Sequence[BaseNode] | None = None) -> AddReport:
        """Update the index to all nodes of its ``vector_index``: needed, if it cannot list them."""
        if self._beneath is None:
            raise ParameterError("there is no vector_index= to follow; insert or add nodes")
        return self._beneath.refresh(self.index, nodes)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        hits = self.recall(query_bundle)
        return [NodeWithScore(node=to_node(hit), score=float(hit.score)) for hit in hits]

    _aretrieve = in_thread(_retrieve)

    def close(self) -> None:
        """Close the index, unless it was opened elsewhere."""
        self._namespaces.close()
        if self._is_owner:
            self.index.close()


# -- filters ------------------------------------------------------------------------------


def to_where(filters: MetadataFilters | None) -> dict[str, Any]:
    """Return a filter of the index; ``{}`` lets everything pass."""
    if not isinstance(filters, MetadataFilters | None):
        raise FilterError(f"filters are MetadataFilters, got {type(filters).__name__}")
    parts = [] if filters is None else [_part(part) for part in filters.filters]
    if filters is None or not parts:
        return {}
    if filters.condition == FilterCondition.NOT:  # none of them may match
        return {"$not": {"$or": parts}}
    join = "$or" if filters.condition == FilterCondition.OR else "$and"
    return {join: parts} if len(parts) > 1 else parts[0]


def _part(part: MetadataFilter | MetadataFilters) -> dict[str, Any]:
    if isinstance(part, MetadataFilters):
        return to_where(part)
    name = part.operator.value
    is_empty = part.operator == FilterOperator.IS_EMPTY
    return {part.key: {_SIGNS.get(name, f"${name}"): True if is_empty else part.value}}


def of_nodes(
    node_ids: Sequence[str] | None = None, doc_ids: Sequence[str] | None = None
) -> Iterable[Mapping[str, Any]]:
    """Yield filters for some nodes, and for those of some documents."""
    if node_ids is not None:
        ids = {"$in": list(node_ids)}
        yield {"$or": [{"$id": ids}, {f"{NODE_KEY}.id": ids}]}
    if doc_ids is not None:
        yield {"$document_id": {"$in": list(doc_ids)}}
