"""Curves of Bio-RAG's experiment as PNG (extra ``plots``)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hebbgraph_bench.plotting import matplotlib_figures, save_figure

if TYPE_CHECKING:
    from hebbgraph_bench.papers.bio_rag.lab import BioRagResult

__all__ = ["plot_rounds", "plot_sweep"]

_METRIC = "nDCG@10"


def plot_rounds(result: BioRagResult, directory: str | Path) -> Path:
    """Plot each arm over the rounds, one panel per stratum; return the file."""
    strata = list(result.arms[0].static.values)
    figure = matplotlib_figures().Figure(figsize=(4.4 * len(strata), 6.2), layout="constrained")
    axes = figure.subplots(1, len(strata), squeeze=False, sharey=True)[0]
    for axis, stratum in zip(axes, strata, strict=True):
        for number, arm in enumerate(result.arms):
            curve = arm.reinforced.curve(stratum, _METRIC)
            style = ("-", "--", ":")[number // 10 % 3]
            axis.plot(
                [value - curve[0] for value in curve],
                label=arm.name,
                linestyle=style,
                linewidth=2.4 if arm.name.startswith(("as written", "hebbgraph")) else 1.2,
            )
        axis.axhline(0.0, color="0.6", linewidth=0.8)
        axis.set_title(f"{stratum} queries", fontsize=10)
        axis.set_xlabel("rounds learned from")
        axis.grid(visible=True, alpha=0.25)
    axes[0].set_ylabel(f"{_METRIC}, reinforced minus static")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=8)
    return save_figure(figure, Path(directory), f"{result.name}-rounds")


def plot_sweep(result: BioRagResult, directory: str | Path, *, seed: int = 0) -> Path:
    """Plot the gain of reinforcement over the number of edges, with intervals."""
    strata = list(result.arms[0].static.values)
    figure = matplotlib_figures().Figure(
        figsize=(4.4 * len(result.sweeps), 3.6), layout="constrained"
    )
    axes = figure.subplots(1, len(result.sweeps), squeeze=False, sharey=True)[0]
    for axis, (kind, arms) in zip(axes, result.sweeps.items(), strict=True):
        edges = [arm.edges for arm in arms]
        for number, stratum in enumerate(strata):
            differences = [arm.difference(stratum, _METRIC, seed=seed) for arm in arms]
            color = f"C{number}"
            axis.plot(
                edges,
                [difference.mean for difference in differences],
                ".-",
                label=stratum,
                color=color,
            )
            axis.fill_between(
                edges,
                [difference.low for difference in differences],
                [difference.high for difference in differences],
                alpha=0.12,
                color=color,
            )
        axis.set_xscale("log")
        axis.axhline(0.0, color="0.6", linewidth=0.8)
        axis.set_title(kind, fontsize=10)
        axis.set_xlabel("edges")
        axis.grid(visible=True, alpha=0.25)
    axes[0].set_ylabel(f"{_METRIC}, reinforced minus static", fontsize=9)
    axes[-1].legend(fontsize=8)
    return save_figure(figure, Path(directory), f"{result.name}-density")
