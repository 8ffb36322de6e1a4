"""The longer studies, one call each, as the command line runs them.

Each call reads all sets before it measures the first, shows tables on ``console``, rewrites its
JSON after each set, and writes Markdown beside it (``figures.json`` → ``figures.md``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

from hebbgraph.embedders import embedder_name
from hebbgraph.errors import ParameterError
from hebbgraph.protocols import Embedder, VectorSearchName
from hebbgraph.settings import LearningSettings
from rich.console import Console
from rich.status import Status
from usebench.experiment import versions
from usebench.tables import all_tables

from hebbgraph_bench import ablation, scale, tagging, walks
from hebbgraph_bench.datasets import Dataset, load
from hebbgraph_bench.embedding import caching
from hebbgraph_bench.learning import growth
from hebbgraph_bench.learning.attacks import AttackResult, measure_attacks
from hebbgraph_bench.learning.attacks import grid as attack_grid
from hebbgraph_bench.learning.growth import GrowthPoint
from hebbgraph_bench.learning.plots import plot_growth
from hebbgraph_bench.learning.use import measure_use
from hebbgraph_bench.output import Output
from hebbgraph_bench.tables import Grid

__all__ = [
    "bench_ablation",
    "bench_attacks",
    "bench_growth",
    "bench_learning",
    "bench_scale",
    "bench_taggers",
    "bench_walks",
]


def bench_ablation(
    paths: Sequence[str | Path],
    *,
    embedder: Embedder | None = None,
    cache: str | Path | None = None,
    k: int = 10,
    seed: int = 0,
    queries: int | None = None,
    json_path: str | Path | None = None,
    console: Console | None = None,
) -> list[ablation.AblationResult]:
    """Switch off each part of spreading in turn; see :mod:`.ablation`.

    Parameters
    ----------
    paths : sequence of str or Path
    embedder : Embedder, optional
    cache : str or Path, optional
        Keep vectors in this directory.
    k, seed, queries
        As for :func:`hebbgraph_bench.bench`.
    json_path : str or Path, optional
        Write the figures here, and Markdown beside it.
    console : rich.console.Console, optional

    Returns
    -------
    list of AblationResult
    """
    output = Output(json_path, console)
    datasets = _load(paths, seed, queries)
    results: list[ablation.AblationResult] = []
    grids: list[Grid] = []
    for dataset in datasets:
        with caching(embedder, cache) as vectors, output.status(dataset.name) as status:
            results.append(
                ablation.ablate(
                    dataset, embedder=vectors, k=k, on_variant=_status_updater(status, dataset)
                )
            )
        metrics = [name for name in results[0].values[ablation.AS_IT_IS] if name != "MRR"]
        grids = [ablation.grid(results, metric, seed=seed) for metric in metrics]
        content = ablation.as_dict(results, seed=seed)
        output.write(grids, {"seed": seed, "k": k, "embedder": _embedder_name(embedder), **content})
    output.show(grids)
    return results


def bench_taggers(
    paths: Sequence[str | Path],
    *,
    embedder: Embedder | None = None,
    cache: str | Path | None = None,
    k: int = 10,
    seed: int = 0,
    queries: int | None = None,
    json_path: str | Path | None = None,
    console: Console | None = None,
) -> dict[str, list[tagging.TaggingResult]]:
    """Compare taggers, and spoil tags on purpose; see :mod:`.tagging`.

    Parameters
    ----------
    paths, embedder, cache, k, seed, queries, json_path, console
        As for :func:`bench_ablation`.

    Returns
    -------
    dict of set name to list of TaggingResult
    """
    output = Output(json_path, console)
    results: dict[str, list[tagging.TaggingResult]] = {}
    for dataset in _load(paths, seed, queries):
        with caching(embedder, cache) as vectors, output.status(dataset.name) as status:
            results[dataset.name] = tagging.measure_taggers(
                dataset, embedder=vectors, k=k, seed=seed, on_arm=_status_updater(status, dataset)
            )
        content = {"sets": tagging.as_dict(results)}
        grids = tagging.grids(results, k, seed=seed)
        output.write(grids, {"seed": seed, "k": k, "embedder": _embedder_name(embedder), **content})
    output.show(tagging.grids(results, k, seed=seed))
    return results


def bench_scale(
    paths: Sequence[str | Path],
    sizes: Sequence[int],
    *,
    vectors: Sequence[str] = (),
    k: int = 10,
    seed: int = 0,
    queries: int | None = None,
    json_path: str | Path | None = None,
    console: Console | None = None,
) -> list[scale.ScaleResult]:
    """Measure speed and size on recombined chunks; see :mod:`.scale`.

    Parameters
    ----------
    paths : sequence of str or Path
        Where sentences and questions come from.
    sizes : sequence of int
        Numbers of chunks.
    vectors : sequence of str
        Also measure each size with simulated vectors, searched in each of these ways.
    queries : int, optional
        Ask this many questions instead of 200.
    k, seed, json_path, console
        As for :func:`bench_ablation`.

    Returns
    -------
    list of ScaleResult
    """
    searches: list[VectorSearchName | None] = [None]
    for name in vectors:
        matching = [choice for choice in get_args(VectorSearchName) if choice == name]
        if not matching:
            raise ParameterError(
                f"vectors are searched by {', '.join(get_args(VectorSearchName))}, got {name!r}"
            )
        searches += matching
    output = Output(json_path, console)
    datasets = _load(paths, seed, None)
    results: list[scale.ScaleResult] = []
    for size in sizes:
        for search in searches:
            with output.status(f"{size} chunks") as status:
                results.append(
                    scale.measure_scale(
                        datasets,
                        size,
                        vectors=search,
                        k=k,
                        seed=seed,
                        questions=queries or 200,
                        on_step=None if status is None else status.update,
                    )
                )
            figures = [asdict(result) for result in results]
            output.write([scale.grid(results)], {"seed": seed, "k": k, "sizes": figures})
    output.show([scale.grid(results)])
    return results


def bench_walks(
    paths: Sequence[str | Path],
    sizes: Sequence[int] = (),
    *,
    embedder: Embedder | None = None,
    cache: str | Path | None = None,
    queries: int | None = None,
    questions: int = 10,
    seed: int = 0,
    json_path: str | Path | None = None,
    console: Console | None = None,
) -> tuple[list[walks.WalkResult], list[walks.WalkTimes]]:
    """Compare spreading with the whole graph and PageRank; see :mod:`.walks`.

    Parameters
    ----------
    paths : sequence of str or Path
    sizes : sequence of int
        Time igraph and networkx on simulated graphs of these sizes instead.
    queries : int, optional
        Sample at most this many questions per set.
    questions : int
        Questions per size.
    embedder, cache, seed, json_path, console
        As for :func:`bench_ablation`.
    """
    output = Output(json_path, console)
    datasets = _load(paths, seed, queries)
    results: list[walks.WalkResult] = []
    times: list[walks.WalkTimes] = []
    tables: list[Grid] = []

    def write() -> None:
        nonlocal tables
        tables = walks.grids(results, times)
        content = {"sets": [asdict(row) for row in results]}
        output.write(tables, content | {"times": [asdict(row) for row in times]})

    for dataset in () if sizes else datasets:
        with caching(embedder, cache) as vectors, output.status(dataset.name):
            results.append(walks.compare_walks(dataset, embedder=vectors))
        write()
    for size in sizes:
        with output.status(f"{size} chunks"):
            times.append(walks.time_walks(size, questions=questions, seed=seed))
        write()
    output.show(tables)
    return results, times


def bench_learning(
    paths: Sequence[str | Path],
    *,
    embedder: Embedder | None = None,
    cache: str | Path | None = None,
    k: int = 10,
    seed: int = 0,
    order: str | None = None,
    frozen: bool = False,
    kinds: Sequence[str] = ("right",),
    at_most: int | None = None,
    json_path: str | Path | None = None,
    console: Console | None = None,
) -> list[dict[str, Any]]:
    """Measure what use teaches, against simple baselines; see :mod:`.learning.use`.

    Parameters
    ----------
    paths : sequence of str or Path
    embedder, cache, k, seed, json_path, console
        As for :func:`bench_ablation`.
    order, frozen, kinds, at_most
        As for :func:`hebbgraph_bench.learning.use.measure_use`.

    Returns
    -------
    list of dict
        One per set, as :mod:`usebench.tables` reads it.
    """
    if not paths:
        raise ParameterError("name at least one evaluation set, got none")
    output = Output(json_path, console)
    results: list[dict[str, Any]] = []
    for path in paths:
        with caching(embedder, cache) as vectors, output.status(Path(path).name) as status:
            results.append(
                measure_use(
                    path,
                    embedder=vectors,
                    order=order,
                    frozen=frozen,
                    kinds=kinds,
                    k=k,
                    seed=seed,
                    at_most=at_most,
                    on_system=None if status is None else status.update,
                )
            )
        content = {"versions": versions(), "model": _embedder_name(embedder), "sets": results}
        output.write_text(all_tables(results), content)
        output.show_text(all_tables(results[-1:]))
    return results


def bench_growth(
    paths: Sequence[str | Path],
    feedbacks: int,
    *,
    embedder: Embedder | None = None,
    cache: str | Path | None = None,
    k: int = 10,
    seed: int = 0,
    plots: str | Path | None = None,
    json_path: str | Path | None = None,
    console: Console | None = None,
) -> list[list[GrowthPoint]]:
    """Measure the cost of many feedbacks; see :mod:`.learning.growth`.

    Parameters
    ----------
    paths : sequence of str or Path
    feedbacks : int
    embedder, cache, k, seed, json_path, console
        As for :func:`bench_ablation`.
    plots : str or Path, optional
        Write curves into this directory, as PNG.

    Returns
    -------
    list of list of GrowthPoint
        One list per set.
    """
    output = Output(json_path, console)
    growths: list[list[GrowthPoint]] = []
    tables: list[Grid] = []
    content: list[dict[str, Any]] = []
    for dataset in _load(paths, seed, None):
        with caching(embedder, cache) as vectors, output.status(dataset.name) as status:
            points = growth.measure_growth(
                dataset,
                feedbacks,
                embedder=vectors,
                k=k,
                seed=seed,
                on_point=_status_updater(status, dataset),
            )
        if plots is not None:
            plot_growth(points, plots, dataset.name)
        growths.append(points)
        tables.append(growth.grid(points))
        content.append({"name": dataset.name, "points": [asdict(point) for point in points]})
        output.write(tables, {"growth": content})
        output.show(tables[-1:])
    return growths


def bench_attacks(
    paths: Sequence[str | Path],
    *,
    embedder: Embedder | None = None,
    cache: str | Path | None = None,
    k: int = 10,
    seed: int = 0,
    settings: LearningSettings | None = None,
    json_path: str | Path | None = None,
    console: Console | None = None,
) -> list[list[AttackResult]]:
    """Measure the effect of wrong citations; see :mod:`.learning.attacks`.

    Parameters
    ----------
    paths : sequence of str or Path
    embedder, cache, k, seed, json_path, console
        As for :func:`bench_ablation`.
    settings : LearningSettings, optional

    Returns
    -------
    list of list of AttackResult
        One list per set.
    """
    output = Output(json_path, console)
    results: list[list[AttackResult]] = []
    grids: list[Grid] = []
    content: list[dict[str, Any]] = []
    for dataset in _load(paths, seed, None):
        with caching(embedder, cache) as vectors, output.status(dataset.name) as status:
            attacks = measure_attacks(
                dataset,
                embedder=vectors,
                settings=settings,
                k=k,
                seed=seed,
                on_arm=_status_updater(status, dataset),
            )
        results.append(attacks)
        grids.append(attack_grid(dataset.name, attacks, k))
        content.append({"name": dataset.name, "attacks": [attack.means() for attack in attacks]})
        output.write(grids, {"sets": content})
        output.show(grids[-1:])
    return results


def _load(paths: Sequence[str | Path], seed: int, queries: int | None) -> list[Dataset]:
    if not paths:
        raise ParameterError("name at least one evaluation set, got none")
    return [load(path, seed=seed, queries=queries) for path in paths]


def _status_updater(status: Status | None, dataset: Dataset) -> Any:
    def update(step: object) -> None:
        if status is not None:
            status.update(f"{dataset.name}: {step}")

    return update


def _embedder_name(embedder: Embedder | None) -> str | None:
    return None if embedder is None else embedder_name(embedder)
