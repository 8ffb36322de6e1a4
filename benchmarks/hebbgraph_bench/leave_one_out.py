"""Does the tuning that serves most corpora serve one that had no say in it?

Each way to weigh evidence is measured on all sets in three modes: without a model, with an
embedder, and with a weak one. For each set, the way that did best on all other sets is compared
with the best direct search of that set, and with hebbgraph without a model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from hebbgraph.arrays import FloatArray
from hebbgraph.embedders import passage_text
from hebbgraph.formulas.bootstrap import Difference, paired_bootstrap
from hebbgraph.formulas.dense_share import EvidenceWeights
from hebbgraph.protocols import Embedder
from hebbgraph.settings import Settings
from rich.console import Console

from hebbgraph_bench.baselines import BM25, Dense, Retriever, WeightedSum
from hebbgraph_bench.datasets import Dataset, load
from hebbgraph_bench.embedding import CachingEmbedder, caching
from hebbgraph_bench.latent import LatentSemantic
from hebbgraph_bench.ours import HebbianRetriever
from hebbgraph_bench.output import Output
from hebbgraph_bench.protocol import judge
from hebbgraph_bench.tables import Grid

__all__ = ["CHOICES", "METRICS", "LeftOutResult", "bench_leave_one_out", "leave_each_out"]

METRICS = ("R@5", "nDCG@10")
_WORDS, _MODEL, _WEAK = "no model", "embedder", "LSA"
_DEPTH = 10

#: Ways to weigh evidence: the defaults of the library, and constants.
CHOICES: Mapping[str, EvidenceWeights] = {
    "by itself": EvidenceWeights(),
    "constant": EvidenceWeights(dense=0.7, agreement=0.0, coverage=0.0),
    "half the graph": EvidenceWeights(graph=0.5),
}

_Values = Mapping[str, FloatArray]


@dataclass(frozen=True)
class Measured:
    """One set: values of direct searches by mode, and of hebbgraph by mode and choice."""

    name: str
    direct: Mapping[str, Mapping[str, _Values]]
    ours: Mapping[str, Mapping[str, _Values]]


@dataclass(frozen=True)
class LeftOutResult:
    """Result on a left-out set, in one mode and by one metric.

    ``over`` names the comparison: the best direct search, or hebbgraph without a model.
    """

    name: str
    mode: str
    metric: str
    choice: str
    ours: float
    over: str
    difference: Difference


def bench_leave_one_out(
    paths: Sequence[str | Path],
    *,
    embedder: Embedder | None = None,
    cache: str | Path | None = None,
    seed: int = 0,
    queries: int | None = None,
    choices: Mapping[str, EvidenceWeights] = CHOICES,
    json_path: str | Path | None = None,
    console: Console | None = None,
) -> list[LeftOutResult]:
    """For each set: choose on all other sets, test on this one.

    Parameters
    ----------
    paths : sequence of str or Path
        At least two sets.
    embedder : Embedder, optional
        Without one, this mode is skipped.
    cache : str or Path, optional
        Keep vectors in this directory.
    seed, queries
        As for :func:`hebbgraph_bench.bench`.
    choices : mapping of str to EvidenceWeights
    json_path : str or Path, optional
        Write the figures here, and Markdown beside it.
    console : rich.console.Console, optional

    Returns
    -------
    list of LeftOutResult
    """
    output = Output(json_path, console)
    datasets = [load(path, seed=seed, queries=queries) for path in paths]
    measured = []
    for dataset in datasets:
        with caching(embedder, cache) as vectors, output.status(dataset.name):
            measured.append(_measure(dataset, vectors, choices))
    results = leave_each_out(measured, seed=seed)
    grids = [_table(results, metric) for metric in METRICS]
    output.write(grids, {"seed": seed, "held": [asdict(result) for result in results]})
    output.show(grids)
    return results


def _measure(
    dataset: Dataset,
    embedder: CachingEmbedder | None,
    choices: Mapping[str, EvidenceWeights],
) -> Measured:
    """Measure every system on one set, one namespace at a time."""
    direct: dict[str, dict[str, list[_Values]]] = {}
    ours: dict[str, dict[str, list[_Values]]] = {}
    for part in dataset.by_namespace():
        chunks = [chunk for chunk in part.corpus if chunk.title.strip() or chunk.text.strip()]
        weak = CachingEmbedder(LatentSemantic([passage_text(chunk) for chunk in chunks]))
        for mode, model in {_WORDS: None, _MODEL: embedder, _WEAK: weak}.items():
            if mode == _MODEL and model is None:
                continue
            of_mode = direct.setdefault(mode, {})
            systems: list[Retriever] = [BM25()]
            if model is not None:
                systems += [Dense(model), WeightedSum(model)]
            for system in systems:
                system.index(chunks)
                of_mode.setdefault(system.name, []).append(_values(system, part))
                system.close()
            retriever = HebbianRetriever(embedder=model)
            retriever.index(chunks)
            for name, weights in choices.items():
                retriever.use(None, Settings(evidence=weights))
                values = _values(retriever, part)
                ours.setdefault(mode, {}).setdefault(name, []).append(values)
            retriever.close()
    return Measured(dataset.name, _joined(direct), _joined(ours))


def _values(system: Retriever, part: Dataset) -> _Values:
    rankings = [[hit.id for hit in system.retrieve(query.text, _DEPTH)] for query in part.queries]
    judged = [query.credited(r) for query, r in zip(part.queries, rankings, strict=True)]
    values = judge(judged, [query.relevant for query in part.queries], _DEPTH)
    return {metric: values[metric] for metric in METRICS}


def _joined(parts: Mapping[str, Mapping[str, list[_Values]]]) -> dict[str, dict[str, _Values]]:
    return {
        mode: {
            name: {metric: np.concatenate([part[metric] for part in values]) for metric in METRICS}
            for name, values in systems.items()
        }
        for mode, systems in parts.items()
    }


def leave_each_out(measured: Sequence[Measured], *, seed: int = 0) -> list[LeftOutResult]:
    """Return the result of each set under the choice that all other sets make."""
    results = []
    for left_out in measured:
        training = [candidate for candidate in measured if candidate is not left_out] or [left_out]
        choices = list(next(iter(left_out.ours.values())))
        choice = max(
            choices, key=lambda name: sum(_mean(candidate, name) for candidate in training)
        )
        for mode, by_choice in left_out.ours.items():
            for metric in METRICS:
                ours = by_choice[choice][metric]
                best, theirs = _best(left_out.direct[mode], metric)
                compared = [(best, theirs)]
                if len(left_out.ours) > 1 and mode != _WORDS:
                    # An embedder must not make results worse.
                    compared.append((f"ours, {_WORDS}", left_out.ours[_WORDS][choice][metric]))
                results += [
                    LeftOutResult(
                        left_out.name,
                        mode,
                        metric,
                        choice,
                        float(ours.mean()),
                        rival_name,
                        paired_bootstrap(ours, rival, seed=seed),
                    )
                    for rival_name, rival in compared
                ]
    return results


def _mean(measured: Measured, choice: str) -> float:
    """Return the mean of all modes and metrics on one set."""
    values = [
        by_choice[choice][metric] for by_choice in measured.ours.values() for metric in METRICS
    ]
    return float(np.mean([value.mean() for value in values]))


def _best(systems: Mapping[str, _Values], metric: str) -> tuple[str, FloatArray]:
    best = max(systems, key=lambda name: float(systems[name][metric].mean()))
    return best, systems[best][metric]


def _table(results: Sequence[LeftOutResult], metric: str) -> Grid:
    """Lay out one metric, the worst difference first."""
    rows: list[tuple[str, ...]] = []
    shown = [result for result in results if result.metric == metric]
    for result in sorted(shown, key=lambda result: result.difference.mean):
        difference = result.difference
        interval = f"{difference.mean:+.3f} [{difference.low:+.3f}, {difference.high:+.3f}]"
        won = f"{difference.wins}/{difference.losses}"
        rows.append(
            (
                result.name,
                result.mode,
                result.choice,
                f"{result.ours:.3f}",
                result.over,
                interval,
                won,
            )
        )
    headings: Any = ("set left out", "mode", "chosen", "ours", "over", "difference", "won/lost")
    return Grid(f"{metric}: chosen on all other sets", headings, rows)
