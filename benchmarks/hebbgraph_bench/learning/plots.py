"""Curves of learning as PNG (extra ``plots``)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hebbgraph_bench.learning.experiment import LearningResult
from hebbgraph_bench.learning.growth import GrowthPoint
from hebbgraph_bench.plotting import matplotlib_figures, save_figure

__all__ = ["plot_growth", "plot_learning"]


def plot_learning(result: LearningResult, directory: str | Path) -> Path:
    """Draw R@5 of each stratum over questions asked, one line an arm; return the file.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    figures = matplotlib_figures()
    names = list(result.strata)
    columns = min(4, len(names))
    rows = -(-len(names) // columns)
    figure = figures.Figure(figsize=(3.4 * columns, 2.9 * rows + 0.5), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    arms = [arm for arm in result.arms if arm.curve]
    for at, stratum in enumerate(names):
        axis = axes[at // columns][at % columns]
        for arm in arms:
            axis.plot(
                [point.asked for point in arm.curve],
                [point.recall[stratum] for point in arm.curve],
                label=arm.name,
                linewidth=2.2 if arm.name == "ours" else 1.2,
                linestyle=":" if arm.name == "none" else "-",
                marker="." if arm.name == "ours" else None,
            )
        axis.axvline(result.learned, color="0.8", linewidth=0.8, zorder=0)
        axis.set_title(f"{stratum} ({len(result.strata[stratum])})", fontsize=10)
        axis.grid(visible=True, alpha=0.25)
    for at in range(len(names), rows * columns):
        axes[at // columns][at % columns].set_visible(False)
    figure.supylabel("R@5", fontsize=10)
    asked = f"questions asked and cited (one pass: {result.learned})"
    figure.suptitle(result.name, fontsize=11)
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=min(3, len(arms)),
        fontsize=9,
        title=f"over {asked}",
        title_fontsize=9,
    )
    return save_figure(figure, Path(directory), f"learning-{result.name}")


def plot_growth(points: Sequence[GrowthPoint], directory: str | Path, name: str) -> Path:
    """Draw learned edges and the ratio of recall times over feedbacks; return the file.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    figures = matplotlib_figures()
    figure = figures.Figure(figsize=(8, 3.2), layout="constrained")
    edges, time = figure.subplots(1, 2)
    given = [point.feedbacks for point in points]
    for family in points[-1].edges:
        edges.plot(given, [point.edges.get(family, 0) for point in points], ".-", label=family)
    edges.set_ylabel("learned edges")
    edges.legend(fontsize=9)
    time.plot(given, [point.ratio for point in points], ".-")
    time.axhline(1.0, color="0.6", linewidth=0.8)
    time.axhline(1.2, color="0.6", linewidth=0.8, linestyle=":")
    time.set_ylabel("recall time / unlearned")
    time.set_ylim(bottom=0)
    for axis in (edges, time):
        axis.set_xlabel("feedbacks")
        axis.grid(visible=True, alpha=0.25)
    figure.suptitle(name, fontsize=11)
    return save_figure(figure, Path(directory), f"growth-{name}")
