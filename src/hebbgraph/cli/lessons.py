"""What an index was taught: ``hebbgraph lessons``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.table import Table

from hebbgraph.cli.shared import AsJson, Cache, Db, Namespace, opened, out, print_json
from hebbgraph.cli.terminal import harmless
from hebbgraph.records import LessonRecord

app = typer.Typer()


@app.command()
def lessons(
    db: Db,
    namespace: Namespace = "default",
    cache_dir: Cache = None,
    actor: Annotated[str | None, typer.Option(help="Lessons of this actor.")] = None,
    recall: Annotated[str | None, typer.Option(help="Lessons of the recall with this id.")] = None,
    since: Annotated[datetime | None, typer.Option(help="Lessons from this time on.")] = None,
    until: Annotated[datetime | None, typer.Option(help="Lessons before this time.")] = None,
    last: Annotated[int, typer.Option(help="Show so many, the latest.", min=1)] = 50,
    as_json: AsJson = False,
) -> None:
    """List what was learned from answers: question (if kept), chunks, actor, and effect.

    The effect is how many of the edges that a lesson shaped are followed by recalls now.
    """
    with opened(db, namespace, cache_dir=cache_dir) as index:
        found = index.lessons(actor=actor, recall=recall, since=since, until=until)
        answers = index.stats().answers
    if as_json:
        print_json({"lessons": [one.model_dump() for one in found[-last:]], "answers": answers})
        return
    if found:
        out.print(_table(found[-last:]))
    out.print(f"{len(found)} lessons" + (f", the last {last} shown" if len(found) > last else ""))
    if answers:
        counted = ", ".join(f"{count} {code.replace('_', ' ')}" for code, count in answers.items())
        out.print(f"answers read: {counted}")


def _table(found: Sequence[LessonRecord]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("when (UTC)", "actor", "question", "cited", "rejected", "edges", "feedback"):
        table.add_column(name, overflow="fold")
    for one in found:
        row = (
            f"{datetime.fromtimestamp(one.created_at, UTC):%Y-%m-%d %H:%M}",
            one.actor or "–",
            one.question or "–",
            " ".join(one.cited),
            " ".join(one.rejected),
            f"{one.active}/{one.edges}",
            one.feedback_id,
        )
        table.add_row(*map(harmless, row))
    return table
