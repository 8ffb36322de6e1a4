"""Arguments of retrievers, for type checkers and at run time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from inspect import signature
from pathlib import Path
from typing import Any, TypedDict

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.callbacks.base import CallbackManager
from llama_index.core.memory.types import BaseMemory
from llama_index.core.schema import BaseNode, IndexNode
from llama_index.core.vector_stores.types import MetadataFilters

from hebbgraph import ParameterError
from hebbgraph.adapters.search_options import CommonSearchOptions
from hebbgraph.arguments import check_k, check_list, check_names
from hebbgraph.moments import check_moment
from llama_index.retrievers.hebbgraph.embedding import LlamaIndexEmbedder
from llama_index.retrievers.hebbgraph.filters import to_where

__all__ = [
    "INSTEAD",
    "CommonOptions",
    "IndexedOptions",
    "NodeOptions",
    "SearchOptions",
    "check_nodes",
    "checked",
]

#: What to write in place of arguments of other libraries.
INSTEAD = {
    **dict.fromkeys(("k", "top_k", "search_kwargs"), "write similarity_top_k=3, for example"),
    **dict.fromkeys(("embedding", "embeddings", "embedder"), "write embed_model=..."),
    "filter": "write filters=MetadataFilters(...)",
    "score_threshold": "add SimilarityPostprocessor(similarity_cutoff=0.3) to the engine",
    **dict.fromkeys(
        ("actor", "user_id"), 'ask within instrument_tags({"user_id": "ida"}), for example'
    ),
    **dict.fromkeys(
        ("vector_store_query_mode", "alpha", "sparse_top_k", "hybrid_top_k"),
        "every search combines words, vectors and the graph; Settings(evidence=...) weighs them",
    ),
}


@dataclass(frozen=True, kw_only=True)
class SearchOptions(CommonSearchOptions):
    """Rarely needed options: ``HebbianRetriever(index, options=SearchOptions(...))``.

    Parameters
    ----------
    strategy, seed_vectors, filter_by, per_colony, steps, min_score
        As for :class:`~hebbgraph.adapters.search_options.CommonSearchOptions`. The fields of a
        request are its instrument tags, its filter is a ``MetadataFilters``:
        ``MetadataFilters(filters=[])`` lets everything pass, and an ``OR`` without alternatives
        is an error.
    source : BaseRetriever, optional
        Another retriever over the same nodes, which replaces hebbgraph's search for seeds. Give it
        the same filters and a top k of about 100. Nodes that the index does not hold keep the rank
        that the source gave them; with filters here, they are left out.
    seed_top_k : int
        How many seeds ``from_vector_store_index`` asks the vector index for.
    """

    source: BaseRetriever | None = field(default=None, repr=False)
    seed_top_k: int = 100
    everything = "MetadataFilters(filters=[])"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.source is None or isinstance(self.source, BaseRetriever)):
            raise ParameterError(f"source is another retriever, got {type(self.source).__name__}")
        check_k(self.seed_top_k, "seed_top_k")


class CommonOptions(TypedDict, total=False):
    """Arguments of every way to make a :class:`HebbianRetriever`."""

    similarity_top_k: int
    filters: MetadataFilters | None
    node_ids: list[str] | None
    doc_ids: list[str] | None
    memory: BaseMemory | None
    mmr_threshold: float | None
    include_path: bool
    as_of: datetime | date | str | None
    options: SearchOptions | Mapping[str, Any] | None
    callback_manager: CallbackManager | None
    object_map: dict[str, Any] | None
    verbose: bool


class IndexedOptions(CommonOptions, total=False):
    """Arguments of the constructor, besides the index."""

    embed_model: BaseEmbedding | None
    objects: list[IndexNode] | None


class NodeOptions(CommonOptions, total=False):
    """Arguments of ``from_nodes``, besides the nodes and ``show_progress``."""

    location: str | Path
    namespace: str
    embed_model: BaseEmbedding | None
    edges: Sequence[str] | None


def checked(
    arguments: Mapping[str, Any], kind: type, *, of: Callable[..., Any], **instead: str
) -> dict[str, Any]:
    """Return a retriever's arguments, with its :class:`SearchOptions` as ``options``.

    Known are the parameters of ``of``, the names in the TypedDict ``kind``, and search options.
    ``instead`` has hints for names of other libraries.

    Raises
    ------
    ParameterError, FilterError
        For unknown names and for values that every search would refuse.
    """
    result = dict(arguments)
    own = set(signature(of).parameters) - {"self", "options"}
    known = (*sorted({*kind.__annotations__, *own}), *SearchOptions.names())
    check_names(result, known, of="HebbianRetriever", instead=INSTEAD | instead)
    result["options"] = SearchOptions.taken_from(result, stacklevel=3)
    if "similarity_top_k" in result:
        check_k(result["similarity_top_k"], "similarity_top_k")
    if (embed_model := result.get("embed_model")) is not None:
        LlamaIndexEmbedder(embed_model)
    mmr = result.get("mmr_threshold")
    if not (mmr is None or (isinstance(mmr, int | float) and 0.0 <= mmr <= 1.0)):
        raise ParameterError(
            f"mmr_threshold lies in [0, 1], the lower the more nodes differ; got {mmr!r}"
        )
    if not isinstance(result.get("include_path", False), bool):
        raise ParameterError(f"include_path is True or False, got {result['include_path']!r}")
    if result.get("as_of") is not None:
        check_moment("as_of", result["as_of"])
    to_where(result.get("filters"), node_ids=result.get("node_ids"), doc_ids=result.get("doc_ids"))
    return result


def check_nodes(nodes: Sequence[BaseNode], name: str = "nodes") -> list[BaseNode]:
    """Return nodes as a list; raise ParameterError for anything else."""
    kind = "Document" if name == "documents" else "BaseNode"
    return check_list(nodes, BaseNode, name, kind, {str: "write Document(text=...)"})
