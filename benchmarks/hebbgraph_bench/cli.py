"""The commands ``hebbgraph bench`` and ``hebbgraph load``, found by their entry points."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from hebbgraph.cli.shared import AsJson, Cache, Db, EmbedderName, err, out, print_json
from rich.markup import escape

from hebbgraph_bench.tables import Grid

__all__ = ["bench", "load"]


def bench(
    datasets: Annotated[
        list[Path] | None, typer.Argument(help="Folders or files of evaluation sets.")
    ] = None,
    embedder: EmbedderName = None,
    cache: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep vectors here for the next run.")
    ] = None,
    k: Annotated[int, typer.Option("-k", min=1)] = 10,
    queries: Annotated[int | None, typer.Option(help="Sample this many questions per set.")] = None,
    seed: int = 0,
    at_tokens: Annotated[
        list[int] | None, typer.Option(help="Also compare at equal context, in tokens.")
    ] = None,
    peers: Annotated[
        bool, typer.Option("--peers", help="Also run retrievers of LangChain and LlamaIndex.")
    ] = False,
    untitled: Annotated[
        bool, typer.Option("--untitled", help="Remove the titles of all chunks first.")
    ] = False,
    references: Annotated[
        bool, typer.Option(help="Keep the links of chunks, or remove them first.")
    ] = True,
    rewordings: Annotated[
        bool,
        typer.Option(
            "--rewordings", help="Also ask each set's rewordings, reported as further sets."
        ),
    ] = False,
    history: Annotated[
        bool, typer.Option("--history", help="Also ask with earlier turns, where a set has them.")
    ] = False,
    ablation: Annotated[
        bool, typer.Option("--ablation", help="Instead: switch off each part of spreading in turn.")
    ] = False,
    leave_one_out: Annotated[
        bool,
        typer.Option(
            "--leave-one-out",
            help="Instead: tune on all sets but one, test on that one; also with a weak embedder.",
        ),
    ] = False,
    judge: Annotated[
        bool,
        typer.Option(
            "--judge", help="Instead: an oracle as judge, at several depths and error rates."
        ),
    ] = False,
    scale: Annotated[
        list[int] | None,
        typer.Option(
            help="Instead: measure speed on this many recombined chunks.", metavar="N", min=1
        ),
    ] = None,
    vectors: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SEARCH",
            help="With --scale: add simulated vectors, searched by exact, quantized or ivf.",
        ),
    ] = None,
    pagerank: Annotated[
        bool,
        typer.Option(
            "--pagerank",
            help="Instead: compare spreading with PageRank on the same graph; with --scale, times.",
        ),
    ] = False,
    learning: Annotated[
        bool,
        typer.Option("--learning", help="Instead: what use teaches, against simple baselines."),
    ] = False,
    order: Annotated[
        str | None,
        typer.Option(
            help="With --learning: the order of questions (see usebench), if not the set's."
        ),
    ] = None,
    frozen: Annotated[
        bool, typer.Option("--frozen", help="With --learning: learn from past questions only.")
    ] = False,
    feedback: Annotated[
        list[str] | None,
        typer.Option(help="With --learning, repeated: right, wrong, partial, hostile, gold."),
    ] = None,
    attacks: Annotated[
        bool,
        typer.Option("--attacks", help="With --learning: instead, wrong and hostile citations."),
    ] = False,
    feedbacks: Annotated[
        int, typer.Option(help="With --learning: instead, the cost of this many feedbacks.", min=0)
    ] = 0,
    taggers: Annotated[
        bool, typer.Option("--taggers", help="Instead: compare taggers, and spoil tags on purpose.")
    ] = False,
    paper: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Instead: a paper's own experiment, as published."),
    ] = None,
    plots: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="With --feedbacks or --paper: curves as PNG."),
    ] = None,
    json_path: Annotated[
        Path | None, typer.Option("--json", help="Write the figures to this file, as JSON.")
    ] = None,
) -> None:
    """Measure against BM25 and others on evaluation sets, in one run."""
    from hebbgraph_bench import benchmark, papers, studies
    from hebbgraph_bench.embedding import LazyEmbedder

    if ablation + bool(scale) + learning + taggers + bool(paper) + leave_one_out + judge > 1:
        raise typer.BadParameter(
            "--ablation, --leave-one-out, --judge, --scale, --learning, --taggers and --paper are "
            "separate studies: choose one"
        )
    if (untitled or rewordings or history or not references) and (
        ablation or leave_one_out or judge or scale or learning or taggers or paper or pagerank
    ):
        raise typer.BadParameter(
            "--untitled, --no-references, --rewordings and --history need the plain comparison"
        )
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
    if judge:
        from hebbgraph_bench.judges import bench_judge

        del common["k"]
        bench_judge(datasets, queries=queries, **common)
    elif leave_one_out:
        from hebbgraph_bench.leave_one_out import bench_leave_one_out

        del common["k"]
        bench_leave_one_out(datasets, queries=queries, **common)
    elif paper:
        options = papers.PaperOptions(plots=plots, queries=queries, **common)
        papers.bench_paper(paper, datasets, options)
    elif ablation:
        studies.bench_ablation(datasets, queries=queries, **common)
    elif taggers:
        studies.bench_taggers(datasets, queries=queries, **common)
    elif learning and attacks:
        studies.bench_attacks(datasets, **common)
    elif learning and feedbacks:
        studies.bench_growth(datasets, feedbacks, plots=plots, **common)
    elif learning:
        studies.bench_learning(
            datasets,
            order=order,
            frozen=frozen,
            kinds=feedback or ("right",),
            at_most=queries,
            **common,
        )
    else:
        benchmark.bench(
            datasets,
            queries=queries,
            compare_at_tokens=at_tokens or (),
            peers=peers,
            untitled=untitled,
            references=references,
            rewordings=rewordings,
            history=history,
            **common,
        )


def load(
    db: Db,
    cache_dir: Cache = None,
    processes: Annotated[int, typer.Option(min=1)] = 8,
    writers: Annotated[int, typer.Option(help="How many of them write.", min=1)] = 2,
    seconds: Annotated[float, typer.Option(min=0.0)] = 60.0,
    chunks: Annotated[int, typer.Option(help="About how many chunks to keep.", min=1)] = 4000,
    kills: Annotated[
        float, typer.Option(help="About how many processes to kill per minute.", min=0.0)
    ] = 12.0,
    seed: int = 0,
    as_json: AsJson = False,
) -> None:
    """Recall, cite, add and delete in several processes at once, then check the index.

    Vectors come from an embedder that costs nothing, and some processes are killed. The load runs
    in a new namespace, which is left in place. Exit code 1 means an error, or something lost or
    counted twice.
    """
    from hebbgraph_bench.stress import run_load

    report = run_load(
        db,
        processes=processes,
        writers=writers,
        seconds=seconds,
        chunks=chunks,
        cache_dir=cache_dir,
        seed=seed,
        kills_per_minute=kills,
    )
    if as_json:
        print_json(report.model_dump())
    else:
        rows = [
            (
                operation,
                f"{timing.count:,}",
                *(
                    f"{milliseconds:g}"
                    for milliseconds in (
                        timing.per_second,
                        timing.p50,
                        timing.p95,
                        timing.p99,
                        timing.longest,
                    )
                ),
            )
            for operation, timing in report.operations.items()
        ]
        headings = ("operation", "count", "a second", "ms median", "95 %", "99 %", "longest")
        Grid("", headings, rows).print(out)
        out.print(
            f"{report.processes} processes ({report.writers} writing), {report.seconds:g} s; "
            f"{report.kills} kills; {report.chunks:,} chunks, {report.feedbacks:,} feedbacks; "
            f"{report.waits} gave up waiting; MB {report.memory}"
        )
        for repair, count in report.repairs.items():
            out.print(f"{count} × rebuilt: {escape(repair)}")
        for error, count in report.errors.items():
            err.print(f"[red]{count} ×[/red] {escape(error)}")
        for fault in report.faults:
            err.print(f"[red]not exact[/red] {escape(fault)}")
        if report.ok:
            out.print("nothing was lost or counted twice, and everything equals a rebuild")
    if not report.ok:
        raise typer.Exit(1)
