"""Cost of NAKG's graph as a collection grows, on simulated vectors.

The paper claims O(N log N). Vectors are drawn around topics whose number grows with the
collection, like chunks of more and more documents. Each stage is timed separately, in CPU time,
which load on the machine does not change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from time import process_time
from typing import NamedTuple

import numpy as np
from hebbgraph_papers.nakg.clusters import cluster_chunks
from hebbgraph_papers.nakg.index_layer import require_training
from hebbgraph_papers.nakg.parameters import NeuralSettings
from numpy.typing import NDArray

from hebbgraph_bench.plotting import matplotlib_figures, save_figure
from hebbgraph_bench.tables import Grid

__all__ = ["SIZES", "GrowthPoint", "growth_grid", "measure_growth", "plot_growth", "simulated"]

SIZES = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000)
_PER_TOPIC = 120
_SPREAD = 0.8


class GrowthPoint(NamedTuple):
    """One size.

    Attributes
    ----------
    chunks, clusters, noise, edges : int
    cluster_seconds : float
        CPU time of DBSCAN and splitting.
    derive_seconds : float
        CPU time of the Edge Transformer over all pairs within clusters, thresholds, and
        propagation.
    megabytes : float
        Edges and vectors as stored.
    """

    chunks: int
    clusters: int
    noise: int
    edges: int
    cluster_seconds: float
    derive_seconds: float
    megabytes: float


def simulated(n: int, *, dimension: int = 384, seed: int = 0) -> NDArray[np.float32]:
    """Draw unit vectors around topics, about 120 a topic, the larger topics first.

    Returns
    -------
    ndarray of float32, shape (n, dimension)

    Examples
    --------
    >>> vectors = simulated(50, dimension=8)
    >>> vectors.shape, bool(np.allclose(np.linalg.norm(vectors, axis=1), 1.0))
    ((50, 8), True)
    """
    rng = np.random.default_rng(seed)
    n_topics = max(1, n // _PER_TOPIC)
    topics = rng.standard_normal((n_topics, dimension)).astype(np.float32)
    share = 1.0 / np.sqrt(np.arange(1, n_topics + 1))
    topic_of = rng.choice(n_topics, size=n, p=share / share.sum())
    noise = rng.standard_normal((n, dimension)).astype(np.float32)
    vectors = topics[topic_of] + _SPREAD * noise
    unit: NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


def measure_growth(
    sizes: Sequence[int] = SIZES,
    *,
    seed: int = 0,
    settings: NeuralSettings | None = None,
    dimension: int = 384,
    on_step: Callable[[str], object] | None = None,
) -> list[GrowthPoint]:
    """Cluster, weigh, select and propagate collections of growing size, untrained.

    Training does not grow: a pass reads a bounded number of clusters.
    """
    require_training("this study")
    import torch
    from hebbgraph_papers.nakg.modules import Nakg
    from hebbgraph_papers.nakg.training import derive_layer

    settings = settings or NeuralSettings(seed=seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Nakg(dimension, settings)
    points = []
    # Once untimed first: libraries load on their first call.
    for n in (min(sizes), *sizes):
        if on_step is not None:
            on_step(f"growth: {n:,} chunks")
        vectors = simulated(n, dimension=dimension, seed=seed)
        began = process_time()
        clusters = cluster_chunks(
            vectors,
            eps=settings.eps,
            min_samples=settings.min_samples,
            max_cluster=settings.max_cluster,
            seed=seed,
        )
        clustered = process_time()
        edges, _ = derive_layer(model, vectors, clusters)
        derived = process_time()
        bytes_stored = sum(column.nbytes for column in edges) * 12 // 20 + vectors.nbytes // 2
        points.append(
            GrowthPoint(
                chunks=n,
                clusters=int(clusters.labels.max()) + 1,
                noise=clusters.n_noise,
                edges=len(edges.sources),
                cluster_seconds=clustered - began,
                derive_seconds=derived - clustered,
                megabytes=bytes_stored / 1e6,
            )
        )
    return points[1:]


def growth_exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """Return the slope of log cost over log size: 1 is linear, 2 quadratic.

    Examples
    --------
    >>> round(growth_exponent([10, 100, 1000], [3, 300, 30000]), 3)
    2.0
    """
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])


def growth_grid(points: Sequence[GrowthPoint]) -> Grid:
    """Return the table."""
    rows: list[tuple[str, ...]] = [
        (
            f"{point.chunks:,}",
            f"{point.clusters:,}",
            f"{point.edges:,}",
            f"{point.edges / point.chunks:.1f}",
            f"{point.cluster_seconds:.2f}",
            f"{point.derive_seconds:.2f}",
            f"{point.megabytes:.1f}",
        )
        for point in points
    ]
    if len(points) > 2:
        sizes = [point.chunks for point in points]
        exponents = [
            f"{growth_exponent(sizes, [getattr(point, name) for point in points]):.2f}"
            for name in ("edges", "cluster_seconds", "derive_seconds", "megabytes")
        ]
        rows.append(("exponent", "", exponents[0], "", *exponents[1:]))
    headings = (
        "chunks",
        "clusters",
        "edges",
        "a chunk",
        "cluster, CPU s",
        "edges + vectors, CPU s",
        "MB",
    )
    return Grid("growth of cost (simulated vectors)", headings, rows)


def plot_growth(points: Sequence[GrowthPoint], directory: str | Path) -> Path:
    """Plot seconds over chunks, with N log N and N²; return the file."""
    figure = matplotlib_figures().Figure(figsize=(5.2, 3.8), layout="constrained")
    axis = figure.subplots()
    sizes = np.array([point.chunks for point in points], dtype=np.float64)
    for name, label in (
        ("cluster_seconds", "DBSCAN and splitting"),
        ("derive_seconds", "edges and propagation"),
    ):
        axis.plot(sizes, [getattr(point, name) for point in points], "o-", label=label)
    start = points[0].cluster_seconds + points[0].derive_seconds
    log_linear = sizes * np.log(sizes)
    axis.plot(sizes, start * log_linear / log_linear[0], ":", color="0.5", label="N log N")
    axis.plot(sizes, start * (sizes / sizes[0]) ** 2, "--", color="0.7", label="N²")
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel("chunks")
    axis.set_ylabel("CPU seconds")
    axis.grid(visible=True, alpha=0.25)
    axis.legend(fontsize=8)
    return save_figure(figure, Path(directory), "nakg-growth")
