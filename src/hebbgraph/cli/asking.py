"""The command that asks: ``hebbgraph query``."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from hebbgraph.cli.shared import (
    AsJson,
    Db,
    EmbedderName,
    Namespace,
    err,
    opened,
    out,
    print_json,
)
from hebbgraph.records import Hit, Recall

__all__ = ["path_text", "register"]


class _Strategy(StrEnum):
    spreading = "spreading"
    neighbourhood = "neighbourhood"
    neural = "neural"
    breadth_first = "breadth_first"


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command()(query)


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
    with opened(db, namespace, embedder) as index:
        recall = index.recall(question, k=k, where=_filter(where), strategy=strategy.value)
    if as_json:
        print_json(recall.model_dump(exclude_none=True))
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
        err.print(f"[yellow]{escape(note)}[/yellow]")
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
    out.print(table)
    out.print(f"[dim]recall {recall.id}[/dim]")


def path_text(hit: Hit) -> str:
    """Write a hit's path on one line: question → tag → chunk → tag → chunk."""
    names = {"query": "question"}
    return " → ".join(
        names.get(step.kind)
        or (f"«{step.value}»" if step.kind == "tag" else step.title or step.value)
        for step in hit.path
    )
