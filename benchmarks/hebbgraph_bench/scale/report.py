"""The figures for one size, and their table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from hebbgraph_bench.tables import Grid

__all__ = ["ScaleResult", "grid"]


@dataclass(frozen=True, slots=True)
class ScaleResult:
    """Figures for one size; times of single calls are medians and 95th percentiles.

    ``reference_us`` is what ``sum(range(100))`` took in the same run.
    """

    chunks: int
    megabytes: float
    dimension: int | None
    vector_search: str | None
    questions: int
    reference_us: float
    index_seconds: float
    index_mb_per_second: float
    index_mb_per_cpu_second: float
    first_tenth_mb_per_cpu_second: float
    last_tenth_mb_per_cpu_second: float
    derive_mb_per_cpu_second: float
    tantivy_index_mb_per_second: float
    recall_ms: float
    recall_ms_p95: float
    tantivy_ms: float
    tantivy_ms_p95: float
    recall_to_tantivy: float
    recall_cpu_ms: float
    tantivy_cpu_ms: float
    spreading_ms: float
    spreading_ms_p95: float
    spreading_cpu_ms: float
    reopen_seconds: float
    first_recall_ms: float
    resident_bytes_per_chunk: float | None
    disk_bytes_per_chunk: float
    tantivy_200_ms: float
    every_ms: float
    half_ms: float
    tenth_ms: float
    hundredth_ms: float
    slowest_to_tantivy_200: float
    add_cpu_ms: float
    rematch_cpu_ms: float
    recall_after_add_ms: float
    reinforce_ms: float
    delete_ms: float
    compact_seconds: float
    longest_recall_ms: float


def grid(results: Sequence[ScaleResult]) -> Grid:
    """Lay out one row per figure, one column per size."""
    rows = {
        "text, MB": ("megabytes", ".1f"),
        "sum(range(100)), µs": ("reference_us", ".2f"),
        "indexing, MB/s": ("index_mb_per_second", ".2f"),
        "indexing, MB a CPU second": ("index_mb_per_cpu_second", ".2f"),
        "writing the first tenth, MB a CPU second": ("first_tenth_mb_per_cpu_second", ".2f"),
        "writing the last tenth, MB a CPU second": ("last_tenth_mb_per_cpu_second", ".2f"),
        "deriving graph and lexical index, MB a CPU second": ("derive_mb_per_cpu_second", ".2f"),
        "Tantivy's indexing, MB/s": ("tantivy_index_mb_per_second", ".2f"),
        "recall, ms median": ("recall_ms", ".2f"),
        "recall, ms p95": ("recall_ms_p95", ".2f"),
        "Tantivy alone, ms median": ("tantivy_ms", ".2f"),
        "Tantivy alone, ms p95": ("tantivy_ms_p95", ".2f"),
        "recall / Tantivy": ("recall_to_tantivy", ".1f"),
        "recall, CPU ms median": ("recall_cpu_ms", ".2f"),
        "Tantivy alone, CPU ms median": ("tantivy_cpu_ms", ".2f"),
        "spreading alone, ms median": ("spreading_ms", ".2f"),
        "spreading alone, ms p95": ("spreading_ms_p95", ".2f"),
        "spreading alone, CPU ms median": ("spreading_cpu_ms", ".2f"),
        "reopening and the first recall, s": ("reopen_seconds", ".2f"),
        "the first recall, ms": ("first_recall_ms", ".1f"),
        "resident beside mapped files, bytes a chunk": ("resident_bytes_per_chunk", ".0f"),
        "on disk, bytes a chunk": ("disk_bytes_per_chunk", ".0f"),
        "Tantivy alone for 200 hits, ms median": ("tantivy_200_ms", ".2f"),
        "recall, nothing kept of it, ms median": ("every_ms", ".2f"),
        "the same, every second chunk passes a filter": ("half_ms", ".2f"),
        "the same, every tenth": ("tenth_ms", ".2f"),
        "the same, every hundredth": ("hundredth_ms", ".2f"),
        "the slowest of these / Tantivy for 200 hits": ("slowest_to_tantivy_200", ".1f"),
        "adding 1,000 chunks, CPU ms": ("add_cpu_ms", ".0f"),
        "matching older ones again, CPU ms": ("rematch_cpu_ms", ".0f"),
        "the recall after that, ms": ("recall_after_add_ms", ".1f"),
        "learning from one answer, ms": ("reinforce_ms", ".1f"),
        "deleting 1,000 chunks, ms": ("delete_ms", ".0f"),
        "compacting, s": ("compact_seconds", ".1f"),
        "longest recall meanwhile, ms": ("longest_recall_ms", ".0f"),
    }
    fields = [asdict(result) for result in results]
    headings = [
        f"{result.chunks} chunks"
        + (f", {result.dimension} dims, {result.vector_search}" if result.dimension else "")
        for result in results
    ]
    return Grid(
        "speed and size",
        ("", *headings),
        [
            (name, *("–" if row[field] is None else f"{row[field]:{form}}" for row in fields))
            for name, (field, form) in rows.items()
        ],
    )
