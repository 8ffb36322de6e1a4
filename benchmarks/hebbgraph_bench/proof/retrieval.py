"""Recall on a set: ours beside the searches that it has to beat."""

from __future__ import annotations

from pathlib import Path

from hebbgraph.protocols import Embedder

from hebbgraph_bench.baselines import BM25, Dense, ReciprocalRankFusion, Retriever, WeightedSum
from hebbgraph_bench.embedding import CachingEmbedder, caching
from hebbgraph_bench.ours import HebbianRetriever
from hebbgraph_bench.proof.measuring import Measured, measured
from hebbgraph_bench.proof.sets import Titles, titled

__all__ = ["OURS", "direct", "measure_retrieval"]

OURS = "ours"


def direct(embedder: CachingEmbedder | None) -> dict[str, Retriever]:
    """Return ours and what it has to beat, by name."""
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
    """Ask every system of a set all its questions.

    Parameters
    ----------
    path : Path
        The folder of the set.
    titles : {"published", "none", "shuffled"}
    model : Embedder, optional
    cache : Path, optional
        Where its vectors are kept.
    queries : int, optional
        At most so many questions, drawn.
    """
    dataset = titled(path, titles)
    if queries is not None:
        dataset = dataset.sampled(queries, seed=0)
    with caching(model, cache) as embedder:
        return measured(dataset, direct(embedder), embedder)
