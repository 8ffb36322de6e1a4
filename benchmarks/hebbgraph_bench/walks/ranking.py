"""Recall at 5 by how activation spreads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from hebbgraph.arrays import FloatArray
from hebbgraph.hebbian_index import HebbianIndex
from hebbgraph.protocols import Embedder

from hebbgraph_bench.datasets import Dataset
from hebbgraph_bench.pagerank import personalized_pagerank
from hebbgraph_bench.walks.formulas import DAMPING, Transitions, dense_scores, transitions
from hebbgraph_bench.walks.questions import ask_recorded

__all__ = ["WalkResult", "compare_walks"]


@dataclass(frozen=True, slots=True)
class WalkResult:
    """Recall at 5 on one set, by how activation spreads."""

    dataset: str
    questions: int
    embedder: str | None
    spreading: float
    dense: float
    same_top5: float
    pagerank: float
    pagerank_joined: float


def compare_walks(
    dataset: Dataset, *, embedder: Embedder | None = None, queries: int | None = None
) -> WalkResult:
    """Measure recall at 5 of spreading, the same on the whole graph, and PageRank.

    ``pagerank`` ranks by the share of the walk alone; ``pagerank_joined`` combines it with direct
    evidence, like spreading its activation.
    """
    gains: dict[str, list[float]] = {"spreading": [], "dense": [], "pagerank": [], "joined": []}
    same = []
    with HebbianIndex.open(":memory:", embedder=embedder) as index:
        index.add(list(dataset.corpus))
        for query in dataset.queries[:queries]:
            question, hits = ask_recorded(index, query.text)
            graph = question.graph
            ids = index.parts.truth.ids(graph.rows.tolist())
            names = [ids.get(row, "") for row in graph.rows.tolist()]
            dense = _top(dense_scores(question), names)
            walk = transitions(question)
            shares = _power_iteration(walk, DAMPING)[: graph.n_slots]
            p = question.parameters
            direct = question.evidence.values_of(np.arange(graph.n_slots)) ** p.evidence_power
            joined = direct + (1 - direct) * shares / (shares + p.half_saturation)
            rankings = {
                "spreading": hits,
                "dense": dense,
                "pagerank": _top(shares, names),
                "joined": _top(joined, names),
            }
            same.append(float(set(hits) == set(dense)))
            for name, top in rankings.items():
                gains[name].append(len(set(top) & set(query.relevant)) / len(query.relevant))
    mean = {name: float(np.mean(values)) for name, values in gains.items()}
    return WalkResult(
        dataset.name,
        len(same),
        None if embedder is None else getattr(embedder, "model_name", type(embedder).__name__),
        mean["spreading"],
        mean["dense"],
        float(np.mean(same)),
        mean["pagerank"],
        mean["joined"],
    )


def _top(scores: FloatArray, names: Sequence[str], k: int = 5) -> list[str]:
    rounded = np.round(scores, 9)
    last = np.partition(rounded, max(len(rounded) - k, 0))[max(len(rounded) - k, 0)]
    rows = np.flatnonzero(rounded >= last).tolist()
    rows.sort(key=lambda slot: (-rounded[slot], names[slot]))
    return [names[slot] for slot in rows[:k]]


def _power_iteration(walk: Transitions, damping: float) -> FloatArray:
    if not walk.reset.any():
        return walk.reset
    return personalized_pagerank(
        walk.source, walk.target, walk.weight, walk.reset, damping=damping, tol=1e-9
    )
