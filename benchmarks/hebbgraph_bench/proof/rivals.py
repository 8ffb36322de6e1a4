"""Rivals on a set, each in its best fair setting and with the same vectors.

LightRAG is missing: it needs keywords and descriptions by an LLM, which no shared set stores.
HippoRAG 2 needs triples by an LLM. They are stored for one set, on which its walk runs without its
LLM filter (:mod:`hebbgraph_bench.phrase_pagerank`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hebbgraph.errors import ParameterError
from hebbgraph.protocols import Embedder

from hebbgraph_bench.baselines import Retriever
from hebbgraph_bench.datasets import Dataset
from hebbgraph_bench.embedding import CachingEmbedder, caching
from hebbgraph_bench.graph_peer import GraphRetrieverPeer
from hebbgraph_bench.linear_rag import LinearRAG, LinearRAGSettings
from hebbgraph_bench.peers import EnsemblePeer, QueryFusionPeer
from hebbgraph_bench.phrase_pagerank import PhrasePageRank
from hebbgraph_bench.proof.measuring import Measured, measured
from hebbgraph_bench.proof.sets import titled

__all__ = ["RIVALS", "WITH_TRIPLES", "Rival", "measure_rival"]


@dataclass(frozen=True)
class Rival:
    """How to create a rival, and the code its figures depend on.

    Parameters
    ----------
    make : callable
    module : str
        Defines it.
    runs_core : bool
        Whether it uses hebbgraph to find tags or phrases. Others use only its records of chunks.
    """

    make: Callable[[Dataset, CachingEmbedder], Retriever]
    module: str
    runs_core: bool = False

    @property
    def code(self) -> tuple[str, ...]:
        """The modules that it is measured with, besides this one."""
        return (self.module, measured.__module__, caching.__module__, titled.__module__)


def _linear_rag(dataset: Dataset, embedder: CachingEmbedder) -> Retriever:
    return LinearRAG(embedder, settings=LinearRAGSettings.for_set(dataset.name))


def _walk(dataset: Dataset, embedder: CachingEmbedder) -> Retriever:
    return PhrasePageRank(dataset.extractions, embedder=embedder)


WITH_TRIPLES = "HippoRAG 2"
#: By name.
RIVALS: dict[str, Rival] = {
    "LlamaIndex": Rival(lambda _, embedder: QueryFusionPeer(embedder), QueryFusionPeer.__module__),
    "LangChain": Rival(lambda _, embedder: EnsemblePeer(embedder), EnsemblePeer.__module__),
    "graph-retriever": Rival(
        lambda _, embedder: GraphRetrieverPeer(embedder), GraphRetrieverPeer.__module__, True
    ),
    "LinearRAG": Rival(_linear_rag, LinearRAG.__module__),
    WITH_TRIPLES: Rival(_walk, PhrasePageRank.__module__, True),
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
    dataset = titled(path, "published")
    if queries is not None:
        dataset = dataset.sampled(queries, seed=0)
    with caching(model, cache) as embedder:
        if embedder is None:
            raise ParameterError(f"{name} searches by vectors: name a model")
        return measured(dataset, {name: RIVALS[name].make(dataset, embedder)}, embedder)
