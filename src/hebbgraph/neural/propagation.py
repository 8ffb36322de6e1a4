"""Derive edges and propagated vectors from a trained model, cluster by cluster."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hebbgraph.arrays import FloatArray
from hebbgraph.neural.clusters import Clusters
from hebbgraph.neural.edges import NeuralEdges, edges_in_cluster, minimum_links, select_edges
from hebbgraph.neural.modules import Nakg

__all__ = ["derive_layer", "propagate_cluster"]


def derive_layer(
    model: Nakg, vectors: FloatArray, clusters: Clusters
) -> tuple[NeuralEdges, NDArray[np.float32]]:
    """Return the edges and propagated vectors of all chunks.

    Parameters
    ----------
    model : Nakg
    vectors : ndarray of float32, shape (n_chunks, dimension), unit length
    clusters : Clusters

    Returns
    -------
    edges : Edges
    vectors : ndarray of float32, shape (n_chunks, dimension), unit length
    """
    parts: list[NeuralEdges] = []
    result = np.array(vectors, dtype=np.float32)
    model.eval()
    with torch.inference_mode():
        for members in clusters.members():
            h = torch.from_numpy(result[members])
            logits = model.edges(h)
            chosen = _chosen(model, logits, len(vectors))
            weights = torch.sigmoid(logits).numpy()
            parts.append(edges_in_cluster(members, weights, chosen.numpy()))
            result[members] = model.propagate(h, logits, chosen).numpy()
    return NeuralEdges.concatenated(parts), result


def _chosen(model: Nakg, logits: Tensor, n_chunks: int) -> Tensor:
    settings = model.settings
    minimum = minimum_links(
        len(logits),
        n_chunks,
        share=settings.link_share,
        at_least=settings.min_links,
    )
    weights = torch.sigmoid(logits.detach()).numpy()
    return torch.from_numpy(select_edges(weights, minimum=minimum))


def propagate_cluster(model: Nakg, h: Tensor, n_chunks: int) -> Tensor:
    """Return the propagated vectors of one cluster, with gradients."""
    logits = model.edges(h)
    return model.propagate(h, logits, _chosen(model, logits, n_chunks))
