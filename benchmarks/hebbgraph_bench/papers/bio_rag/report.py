"""Tables of Bio-RAG's experiment, with the paper's own rows, and its JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from hebbgraph_bench.papers.bio_rag.lab import ASKED, ROUNDS, ArmResult, BioRagResult
from hebbgraph_bench.papers.bio_rag.learning import METRICS
from hebbgraph_bench.tables import Grid

__all__ = ["PUBLISHED", "as_dict", "grids"]

PUBLISHED = (
    ("paper: Bio-RAG (reinforced)", (0.270, 0.180, 0.714, 0.377)),
    ("paper: static graph", (0.270, 0.180, 0.714, 0.377)),
    ("paper: TF-IDF", (0.658, 0.658, 0.692, 0.416)),
    ("paper: random", (0.000, None, None, None)),
)
"""Table 1: P@5, P@10, MRR, nDCG@10."""


def grids(result: BioRagResult, seed: int) -> list[Grid]:
    """Lay out quality, each stratum, and each sweep."""
    grids = [_quality(result)]
    strata = list(result.arms[0].static.values)
    for stratum in strata:
        rows = [_difference_row(arm, stratum, seed) for arm in result.arms]
        grids.append(
            Grid(
                f"{result.name}, {stratum} queries: nDCG@10 after {ROUNDS} rounds",
                ("graph", "edges", "density", "static", "reinforced", "difference, 95 %"),
                rows,
            )
        )
    for kind, arms in result.sweeps.items():
        rows = [
            (
                f"{arm.edges:,}",
                f"{100 * arm.density:.2f} %",
                *(cell for stratum in strata for cell in _difference_row(arm, stratum, seed)[3:]),
            )
            for arm in arms
        ]
        headings = [
            heading
            for stratum in strata
            for heading in (f"{stratum}: static", "reinforced", "difference")
        ]
        grids.append(Grid(f"{result.name}: {kind}", ("edges", "density", *headings), rows))
    return grids


def _quality(result: BioRagResult) -> Grid:
    rows: list[tuple[str, ...]] = []
    first = result.arms[0]
    for name, rounds in (("reinforced", first.reinforced), ("static graph", first.static)):
        values = rounds.values[ASKED][-1]
        cells = (_show(float(values[metric].mean())) for metric in METRICS)
        rows.append((f"{name} ({first.name})", *cells))
    for name, by_stratum in result.baselines.items():
        of_asked = by_stratum[ASKED]
        rows.append((name, *(_show(float(of_asked[metric].mean())) for metric in METRICS)))
    if result.name == "bio-rag":
        rows += [(name, *map(_show, figures)) for name, figures in PUBLISHED]
    n = len(first.static.values[ASKED][0]["MRR"])
    return Grid(f"{result.name}: {n} asked queries, round {ROUNDS}", ("system", *METRICS), rows)


def _difference_row(arm: ArmResult, stratum: str, seed: int) -> tuple[str, ...]:
    difference = arm.difference(stratum, seed=seed)
    return (
        arm.name,
        f"{arm.edges:,}",
        f"{100 * arm.density:.2f} %",
        _show(arm.static.curve(stratum, "nDCG@10")[-1]),
        _show(arm.reinforced.curve(stratum, "nDCG@10")[-1]),
        f"{difference.mean:+.3f} [{difference.low:+.3f}, {difference.high:+.3f}]",
    )


def _show(figure: float | None) -> str:
    return "–" if figure is None else f"{figure:.3f}".removeprefix("0")


def as_dict(result: BioRagResult, seed: int) -> dict[str, Any]:
    """Return the figures as JSON-serialisable data."""

    def arm(arm_result: ArmResult) -> dict[str, Any]:
        return {
            "name": arm_result.name,
            "edges": arm_result.edges,
            "edges_after": arm_result.edges_after,
            "density": arm_result.density,
            "strata": {
                stratum: {
                    "static": arm_result.static.curve(stratum, "nDCG@10")[0],
                    "metrics": {
                        metric: arm_result.reinforced.curve(stratum, metric) for metric in METRICS
                    },
                    "differences": {
                        metric: asdict(arm_result.difference(stratum, metric, seed=seed))
                        for metric in METRICS
                    },
                }
                for stratum in arm_result.static.values
            },
            "reinforced_edges": arm_result.reinforced.changed,
        }

    return {
        "name": result.name,
        "baselines": {
            name: {
                stratum: {metric: float(column.mean()) for metric, column in values.items()}
                for stratum, values in by_stratum.items()
            }
            for name, by_stratum in result.baselines.items()
        },
        "arms": [arm(one) for one in result.arms],
        "sweeps": {kind: [arm(one) for one in arms] for kind, arms in result.sweeps.items()},
    }
