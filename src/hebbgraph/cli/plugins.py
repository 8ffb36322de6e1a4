"""Commands of other distributions: ``bench`` and ``load``, which ``hebbgraph-bench`` brings.

A distribution offers a command under the entry point group ``hebbgraph.commands``: a function
that Typer can turn into one. It is imported when the command runs, so that
``hebbgraph --help`` stays quick.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

import typer

from hebbgraph.errors import MissingExtraError

__all__ = ["register"]

_GROUP = "hebbgraph.commands"
_COMMANDS = {
    "bench": "Measure against BM25 and others on evaluation sets, in one run.",
    "load": "Recall, cite, add and delete with several processes at once; check what is left.",
}
#: All that follows the name is for the command itself to read, ``--help`` included.
_PASS_ON: dict[str, Any] = {
    "allow_extra_args": True,
    "ignore_unknown_options": True,
    "help_option_names": [],
}


def register(app: typer.Typer) -> None:
    """Add the commands to an app."""
    for name, summary in _COMMANDS.items():
        app.command(name, help=summary, context_settings=_PASS_ON)(_forward)


def _forward(context: typer.Context) -> None:
    name = str(context.info_name)
    own = typer.Typer(add_completion=False)
    own.command(name)(_load(name))
    code = typer.main.get_command(own).main(
        context.args, prog_name=context.command_path, standalone_mode=False
    )
    if code:
        raise typer.Exit(code)


def _load(name: str) -> Any:
    for found in entry_points(group=_GROUP, name=name):
        return found.load()
    raise MissingExtraError(
        f"hebbgraph {name} comes with hebbgraph-bench, which is not installed; "
        'pip install "hebbgraph[bench]"'
    )
