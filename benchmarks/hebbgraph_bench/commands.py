"""The command ``hebbgraph bench [STUDY | --paper PAPER] …``, for the core's command line."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from usebench.errors import UsebenchError

from hebbgraph.errors import MissingExtraError, ParameterError

__all__ = ["PAPERS", "STUDIES", "add_commands", "main"]

#: Studies, and the modules that run them: each has ``add_arguments(parser)`` and ``run(options)``.
STUDIES = {
    "rank": "rank",
    "learn": "learn",
    "leave-one-out": "left_out",
    "frameworks": "frameworks",
    "splitters": "splitters",
    "speed": "speed",
    "storm": "storm",
    "nearest": "nearest",
    "attacks": "attacks",
    "build": "multihop",
}
#: After ``--paper``: the experiments of papers.
PAPERS = {name: f"papers.{name}" for name in ("bambookg", "bio_rag", "nakg")}
_DEFAULT = "rank"


def add_commands(subparsers: Any) -> None:
    """Add ``bench``. It takes all words, as its options depend on the study."""
    text = "Compare hebbgraph with other retrievers."
    # No argument starts with NUL, so even options are words for the study's own parser.
    command = subparsers.add_parser("bench", help=text, prefix_chars="\0", add_help=False)
    command.add_argument("words", nargs="*")
    command.set_defaults(run=lambda arguments: main(arguments.words))


def main(words: Sequence[str]) -> int:
    """Run a study; return the exit code."""
    name, rest = (words[0], words[1:]) if words and words[0] in STUDIES else (_DEFAULT, words)
    if rest[:1] == ["--paper"]:
        name, rest = " ".join(rest[:2]), rest[2:]
        study = _paper(name.removeprefix("--paper").strip())
    else:
        study = import_module(f"hebbgraph_bench.{STUDIES[name]}")
    parser = argparse.ArgumentParser(
        prog=f"hebbgraph bench {name}",
        description=study.__doc__,
        epilog=f"Studies: hebbgraph bench {{{','.join(STUDIES)}}}; {_DEFAULT} if none is named. "
        f"Papers: hebbgraph bench --paper {{{','.join(PAPERS)}}}.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    study.add_arguments(parser)
    try:
        return int(study.run(parser.parse_args(rest)) or 0)
    except UsebenchError as error:
        raise ParameterError(str(error)) from error


def _paper(name: str) -> Any:
    """Return the module of a paper's experiment."""
    if name not in PAPERS:
        raise ParameterError(f"--paper is one of {', '.join(PAPERS)}; got {name!r}")
    if find_spec("hebbgraph_papers") is None:
        raise MissingExtraError('--paper needs: pip install "hebbgraph[papers]"')
    return import_module(f"hebbgraph_bench.{PAPERS[name]}")
