"""The benefit of a judge of recalls: an oracle that knows the gold, and errs on purpose."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from hebbgraph.hebbian_index import HebbianIndex
from hebbgraph.protocols import Embedder
from hebbgraph.records import Hit
from hebbgraph.settings import RerankSettings, Settings
from rich.console import Console

from hebbgraph_bench.datasets import Dataset, Query, load
from hebbgraph_bench.embedding import CachingEmbedder, caching
from hebbgraph_bench.metrics import recall_at_k
from hebbgraph_bench.ours import HebbianRetriever
from hebbgraph_bench.output import Output
from hebbgraph_bench.tables import Grid

__all__ = ["Judged", "Oracle", "bench_judge"]

_DEPTHS = (10, 20, 50)
_ERRORS = (0.0, 0.1, 0.2, 0.3)
#: Passes over the questions while the judge teaches, and hits that it sees.
_ROUNDS, _DEPTH, _BELOW = 3, 20, 0.6


class Oracle:
    """A judge that names the gold among its candidates, and counts its calls.

    Parameters
    ----------
    queries : sequence of Query
    errors : float, in [0, 1]
        Probability that a relevant candidate is replaced by a wrong one.
    seed : int
    """

    def __init__(self, queries: Sequence[Query], *, errors: float = 0.0, seed: int = 0) -> None:
        self.gold: Mapping[str, Query] = {query.text: query for query in queries}
        self.errors = errors
        self.asked = 0
        self._random = random.Random(seed)

    def __call__(self, question: str, hits: list[Hit], /) -> list[str]:
        """Return the ids that it names."""
        self.asked += 1
        relevant = self.gold[question].relevant
        ids = [hit.chunk.id for hit in hits]
        wrong = [id_ for id_ in ids if id_ not in relevant]
        return [
            self._random.choice(wrong) if wrong and self._random.random() < self.errors else id_
            for id_ in ids
            if id_ in relevant
        ]


@dataclass(frozen=True)
class Judged:
    """One way to judge one set: R@5, and the share of judged questions."""

    name: str
    way: str
    recall: float
    share: float


def bench_judge(
    paths: Sequence[str | Path],
    *,
    embedder: Embedder | None = None,
    cache: str | Path | None = None,
    seed: int = 0,
    queries: int | None = None,
    json_path: str | Path | None = None,
    console: Console | None = None,
) -> list[Judged]:
    """Let an oracle judge recalls, at several depths and with errors; then let it teach.

    While teaching, it is asked only about recalls with low confidence, and questions repeat.

    Parameters
    ----------
    paths, embedder, cache, seed, queries, json_path, console
        As for :func:`hebbgraph_bench.bench`.
    """
    output = Output(json_path, console)
    results: list[Judged] = []
    for path in paths:
        dataset = load(path, seed=seed, queries=queries)
        with caching(embedder, cache) as vectors, output.status(dataset.name):
            results += _on_set(dataset, vectors, seed)
    grid = Grid(
        "an oracle for a judge",
        ("set", "judge", "R@5", "judged"),
        [
            (result.name, result.way, f"{result.recall:.3f}", f"{result.share:.2f}")
            for result in results
        ],
    )
    output.write([grid], {"seed": seed, "judged": [asdict(result) for result in results]})
    output.show([grid])
    return results


def _on_set(dataset: Dataset, embedder: CachingEmbedder | None, seed: int) -> list[Judged]:
    retriever = HebbianRetriever(embedder=embedder)
    retriever.index(dataset.corpus)
    directory = retriever.location
    try:
        results = [_ask(directory, dataset, embedder, None, "none", RerankSettings())]
        for depth in _DEPTHS:
            for errors in _ERRORS:
                judge = Oracle(dataset.queries, errors=errors, seed=seed)
                way = f"depth {depth}" + (f", {errors:.0%} errors" if errors else "")
                settings = RerankSettings(first=depth)
                results.append(_ask(directory, dataset, embedder, judge, way, settings))
        for number in range(1, _ROUNDS + 1):
            judge = Oracle(dataset.queries, seed=seed)
            way = f"depth {_DEPTH}, unsure recalls, teaching, time {number}"
            settings = RerankSettings(first=_DEPTH, teaches=True)
            results.append(_ask(directory, dataset, embedder, judge, way, settings, _BELOW))
    finally:
        retriever.close()
    return results


def _ask(
    directory: str,
    dataset: Dataset,
    embedder: CachingEmbedder | None,
    judge: Oracle | None,
    way: str,
    rerank: RerankSettings,
    below: float = 1.0,
) -> Judged:
    with HebbianIndex.open(
        directory,
        embedder=embedder,
        judge=judge,
        judge_below=below,
        settings=Settings(rerank=rerank),
    ) as index:
        values = []
        for query in dataset.queries:
            ids = [hit.chunk.id for hit in index.recall(query.text, k=5).hits]
            values.append(recall_at_k(query.credited(ids), query.relevant, 5))
    share = 0.0 if judge is None else judge.asked / len(dataset.queries)
    return Judged(dataset.name, way, float(np.mean(values)), share)
