"""The commands that teach: ``hebbgraph cite | forget | feedback export | feedback import``."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from hebbgraph.cli.shared import AsJson, Cache, Db, Namespace, opened, out, print_json

__all__ = ["register"]

feedback = typer.Typer(
    name="feedback", help="Feedback as JSON lines, out and in.", no_args_is_help=True
)


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command()(cite)
    app.command()(forget)
    app.add_typer(feedback)


def cite(
    recall_id: Annotated[str, typer.Argument(metavar="RECALL_ID", help="As query printed it.")],
    chunk_ids: Annotated[
        list[str] | None, typer.Argument(metavar="CHUNK_ID...", help="What the answer cites.")
    ] = None,
    *,
    db: Db,
    namespace: Namespace = "default",
    cache_dir: Cache = None,
    reject: Annotated[
        list[str] | None, typer.Option(help="A chunk that was found to be wrong.")
    ] = None,
    actor: Annotated[str | None, typer.Option(help="Who says so.")] = None,
    as_json: AsJson = False,
) -> None:
    """Tell which chunks of a recall an answer cited, so that they are found sooner."""
    with opened(db, namespace, cache_dir=cache_dir) as index:
        kept = index.reinforce(recall_id, chunk_ids or [], rejected=reject, actor=actor)
    if as_json:
        print_json(kept.model_dump(exclude={"vector"}, exclude_none=True))
    else:
        out.print(
            f"feedback {kept.id}: {len(kept.cited)} cited, {len(kept.rejected)} rejected "
            f"of {len(kept.shown)} shown"
        )


def forget(
    feedback_ids: Annotated[
        list[str] | None, typer.Argument(metavar="[FEEDBACK_ID]...", help="As cite printed it.")
    ] = None,
    *,
    db: Db,
    namespace: Namespace = "default",
    cache_dir: Cache = None,
    actor: Annotated[str | None, typer.Option(help="All that an actor said.")] = None,
    chunk: Annotated[str | None, typer.Option(help="All that was said about a chunk.")] = None,
    since: Annotated[datetime | None, typer.Option(help="From this time on.")] = None,
    until: Annotated[datetime | None, typer.Option(help="Before this time.")] = None,
    everything: Annotated[bool, typer.Option("--everything", help="All feedback.")] = False,
    erase: Annotated[
        bool, typer.Option("--erase", help="Leave no byte of it in any file.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Take back feedback and what it taught; what is given is combined."""
    with opened(db, namespace, cache_dir=cache_dir) as index:
        count = index.forget(
            feedback_ids or None,
            actor=actor,
            chunk=chunk,
            since=since,
            until=until,
            everything=everything,
            erase=erase,
        )
    if as_json:
        print_json({"forgotten": count})
    else:
        out.print(f"{count} feedbacks forgotten")


@feedback.command("export")
def export(
    file: Annotated[Path, typer.Argument(help="The file to write.")],
    db: Db,
    namespace: Namespace = "default",
    cache_dir: Cache = None,
) -> None:
    """Write the feedback log as JSON lines."""
    with opened(db, namespace, cache_dir=cache_dir) as index:
        count = index.export_feedback(file)
    out.print(f"{count} feedbacks: {escape(str(file))}")


@feedback.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="JSON lines that an export wrote.", exists=True)],
    db: Db,
    namespace: Namespace = "default",
    cache_dir: Cache = None,
    origin: Annotated[str | None, typer.Option(help="Where it is from. Default: the file.")] = None,
) -> None:
    """Add feedback from JSON lines; what is here already is passed over."""
    with opened(db, namespace, cache_dir=cache_dir) as index:
        count = index.import_feedback(file, origin=origin or file.name)
    out.print(f"{count} feedbacks added")
