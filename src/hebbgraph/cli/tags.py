"""Tags: ``hebbgraph tags show | merge | rename | mute | split | log | undo``."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape

from hebbgraph.cli.shared import AsJson, Cache, Db, Namespace, opened, out, print_json
from hebbgraph.cli.terminal import counted
from hebbgraph.errors import NotFoundError
from hebbgraph.records import CorrectionKind, TagCorrection

app = typer.Typer()
tags = typer.Typer(
    name="tags", help="Show and correct tags; texts stay as they are.", no_args_is_help=True
)
app.add_typer(tags)

_Into = Annotated[str, typer.Option(help="The tag in their place.")]
_Actor = Annotated[str | None, typer.Option(help="Who makes the correction.")]


def _correct(
    db: str,
    namespace: str,
    cache_dir: Cache,
    as_json: bool,
    kind: CorrectionKind,
    names: list[str],
    *,
    into: str | None = None,
    chunks: list[str] | None = None,
    actor: str | None,
) -> None:
    with opened(db, namespace, cache_dir=cache_dir) as index:
        correction = index.tags.correct(kind, names, into=into, chunks=chunks, actor=actor)
    if as_json:
        print_json(correction.model_dump())
    else:
        out.print(f"correction {correction.id}: {escape(_description(correction))}")


def _description(correction: TagCorrection) -> str:
    names = ", ".join(f"«{tag}»" for tag in correction.tags)
    into = "" if correction.into is None else f" into «{correction.into}»"
    chunks = f" in {counted(len(correction.chunks), 'chunk')}" if correction.chunks else ""
    return f"{correction.kind} {names}{into}{chunks}"


@tags.command()
def show(
    tag: Annotated[
        str | None, typer.Argument(help="Show its neighbours. \\[default: list tags]")
    ] = None,
    *,
    db: Db,
    namespace: Namespace = "default",
    cache_dir: Cache = None,
    containing: Annotated[str, typer.Option(help="List tags whose names contain this.")] = "",
    limit: Annotated[int, typer.Option("-n", "--limit", help="How many tags.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List tags by the number of chunks that hold them, or the neighbours of one."""
    with opened(db, namespace, cache_dir=cache_dir) as index:
        if tag is None:
            counts = index.tags.find(containing, limit=limit)
            rows = [(count.chunks, count.tag) for count in counts]
            record: object = [count.model_dump() for count in counts]
        else:
            neighborhood = index.tags.around(tag, limit=limit + 1)
            rows = [(node.weight, node.tag) for node in neighborhood.nodes[1:]]
            record = neighborhood.model_dump()
    if as_json:
        print_json(record)
        return
    for count, name in rows:
        out.print(f"{count:>8,}  {escape(name)}")


@tags.command()
def merge(
    named: Annotated[list[str], typer.Argument(metavar="TAG...")],
    *,
    into: _Into,
    db: Db,
    namespace: Namespace = "default",
    cache_dir: Cache = None,
    actor: _Actor = None,
    as_json: AsJson = False,
) -> None:
    """Let one tag stand for several."""
    _correct(db, namespace, cache_dir, as_json, "merge", named, into=into, actor=actor)


@tags.command()
def rename(
    tag: Annotated[str, typer.Argument(metavar="TAG")],
    *,
    into: _Into,
    db: Db,
    namespace: Namespace = "default",
    cache_dir: Cache = None,
    actor: _Actor = None,
    as_json: AsJson = False,
) -> None:
    """Give a tag a new name; questions may use both."""
    _correct(db, namespace, cache_dir, as_json, "rename", [tag], into=into, actor=actor)


@tags.command()
def mute(
    named: Annotated[list[str], typer.Argument(metavar="TAG...")],
    *,
    db: Db,
    namespace: Namespace = "default",
    cache_dir: Cache = None,
    actor: _Actor = None,
    as_json: AsJson = False,
) -> None:
    """Take tags out of chunks and questions."""
    _correct(db, namespace, cache_dir, as_json, "mute", named, actor=actor)


@tags.command()
def split(
    tag: Annotated[str, typer.Argument(metavar="TAG")],
    chunks: Annotated[list[str], typer.Argument(metavar="CHUNK_ID...")],
    *,
    into: _Into,
    db: Db,
    namespace: Namespace = "default",
    cache_dir: Cache = None,
    actor: _Actor = None,
    as_json: AsJson = False,
) -> None:
    """Give some chunks of a tag another one."""
    _correct(
        db, namespace, cache_dir, as_json, "split", [tag], into=into, chunks=chunks, actor=actor
    )


@tags.command("log")
def log(
    db: Db, namespace: Namespace = "default", cache_dir: Cache = None, as_json: AsJson = False
) -> None:
    """List the corrections in force, the oldest first."""
    with opened(db, namespace, cache_dir=cache_dir) as index:
        corrections = index.tags.corrections()
    if as_json:
        print_json([correction.model_dump() for correction in corrections])
        return
    for correction in corrections:
        by = "" if correction.actor is None else f" (by {correction.actor})"
        out.print(f"{correction.id}  {escape(_description(correction) + by)}")
    if not corrections:
        out.print("no corrections are in force")


@tags.command()
def undo(
    correction_id: Annotated[str, typer.Argument(metavar="ID", help="Id that `log` prints.")],
    db: Db,
    namespace: Namespace = "default",
    cache_dir: Cache = None,
) -> None:
    """Undo a correction, as if it had never been made."""
    with opened(db, namespace, cache_dir=cache_dir) as index:
        if not index.tags.undo(correction_id):
            raise NotFoundError(
                f"no correction {correction_id!r} is in force; hebbgraph tags log lists them"
            )
    out.print("undone")
