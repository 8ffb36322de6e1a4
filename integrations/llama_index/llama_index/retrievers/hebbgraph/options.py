"""What the ways to make a retriever take, for type checkers and at run time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
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
from hebbgraph.arguments import check_k, check_names
from hebbgraph.moments import check_moment
from llama_index.retrievers.hebbgraph.embedding import check_embed_model
from llama_index.retrievers.hebbgraph.filters import to_where

__all__ = [
    "INSTEAD",
    "CommonOptions",
    "IndexedOptions",
    "NodeOptions",
    "SearchOptions",
    "checked",
    "nodes_of",
]

#: What to write in place of names that others use.
INSTEAD = dict.fromkeys(("k", "top_k", "search_kwargs"), "write similarity_top_k=3, for example")
INSTEAD |= dict.fromkeys(("embedding", "embeddings", "embedder"), "write embed_model=...")
INSTEAD |= {
    "filter": "write filters=MetadataFilters(...)",
    "score_threshold": "add SimilarityPostprocessor(similarity_cutoff=0.3) to the engine",
}
INSTEAD |= dict.fromkeys(
    ("actor", "user_id"), 'ask within instrument_tags({"user_id": "ida"}), for example'
)
INSTEAD |= dict.fromkeys(
    ("vector_store_query_mode", "alpha", "sparse_top_k", "hybrid_top_k"),
    "every search is of words, vectors and the graph at once; Settings(evidence=...) weighs them",
)


@dataclass(frozen=True, kw_only=True)
class SearchOptions(CommonSearchOptions):
    """What few retrievers need: ``HebbianRetriever(index, options=SearchOptions(...))``.

    Parameters
    ----------
    strategy : str or Strategy
        ``"spreading"``, a published rival of hebbgraph-papers, or an object of your own.
    filter_by : callable, optional
        From the instrument tags of a request to the ``MetadataFilters`` for it: an access rule in
        one line, in force in engines, tools and agents alike. It is joined with all other filters.
        What it raises ends the request, and so does a tag that the request does not have.
        ``MetadataFilters(filters=[])`` lets everything pass; None, and an ``OR`` of nothing, are
        errors.
    per_colony, steps, min_score
        As for ``HebbianIndex.recall``: at most so many hits of one colony, rank steps of your own,
        no hits with a smaller score.
    source : BaseRetriever, optional
        Another retriever over the same nodes. Its results are the seeds that activation
        starts from, in place of hebbgraph's own search. Give it the same filters, and a
        top k of 100 or so. Nodes that the index does not hold keep the rank that the
        source gave them (with filters here, they are left out).
    seed_top_k : int
        How many seeds ``from_vector_store_index`` asks the vector index for.
    seed_vectors : callable or "embed", optional
        Gives the vectors of its nodes by id, so that nodes which the vector index did not return
        are weighed by theirs. ``SimpleVectorStore``, FAISS and Chroma are read by themselves;
        ``"embed"`` embeds some 300 texts a question with the index's model, and keeps their
        vectors in memory.
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
    """Arguments of a :class:`HebbianRetriever` that every way to make one takes."""

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
    """What the constructor takes beside the index."""

    embed_model: BaseEmbedding | None
    objects: list[IndexNode] | None


class NodeOptions(CommonOptions, total=False):
    """What ``from_nodes`` takes beside the nodes and ``show_progress``."""

    location: str | Path
    namespace: str
    embed_model: BaseEmbedding | None
    edges: Sequence[str] | None


def checked(given: Mapping[str, Any], *, known: Iterable[str], **instead: str) -> dict[str, Any]:
    """Return a retriever's arguments, with its options among them.

    Raises
    ------
    ParameterError, FilterError
        For names that nothing would read, and values that every search would refuse.
    """
    own = dict(given)
    check_names(
        own, (*known, *SearchOptions.names()), of="HebbianRetriever", instead=INSTEAD | instead
    )
    own["options"] = SearchOptions.taken_from(own, stacklevel=3)
    if "similarity_top_k" in own:
        check_k(own["similarity_top_k"], "similarity_top_k")
    check_embed_model(own.get("embed_model"))
    mmr = own.get("mmr_threshold")
    if not (mmr is None or (isinstance(mmr, int | float) and 0.0 <= mmr <= 1.0)):
        raise ParameterError(
            f"mmr_threshold lies in [0, 1], the lower the more nodes differ; got {mmr!r}"
        )
    if not isinstance(own.get("include_path", False), bool):
        raise ParameterError(f"include_path is True or False, got {own['include_path']!r}")
    if own.get("as_of") is not None:
        check_moment("as_of", own["as_of"])
    to_where(own.get("filters"), node_ids=own.get("node_ids"), doc_ids=own.get("doc_ids"))
    return own


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
