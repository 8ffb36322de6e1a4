"""``hebbgraph build`` and ``hebbgraph scale``: entry points in the group ``hebbgraph.commands``."""

from __future__ import annotations

import contextlib
import functools
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from hebbgraph.cli.shared import (
    AsJson,
    Base,
    Cache,
    Db,
    EmbedderName,
    MaxTokens,
    Namespace,
    err,
    opened,
    out,
    print_json,
)
from hebbgraph.cli.terminal import counted, harmless, most_frequent
from hebbgraph.embedders import SentenceTransformerEmbedder
from hebbgraph.errors import ParameterError
from hebbgraph.extras import require
from hebbgraph.hebbian_index import HebbianIndex
from rich.progress import BarColumn, Progress, TextColumn

from hebbgraph_scale.build.building import BuildReport
from hebbgraph_scale.build.building import build as build_index
from hebbgraph_scale.build.driver import BuildProgress
from hebbgraph_scale.build.engines import Engine, engine_named
from hebbgraph_scale.build.recipe import Partition
from hebbgraph_scale.build.sources import is_table, partitions_of
from hebbgraph_scale.publishing import publish

__all__ = ["build", "scale"]

_SOME_FAILED = 3


class _EngineName(StrEnum):
    processes = "processes"
    ray = "ray"


class _Scale(StrEnum):
    serve = "serve"


class _OnError(StrEnum):
    stop = "raise"
    skip = "skip"


class _Sources(NamedTuple):
    """Partitions of chunks, and files left out."""

    partitions: list[Partition]
    unreadable: list[tuple[str, str]]
    ignored: dict[str, int]


def build(
    sources: Annotated[
        list[str],
        typer.Argument(
            help="Chunks as .jsonl or .parquet (paths, or URLs of fsspec), files, and folders."
        ),
    ],
    db: Db,
    namespace: Namespace = "default",
    workers: Annotated[
        int | None, typer.Option(help="\\[default: one for each processor]", min=1)
    ] = None,
    engine: Annotated[
        _EngineName, typer.Option(help="What runs the workers.")
    ] = _EngineName.processes,
    address: Annotated[
        str | None, typer.Option(help="Of a Ray cluster. \\[default: Ray on this machine]")
    ] = None,
    gpus: Annotated[
        int | None, typer.Option(help="GPUs of a Ray cluster that embed. \\[default: all]", min=0)
    ] = None,
    embedder: EmbedderName = None,
    work: Annotated[
        Path | None,
        typer.Option(help="Folder for results, shared by all workers. \\[default: build, in --db]"),
    ] = None,
    base: Base = None,
    max_tokens: MaxTokens = None,
    on_error: Annotated[
        _OnError, typer.Option(help="What to do with an invalid chunk.")
    ] = _OnError.stop,
    publish_to: Annotated[
        str | None,
        typer.Option(
            "--publish", help="URL or folder: publish a snapshot at the end, for replicas."
        ),
    ] = None,
    cache_dir: Cache = None,
    as_json: AsJson = False,
) -> None:
    """Build an index with many workers. If interrupted, run it again to continue.

    If files or chunks fail, they are listed at the end and the exit code is 3.
    """
    selected = _sources(sources, base, max_tokens)
    if gpus is not None and embedder is None:
        raise ParameterError("--gpus is for embedding, and there is no --embedder")
    with (
        opened(db, namespace, create=True, cache_dir=cache_dir) as index,
        contextlib.closing(engine_named(engine.value, workers, address, gpus)) as running,
    ):
        if not index.settings.keep_text:
            raise ParameterError(
                f"{db} keeps its texts in another store; build with the program that writes to it"
            )
        report = _built(index, selected.partitions, running, work, embedder, on_error)
        if publish_to is not None:
            _publish(index, publish_to)
    failed = (*selected.unreadable, *report.files_failed)
    files = {"files_failed": failed, "files_ignored": selected.ignored}
    _report(report.model_copy(update=files), as_json=as_json)
    if failed or report.added.failed:
        raise typer.Exit(_SOME_FAILED)


def _publish(index: HebbianIndex, url: str) -> None:
    sent = publish(index, url)
    err.print(
        f"published generation {sent.generation} at {harmless(url)}: "
        f"{sent.bytes_sent / 1e6:,.1f} of {sent.bytes / 1e6:,.1f} MB sent"
    )


def scale(
    action: Annotated[_Scale, typer.Argument(help="serve: replicas by Ray Serve.")],
    config: Annotated[Path, typer.Argument(help="TOML or YAML: database, cache_dir, snapshots, …")],
    address: Annotated[
        str | None, typer.Option(help="Of a Ray cluster. \\[default: Ray on this machine]")
    ] = None,
) -> None:
    """Serve an index with replicas: a page at /, an API under /v1, MCP at /mcp."""
    from hebbgraph_scale.serving import read_config, run

    settings = read_config(config)
    where = f"http://{harmless(settings.host)}:{settings.port}"
    err.print(f"serving on {where}; Ctrl-C ends it")
    run(settings, address=address)


def _sources(sources: list[str], base: Path | None, max_tokens: int | None) -> _Sources:
    """Divide files and folders into partitions."""
    partitions: list[Partition] = [*partitions_of([path for path in sources if is_table(path)])]
    documents = [path for path in sources if not is_table(path)]
    if not documents:
        if base is not None or max_tokens is not None:
            raise ParameterError(
                "--base and --max-tokens are for documents; all sources hold chunks"
            )
        return _Sources(partitions, [], {})
    require("hebbgraph_documents", extra="documents", purpose="building from documents")
    from hebbgraph_documents.commands import chunk_settings

    from hebbgraph_scale.build.documents import batches_of

    batches = batches_of(documents, base=base, settings=chunk_settings(max_tokens))
    return _Sources([*partitions, *batches.batches], batches.failed, batches.ignored)


def _built(
    index: HebbianIndex,
    partitions: list[Partition],
    engine: Engine,
    work: Path | None,
    embedder: str | None,
    on_error: _OnError,
) -> BuildReport:
    """Build with a progress bar."""
    model = None if embedder is None else functools.partial(SentenceTransformerEmbedder, embedder)
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[left]}"))
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task("propose", total=1.0, left="")

        def show(now: BuildProgress) -> None:
            left = "" if now.seconds_left is None else f"{now.seconds_left:,.0f} s left"
            shown = f"{counted(now.chunks, 'chunk')}, {left}"
            bar.update(task, completed=now.done, description=now.step, left=shown)

        return build_index(
            index.parts,
            partitions,
            engine,
            work=work,
            embedder=model,
            on_error=on_error.value,
            on_progress=show,
        )


def _report(report: BuildReport, *, as_json: bool) -> None:
    if as_json:
        print_json(report.model_dump())
        return
    added, ignored = report.added, report.files_ignored
    speed = report.megabytes / max(added.seconds, 1e-9)
    out.print(
        f"{counted(added.added, 'chunk')} added, {added.replaced:,} replaced, "
        f"{added.unchanged:,} unchanged, {added.deleted:,} deleted, in {added.seconds:.1f} s "
        f"with {counted(report.workers, 'worker')} ({speed:.2f} MB a second)"
    )
    if report.reused:
        out.print(f"{report.reused:,} results of an earlier build were reused")
    if ignored:
        hint = "; name a file of chunks itself" if any(map(is_table, ignored)) else ""
        err.print(f"ignored in folders, by suffix: {most_frequent(ignored)}{hint}")
    for path, reason in report.files_failed:
        err.print(f"[red]failed[/red] {harmless(path)}: {harmless(reason)}")
    for chunk in added.failed:
        err.print(f"[red]skipped[/red] {harmless(chunk.reason)}")
