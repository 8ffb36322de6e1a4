"""Cost of colonies as a collection grows: ``python -m hebbgraph_bench.colonies``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from time import process_time

from hebbgraph.derived.colonies import Colonies
from hebbgraph.formulas.communities import ColonyParameters
from rich.console import Console

from hebbgraph_bench.memory import PeakMemory
from hebbgraph_bench.papers.nakg_growth import growth_exponent
from hebbgraph_bench.scale.simulated import simulated_graph
from hebbgraph_bench.tables import Grid

__all__ = ["colonies", "main"]

SIZES = (5_000, 20_000, 80_000, 200_000)


def colonies(n: int) -> tuple[int, float, float | None]:
    """Return the number of colonies of a simulated graph, their CPU seconds, and megabytes."""
    graph = simulated_graph(n)
    with PeakMemory() as peak:
        began = process_time()
        n_colonies = Colonies(None, ColonyParameters()).at(graph).n_colonies
        took = process_time() - began
    return n_colonies, took, peak.megabytes


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; see the module."""
    parser = argparse.ArgumentParser(
        description="What colonies cost as a collection grows.", prog="hebbgraph_bench.colonies"
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    sizes: list[int] = parser.parse_args(arguments).sizes
    measured = [colonies(n) for n in sizes]
    rows = [
        (f"{n:,}", str(number), f"{took:.2f}", "" if used is None else f"{used:.0f}")
        for n, (number, took, used) in zip(sizes, measured, strict=True)
    ]
    if len(sizes) > 1:
        growth = growth_exponent(sizes, [took for _, took, _ in measured])
        rows.append(("exponent", "", f"{growth:.2f}", ""))
    Grid("Colonies", ("chunks", "colonies", "CPU s", "MB"), rows).print(Console())


if __name__ == "__main__":
    main()
