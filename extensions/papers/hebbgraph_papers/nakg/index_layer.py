"""Train a neural layer for an index, and remove it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from hebbgraph.errors import ParameterError
from hebbgraph.extras import require
from hebbgraph.ingest import progress
from numpy.typing import NDArray

from hebbgraph_papers.nakg.clusters import Clusters, cluster_chunks
from hebbgraph_papers.nakg.examples import Pairs, co_cited_pairs, tag_pairs
from hebbgraph_papers.nakg.layer import NeuralLayer
from hebbgraph_papers.nakg.layer_file import LayerFile
from hebbgraph_papers.nakg.parameters import NeuralSettings
from hebbgraph_papers.nakg.report import NeuralReport

if TYPE_CHECKING:
    from hebbgraph.hebbian_index import HebbianIndex

    from hebbgraph_papers.nakg.edges import NeuralEdges
    from hebbgraph_papers.nakg.training import TrainingResult
    from hebbgraph_papers.nakg.training_data import TrainingData

__all__ = ["layer_counts", "remove", "require_training", "train"]


def train(
    index: HebbianIndex,
    *,
    settings: NeuralSettings | None = None,
    start_from: str | Path | None = None,
    checkpoint: str | Path | None = None,
    show_progress: bool = False,
    on_progress: Callable[[int, int | None], Any] | None = None,
) -> NeuralReport:
    """Train NAKG on an index, and save its edges and vectors beside the index.

    Reads the vectors, tags and feedback log of the index. Recalls continue meanwhile; a
    previous layer is replaced atomically at the end.

    Parameters
    ----------
    index : HebbianIndex
        An index with embeddings.
    settings : NeuralSettings, optional
    start_from : path, optional
        Checkpoint to continue from.
    checkpoint : path, optional
        Where to write the trained model (safetensors), to continue from later. Recalls do
        not need it.
    show_progress : bool
        Show a progress bar on standard error.
    on_progress : callable, optional
        Called with the number of epochs done, and the maximum.

    Returns
    -------
    NeuralReport

    Raises
    ------
    MissingExtraError
        If torch, safetensors or scikit-learn is not installed.
    ParameterError
        If the index holds no vectors.
    StorageError
        If ``start_from`` cannot be read.
    """
    require_training("training a neural layer")
    from hebbgraph_papers.nakg.checkpoint import load_checkpoint, save_checkpoint
    from hebbgraph_papers.nakg.training import derive_layer, train_model
    from hebbgraph_papers.nakg.training_data import read_training_data

    parts = index.parts
    began = perf_counter()
    settings = settings or NeuralSettings()
    collection = read_training_data(index)
    vectors, dimension = collection.vectors, collection.vectors.shape[1]
    model = None if start_from is None else load_checkpoint(start_from, settings)
    if model is not None and model.dimension != dimension:
        raise ParameterError(
            f"{start_from} was trained on vectors of dimension {model.dimension}, "
            f"the index holds vectors of dimension {dimension}; train without start_from"
        )
    clusters = cluster_chunks(
        vectors,
        eps=settings.eps,
        min_samples=settings.min_samples,
        max_cluster=settings.max_cluster,
        seed=settings.seed,
    )
    pairs = tag_pairs(collection.postings)
    at_most = settings.edge_epochs + settings.retrieval_epochs
    with progress(show_progress, on_progress, what="epochs") as tell:

        def on_epoch(phase: str, done: int, _: int) -> None:
            tell(done + (settings.edge_epochs if phase == "retrieval" else 0), at_most)

        trained = train_model(
            vectors, clusters, pairs, collection.questions, settings, model=model, on_epoch=on_epoch
        )
        edges, propagated = derive_layer(trained.model, vectors, clusters)
        tell(at_most, at_most)
    report = _report(collection, clusters, edges, pairs, trained, perf_counter() - began)
    if checkpoint is not None:
        save_checkpoint(trained.model, checkpoint)
    LayerFile.of(parts).save(_layer(collection, propagated, clusters, edges, report))
    return report


def remove(index: HebbianIndex) -> bool:
    """Remove the trained layer; return whether there was one.

    Examples
    --------
    >>> from hebbgraph import HebbianIndex
    >>> with HebbianIndex.open(":memory:") as index:
    ...     remove(index)
    False
    """
    return LayerFile.of(index.parts).remove()


def layer_counts(index: HebbianIndex) -> dict[str, int]:
    """Count the live chunks and edges of the layer that applies; empty without one.

    ``generation`` is that of the database when the layer was trained.

    Examples
    --------
    >>> from hebbgraph import HebbianIndex
    >>> with HebbianIndex.open(":memory:") as index:
    ...     layer_counts(index)
    {}
    """
    parts = index.parts
    with parts.derived.reading():
        layer = LayerFile.of(parts).in_graph(parts.derived, parts.derived.graph)
        return {} if layer is None else layer.counts()


def require_training(purpose: str) -> None:
    """Raise MissingExtraError unless the packages for training are installed."""
    for module in ("torch", "sklearn", "safetensors"):
        require(module, extra="neural", purpose=purpose)


def _report(
    collection: TrainingData,
    clusters: Clusters,
    edges: NeuralEdges,
    pairs: Pairs,
    trained: TrainingResult,
    seconds: float,
) -> NeuralReport:
    cited = co_cited_pairs(collection.questions, weight=1.0)
    return NeuralReport(
        chunks=len(collection.rows),
        edges=len(edges.sources),
        clusters=int(clusters.labels.max(initial=-1)) + 1,
        dense_clusters=clusters.n_dense,
        noise=clusters.n_noise,
        tag_pairs=len(pairs.first),
        tag_pairs_within=_share_within(pairs, clusters),
        co_cited_pairs=len(cited.first),
        co_cited_within=_share_within(cited, clusters),
        questions=len(collection.questions),
        edge_phase=trained.edge_phase,
        retrieval_phase=trained.retrieval_phase,
        seconds=seconds,
    )


def _layer(
    collection: TrainingData,
    propagated: NDArray[np.float32],
    clusters: Clusters,
    edges: NeuralEdges,
    report: NeuralReport,
) -> NeuralLayer:
    """Build the layer, reordering chunks from id to row."""
    order = np.argsort(collection.rows, kind="stable")
    position = np.empty(len(order), dtype=np.int32)
    position[order] = np.arange(len(order), dtype=np.int32)
    return NeuralLayer(
        stamp=collection.stamp,
        rows=collection.rows[order],
        id_prefixes=collection.id_prefixes[order],
        vectors=propagated[order].astype(np.float16),
        clusters=clusters.labels[order].astype(np.int32),
        sources=position[edges.sources],
        targets=position[edges.targets],
        weights=edges.weights,
        report=report.model_dump(),
    )


def _share_within(pairs: Pairs, clusters: Clusters) -> float:
    return len(pairs.within(clusters.labels).first) / max(len(pairs.first), 1)
