"""``hebbgraph build``."""

from __future__ import annotations

import functools
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TextColumn

from hebbgraph.cli.shared import (
    AsJson,
    Base,
    Cache,
    Db,
    EmbedderName,
    MaxTokens,
    Namespace,
    chunk_settings,
    err,
    opened,
    out,
    print_json,
)
from hebbgraph.cli.terminal import counted, harmless
from hebbgraph.errors import ParameterError

_SOME_FAILED = 3

app = typer.Typer()


class _Engine(StrEnum):
    processes = "processes"
    ray = "ray"


class _OnError(StrEnum):
    stop = "raise"
    skip = "skip"


@app.command()
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
        int | None, typer.Option(help="[default: one for each processor]", min=1)
    ] = None,
    engine: Annotated[_Engine, typer.Option(help="What runs the workers.")] = _Engine.processes,
    address: Annotated[
        str | None, typer.Option(help="Of a Ray cluster. [default: Ray on this machine]")
    ] = None,
    gpus: Annotated[
        int | None,
        typer.Option(help="Of a Ray cluster, that embed. [default: all]", min=0),
    ] = None,
    embedder: EmbedderName = None,
    work: Annotated[
        Path | None,
        typer.Option(help="Folder for results, shared by all workers. [default: build, in --db]"),
    ] = None,
    base: Base = None,
    max_tokens: MaxTokens = None,
    on_error: Annotated[
        _OnError, typer.Option(help="What happens to a chunk that cannot be taken.")
    ] = _OnError.stop,
    cache_dir: Cache = None,
    as_json: AsJson = False,
) -> None:
    """Build an index with many workers. Run it again after a kill, and it goes on.

    If files or chunks fail, they are listed at the end and the exit code is 3.
    """
    from hebbgraph.build.building import build as build_index
    from hebbgraph.build.driver import Told
    from hebbgraph.build.engines import engine_named
    from hebbgraph.build.recipe import Partition
    from hebbgraph.build.sources import is_table, partitions_of
    from hebbgraph.documents.batches import batches_of
    from hebbgraph.embedders import SentenceTransformerEmbedder

    documents = [one for one in sources if not is_table(one)]
    if not documents and (base is not None or max_tokens is not None):
        raise ParameterError("--base and --max-tokens are for documents; all sources hold chunks")
    partitions: list[Partition] = [*partitions_of([one for one in sources if is_table(one)])]
    batches, unreadable, ignored = batches_of(
        documents, base=base, settings=chunk_settings(max_tokens)
    )
    partitions += batches
    if gpus is not None and embedder is None:
        raise ParameterError("--gpus is for embedding, and there is no --embedder")
    model = None if embedder is None else functools.partial(SentenceTransformerEmbedder, embedder)
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[left]}"))
    with (
        opened(db, namespace, create=True, cache_dir=cache_dir) as store,
        Progress(*columns, console=err, transient=True) as bar,
    ):
        if not store.settings.keep_text:
            raise ParameterError(
                f"{db} keeps its texts in another store; build with the program that writes to it"
            )
        task = bar.add_task("propose", total=1.0, left="")

        def tell(now: Told) -> None:
            left = "" if now.seconds_left is None else f"{now.seconds_left:,.0f} s left"
            shown = f"{counted(now.chunks, 'chunk')}, {left}"
            bar.update(task, completed=now.done, description=now.step, left=shown)

        running = engine_named(engine.value, workers, address, gpus)
        try:
            report = build_index(
                store.parts,
                partitions,
                running,
                work=work,
                embedder=model,
                on_error=on_error.value,
                on_progress=tell,
            )
        finally:
            running.close()
    added, failed = report.added, [*unreadable, *report.files_failed]
    if as_json:
        told = {"files_failed": tuple(failed), "files_ignored": ignored}
        print_json(report.model_copy(update=told).model_dump())
    else:
        speed = report.megabytes / max(added.seconds, 1e-9)
        out.print(
            f"{counted(added.added, 'chunk')} added, {added.replaced:,} replaced, "
            f"{added.unchanged:,} unchanged, {added.deleted:,} deleted, in {added.seconds:.1f} s "
            f"with {counted(report.workers, 'worker')} ({speed:.2f} MB a second)"
        )
        if report.reused:
            out.print(f"{report.reused:,} results of an earlier build were whole and used again")
        if ignored:
            kinds = ", ".join(f"{kind or 'none'}: {n}" for kind, n in ignored.items())
            hint = "; name a file of chunks itself" if any(map(is_table, ignored)) else ""
            err.print(f"ignored in folders, by suffix: {harmless(kinds)}{hint}")
        for path, reason in failed:
            err.print(f"[red]failed[/red] {harmless(path)}: {harmless(reason)}")
        for chunk in added.failed:
            err.print(f"[red]skipped[/red] {harmless(chunk.reason)}")
    if failed or added.failed:
        raise typer.Exit(_SOME_FAILED)
