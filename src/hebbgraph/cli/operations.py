"""The commands for whoever runs an index: ``doctor``, ``backup``, ``restore``, ``load``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from hebbgraph.cli.shared import AsJson, Cache, Db, Namespace, err, opened, out, print_json
from hebbgraph.index import HebbianIndex

__all__ = ["register"]

_NOT_WELL = 1


def register(app: typer.Typer) -> None:
    """Add the commands to an app."""
    app.command()(doctor)
    app.command()(backup)
    app.command()(restore)
    app.command()(load)


def doctor(
    db: Db,
    namespace: Namespace = "default",
    cache_dir: Cache = None,
    repair: Annotated[
        bool, typer.Option("--repair", help="Build derived parts anew where they are wrong.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check all that must always hold; exit with 1 if something does not."""
    with opened(db, namespace, cache_dir=cache_dir) as index:
        report = index.doctor(repair=repair)
    if as_json:
        print_json(report.model_dump())
    else:
        out.print(
            f"{report.chunks:,} chunks, {report.feedbacks:,} feedbacks, "
            f"generation {report.generation:,}"
        )
        for finding in report.findings:
            state = "[green]repaired[/green]" if finding.repaired else "[red]wrong[/red]"
            out.print(f"{state} {finding.part}: {escape(finding.problem)}")
        for note in report.notes:
            err.print(f"[yellow]{escape(note)}[/yellow]")
        if not report.findings:
            out.print("all is well")
    if not report.ok:
        raise typer.Exit(_NOT_WELL)


def backup(path: Annotated[Path, typer.Argument(help="A new directory.")], db: Db) -> None:
    """Copy an index, all namespaces, while it may be in use."""
    with opened(db, "default") as index:
        index.backup(path)
    out.print(f"backed up to {escape(str(path))}, which opens like any index")


def restore(path: Annotated[Path, typer.Argument(help="What backup made.")], db: Db) -> None:
    """Put a backup in the place of an index, which may be in use."""
    HebbianIndex.restore(path, db)
    out.print(f"restored {escape(db)}")


def load(
    db: Db,
    cache_dir: Cache = None,
    processes: Annotated[int, typer.Option(min=1)] = 8,
    writers: Annotated[int, typer.Option(help="How many of them write.", min=1)] = 2,
    seconds: Annotated[float, typer.Option(min=0.0)] = 60.0,
    chunks: Annotated[int, typer.Option(help="How many there are, about.", min=1)] = 4000,
    kills: Annotated[
        float, typer.Option(help="How many processes are killed a minute, about.", min=0.0)
    ] = 12.0,
    seed: int = 0,
    as_json: AsJson = False,
) -> None:
    """Recall, cite, add and delete with several processes at once, and look what is left.

    With vectors by an embedder that costs nothing, and with kills. It works in a new
    namespace, which stays. Exit code 1 tells of an error, or of
    something lost or counted twice.
    """
    from hebbgraph_bench.load import run_load

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
        table = Table(box=None, pad_edge=False)
        for heading in ("", "count", "a second", "ms median", "95 %", "99 %", "longest"):
            table.add_column(heading, justify="left" if not heading else "right")
        for what, one in report.operations.items():
            times = (one.p50, one.p95, one.p99, one.longest)
            table.add_row(what, f"{one.count:,}", f"{one.per_second:g}", *(f"{t:g}" for t in times))
        out.print(table)
        out.print(
            f"{report.processes} processes ({report.writers} writing), {report.seconds:g} s; "
            f"{report.kills} kills; {report.chunks:,} chunks, {report.feedbacks:,} feedbacks; "
            f"{report.waits} gave up waiting; MB {report.memory}"
        )
        for repair, count in report.repairs.items():
            out.print(f"{count} × built anew: {escape(repair)}")
        for error, count in report.errors.items():
            err.print(f"[red]{count} ×[/red] {escape(error)}")
        for fault in report.faults:
            err.print(f"[red]not exact[/red] {escape(fault)}")
        if report.ok:
            out.print("nothing was lost, nothing counted twice, all is as if built anew")
    if not report.ok:
        raise typer.Exit(_NOT_WELL)
