"""Train a neural layer for an index, and remove it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hebbgraph.errors import ParameterError
from hebbgraph.extras import require_neural
from hebbgraph.graph.neural_layer import NeuralLayer
from hebbgraph.neural.clusters import Clusters, cluster_chunks
from hebbgraph.neural.examples import Pairs, co_cited_pairs, tag_pairs
from hebbgraph.neural.parameters import NeuralSettings
from hebbgraph.neural.report import NeuralReport
from hebbgraph.writer import progress

if TYPE_CHECKING:
    from hebbgraph.index import HebbianIndex
    from hebbgraph.neural.edges import NeuralEdges
    from hebbgraph.neural.training_data import TrainingData

__all__ = ["remove", "train"]


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
        Called with the number of epochs done, and their maximum.

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
    require_neural("training a neural layer")
    from hebbgraph.neural.checkpoint import load_checkpoint, save_checkpoint
    from hebbgraph.neural.training import derive_layer, train_model
    from hebbgraph.neural.training_data import read_training_data

    index._check_open()
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
    with progress(show_progress, on_progress, what="passes") as tell:

        def on_epoch(phase: str, done: int, _: int) -> None:
            tell(done + (settings.edge_epochs if phase == "retrieval" else 0), at_most)

        trained = train_model(
            vectors, clusters, pairs, collection.questions, settings, model=model, on_epoch=on_epoch
        )
        edges, propagated = derive_layer(trained.model, vectors, clusters)
        tell(at_most, at_most)
    cited = co_cited_pairs(collection.questions, weight=1.0)
    report = NeuralReport(
        chunks=len(vectors),
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
        seconds=perf_counter() - began,
    )
    if checkpoint is not None:
        save_checkpoint(trained.model, checkpoint)
    index.parts.derived.neural.save(_layer(collection, propagated, clusters, edges, report))
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
    index._check_open()
    return index.parts.derived.neural.remove()


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
