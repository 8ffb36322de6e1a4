"""Curves of growth as PNG (extra ``plots``)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hebbgraph_bench.learning.growth import GrowthPoint
from hebbgraph_bench.plotting import matplotlib_figures, save_figure

__all__ = ["plot_growth"]


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
    feedbacks = [point.feedbacks for point in points]
    for family in points[-1].edges:
        edges.plot(feedbacks, [point.edges.get(family, 0) for point in points], ".-", label=family)
    edges.set_ylabel("learned edges")
    edges.legend(fontsize=9)
    time.plot(feedbacks, [point.ratio for point in points], ".-")
    time.axhline(1.0, color="0.6", linewidth=0.8)
    time.axhline(1.2, color="0.6", linewidth=0.8, linestyle=":")
    time.set_ylabel("recall time / unlearned")
    time.set_ylim(bottom=0)
    for axis in (edges, time):
        axis.set_xlabel("feedbacks")
        axis.grid(visible=True, alpha=0.25)
    figure.suptitle(name, fontsize=11)
    return save_figure(figure, Path(directory), f"growth-{name}")
