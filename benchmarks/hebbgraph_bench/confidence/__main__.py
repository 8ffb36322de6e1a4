"""The command line; see the package."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from hebbgraph.arrays import FloatArray
from hebbgraph.formulas.confidence import BOTH, LEXICAL, NOTHING_KNOWN
from rich.console import Console

from hebbgraph_bench.confidence.fit import fit as fitted
from hebbgraph_bench.confidence.fit import left_out, refitted
from hebbgraph_bench.confidence.measure import Sureness, applied, ask, shrunk
from hebbgraph_bench.datasets import load
from hebbgraph_bench.embedding import LazyEmbedder, caching
from hebbgraph_bench.output import Output
from hebbgraph_bench.tables import Grid

__all__ = ["main", "tables"]

_SIZES = (6, 25, 120)
_QUESTIONS = 200
_SMALL_QUESTIONS = 50


def tables(sets: Mapping[str, Sequence[Sureness]], *, fit: bool = False) -> list[Grid]:
    """Lay out the shares kept and rejected and, with ``fit``, the fitted coefficients."""
    whole = [ones[0] for ones in sets.values()]
    grids = [_thresholds("A threshold of each set, and what it does on the others", whole)]
    if fit:
        current = np.array(LEXICAL if whole[0].features.shape[1] == 1 else BOTH)
        every = fitted([one for ones in sets.values() for one in ones])
        found = {"the formula's": current, "of all sets": every}
        if len(sets) > 1:
            without = left_out(sets)
            found |= {f"without {name}": one for name, one in without.items()}
            strangers = [refitted(one, current, without[one.name]) for one in whole]
            grids.append(_thresholds("The same, each set by coefficients of the others", strangers))
        names = ("fitted", "intercept", "coverage", "nearness")[: 1 + len(current)]
        cells = [(name, *(f"{x:.2f}" for x in one)) for name, one in found.items()]
        grids.append(Grid("Coefficients", names, cells))
    return grids


def _thresholds(title: str, sets: Sequence[Sureness]) -> Grid:
    rows = []
    flagged = np.array([(one.kept(NOTHING_KNOWN), one.rejected(NOTHING_KNOWN)) for one in sets])
    for shares, (name, threshold, transferred) in zip(flagged, applied(sets), strict=True):
        figures = (f"{share:.3f}" for share in (*shares, threshold))
        rows.append((name, *figures, *_mean_and_worst(transferred)))
    rows.append(("mean", *(f"{share:.3f}" for share in flagged.mean(0)), "", "", ""))
    headings = (
        *("set", f"kept at {NOTHING_KNOWN}", "rejected"),
        *("threshold", "others kept (worst)", "others rejected (worst)"),
    )
    return Grid(title, headings, rows)


def _mean_and_worst(shares: FloatArray) -> tuple[str, ...]:
    if not len(shares):  # a single set
        return ("–", "–")
    return tuple(f"{column.mean():.3f} ({column.min():.3f})" for column in shares.T)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; see the package."""
    parser = argparse.ArgumentParser(
        description="What a threshold on the confidence keeps and rejects.",
        prog="hebbgraph_bench.confidence",
    )
    parser.add_argument("sets", nargs="+", type=Path, help="directories of evaluation sets")
    parser.add_argument("--embedder", help="a sentence-transformers model")
    parser.add_argument("--cache", type=Path, help="keep its vectors in this directory")
    parser.add_argument("--no-history", action="store_true", help="ask without earlier turns")
    parser.add_argument("--fit", action="store_true", help="fit the coefficients again")
    parser.add_argument(
        "--json", type=Path, help="write the figures to this JSON file, and Markdown beside it"
    )
    given = parser.parse_args(arguments)
    model = LazyEmbedder(given.embedder) if given.embedder else None
    output = Output(given.json, Console())
    measured: dict[str, list[Sureness]] = {}
    with caching(model, given.cache) as embedder:
        options: dict[str, Any] = {"embedder": embedder, "history": not given.no_history}
        for path in given.sets:
            dataset = load(path).shuffled(seed=0)
            samples = [dataset.sampled(_QUESTIONS, seed=0)]
            if given.fit:
                small = (shrunk(dataset, size, seed=0) for size in _SIZES)
                samples += [sample.sampled(_SMALL_QUESTIONS, seed=0) for sample in small]
            measured[dataset.name] = [ask(sample, **options) for sample in samples]
    output.tables(tables(measured, fit=given.fit))


if __name__ == "__main__":
    main()
