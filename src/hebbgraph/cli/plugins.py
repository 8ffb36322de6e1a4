"""Commands from other distributions: ``bench`` and ``load`` come with ``hebbgraph-bench``.

A distribution offers a command as an entry point in the group ``hebbgraph.commands``: a
function with Typer's annotations, imported when the command runs.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

import typer

from hebbgraph.errors import MissingExtraError

app = typer.Typer()
_GROUP = "hebbgraph.commands"
_COMMANDS = {
    "bench": "Compare retrieval quality with BM25 and other baselines on evaluation sets.",
    "load": "Stress an index with several processes, then check its integrity.",
}
#: The command parses its own arguments, ``--help`` included.
_PASS_ON: dict[str, Any] = {
    "allow_extra_args": True,
    "ignore_unknown_options": True,
    "help_option_names": [],
}


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


for name, summary in _COMMANDS.items():
    app.command(name, help=summary, context_settings=_PASS_ON)(_forward)
