"""Rivals on a set, each in its best fair setting and with the same vectors.

What is not here: LightRAG needs keywords and descriptions by an LLM, which no shared set stores.
HippoRAG 2 needs triples by an LLM; they are stored for one set, and its walk runs over them there
without its LLM filter (:mod:`hebbgraph_bench.pagerank`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from hebbgraph.errors import ParameterError
from hebbgraph.protocols import Embedder

from hebbgraph_bench.baselines import Retriever
from hebbgraph_bench.datasets import Dataset
from hebbgraph_bench.embedding import CachingEmbedder
from hebbgraph_bench.linear_rag import LinearRAG, LinearRAGSettings
from hebbgraph_bench.pagerank import PhrasePageRank
from hebbgraph_bench.peers import EnsemblePeer, GraphRetrieverPeer, QueryFusionPeer
from hebbgraph_bench.proof.retrieval import measure_retrieval
from hebbgraph_bench.proof.stages import Measured

__all__ = ["OVER_TAGS", "RIVALS", "WITH_TRIPLES", "measure_rival"]


def _linear_rag(dataset: Dataset, embedder: CachingEmbedder) -> Retriever:
    return LinearRAG(embedder, settings=LinearRAGSettings.for_set(dataset.name))


def _walk(dataset: Dataset, embedder: CachingEmbedder) -> Retriever:
    return PhrasePageRank(dataset.extractions, embedder=embedder)


WITH_TRIPLES = "HippoRAG 2"
#: Rivals that walk over the tags that hebbgraph finds.
OVER_TAGS = ("graph-retriever",)
#: How each is made; by name.
RIVALS: dict[str, Callable[[Dataset, CachingEmbedder], Retriever]] = {
    "LlamaIndex": lambda _, embedder: QueryFusionPeer(embedder),
    "LangChain": lambda _, embedder: EnsemblePeer(embedder),
    "graph-retriever": lambda _, embedder: GraphRetrieverPeer(embedder),
    "LinearRAG": _linear_rag,
    WITH_TRIPLES: _walk,
}


def measure_rival(
    name: str, path: Path, *, model: Embedder, cache: Path | None, queries: int | None = None
) -> Measured:
    """Ask one rival all questions of a set.

    Raises
    ------
    MissingExtraError
        If it is not installed.
    """
    return measure_retrieval(
        path,
        titles="published",
        model=model,
        cache=cache,
        queries=queries,
        systems=partial(_alone, name),
    )


def _alone(name: str, dataset: Dataset, embedder: CachingEmbedder | None) -> dict[str, Retriever]:
    if embedder is None:
        raise ParameterError(f"{name} searches by vectors: name a model")
    return {name: RIVALS[name](dataset, embedder)}
