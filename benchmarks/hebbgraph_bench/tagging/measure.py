"""Measure every tagger on one set, then the model-free graph with spoilt tags."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from hebbgraph.arrays import FloatArray
from hebbgraph.graph.incidence import Incidence
from hebbgraph.protocols import Tagger
from hebbgraph.recall import StrategyName
from hebbgraph.records import Chunk
from hebbgraph.settings import Settings

from hebbgraph_bench.datasets import Dataset
from hebbgraph_bench.embedding import CachingEmbedder
from hebbgraph_bench.ours import HebbianRetriever
from hebbgraph_bench.protocol import judge
from hebbgraph_bench.tagging.arms import MODEL_FREE, Arm, arms_for
from hebbgraph_bench.tagging.spoiling import SPOILT

__all__ = ["STRATEGIES", "TaggingResult", "measure_taggers", "metrics_at"]

STRATEGIES: tuple[StrategyName, ...] = ("spreading", "neighbourhood")


@dataclass(frozen=True, slots=True)
class TaggingResult:
    """One arm on one set.

    ``values`` holds one value per question, by strategy and metric; those of a spoilt graph are
    means over seeds.
    """

    name: str
    tags_per_chunk: float
    edges_per_chunk: float
    density: float
    seconds: float | None
    calls: int
    values: Mapping[str, Mapping[str, FloatArray]]


def measure_taggers(
    dataset: Dataset,
    *,
    embedder: CachingEmbedder | None = None,
    k: int = 10,
    n_seeds: int = 3,
    seed: int = 0,
    arms: Sequence[Arm] | None = None,
    on_arm: Callable[[str], object] | None = None,
) -> list[TaggingResult]:
    """Measure every tagger, then the model-free graph with spoilt tags.

    Parameters
    ----------
    dataset : Dataset
    embedder : CachingEmbedder, optional
    k : int, at least 1
    n_seeds : int, at least 1
        Number of seeds for each way to spoil tags.
    seed : int
    arms : sequence of Arm, optional
        By default, :func:`arms_for`.
    on_arm : callable, optional
        Called with each name before it starts.

    Returns
    -------
    list of TaggingResult
        ``model-free`` first.
    """
    chunks = [chunk for chunk in dataset.corpus if chunk.title or chunk.text]
    results = []
    for arm in arms_for(dataset, embedder) if arms is None else arms:
        if on_arm is not None:
            on_arm(arm.name)
        settings = Settings(text_tags=arm.text_tags, aliases=arm.aliases)
        retriever = HebbianRetriever(embedder=embedder, settings=settings, tagger=_timed(arm))
        try:
            retriever.index(chunks)
            results.append(_result(arm.name, retriever, dataset, k, retriever.tagger))
            if arm.name == MODEL_FREE:
                results += _spoilt(retriever, dataset, k, n_seeds, seed, on_arm)
        finally:
            retriever.close()
    # Spoilt ones after the taggers.
    return sorted(results, key=lambda result: result.name in SPOILT)


class _Timed:
    """A tagger with a clock."""

    def __init__(self, tagger: Tagger) -> None:
        self._tagger = tagger
        self.seconds = 0.0
        self.calls = 0

    def __call__(self, chunk: Chunk, /) -> list[str]:
        began = perf_counter()
        tags = list(self._tagger(chunk))
        self.seconds += perf_counter() - began
        self.calls += 1
        return tags


def _timed(arm: Arm) -> _Timed | None:
    return None if arm.tagger is None else _Timed(arm.tagger)


def _spoilt(
    retriever: HebbianRetriever,
    dataset: Dataset,
    k: int,
    n_seeds: int,
    seed: int,
    on_arm: Callable[[str], object] | None,
) -> list[TaggingResult]:
    derived = retriever.opened.parts.derived
    graph, original = derived.graph, derived.graph.incidence
    results = []
    for name, spoil in SPOILT.items():
        if on_arm is not None:
            on_arm(name)
        runs = []
        for turn in range(n_seeds):
            graph.incidence = original
            postings = spoil(graph, np.random.default_rng(seed + turn))
            graph.incidence = Incidence(postings, len(graph.phrases))
            runs.append(_result(name, retriever, dataset, k, None))
        graph.incidence = original
        results.append(_mean(runs))
    return results


def _result(
    name: str, retriever: HebbianRetriever, dataset: Dataset, k: int, tagger: Any
) -> TaggingResult:
    stats = retriever.opened.stats()
    values: dict[str, dict[str, FloatArray]] = {}
    for strategy in STRATEGIES:
        retriever.strategy = strategy
        rankings = [
            query.credited([hit.id for hit in retriever.retrieve(query.text, k)])
            for query in dataset.queries
        ]
        judged = judge(rankings, [query.relevant for query in dataset.queries], k)
        values[strategy] = {metric: judged[metric] for metric in metrics_at(k)}
    return TaggingResult(
        name,
        stats.tags_per_chunk,
        stats.edges / max(stats.chunks, 1),
        stats.density,
        None if tagger is None else tagger.seconds,
        0 if tagger is None else tagger.calls,
        values,
    )


def _mean(runs: Sequence[TaggingResult]) -> TaggingResult:
    def mean(attribute: str) -> float:
        return float(np.mean([getattr(run, attribute) for run in runs]))

    return TaggingResult(
        runs[0].name,
        mean("tags_per_chunk"),
        mean("edges_per_chunk"),
        mean("density"),
        None,
        0,
        {
            strategy: {
                metric: np.mean([run.values[strategy][metric] for run in runs], axis=0)
                for metric in metrics
            }
            for strategy, metrics in runs[0].values.items()
        },
    )


def metrics_at(k: int) -> tuple[str, str]:
    """Return the names of the two reported metrics at k."""
    return f"R@{min(5, k)}", f"nDCG@{k}"
