"""What the ways to make a retriever take, for type checkers and at run time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any, Literal, TypedDict

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.callbacks.base import CallbackManager
from llama_index.core.memory.types import BaseMemory
from llama_index.core.schema import BaseNode, IndexNode
from llama_index.core.vector_stores.types import MetadataFilters

from hebbgraph import ParameterError
from hebbgraph.arguments import check_k, check_names
from hebbgraph.moments import check_moment
from hebbgraph.recall.strategies import check_strategy
from llama_index.retrievers.hebbgraph.embedding import check_embed_model
from llama_index.retrievers.hebbgraph.filters import to_where

__all__ = [
    "CommonOptions",
    "IndexedOptions",
    "NodeOptions",
    "RetrieverOptions",
    "Strategy",
    "check_options",
    "nodes_of",
]

Strategy = Literal["spreading", "neighbourhood", "breadth_first", "neural"]

_INSTEAD = dict.fromkeys(("k", "top_k", "search_kwargs"), "write similarity_top_k=3, for example")
_INSTEAD |= dict.fromkeys(("embedding", "embeddings", "embedder"), "write embed_model=...")
_INSTEAD |= {
    "filter": "write filters=MetadataFilters(...)",
    "score_threshold": "add SimilarityPostprocessor(similarity_cutoff=0.2) to the engine",
}
_INSTEAD |= dict.fromkeys(
    ("actor", "user_id"), 'ask within instrument_tags({"user_id": "ida"}), for example'
)


class CommonOptions(TypedDict, total=False):
    """Arguments of a :class:`HebbianRetriever` that every way to make one takes."""

    similarity_top_k: int
    filters: MetadataFilters | None
    node_ids: list[str] | None
    doc_ids: list[str] | None
    strategy: Strategy
    memory: BaseMemory | None
    mmr_threshold: float | None
    include_path: bool
    as_of: datetime | date | str | None
    callback_manager: CallbackManager | None
    object_map: dict[str, Any] | None
    verbose: bool


class RetrieverOptions(CommonOptions, total=False):
    """What the constructor takes beside the index, the model and the objects."""

    source: BaseRetriever | None


class IndexedOptions(RetrieverOptions, total=False):
    """What the constructor takes beside the index."""

    embed_model: BaseEmbedding | None
    objects: list[IndexNode] | None


class NodeOptions(RetrieverOptions, total=False):
    """What ``from_nodes`` takes beside the nodes and ``show_progress``."""

    location: str | Path
    namespace: str
    embed_model: BaseEmbedding | None
    edges: Sequence[str] | None


def check_options(
    given: Mapping[str, Any], *, known: Iterable[str], instead: Mapping[str, str] | None = None
) -> None:
    """Raise for names that nothing would read, and values that every search would refuse.

    Raises
    ------
    ParameterError, FilterError
    """
    check_names(given, known, of="HebbianRetriever", instead=_INSTEAD | dict(instead or {}))
    if "similarity_top_k" in given:
        check_k(given["similarity_top_k"], "similarity_top_k")
    if "strategy" in given:
        check_strategy(given["strategy"])
    check_embed_model(given.get("embed_model"))
    mmr = given.get("mmr_threshold")
    if not (mmr is None or (isinstance(mmr, int | float) and 0.0 <= mmr <= 1.0)):
        raise ParameterError(
            f"mmr_threshold lies in [0, 1], the lower the more nodes differ; got {mmr!r}"
        )
    if not isinstance(given.get("include_path", False), bool):
        raise ParameterError(f"include_path is True or False, got {given['include_path']!r}")
    if given.get("as_of") is not None:
        check_moment("as_of", given["as_of"])
    source = given.get("source")
    if not (source is None or isinstance(source, BaseRetriever)):
        raise ParameterError(f"source is another retriever, got {type(source).__name__}")
    to_where(given.get("filters"), node_ids=given.get("node_ids"), doc_ids=given.get("doc_ids"))


def nodes_of(nodes: Sequence[BaseNode], name: str = "nodes") -> list[BaseNode]:
    """Return nodes as a list; raise ParameterError if they are something else."""
    kind = "Document" if name == "documents" else "BaseNode"
    if isinstance(nodes, BaseNode):
        raise ParameterError(
            f"{name} is a list of {kind}, got one {type(nodes).__name__}; put it in a list"
        )
    if isinstance(nodes, str) or not isinstance(nodes, Iterable):
        raise ParameterError(f"{name} is a list of {kind}, got {nodes!r:.80}")
    own = list(nodes)
    for one in own:
        if not isinstance(one, BaseNode):
            hint = "; write Document(text=...)" if isinstance(one, str) else ""
            raise ParameterError(f"{name} is a list of {kind}, got {one!r:.80} in it{hint}")
    return own
