"""The tables of walks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from hebbgraph_bench.tables import Grid
from hebbgraph_bench.walks.ranking import WalkResult
from hebbgraph_bench.walks.times import WalkTimes

__all__ = ["grids"]


def grids(results: Sequence[WalkResult], times: Sequence[WalkTimes] = ()) -> list[Grid]:
    """Lay out results with one row per set, and times with one column per size."""
    tables = []
    if results:
        rows = [
            (
                result.dataset,
                str(result.questions),
                f"{result.spreading:.3f}",
                f"{result.dense:.3f}",
                f"{result.spreading - result.dense:+.3f}",
                f"{result.same_top5:.3f}",
                f"{result.pagerank:.3f}",
                f"{result.pagerank_joined:.3f}",
            )
            for result in results
        ]
        headings = (
            *("set", "questions", "spreading", "on the whole graph", "difference"),
            *("same top 5", "PageRank", "PageRank and direct evidence"),
        )
        tables.append(Grid("R@5 by how activation spreads", headings, rows))
    if times:
        figures = {
            "edges of the walk": ("edges", "d"),
            "spreading, ms": ("spreading_ms", ".2f"),
            "spreading, CPU ms": ("spreading_cpu_ms", ".2f"),
            "igraph's PageRank, CPU ms": ("igraph_cpu_ms", ".1f"),
            "networkx's PageRank, CPU ms": ("networkx_cpu_ms", ".1f"),
            "igraph / spreading, CPU": ("igraph_to_spreading", ".0f"),
            "saving the graph, s": ("save_seconds", ".2f"),
            "loading it, s": ("load_seconds", ".2f"),
            "allocated then, bytes a chunk": ("allocated_bytes_per_chunk", ".0f"),
            "giving 1,000 chunks new tags, CPU ms": ("set_rows_ms", ".1f"),
        }
        fields = [asdict(timed) for timed in times]
        cells = [
            (name, *("–" if row[field] is None else f"{row[field]:{form}}" for row in fields))
            for name, (field, form) in figures.items()
        ]
        headings_by_size = ("", *(f"{timed.chunks} chunks" for timed in times))
        tables.append(Grid("spreading alone beside PageRank", headings_by_size, cells))
    return tables
