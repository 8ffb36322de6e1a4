"""Operations: ``hebbgraph doctor``, ``backup`` and ``restore``."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer

from hebbgraph.cli.shared import AsJson, Cache, Db, Namespace, err, opened, out, print_json
from hebbgraph.cli.terminal import counted, harmless
from hebbgraph.hebbian_index import HebbianIndex

app = typer.Typer()


@app.command()
def doctor(
    db: Db,
    namespace: Namespace = "default",
    cache_dir: Cache = None,
    repair: Annotated[
        bool, typer.Option("--repair", help="Rebuild derived data that is wrong.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check the integrity of an index; exit with 1 if a problem remains."""
    with opened(db, namespace, cache_dir=cache_dir) as index:
        report = index.maintenance.doctor(repair=repair)
    if as_json:
        print_json(report.model_dump())
    else:
        out.print(
            f"{counted(report.chunks, 'chunk')}, {counted(report.feedbacks, 'feedback')}, "
            f"generation {report.generation:,}"
        )
        for finding in report.findings:
            state = "[green]repaired[/green]" if finding.repaired else "[red]wrong[/red]"
            out.print(f"{state} {finding.part}: {harmless(finding.problem)}")
        for _, notes in groupby(report.notes, key=lambda note: note.partition(" ")[0]):
            first, *others = notes
            more = f" [dim](and {len(others):,} more of this kind)[/dim]" if others else ""
            err.print(f"[yellow]{harmless(first)}[/yellow]{more}")
        if not report.findings:
            out.print("all is well")
    if not report.ok:
        raise typer.Exit(1)


@app.command()
def backup(path: Annotated[Path, typer.Argument(help="Directory to create.")], db: Db) -> None:
    """Back up an index with all its namespaces. It may be in use."""
    with opened(db, "default") as index:
        index.maintenance.backup(path)
    out.print(f"backed up to {harmless(str(path))}; it opens like any index")


@app.command()
def restore(
    path: Annotated[Path, typer.Argument(help="Directory that `backup` made.")],
    db: Db,
    force: Annotated[
        bool, typer.Option("--force", help="Replace an index that exists, with all namespaces.")
    ] = False,
) -> None:
    """Restore an index from a backup. With --force, replace one that may be in use."""
    HebbianIndex.restore(path, db, force=force)
    out.print(f"restored {harmless(db)}")
