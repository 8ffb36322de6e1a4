"""The commands for whoever runs an index: ``doctor``, ``backup``, ``restore``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from hebbgraph.cli.shared import AsJson, Cache, Db, Namespace, err, opened, out, print_json
from hebbgraph.index import HebbianIndex

__all__ = ["register"]

_NOT_WELL = 1


def register(app: typer.Typer) -> None:
    """Add the commands to an app."""
    app.command()(doctor)
    app.command()(backup)
    app.command()(restore)


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
