"""HebbianRetriever: LlamaIndex's retriever, from a question to a recall with all that restricts it.

What a request says are its instrument tags: ``with instrument_tags({"user_id": "ann"}):``.
:mod:`hebbgraph.access` has the order of precedence: what the application binds always wins.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypedDict, Unpack

from llama_index.core import QueryBundle
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.callbacks.base import CallbackManager
from llama_index.core.ingestion.pipeline import run_transformations
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.events.base import BaseEvent
from llama_index.core.schema import BaseNode, NodeWithScore, QueryType
from llama_index.core.vector_stores.types import MetadataFilters
from llama_index_instrumentation.dispatcher import active_instrument_tags
from pydantic import Field, SkipValidation

from hebbgraph import HebbianIndex, Recall, Strategy
from hebbgraph.access import Fields, Namespaces, fields_of, narrowed
from hebbgraph.errors import FilterError, ParameterError
from hebbgraph.recall.strategies import RankStep
from hebbgraph.text.query import usable_question
from llama_index.retrievers.hebbgraph.filters import of_nodes, to_where
from llama_index.retrievers.hebbgraph.nodes import listed, to_node
from llama_index.retrievers.hebbgraph.opening import (
    OPENING,
    Closing,
    NodeEmbedder,
    OpenOptions,
    check_names,
    open_index,
)
from llama_index.retrievers.hebbgraph.transforms import HebbianNodeParser
from llama_index.retrievers.hebbgraph.writing import in_thread, write_nodes

__all__ = ["HebbianRetriever", "RecallEvent", "RetrieverOptions"]

_NO_WORDS = "?"  # a question for a search by embedding alone
_dispatcher = get_dispatcher(__name__)


class RecallEvent(BaseEvent):
    """A recall, told to learners within the span of its retrieval; what is logged has no text."""

    recall: SkipValidation[Recall] = Field(exclude=True, repr=False)
    index: SkipValidation[Any] = Field(exclude=True, repr=False)
    fields: SkipValidation[Any] = Field(exclude=True, repr=False)


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
        opening: Any = {name: given.pop(name) for name in OPENING if name in given}
        of_base = {name: given.pop(name) for name in _OF_BASE if name in given}
        self.similarity_top_k: int = given["similarity_top_k"]
        self._bound: RetrieverOptions = given
        to_where(given.get("filters"))  # an invalid one is an error here
        self.index, self._is_owner = open_index(index, path, embed_model, opening)
        self._namespaces = Namespaces(self.index)
        super().__init__(**of_base)

    @classmethod
    def from_nodes(
        cls, nodes: Sequence[BaseNode], *, show_progress: bool = False, **options: Any
    ) -> Self:
        """Open an index, add nodes, and return a retriever; the same nodes again change nothing."""
        retriever = cls(**{"path": ":memory:", **options})
        with retriever.closed_on_error():
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
        bound = self._bound
        some = of_nodes(bound.get("node_ids"), bound.get("doc_ids"))
        wheres = [to_where(bound.get("filters")), *some]
        vector, embedder = bundle.embedding, self.index.embedder
        if vector is None and bundle.custom_embedding_strs and isinstance(embedder, NodeEmbedder):
            vector = embedder.embed_model.get_agg_embedding_from_queries(bundle.embedding_strs)
        return self.ask(bundle.query_str, self.similarity_top_k, wheres, vector=vector)

    def ask(
        self, question: str, k: int, wheres: Iterable[Mapping[str, Any]], **options: Any
    ) -> Recall:
        """Return the recall of a question within the bounds of application and request."""
        if not isinstance(question, str):
            raise ParameterError(f"a question is a str, got {type(question).__name__}")
        fields = fields_of(active_instrument_tags.get(), {})
        name = self._namespace(fields)
        where, steps = narrowed([*wheres, *self._ruled(fields)], k)
        is_empty = not usable_question(question)[0].strip()
        recall = Recall(id="", namespace=name, question="")
        if is_empty and options.get("vector") is None:
            return recall
        options["strategy"] = self._bound["strategy"]
        options["min_score"] = self._bound.get("similarity_cutoff")
        with self._namespaces.opened(name) as index:
            if index is not None:
                text = _NO_WORDS if is_empty else question
                steps = (*steps, *self._bound["steps"])
                recall = index.recall(text, k, where=where, steps=steps, **options)
            if not recall:
                _warn_if_empty(index, name)
        if recall:
            _dispatcher.event(RecallEvent(recall=recall, index=self.index, fields=fields))
        return recall

    def _namespace(self, fields: Fields) -> str:
        if (rule := self._bound.get("namespace_by")) is None:
            return self.index.namespace
        name = _applied(rule, fields, "namespace_by")
        if not isinstance(name, str):
            raise ParameterError(f"namespace_by returned {name!r:.80}; return a namespace's name")
        return name

    def _ruled(self, fields: Fields) -> Iterable[Mapping[str, Any]]:
        """Yield the filter of the application, and that of the request, which only narrows it."""
        if (rule := self._bound.get("filter_by")) is not None:
            if (filters := _applied(rule, fields, "filter_by")) is None:
                raise FilterError("filter_by returned None; return MetadataFilters, [] for all")
            yield to_where(filters)
        yield to_where(fields.get("hebbgraph_filters"))

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        hits = self.recall(query_bundle)
        return [NodeWithScore(node=to_node(hit), score=float(hit.score)) for hit in hits]

    _aretrieve = in_thread(_retrieve)

    def close(self) -> None:
        """Close the index, unless it was opened elsewhere."""
        self._namespaces.close()
        if self._is_owner:
            self.index.close()


def _applied(rule: Callable[[Fields], Any], fields: Fields, name: str) -> Any:
    try:
        return rule(fields)
    except KeyError as error:
        raise ParameterError(
            f"{name} finds no {error.args[0]!r:.80} in the request; ask within "
            "instrument_tags({...}) that have it"
        ) from error


def _warn_if_empty(index: HebbianIndex | None, namespace: str) -> None:
    # Hits are filled up to k, and seeds keep the embedder from being asked.
    if index is None or not index.recall(_NO_WORDS, 1, seeds=()):
        what = f"there is no namespace {namespace!r}" if index is None else f"{index!r} is empty"
        text = f"{what}, so nothing can be found; add nodes first, or check path and namespace"
        warnings.warn(text, UserWarning, stacklevel=4)
