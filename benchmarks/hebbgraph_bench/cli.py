"""The command that measures: ``hebbgraph bench``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from hebbgraph.cli.shared import EmbedderName, out

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command()(bench)


def bench(
    datasets: Annotated[
        list[Path] | None, typer.Argument(help="Folders or files of evaluation sets.")
    ] = None,
    embedder: EmbedderName = None,
    cache: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep vectors here for the next run.")
    ] = None,
    k: Annotated[int, typer.Option("-k", min=1)] = 10,
    queries: Annotated[int | None, typer.Option(help="Draw so many questions a set.")] = None,
    seed: int = 0,
    at_tokens: Annotated[
        list[int] | None, typer.Option(help="Also compare at equal context, in tokens.")
    ] = None,
    peers: Annotated[
        bool, typer.Option("--peers", help="Also run retrievers of LangChain and LlamaIndex.")
    ] = False,
    untitled: Annotated[
        bool, typer.Option("--untitled", help="Take the titles of all chunks away first.")
    ] = False,
    ablation: Annotated[
        bool, typer.Option("--ablation", help="Instead: each part of spreading off, one by one.")
    ] = False,
    scale: Annotated[
        list[int] | None,
        typer.Option(help="Instead: speed on so many recombined chunks.", metavar="N", min=1),
    ] = None,
    vectors: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SEARCH",
            help="With --scale: also with simulated vectors, searched so; exact, quantized ...",
        ),
    ] = None,
    pagerank: Annotated[
        bool,
        typer.Option(
            "--pagerank",
            help="Instead: spreading beside PageRank on the same graph; with --scale, their times.",
        ),
    ] = False,
    learning: Annotated[
        bool, typer.Option("--learning", help="Instead: what is learned from citations.")
    ] = False,
    rounds: Annotated[int, typer.Option(help="With --learning: passes.", min=1)] = 3,
    feedbacks: Annotated[
        int, typer.Option(help="With --learning: what so many feedbacks cost.", min=0)
    ] = 0,
    taggers: Annotated[
        bool, typer.Option("--taggers", help="Instead: each tagger, and tags spoilt on purpose.")
    ] = False,
    paper: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Instead: a paper's own experiment, as published."),
    ] = None,
    plots: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="With --learning or --paper: curves as PNG."),
    ] = None,
    json_path: Annotated[
        Path | None, typer.Option("--json", help="Where the figures go, as JSON.")
    ] = None,
) -> None:
    """Measure against BM25 and others on evaluation sets, in one run."""
    from hebbgraph_bench import benchmark, papers, studies
    from hebbgraph_bench.embedding import LazyEmbedder

    if ablation + bool(scale) + learning + taggers + bool(paper) > 1:
        raise typer.BadParameter(
            "--ablation, --scale, --learning, --taggers and --paper are studies of their own"
        )
    if untitled and (ablation or scale or learning or taggers or paper or pagerank):
        raise typer.BadParameter("--untitled goes with the plain comparison alone")
    datasets = datasets or []
    model = None if embedder is None else LazyEmbedder(embedder)
    common: dict[str, Any] = {"k": k, "seed": seed, "json_path": json_path, "console": out}
    if pagerank:
        del common["k"]
        common |= {"embedder": model, "cache": cache, "queries": queries}
        studies.bench_walks(datasets, scale or (), **common)
        return
    if scale:
        studies.bench_scale(datasets, scale, vectors=vectors or (), queries=queries, **common)
        return
    common |= {"embedder": model, "cache": cache}
    if paper:
        options = papers.PaperOptions(plots=plots, queries=queries, **common)
        papers.bench_paper(paper, datasets, options)
    elif ablation:
        studies.bench_ablation(datasets, queries=queries, **common)
    elif taggers:
        studies.bench_taggers(datasets, queries=queries, **common)
    elif learning:
        studies.bench_learning(datasets, rounds=rounds, feedbacks=feedbacks, plots=plots, **common)
    else:
        benchmark.bench(
            datasets,
            queries=queries,
            compare_at_tokens=at_tokens or (),
            peers=peers,
            untitled=untitled,
            **common,
        )
