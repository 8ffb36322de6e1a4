"""The command ``usebench``."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from usebench import feedback
from usebench.errors import UsebenchError
from usebench.experiment import MAIN, run, versions
from usebench.metrics import METRICS
from usebench.records import UseSet
from usebench.sets.builders import BUILDERS, CARDS, build
from usebench.sets.plain import ORDERS, read_set
from usebench.systems import DEFAULT, available, systems
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
    except BrokenPipeError:  # `usebench show result.json | head` has read enough
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

    git = commands.add_parser("git", help="build a set from a repository's history, and measure")
    git.add_argument("repository", type=Path, metavar="PATH")
    git.add_argument("--past", type=float, default=0.7, help="share of the commits that is past")
    git.add_argument("--out", type=Path, help="keep the set in this folder")
    _add_options(git)
    git.set_defaults(command=_git)

    make = commands.add_parser("build", help="build a set from a clone or folder")
    make.add_argument("name", choices=sorted(BUILDERS))
    make.add_argument("source", type=Path, help="the clone or folder; see `usebench sets`")
    make.add_argument("out", type=Path, help="the folder to write")
    make.set_defaults(command=_build)

    cards = commands.add_parser("sets", help="print what each set can show and what it cannot")
    cards.set_defaults(command=_sets)

    names = commands.add_parser("systems", help="list systems, and what they lack to run")
    names.set_defaults(command=_systems)

    show = commands.add_parser("show", help="print the tables of a result")
    show.add_argument("result", type=Path)
    show.set_defaults(command=_show)
    return parser


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--systems", default=",".join(DEFAULT), help="names, or module:Class, with commas between"
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
    return _measure(sets, options)


def _git(options: argparse.Namespace) -> int:
    from usebench.sets.git import build_git

    with tempfile.TemporaryDirectory(prefix="usebench-") as scratch:
        out = options.out or Path(scratch) / options.repository.resolve().name
        build_git(options.repository, out, past=options.past)
        return _measure([read_set(out, at_most=options.at_most, seed=options.seed)], options)


def _measure(sets: Sequence[UseSet], options: argparse.Namespace) -> int:
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


def _build(options: argparse.Namespace) -> int:
    build(options.name, options.source, options.out)
    uses = read_set(options.out)
    print(f"{options.out}: {len(uses.passages)} passages, {len(uses.events)} events ({uses.order})")
    return 0


def _sets(options: argparse.Namespace) -> int:
    for card in CARDS:
        print(f"{card}\n")
    return 0


def _systems(options: argparse.Namespace) -> int:
    states = available()
    width = max(map(len, states))
    for name, missing in states.items():
        print(f"{name:{width}} {missing or 'ready'}")
    return 0


def _show(options: argparse.Namespace) -> int:
    try:
        figures = json.loads(options.result.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsebenchError(
            f"{options.result}: expected a result of `usebench run`; {error}"
        ) from error
    print(all_tables(figures["sets"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
