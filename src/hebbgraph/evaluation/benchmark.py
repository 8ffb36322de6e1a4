"""The whole bench in one call, as the command line runs it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from hebbgraph.errors import ParameterError
from hebbgraph.evaluation import report
from hebbgraph.evaluation.baselines import (
    BM25,
    Dense,
    ReciprocalRankFusion,
    Retriever,
    WeightedSum,
)
from hebbgraph.evaluation.datasets import Dataset, load
from hebbgraph.evaluation.embedding import CachingEmbedder
from hebbgraph.evaluation.ours import HebbianRetriever
from hebbgraph.evaluation.protocol import run
from hebbgraph.evaluation.results import SetResult
from hebbgraph.protocols import Embedder

if TYPE_CHECKING:
    from hebbgraph.recalling import StrategyName

__all__ = ["bench"]


def bench(
    paths: Sequence[str | Path],
    *,
    embedder: Embedder | None = None,
    k: int = 10,
    json_path: str | Path | None = None,
    seed: int = 0,
    queries: int | None = None,
    strategies: Sequence[StrategyName] = ("spreading", "neighbourhood"),
    compare_at_tokens: Sequence[int] = (),
    console: Console | None = None,
) -> list[SetResult]:
    """Measure hebbgraph and the direct searches that it has to beat, on each set.

    Parameters
    ----------
    paths : sequence of str or Path
        Sets that :func:`hebbgraph.evaluation.datasets.load` reads. All are read before
        the first is measured, so that a fault in one costs no waiting.
    embedder : Embedder, optional
        With it, dense search, RRF and the weighted sum run too, and ours embeds.
    k : int
        How many chunks each question gets.
    json_path : str or Path, optional
        Where the figures go; rewritten after each set.
    seed : int
        Of the corpus order, the drawn questions and the bootstrap.
    queries : int, optional
        Draw at most so many questions of each set.
    strategies : sequence of str
        Of ours. The first is compared with every other system.
    compare_at_tokens : sequence of int
        Also compare at equal context, at each of these budgets in tokens.
    console : rich.console.Console, optional
        Where tables are shown; nothing is shown without it.

    Returns
    -------
    list of SetResult, in the order of ``paths``

    Raises
    ------
    DatasetError
        If a set cannot be read.
    MissingExtraError
        If ``bm25s`` is not installed.
    ParameterError
        If a parameter lies outside its range, or ``json_path`` in no directory.
    """
    if not paths:
        raise ParameterError("name at least one evaluation set, got none")
    if json_path is not None and not Path(json_path).absolute().parent.is_dir():
        raise ParameterError(f"{json_path}: expected a file in a directory that exists")
    datasets = [load(path, seed=seed, queries=queries) for path in paths]
    results: list[SetResult] = []
    for dataset in datasets:
        result = _run_with_status(dataset, embedder, strategies, k, compare_at_tokens, console)
        results.append(result)
        ours = f"hebbgraph {strategies[0]}" if strategies else None
        if console is not None:
            _show(console, result, ours, seed)
        if json_path is not None:
            settings = {
                "k": k,
                "queries": queries,
                "strategies": list(strategies),
                "compare_at_tokens": list(compare_at_tokens),
                "embedder": _name(embedder),
            }
            content = report.as_dict(results, seed=seed, ours=ours, settings=settings)
            report.write_json(json_path, content)
    return results


def _run_with_status(
    dataset: Dataset,
    embedder: Embedder | None,
    strategies: Sequence[StrategyName],
    k: int,
    at_tokens: Sequence[int],
    console: Console | None,
) -> SetResult:
    cache = None if embedder is None else CachingEmbedder(embedder)
    retrievers = _retrievers(cache, strategies)
    with console.status(f"{dataset.name}: embedding") if console else nullcontext() as status:

        def on_system(name: str) -> None:
            if status is not None:
                status.update(f"{dataset.name}: {name}")

        return run(
            dataset, retrievers, k=k, at_tokens=at_tokens, embedder=cache, on_system=on_system
        )


def _retrievers(
    embedder: CachingEmbedder | None, strategies: Sequence[StrategyName]
) -> list[Retriever]:
    direct: list[Retriever] = [BM25()]
    if embedder is not None:
        direct += [Dense(embedder), ReciprocalRankFusion(embedder), WeightedSum(embedder)]
    return [*direct, *(HebbianRetriever(name, embedder=embedder) for name in strategies)]


def _show(console: Console, result: SetResult, ours: str | None, seed: int) -> None:
    console.print(report.quality_table(result))
    if result.systems[0].at_tokens:
        console.print(report.budget_table(result))
    if ours is not None:
        compared = (f"R@{min(5, result.k)}", f"nDCG@{result.k}")
        console.print(report.difference_table(result, ours, compared, seed=seed))
    console.print()


def _name(embedder: Embedder | None) -> str | None:
    """What identifies the embedder best: its own name for itself, or its class."""
    if embedder is None:
        return None
    for attribute in ("name", "model_name", "model"):
        if isinstance(value := getattr(embedder, attribute, None), str):
            return value
    return type(embedder).__qualname__
