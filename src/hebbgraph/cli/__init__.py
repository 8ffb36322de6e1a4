"""The command line: ``hebbgraph index``, ``query``, ``cite``, ``lessons``, ``serve`` and others.

Each module is a Typer app with one group of commands. Commands import rarely needed modules when
they run, which keeps ``hebbgraph --help`` fast.

Exit codes: 0 success; 1 an error, in one line; 2 wrong usage; 3 some files failed.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from hebbgraph._version import __version__
from hebbgraph.cli import asking, lessons, operations, plugins, showing, tags, teaching
from hebbgraph.cli.shared import err
from hebbgraph.cli.terminal import harmless
from hebbgraph.errors import HebbgraphError

__all__ = ["app", "main"]

app = typer.Typer(
    name="hebbgraph",
    help="A retriever that learns which passages belong together.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings=plugins.HELP,
)
for group in (asking, teaching, lessons, tags, showing, operations, plugins):
    app.add_typer(group.app)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"hebbgraph {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """A retriever that learns which passages belong together."""


def main() -> None:
    """Run the command line; a hebbgraph error prints one line and exits with 1."""
    try:
        app()
    except (HebbgraphError, OSError) as error:  # OSError: a file on the command line
        err.print(f"[red]error[/red] {harmless(str(error))}")
        sys.exit(1)
