"""``hebbgraph demo``: a question that fails, is taught, and succeeds in other words."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from hebbgraph.index import HebbianIndex
from hebbgraph.records import Recall
from hebbgraph.store import MEMORY

__all__ = ["ANSWER", "QUESTION", "REWORDED", "add_demo"]

QUESTION = "Do I get my money back when I cannot come?"
REWORDED = "We cannot come: do we get our money back?"
ANSWER = "deposit"


def add_demo(commands: Any) -> None:
    """Add the command."""
    text = "Show a question that fails, is taught, and succeeds in other words."
    command = commands.add_parser("demo", help=text, description=text)
    command.add_argument("--db", default=MEMORY, help="keep the index in this directory")
    command.set_defaults(run=lambda arguments: _demo(arguments.db))


def _demo(path: str) -> None:
    lines = files("hebbgraph.cli").joinpath("demo.jsonl").read_text("utf-8").splitlines()
    with HebbianIndex.open(path) as index:
        index.add(map(json.loads, lines))
        print(f"{len(lines)} notes of a mountain hut are indexed.")
        _show(first := index.recall(QUESTION, 3))
        (answer,) = index.get(ANSWER)
        print(f"\nNone of these answers it. “{answer.title}” does:\n   {answer.text}")
        index.reinforce(first, cited=[ANSWER])
        print("\nThat is taught. Now somebody asks in other words:")
        _show(index.recall(REWORDED, 3))
    print(
        '\nYour own files: hebbgraph index FOLDER, then hebbgraph recall "QUESTION", and\n'
        "hebbgraph reinforce RECALL RANK teaches which passages answer it."
    )


def _show(found: Recall) -> None:
    print(f"\n> {found.question}")
    for hit in found:
        print(f"   {hit.rank}. {hit.title}: {hit.text[:70]}…")
