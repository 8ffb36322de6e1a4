"""The command line: ``hebbgraph index | query | cite | forget | stats | export | bench``.

Exit codes: 0 success; 1 an error, told in one line; 2 wrong usage; 3 done, but some
files could not be read.
"""

from __future__ import annotations

import json
import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from hebbgraph._version import __version__
from hebbgraph.cli_learning import register as register_learning
from hebbgraph.cli_operations import register as register_operations
from hebbgraph.cli_shared import AsJson, Db, EmbedderName, Namespace, TaggerName
from hebbgraph.cli_shared import err as _err
from hebbgraph.cli_shared import opened as _opened
from hebbgraph.cli_shared import out as _out
from hebbgraph.cli_shared import print_json as _print_json
from hebbgraph.errors import HebbgraphError, ParameterError
from hebbgraph.records import Hit, Recall

__all__ = ["app", "main"]

app = typer.Typer(
    name="hebbgraph",
    help="A retriever that learns which passages belong together.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
register_learning(app)
register_operations(app)

_SOME_FILES_FAILED = 3


class _Format(StrEnum):
    graphml = "graphml"
    json = "json"


class _Kind(StrEnum):
    tags = "tags"
    incidence = "incidence"
    colonies = "colonies"


class _Strategy(StrEnum):
    spreading = "spreading"
    neighbourhood = "neighbourhood"
    neural = "neural"
    breadth_first = "breadth_first"


@app.command()
def index(
    paths: Annotated[list[Path], typer.Argument(help="Files and folders.")],
    db: Db,
    namespace: Namespace = "default",
    embedder: EmbedderName = None,
    tagger: TaggerName = None,
    prune: Annotated[
        bool, typer.Option(help="Remove documents whose files below PATHS are gone.")
    ] = False,
    base: Annotated[
        Path | None, typer.Option(help="Name documents relative to this folder.")
    ] = None,
    max_tokens: Annotated[int, typer.Option(help="The longest chunk.", min=1)] = 400,
    as_json: AsJson = False,
) -> None:
    """Index files: .txt .md .html .pdf .docx. Unchanged files are skipped."""
    from hebbgraph.documents import ChunkSettings, ingest

    settings = ChunkSettings(chunk_tokens=(min(200, max_tokens), max_tokens))
    with (
        _opened(db, namespace, embedder, tagger=tagger, create=True) as opened,
        Progress(console=_err, transient=True) as bar,
    ):
        if not opened.settings.keep_text:
            raise ParameterError(
                f"the texts of {db} are kept in another store: the program that has it adds "
                "documents to both"
            )
        task = bar.add_task("reading", total=None)
        report = ingest(
            paths,
            opened,
            prune=prune,
            base=base,
            settings=settings,
            on_progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    if as_json:
        _print_json(report.model_dump())
    else:
        _out.print(
            f"{len(report.indexed)} documents indexed ({report.chunks} chunks), "
            f"{len(report.skipped)} unchanged, {len(report.removed)} removed, "
            f"{len(report.failed)} failed, in {report.seconds:.1f} s"
        )
        if report.unsupported:
            kinds = ", ".join(f"{kind or 'none'}: {n}" for kind, n in report.unsupported.items())
            _err.print(f"passed over, by suffix: {escape(kinds)}")
        for path, reason in report.failed:
            _err.print(f"[red]failed[/red] {escape(path)}: {escape(reason)}")
        for chunk_id, reason in report.untagged:
            _err.print(f"not tagged by the model: {escape(chunk_id)}: {escape(reason)}")
    if report.failed:
        raise typer.Exit(_SOME_FILES_FAILED)


@app.command()
def query(
    question: Annotated[str, typer.Argument(help="The question.")],
    db: Db,
    k: Annotated[int, typer.Option("-k", help="How many chunks.", min=1)] = 5,
    namespace: Namespace = "default",
    embedder: EmbedderName = None,
    strategy: _Strategy = _Strategy.spreading,
    where: Annotated[
        str | None, typer.Option(help='A metadata filter as JSON: \'{"lang": "en"}\'.')
    ] = None,
    explain: Annotated[bool, typer.Option(help="Show the path that found each chunk.")] = False,
    as_json: AsJson = False,
) -> None:
    """Ask a question."""
    with _opened(db, namespace, embedder) as opened:
        recall = opened.recall(question, k=k, where=_filter(where), strategy=strategy.value)
    if as_json:
        _print_json(recall.model_dump(exclude_none=True))
        return
    _show_recall(recall, explain)


def _filter(where: str | None) -> dict[str, Any] | None:
    if where is None:
        return None
    try:
        return dict(json.loads(where))
    except (ValueError, TypeError) as error:
        raise typer.BadParameter(f"--where takes a JSON object: {error}") from error


def _show_recall(recall: Recall, explain: bool) -> None:
    for note in recall.notes:
        _err.print(f"[yellow]{escape(note)}[/yellow]")
    table = Table(box=None, pad_edge=False)
    for heading, style in (("#", "dim"), ("score", "cyan"), ("chunk", ""), ("id", "dim")):
        table.add_column(heading, style=style, overflow="fold")
    for hit in recall.hits:
        text = " ".join(hit.chunk.text.split())
        shown = f"[bold]{escape(hit.chunk.title)}[/bold] " if hit.chunk.title else ""
        shown += escape(text[:200] + ("…" if len(text) > 200 else ""))
        if explain:
            shown += f"\n[green]{escape(path_text(hit))}[/green]"
        table.add_row(str(hit.rank), f"{hit.score:.3f}", shown, hit.chunk.id)
    _out.print(table)
    _out.print(f"[dim]recall {recall.id}[/dim]")


def path_text(hit: Hit) -> str:
    """Write a hit's path on one line: question → tag → chunk → tag → chunk."""
    names = {"query": "question"}
    return " → ".join(
        names.get(step.kind)
        or (f"«{step.value}»" if step.kind == "tag" else step.title or step.value)
        for step in hit.path
    )


@app.command()
def stats(db: Db, namespace: Namespace = "default", as_json: AsJson = False) -> None:
    """Count chunks, tags and edges."""
    with _opened(db, namespace) as opened:
        counted = opened.stats()
    if as_json:
        _print_json(counted.model_dump())
        return
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, value in counted.model_dump().items():
        shown = (
            "  ".join(f"{key} {number:g}" for key, number in value.items())
            if isinstance(value, dict)
            else f"{value:,.4g}"
            if isinstance(value, float)
            else f"{value:,}"
        )
        table.add_row(name.replace("_", " "), shown)
    _out.print(table)


@app.command()
def export(
    out: Annotated[Path, typer.Argument(help="The file to write.")],
    db: Db,
    namespace: Namespace = "default",
    kind: _Kind = _Kind.tags,
    format: Annotated[_Format | None, typer.Option(help="Default: by the file's suffix.")] = None,
) -> None:
    """Write the graph as GraphML or node-link JSON."""
    import networkx as nx

    with _opened(db, namespace) as opened:
        graph = opened.to_networkx(kind.value)
    chosen = format or (_Format.graphml if out.suffix.lower() == ".graphml" else _Format.json)
    partial = out.with_name(f".{out.name}.{os.getpid()}.partial")
    try:
        if chosen is _Format.graphml:
            nx.write_graphml(graph, partial)
        else:
            content = nx.node_link_data(graph, edges="edges")
            partial.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
        os.replace(partial, out)
    finally:
        partial.unlink(missing_ok=True)
    _out.print(f"{graph.number_of_nodes()} nodes, {graph.number_of_edges()} edges: {out}")


@app.command()
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
    ablation: Annotated[
        bool, typer.Option("--ablation", help="Instead: each part of spreading off, one by one.")
    ] = False,
    scale: Annotated[
        list[int] | None,
        typer.Option(help="Instead: speed on so many recombined chunks.", metavar="N", min=1),
    ] = None,
    vectors: Annotated[
        bool, typer.Option("--vectors", help="With --scale: with simulated vectors too.")
    ] = False,
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
    from hebbgraph.evaluation import benchmark, papers, studies
    from hebbgraph.evaluation.embedding import LazyEmbedder

    if ablation + bool(scale) + learning + taggers + bool(paper) > 1:
        raise typer.BadParameter(
            "--ablation, --scale, --learning, --taggers and --paper are studies of their own"
        )
    datasets = datasets or []
    model = None if embedder is None else LazyEmbedder(embedder)
    common: dict[str, Any] = {"k": k, "seed": seed, "json_path": json_path, "console": _out}
    if pagerank:
        del common["k"]
        common |= {"embedder": model, "cache": cache, "queries": queries}
        studies.bench_walks(datasets, scale or (), **common)
        return
    if scale:
        studies.bench_scale(datasets, scale, vectors=vectors, queries=queries, **common)
        return
    common |= {"embedder": model, "cache": cache}
    if paper:
        papers.bench_paper(paper, datasets, plots=plots, queries=queries, **common)
    elif ablation:
        studies.bench_ablation(datasets, queries=queries, **common)
    elif taggers:
        studies.bench_taggers(datasets, queries=queries, **common)
    elif learning:
        studies.bench_learning(datasets, rounds=rounds, feedbacks=feedbacks, plots=plots, **common)
    else:
        benchmark.bench(
            datasets, queries=queries, compare_at_tokens=at_tokens or (), peers=peers, **common
        )


def _version(value: bool) -> None:
    if value:
        typer.echo(f"hebbgraph {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """A retriever that learns which passages belong together."""


def main() -> None:
    """Run the command line; errors of ours are one line and exit code 1."""
    try:
        app()
    except HebbgraphError as error:
        _err.print(f"[red]error[/red] {escape(str(error))}")
        sys.exit(1)
