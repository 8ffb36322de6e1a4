"""The command ``hebbgraph demo``."""

from __future__ import annotations

import argparse
import json
from importlib.resources import files

from hebbgraph import HebbianIndex
from hebbgraph.cli.printing import hit_lines

QUESTION = "Do I get my money back if I fall ill?"
REWORDED = "What happens when somebody falls ill?"


def run_demo(arguments: argparse.Namespace) -> None:
    """Ask a question in two wordings, teach the answer to one, and ask the other again."""
    lines = files("hebbgraph.cli").joinpath("demo.jsonl").read_text("utf-8").splitlines()
    with HebbianIndex.open(arguments.db) as index:
        index.add(map(json.loads, lines))
        index.forget(actor="demo")  # what an earlier demo taught
        print(f"{len(lines)} notes of a mountain hut are indexed.")
        other, first = index.recall(REWORDED, 3), index.recall(QUESTION, 3)
        print(f"\n> {REWORDED}", *hit_lines(other), f"\n> {QUESTION}", *hit_lines(first), sep="\n")
        (answer,) = index.get("deposit")
        print(f"\nNone of these answers it. “{answer.title}” does:\n   {answer.text}")
        index.reinforce(first, cited=["deposit"], actor="demo")
        print(f"\nThat is taught for “{QUESTION}”\nThe other question shares “fall ill” with it:")
        print(f"\n> {REWORDED}", *hit_lines(index.recall(REWORDED, 3)), sep="\n")
    print("\nYour own files: hebbgraph index FOLDER, then hebbgraph recall and reinforce.")
