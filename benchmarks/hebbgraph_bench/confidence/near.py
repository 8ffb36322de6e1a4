"""What a cutoff does to near-misses: ``python -m hebbgraph_bench.confidence.near [MODEL]``."""

from __future__ import annotations

import sys

import numpy as np
from hebbgraph import HebbianIndex
from rich.console import Console

from hebbgraph_bench.confidence.near_misses import NEAR_MISSES, NearMisses
from hebbgraph_bench.embedding import LazyEmbedder

__all__ = ["main", "shares"]

_CUTOFFS = (0.2, 0.3, 0.5, 0.7)


def shares(
    near: NearMisses, embedder: LazyEmbedder | None = None
) -> tuple[list[tuple[float, float, float]], float]:
    """Return (cutoff, share kept, share rejected) of each cutoff, and how often the first is surer.

    That is how often, of an answered and an unanswered question, the answered one is surer.
    """
    with HebbianIndex.open(":memory:", embedder=embedder) as index:
        index.add(near.chunks)
        kept, other = (
            np.array([index.recall(question, k=1).confidence or 0.0 for question in questions])
            for questions in (near.answered, near.unanswered)
        )
    found = [(at, float((kept >= at).mean()), float((other < at).mean())) for at in _CUTOFFS]
    return found, float((kept[:, None] > other).mean())


def main(arguments: list[str]) -> None:
    """Print the shares of both sets; an argument names a sentence-transformers model."""
    embedder = LazyEmbedder(arguments[0]) if arguments else None
    console = Console()
    for name, near in NEAR_MISSES.items():
        found, surer = shares(near, embedder)
        cells = "; ".join(f"{at}: {kept:.2f}, {rejected:.2f}" for at, kept, rejected in found)
        console.print(f"{name}: kept, rejected at {cells}; answered is surer: {surer:.3f}")


if __name__ == "__main__":
    main(sys.argv[1:])
