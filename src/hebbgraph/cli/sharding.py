"""Shards: ``hebbgraph shards create | list | rebalance``. All else takes shards.toml as --db."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from hebbgraph.cli.shared import AsJson, Db, Namespace, err, out, print_json
from hebbgraph.cli.terminal import counted, harmless
from hebbgraph.errors import ParameterError

_SHARDS = 2

app = typer.Typer()
shards = typer.Typer(
    name="shards", help="Make and tend an index over several directories.", no_args_is_help=True
)
app.add_typer(shards)


@shards.command()
def create(
    file: Annotated[Path, typer.Argument(help="The file to write; it ends in .toml.")],
    directories: Annotated[
        list[str] | None,
        typer.Argument(
            help="Where the shards lie, relative to the file, or URLs of hebbgraph serve --shard. "
            "[default: beside it]"
        ),
    ] = None,
    number: Annotated[
        int | None,
        typer.Option(
            "--shards", help="How many, where no directories are named. [default: 2]", min=1
        ),
    ] = None,
    token_env: Annotated[
        str | None,
        typer.Option(help="The environment variable with the token for those behind a URL."),
    ] = None,
) -> None:
    """Write a file of shards, and make the directories."""
    from hebbgraph.sharded import ShardedIndex

    if directories and number is not None:
        raise ParameterError(f"name directories, or how many with --shards {number}, not both")
    if directories and len(directories) == 1 and (many := directories[0]).isdecimal():
        raise ParameterError(f"{many} would be one directory; for so many write --shards {many}")
    places = directories or number or _SHARDS
    with ShardedIndex.create(file, places, token_env=token_env) as index:
        held = index.shards()
    out.print(f"made {counted(len(held), 'shard')}; use them as --db {harmless(str(file))}")
    for one in held:
        if one.problem is not None:
            err.print(f"{harmless(one.name)} does not answer yet: {harmless(one.problem)}")


@shards.command("list")
def list_(db: Db, namespace: Namespace = "default", as_json: AsJson = False) -> None:
    """Show the shards; exit with 1 if one is down."""
    from hebbgraph.sharded import ShardedIndex

    with ShardedIndex.open(db, namespace=namespace, settings="saved") as index:
        held = index.shards()
    if as_json:
        print_json([{**one._asdict(), "path": one.path and str(one.path)} for one in held])
    else:
        table = Table(box=None, show_header=False, pad_edge=False)
        for one in held:
            told = f"down: {one.problem}" if one.chunks is None else counted(one.chunks, "chunk")
            table.add_row(harmless(one.name), harmless(one.url or str(one.path)), harmless(told))
        out.print(table)
    if any(one.problem is not None for one in held):
        raise typer.Exit(1)


@shards.command()
def rebalance(db: Db, namespace: Namespace = "default") -> None:
    """Move documents to where new ones of their names would go, after a shard was added."""
    from hebbgraph.sharded import ShardedIndex

    with ShardedIndex.open(db, namespace=namespace, settings="saved") as index:
        moved = index.rebalance()
    out.print(f"{counted(moved, 'chunk')} moved")
