"""The table of taggers, and its JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hebbgraph.formulas.bootstrap import Difference, paired_bootstrap

from hebbgraph_bench.tables import Grid
from hebbgraph_bench.tagging.arms import MODEL_FREE
from hebbgraph_bench.tagging.measure import STRATEGIES, TaggingResult, metrics_at

__all__ = ["against", "as_dict", "grids"]


def against(
    results: Sequence[TaggingResult], result: TaggingResult, metric: str, *, seed: int = 0
) -> Difference:
    """Compare with the model-free tags, by spreading."""
    base = next(candidate for candidate in results if candidate.name == MODEL_FREE)
    return paired_bootstrap(
        result.values["spreading"][metric], base.values["spreading"][metric], seed=seed
    )


def grids(by_set: Mapping[str, Sequence[TaggingResult]], k: int, *, seed: int = 0) -> list[Grid]:
    """Lay out one table per set, one row per tagger."""
    recall, gain = metrics_at(k)
    tables = []
    for name, results in by_set.items():
        rows = []
        for result in results:
            spreading, neighbours = (result.values[strategy] for strategy in STRATEGIES)
            compared = against(results, result, recall, seed=seed)
            sure = "*" if compared.low > 0 or compared.high < 0 else ""
            rows.append(
                (
                    result.name,
                    f"{result.tags_per_chunk:.1f}",
                    f"{result.edges_per_chunk:.0f}",
                    f"{result.density:.4f}",
                    "" if result.seconds is None else f"{result.seconds:.1f}",
                    f"{spreading[recall].mean():.3f}",
                    ""
                    if result.name == MODEL_FREE
                    else f"{compared.mean:+.3f} [{compared.low:+.3f}, {compared.high:+.3f}]{sure}",
                    f"{spreading[gain].mean():.3f}",
                    f"{neighbours[recall].mean():.3f}",
                )
            )
        headings = ("tags", "tags/chunk", "edges/chunk", "density", "tagger s")
        measured = (recall, f"{recall} minus {MODEL_FREE}", gain, f"{recall} by neighbours")
        tables.append(Grid(name, (*headings, *measured), rows))
    return tables


def as_dict(by_set: Mapping[str, Sequence[TaggingResult]], *, seed: int = 0) -> dict[str, Any]:
    """Return the figures as JSON-serialisable data."""
    return {
        name: {
            result.name: {
                "tags_per_chunk": result.tags_per_chunk,
                "edges_per_chunk": result.edges_per_chunk,
                "density": result.density,
                "tagger_seconds": result.seconds,
                "tagger_calls": result.calls,
                "means": {
                    strategy: {metric: float(values.mean()) for metric, values in metrics.items()}
                    for strategy, metrics in result.values.items()
                },
            }
            for result in results
        }
        for name, results in by_set.items()
    }
