"""Clusters in N log N: what they cost as a collection grows, and whether they are DBSCAN's.

``python -m hebbgraph_bench.clusters`` prints the tables of ``docs/nakg.md``: CPU seconds and their
exponent on simulated vectors, and the adjusted Rand index against all pairs, on the same vectors
and on collections where topics touch. ``--colonies`` prints what colonies cost instead.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from itertools import product
from time import process_time
from typing import NamedTuple

import numpy as np
from hebbgraph.derived.colonies import Colonies
from hebbgraph.formulas.communities import ColonyParameters
from hebbgraph.neural.density import by_neighbours
from numpy.typing import NDArray
from rich.console import Console

from hebbgraph_bench.memory import PeakMemory
from hebbgraph_bench.papers.nakg_growth import growth_exponent, simulated
from hebbgraph_bench.scale.simulated import simulated_graph
from hebbgraph_bench.tables import Grid

__all__ = ["Agreement", "agreement", "colonies", "hard", "main", "seconds"]

SIZES = (5_000, 20_000, 80_000, 200_000)
#: All pairs of more than this many would take minutes.
_EXACT = 20_000
EPS, MIN_SAMPLES = 0.5, 5
_DIMENSIONS, _SPREADS, _EPS = (24, 48, 96, 384), (0.5, 0.7, 0.9, 1.1), (0.25, 0.35, 0.4, 0.45, 0.5)


class Agreement(NamedTuple):
    """One collection: clusters by all pairs and by neighbours, and their adjusted Rand index."""

    exact: int
    found: int
    rand: float


def seconds(vectors: NDArray[np.float32]) -> float:
    """Return the CPU seconds that clusters take."""
    began = process_time()
    by_neighbours(vectors, eps=EPS, min_samples=MIN_SAMPLES)
    return process_time() - began


def colonies(n: int) -> tuple[int, float, float | None]:
    """Return the number of colonies of a simulated graph, their CPU seconds, and megabytes."""
    graph = simulated_graph(n)
    with PeakMemory() as peak:
        began = process_time()
        found = Colonies(None, ColonyParameters()).at(graph).n_colonies
        took = process_time() - began
    return found, took, peak.megabytes


def agreement(vectors: NDArray[np.float32], eps: float = EPS) -> Agreement:
    """Compare clusters with those of DBSCAN over all pairs."""
    from sklearn.cluster import DBSCAN
    from sklearn.metrics import adjusted_rand_score

    radius = float(np.sqrt(2.0 * eps))
    exact = DBSCAN(eps=radius, min_samples=MIN_SAMPLES, algorithm="brute").fit_predict(vectors)
    found = by_neighbours(vectors, eps=eps, min_samples=MIN_SAMPLES)
    rand = float(adjusted_rand_score(exact, found))
    return Agreement(int(exact.max()) + 1, int(found.max()) + 1, rand)


def hard(n: int = 4000, topics: int = 40) -> Iterator[tuple[str, Agreement]]:
    """Compare on collections whose topics touch: from a few that melt to single dense cores.

    A twentieth of the chunks lies anywhere. Those with fewer than two clusters are left out.
    """
    for dimension, spread in product(_DIMENSIONS, _SPREADS):
        rng = np.random.default_rng(dimension)
        centres = rng.standard_normal((topics, dimension))
        vectors = centres[rng.integers(0, topics, n)]
        vectors += rng.standard_normal((n, dimension)) * spread
        vectors[: n // 20] = rng.standard_normal((n // 20, dimension))
        unit = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
        for eps in _EPS:
            compared = agreement(unit, eps)
            if compared.exact >= 2:
                yield f"{dimension} numbers, spread {spread}, ε {eps}", compared


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; see the module."""
    parser = argparse.ArgumentParser(
        description="Clusters in N log N, and whether they are DBSCAN's.",
        prog="hebbgraph_bench.clusters",
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--no-hard", action="store_true", help="leave out the hard collections")
    parser.add_argument("--colonies", action="store_true", help="what colonies cost instead")
    given = parser.parse_args(arguments)
    console = Console()
    if given.colonies:
        _print_colonies(given.sizes, console)
        return
    seconds(simulated(2_000))  # libraries load on their first call
    rows, costs = [], []
    for n in given.sizes:
        vectors = simulated(n)
        costs.append(seconds(vectors))
        rand = f"{agreement(vectors).rand:.3f}" if n <= _EXACT else ""
        rows.append((f"{n:,}", f"{costs[-1]:.2f}", rand))
    if len(costs) > 1:
        rows.append(("exponent", f"{growth_exponent(given.sizes, costs):.2f}", ""))
    Grid("Clusters", ("chunks", "CPU s", "adjusted Rand index"), rows).print(console)
    if given.no_hard:
        return
    compared = list(hard())
    low = sorted(compared, key=lambda one: one[1].rand)[:5]
    shown = [(name, str(one.exact), str(one.found), f"{one.rand:.3f}") for name, one in low]
    title = f"The five lowest of {len(compared)} hard collections"
    head = ("collection", "clusters, all pairs", "by neighbours", "adjusted Rand index")
    Grid(title, head, shown).print(console)


def _print_colonies(sizes: Sequence[int], console: Console) -> None:
    found = [colonies(n) for n in sizes]
    rows = [
        (f"{n:,}", str(number), f"{took:.2f}", "" if used is None else f"{used:.0f}")
        for n, (number, took, used) in zip(sizes, found, strict=True)
    ]
    if len(sizes) > 1:
        growth = growth_exponent(sizes, [took for _, took, _ in found])
        rows.append(("exponent", "", f"{growth:.2f}", ""))
    Grid("Colonies", ("chunks", "colonies", "CPU s", "MB"), rows).print(console)


if __name__ == "__main__":
    main()
