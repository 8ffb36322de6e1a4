"""Run systems on a set; return figures of each question, and costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import process_time
from typing import Any

import numpy as np
from hebbgraph.arrays import FloatArray
from hebbgraph.formulas.bootstrap import paired_bootstrap
from hebbgraph.records import Chunk

from hebbgraph_bench.baselines import RankedChunk, Retriever
from hebbgraph_bench.datasets import Dataset
from hebbgraph_bench.embedding import CachingEmbedder
from hebbgraph_bench.protocol import run
from hebbgraph_bench.results import SystemResult

__all__ = ["Clocked", "K", "Measured", "measured", "summary"]

K = 10
_EACH = "R@5"  # stored per question, for paired comparisons of any two stages


@dataclass(frozen=True)
class Measured:
    """The result of a stage: figures that a second run repeats, and costs."""

    figures: Mapping[str, Any]
    costs: Mapping[str, Any] = field(default_factory=dict)


class Clocked:
    """A retriever under another name that measures its processor time.

    Other work on the machine changes processor time little. Time in the embedder is excluded if the
    vectors were cached.
    """

    def __init__(self, name: str, inner: Retriever) -> None:
        self.name = name
        self._inner = inner
        self.index_seconds = 0.0
        self.query_ms: list[float] = []

    def index(self, chunks: Sequence[Chunk], /) -> None:
        """Index the corpus."""
        began = process_time()
        self._inner.index(chunks)
        self.index_seconds = process_time() - began

    def retrieve(self, query: str, k: int, /) -> list[RankedChunk]:
        """Retrieve."""
        began = process_time()
        hits = self._inner.retrieve(query, k)
        self.query_ms.append((process_time() - began) * 1e3)
        return hits

    def close(self) -> None:
        """Close the inner retriever."""
        self._inner.close()

    def costs(self) -> dict[str, float]:
        """Return the time of indexing, and the median time of a question."""
        return {
            "index processor seconds": round(self.index_seconds, 2),
            "question processor ms": round(float(np.median(self.query_ms)), 2),
        }


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
    costs: dict[str, Any] = {clock.name: clock.costs() for clock in clocked}
    if embedder is not None and result.embedding and embedder.embedded and not embedder.read:
        costs["embedding seconds"] = round(result.embedding.passages_seconds, 1)
    return Measured(figures, costs)


def summary(system: SystemResult, order: Sequence[int] | Any) -> dict[str, Any]:
    """Return a system's means, the interval of its R@5, and R@5 per question."""
    each: FloatArray = system.values[_EACH][order]
    interval = paired_bootstrap(each, np.zeros_like(each))
    means = {name: system.mean(name) for name in system.values if name != "answer"}
    return {**means, "interval": [interval.low, interval.high], "each": np.round(each, 4)}
