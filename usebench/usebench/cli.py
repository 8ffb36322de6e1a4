"""The command ``usebench``."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from usebench import feedback
from usebench.errors import UsebenchError
from usebench.experiment import MAIN, run, versions
from usebench.history import build_git
from usebench.metrics import METRICS
from usebench.reading import ORDERS, read_set
from usebench.systems import BUILT_IN, available, systems
from usebench.tables import all_tables

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    options = _parser().parse_args(arguments)
    try:
        status = int(options.command(options))
        sys.stdout.flush()
        return status
    except UsebenchError as error:
        print(f"usebench: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader of `usebench run SET | head` has left
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="usebench", description="How much better does a retriever find, the more it is used?"
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    measure = commands.add_parser("run", help="measure systems on sets, and print tables")
    measure.add_argument("sets", nargs="+", type=Path, metavar="SET", help="folders of sets")
    measure.add_argument("--order", choices=ORDERS, help="of the stream, in place of the set's own")
    measure.add_argument(
        "--frozen", action="store_true", help="only the past teaches, only the test is scored"
    )
    _add_options(measure)
    measure.set_defaults(command=_run)

    git = commands.add_parser("git", help="make a set of a repository's history")
    git.add_argument("repository", type=Path, metavar="PATH")
    git.add_argument("--past", type=float, default=0.7, help="share of the commits that is past")
    git.add_argument("out", type=Path, metavar="SET", help="the folder to write")
    git.set_defaults(command=_git)

    names = commands.add_parser("systems", help="list systems, and what they lack to run")
    names.set_defaults(command=_systems)

    return parser


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--systems", default=",".join(BUILT_IN), help="names, or module:Class, with commas between"
    )
    parser.add_argument(
        "--feedback",
        nargs="+",
        default=["right"],
        choices=list(feedback.KINDS),
        metavar="KIND",
        help=f"kinds of feedback: {', '.join(feedback.KINDS)}; most tables show the first",
    )
    parser.add_argument("--model", help="a sentence-transformers model for vectors")
    parser.add_argument("--metric", choices=list(METRICS), default=MAIN, help="shown in tables")
    parser.add_argument("--k", type=int, default=10, help="passages shown for a question")
    parser.add_argument("--at-most", type=int, help="events sampled from a set")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-unlearning", action="store_true", help="do not measure forgetting")
    parser.add_argument("--json", type=Path, help="write the figures to this file")


def _git(options: argparse.Namespace) -> int:
    build_git(options.repository, options.out, past=options.past)
    uses = read_set(options.out)
    print(f"{options.out}: {len(uses.passages)} passages, {len(uses.events)} events")
    return 0


def _run(options: argparse.Namespace) -> int:
    sets = [
        read_set(
            folder,
            order=options.order,
            frozen=options.frozen,
            at_most=options.at_most,
            seed=options.seed,
        )
        for folder in options.sets
    ]
    chosen_systems = systems(options.systems.split(","), model=options.model)
    figures: dict[str, Any] = {
        "versions": versions(),
        "date": datetime.now(UTC).date().isoformat(),
        "model": options.model or "LSA",
        "feedback": options.feedback,
        "sets": [
            run(
                uses,
                chosen_systems,
                kinds=options.feedback,
                k=options.k,
                seed=options.seed,
                metric=options.metric,
                unlearning=not options.no_unlearning,
                on_system=lambda name: print(name, file=sys.stderr, flush=True),
            )
            for uses in sets
        ],
    }
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    print(all_tables(figures["sets"]))
    return 0


def _systems(options: argparse.Namespace) -> int:
    states = available()
    width = max(map(len, states))
    for name, missing in states.items():
        print(f"{name:{width}} {missing or 'ready'}")
    return 0
