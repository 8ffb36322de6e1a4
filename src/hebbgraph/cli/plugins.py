"""Commands that come with other distributions, such as ``bench`` with ``hebbgraph-bench``.

A distribution offers a command as an entry point in the group ``hebbgraph.commands``: a
function with Typer's annotations, imported when the command runs. ``hebbgraph --help`` lists only
installed commands; calling another one says what to install.
"""

from __future__ import annotations

from importlib import metadata
from typing import Any

import typer

from hebbgraph.extras import load_plugin

app = typer.Typer()
_GROUP = "hebbgraph.commands"
#: The extra whose distribution brings each command, and what the command does.
_COMMANDS = {
    "bench": (
        "bench",
        "Compare retrieval quality with BM25 and other baselines on evaluation sets.",
    ),
    "build": ("scale", "Build an index with many workers: processes, or a cluster of Ray."),
    "index": ("documents", "Index files: .txt .md .html .pdf .docx. Unchanged ones are skipped."),
    "load": ("bench", "Stress an index with several processes, then check its integrity."),
    "mcp": ("server", "Serve an index to one agent over standard input and output (MCP)."),
    "scale": ("serving", "Serve an index by replicas, run by Ray Serve."),
    "serve": ("server", "Serve an index: a web page at /, an API under /v1, MCP at /mcp."),
}
#: Every command takes both.
HELP: dict[str, Any] = {"help_option_names": ["-h", "--help"]}
#: The command parses its own arguments, ``--help`` included.
_PASS_ON: dict[str, Any] = {
    "allow_extra_args": True,
    "ignore_unknown_options": True,
    "help_option_names": [],
}


def _forward(context: typer.Context) -> None:
    name = str(context.info_name)
    command = typer.Typer(add_completion=False, context_settings=HELP)
    extra, _ = _COMMANDS[name]
    command.command(name)(load_plugin(_GROUP, name, extra=extra, purpose=f"hebbgraph {name}"))
    code = typer.main.get_command(command).main(
        context.args, prog_name=context.command_path, standalone_mode=False
    )
    if code:
        raise typer.Exit(code)


_installed = {entry.name for entry in metadata.entry_points(group=_GROUP)}
for name, (_, summary) in _COMMANDS.items():
    app.command(name, help=summary, context_settings=_PASS_ON, hidden=name not in _installed)(
        _forward
    )
