"""Run the whole comparison in one call, as the command line does."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from hebbgraph.embedders import embedder_name
from hebbgraph.errors import ParameterError
from hebbgraph.protocols import Embedder
from rich.console import Console

from hebbgraph_bench import report
from hebbgraph_bench.baselines import (
    BM25,
    Dense,
    Joined,
    ReciprocalRankFusion,
    Retriever,
    WeightedSum,
)
from hebbgraph_bench.datasets import Dataset, load
from hebbgraph_bench.embedding import CachingEmbedder, caching
from hebbgraph_bench.graph_peer import GraphRetrieverPeer
from hebbgraph_bench.ours import HebbianRetriever
from hebbgraph_bench.peers import EnsemblePeer, QueryFusionPeer
from hebbgraph_bench.phrase_pagerank import PhrasePageRank
from hebbgraph_bench.protocol import run
from hebbgraph_bench.results import SetResult

if TYPE_CHECKING:
    from hebbgraph.recall import StrategyName

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
    cache: str | Path | None = None,
    peers: bool = False,
    untitled: bool = False,
    references: bool = True,
    rewordings: bool = False,
    history: bool = False,
    console: Console | None = None,
) -> list[SetResult]:
    """Measure hebbgraph and the direct searches that it has to beat, on each set.

    Parameters
    ----------
    paths : sequence of str or Path
        Sets that :func:`hebbgraph_bench.datasets.load` reads. All are read before the first is
        measured, so a fault in one shows at once.
    embedder : Embedder, optional
        Adds dense search, RRF and the weighted sum; hebbgraph embeds with it too.
    k : int
        Chunks retrieved per question.
    json_path : str or Path, optional
        Write the figures here; rewritten after each set.
    seed : int
        Seeds the corpus order, the sample of questions and the bootstrap.
    queries : int, optional
        Sample at most this many questions per set.
    strategies : sequence of str
        Strategies of hebbgraph. The first is compared with every other system.
    compare_at_tokens : sequence of int
        Also compare at equal context, at each of these budgets in tokens.
    cache : str or Path, optional
        Keep vectors in this directory for the next run. The cost of embedding is then not
        reported.
    peers : bool
        Also run retrievers of other projects (:mod:`hebbgraph_bench.peers`); they need an
        embedder.
    untitled : bool
        Remove the titles of all chunks first.
    references : bool
        Keep the links of chunks.
    rewordings : bool
        Also ask the rewordings of a set; each kind is reported as a further set.
    history : bool
        Where questions have earlier turns, also run hebbgraph with them, and direct search with
        turns and question joined into one text.
    console : rich.console.Console, optional
        Show tables here; without it nothing is shown.

    Returns
    -------
    list of SetResult, in the order of ``paths``; rewordings follow their set

    Raises
    ------
    DatasetError
        If a set cannot be read.
    MissingExtraError
        If ``bm25s``, or a requested peer, is not installed.
    ParameterError
        If a parameter lies outside its range, or the directory of ``json_path`` does not exist.
    """
    if not paths:
        raise ParameterError("name at least one evaluation set, got none")
    if json_path is not None and not Path(json_path).absolute().parent.is_dir():
        raise ParameterError(f"{json_path}: expected a file in a directory that exists")
    if peers and embedder is None:
        raise ParameterError("the peers search by vectors: name an embedder, or leave them out")
    datasets = [load(path, seed=seed, queries=queries) for path in paths]
    if untitled:
        datasets = [dataset.untitled() for dataset in datasets]
    if not references:
        datasets = [dataset.without_references() for dataset in datasets]
    if rewordings:
        datasets = [dataset.with_rewordings() for dataset in datasets]
    results: list[SetResult] = []
    for dataset in datasets:
        with caching(embedder, cache) as vectors:
            retrievers = _retrievers(dataset, vectors, strategies, peers, history=history)
            result = _run_with_status(dataset, retrievers, vectors, k, compare_at_tokens, console)
        parts = result.by_variant()
        results += parts
        ours = f"hebbgraph {strategies[0]}" if strategies else None
        if console is not None:
            for part in parts:
                _show(console, part, ours, seed)
        if json_path is not None:
            settings = {
                "k": k,
                "queries": queries,
                "strategies": list(strategies),
                "compare_at_tokens": list(compare_at_tokens),
                "history": history,
                "embedder": None if embedder is None else embedder_name(embedder),
            }
            content = report.as_dict(results, seed=seed, ours=ours, settings=settings)
            report.write_json(json_path, content)
    return results


def _run_with_status(
    dataset: Dataset,
    retrievers: Sequence[Retriever],
    embedder: CachingEmbedder | None,
    k: int,
    at_tokens: Sequence[int],
    console: Console | None,
) -> SetResult:
    with console.status(f"{dataset.name}: embedding") if console else nullcontext() as status:

        def on_system(name: str) -> None:
            if status is not None:
                status.update(f"{dataset.name}: {name}")

        return run(
            dataset, retrievers, k=k, at_tokens=at_tokens, embedder=embedder, on_system=on_system
        )


def _retrievers(
    dataset: Dataset,
    embedder: CachingEmbedder | None,
    strategies: Sequence[StrategyName],
    peers: bool,
    *,
    history: bool,
) -> list[Retriever]:
    systems: list[Retriever] = [BM25()]
    if embedder is not None:
        systems += [Dense(embedder), ReciprocalRankFusion(embedder), WeightedSum(embedder)]
        if peers:
            systems += [
                QueryFusionPeer(embedder),
                EnsemblePeer(embedder),
                GraphRetrieverPeer(embedder),
            ]
    systems += [HebbianRetriever(name, embedder=embedder) for name in strategies]
    if extractions := dataset.extractions:
        systems.append(PhrasePageRank(extractions, embedder=embedder))
        systems += [
            HebbianRetriever(name, embedder=embedder, extractions=extractions)
            for name in strategies
        ]
    if history and any(query.history for query in dataset.queries):
        systems.append(Joined(BM25()))
        if embedder is not None:
            systems += [Joined(Dense(embedder)), Joined(WeightedSum(embedder))]
        systems += [HebbianRetriever(name, embedder=embedder, history=True) for name in strategies]
    return systems


def _show(console: Console, result: SetResult, ours: str | None, seed: int) -> None:
    report.quality_table(result).print(console)
    if result.by_type():
        report.type_table(result).print(console)
    if result.systems[0].at_tokens:
        report.budget_table(result).print(console)
    if ours is not None:
        compared = (f"R@{min(5, result.k)}", f"nDCG@{result.k}")
        with_history = f"{ours} + history"
        for name in (
            (ours, with_history)
            if with_history in (system.name for system in result.systems)
            else (ours,)
        ):
            report.difference_table(result, name, compared, seed=seed).print(console)
    console.print()
