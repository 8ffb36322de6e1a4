"""Recall on a set: hebbgraph beside the searches that it has to beat."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

from hebbgraph.protocols import Embedder

from hebbgraph_bench.baselines import BM25, Dense, ReciprocalRankFusion, Retriever, WeightedSum
from hebbgraph_bench.embedding import CachingEmbedder, caching
from hebbgraph_bench.metrics import all_relevant_at_k, recall_at_k
from hebbgraph_bench.ours import HebbianRetriever
from hebbgraph_bench.proof.measuring import Measured, measured
from hebbgraph_bench.proof.sets import Titles, titled
from hebbgraph_bench.protocol import run

__all__ = ["DEPTHS", "OURS", "direct", "measure_depth", "measure_retrieval"]

OURS = "ours"
#: How many passages a reranker could read.
DEPTHS = (5, 10, 20, 50)


def direct(embedder: CachingEmbedder | None) -> dict[str, Retriever]:
    """Return hebbgraph and the systems it has to beat, by name."""
    systems: dict[str, Retriever] = {"BM25": BM25()}
    if embedder is not None:
        systems |= {
            "dense": Dense(embedder),
            "RRF": ReciprocalRankFusion(embedder),
            "weighted fusion": WeightedSum(embedder),
        }
    return systems | {OURS: HebbianRetriever(embedder=embedder)}


def measure_retrieval(
    path: Path,
    *,
    titles: Titles,
    model: Embedder | None,
    cache: Path | None,
    queries: int | None = None,
) -> Measured:
    """Ask every system all questions of a set.

    Parameters
    ----------
    path : Path
        The folder of the set.
    titles : {"published", "none", "shuffled"}
    model : Embedder, optional
    cache : Path, optional
        Keep its vectors in this folder.
    queries : int, optional
        Sample at most this many questions.
    """
    dataset = titled(path, titles)
    if queries is not None:
        dataset = dataset.sampled(queries, seed=0)
    with caching(model, cache) as embedder:
        return measured(dataset, direct(embedder), embedder)


def measure_depth(path: Path, *, model: Embedder | None, cache: Path | None) -> Measured:
    """Ask for fifty passages, to see what a reranker could reach.

    Parameters
    ----------
    path : Path
        The folder of the set.
    model : Embedder, optional
    cache : Path, optional
        Keep its vectors in this folder.
    """
    dataset = titled(path, "published")
    with caching(model, cache) as embedder:
        retrievers = direct(embedder)
        result = run(dataset, list(retrievers.values()), k=max(DEPTHS), embedder=embedder)
    systems = {}
    for name, system in zip(retrievers, result.systems, strict=True):
        pairs = [
            (query.credited(ranking), query.relevant)
            for query, ranking in zip(dataset.queries, system.rankings, strict=True)
        ]
        systems[name] = {
            f"{metric}@{k}": fmean(measure(ranked, relevant, k) for ranked, relevant in pairs)
            for metric, measure in (("R", recall_at_k), ("all-gold", all_relevant_at_k))
            for k in DEPTHS
        }
    return Measured({"questions": len(dataset.queries), "systems": systems})
