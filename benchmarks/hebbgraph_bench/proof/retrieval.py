"""Recall on a set: systems side by side, and what each question got."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from hebbgraph.arrays import FloatArray
from hebbgraph.formulas.bootstrap import paired_bootstrap
from hebbgraph.protocols import Embedder
from hebbgraph.records import Chunk

from hebbgraph_bench.baselines import (
    BM25,
    Dense,
    RankedChunk,
    ReciprocalRankFusion,
    Retriever,
    WeightedSum,
)
from hebbgraph_bench.datasets import Dataset
from hebbgraph_bench.embedding import CachingEmbedder, caching
from hebbgraph_bench.ours import HebbianRetriever
from hebbgraph_bench.proof.sets import Titles, titled
from hebbgraph_bench.proof.stages import Measured
from hebbgraph_bench.protocol import run
from hebbgraph_bench.results import SystemResult

__all__ = ["OURS", "K", "direct", "measure_retrieval", "measured", "summary"]

K = 10
OURS = "ours"
_EACH = "R@5"  # kept for every question, so that any two stages can be compared in pairs


class Clocked:
    """A retriever under another name, with the processor time that it takes.

    Processor time, not that of the clock: other work on the machine changes it little. Time in
    the embedder is taken out, as far as the vectors were there before.
    """

    def __init__(self, name: str, inner: Retriever) -> None:
        self.name = name
        self._inner = inner
        self.index_seconds = 0.0
        self.query_ms: list[float] = []

    def index(self, chunks: Sequence[Chunk], /) -> None:
        """Take in the corpus."""
        began = process_time()
        self._inner.index(chunks)
        self.index_seconds = process_time() - began

    def retrieve(self, query: str, k: int, /) -> list[RankedChunk]:
        """Ask."""
        began = process_time()
        found = self._inner.retrieve(query, k)
        self.query_ms.append((process_time() - began) * 1e3)
        return found

    def close(self) -> None:
        """Close the other."""
        self._inner.close()

    def costs(self) -> dict[str, float]:
        """Return what indexing took, and the median of a question."""
        return {
            "index processor seconds": round(self.index_seconds, 2),
            "question processor ms": round(float(np.median(self.query_ms)), 2),
        }


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
    systems: Callable[[Dataset, CachingEmbedder | None], dict[str, Retriever]] | None = None,
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
    systems : callable, optional
        Given the set and the embedder; :func:`direct` if left out.
    """
    dataset = titled(path, titles)
    if queries is not None:
        dataset = dataset.sampled(queries, seed=0)
    with caching(model, cache) as embedder:
        made = systems(dataset, embedder) if systems else direct(embedder)
        return measured(dataset, made, embedder)


def measured(
    dataset: Dataset, systems: dict[str, Retriever], embedder: CachingEmbedder | None
) -> Measured:
    """Run systems on a set, and gather their figures and costs."""
    clocked = [Clocked(name, retriever) for name, retriever in systems.items()]
    result = run(dataset, clocked, k=K, embedder=embedder)
    order = np.argsort(result.query_ids)
    figures: dict[str, Any] = {
        "chunks": result.chunks,
        "questions": len(result.query_ids),
        "systems": {system.name: summary(system, order) for system in result.systems},
    }
    costs: dict[str, Any] = {one.name: one.costs() for one in clocked}
    if embedder is not None and result.embedding and embedder.embedded and not embedder.read:
        costs["embedding seconds"] = round(result.embedding.passages_seconds, 1)
    return Measured(figures, costs)


def summary(system: SystemResult, order: Sequence[int] | Any) -> dict[str, Any]:
    """Return the means of a system, the interval of its R@5, and R@5 of every question."""
    each: FloatArray = system.values[_EACH][order]
    interval = paired_bootstrap(each, np.zeros_like(each))
    means = {name: system.mean(name) for name in system.values if name != "answer"}
    return {**means, "interval": [interval.low, interval.high], "each": np.round(each, 4)}
