"""The effect of a cutoff on near-misses: ``python -m hebbgraph_bench.confidence.near``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from hebbgraph import HebbianIndex
from rich.console import Console

from hebbgraph_bench.confidence.near_misses import NEAR_MISSES, NearMisses
from hebbgraph_bench.embedding import LazyEmbedder
from hebbgraph_bench.output import Output
from hebbgraph_bench.tables import Grid

__all__ = ["main", "shares"]

_CUTOFFS = (0.2, 0.3, 0.5, 0.7)


def shares(
    near: NearMisses, embedder: LazyEmbedder | None = None
) -> tuple[list[tuple[float, float, float]], float]:
    """Return (cutoff, share kept, share rejected) for each cutoff, and a probability.

    It is the probability that an answered question is surer than an unanswered one.
    """
    with HebbianIndex.open(":memory:", embedder=embedder) as index:
        index.add(near.chunks)
        kept, other = (
            np.array([index.recall(question, k=1).confidence or 0.0 for question in questions])
            for questions in (near.answered, near.unanswered)
        )
    found = [(at, float((kept >= at).mean()), float((other < at).mean())) for at in _CUTOFFS]
    return found, float((kept[:, None] > other).mean())


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the shares of both sets."""
    parser = argparse.ArgumentParser(description=__doc__, prog="hebbgraph_bench.confidence.near")
    parser.add_argument("--embedder", help="a sentence-transformers model")
    parser.add_argument(
        "--json", type=Path, help="write the figures to this JSON file, and Markdown beside it"
    )
    options = parser.parse_args(arguments)
    embedder = LazyEmbedder(options.embedder) if options.embedder else None
    rows = []
    for name, near in NEAR_MISSES.items():
        found, surer = shares(near, embedder)
        cells = (f"{kept:.2f}, {rejected:.2f}" for _, kept, rejected in found)
        rows.append((name, *cells, f"{surer:.3f}"))
    head = ("kept, rejected at", *map(str, _CUTOFFS), "answered is surer")
    Output(options.json, Console()).tables([Grid("Near-misses", head, rows)])


if __name__ == "__main__":
    main()
