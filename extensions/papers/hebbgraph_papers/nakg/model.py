"""The Edge Transformer and the graph-attention layers [1]_, and what they make of an index.

They read the chunks of one cluster as dense matrices, without positions, so the order of the chunks
does not matter.

References
----------
.. [1] Gibbs, Neural Adaptive Knowledge Graphs, sections 3.3, 3.4 and 7.
.. [2] Veličković et al. (2018), Graph Attention Networks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from hebbgraph.arrays import FloatArray, IntArray
from hebbgraph_papers.nakg.links import cluster_chunks, members_of, minimum_links, select_links

__all__ = ["EdgeTransformer", "GraphAttention", "Layer", "Model", "derive", "untrained"]

_HEADS, _HEAD_SIZE, _TEMPERATURE, _ATTENTION_LAYERS = 8, 64, 8.0, 3
#: Not in the paper: attention layers of the Edge Transformer ("multiple"), the width of its
#: perceptron, and the weight of the neighbors in the residual connections to begin with.
_EDGE_LAYERS, _HIDDEN, _GATE = 2, 128, 0.1


class EdgeTransformer(nn.Module):
    """Weighs all pairs of a cluster: ``sigmoid(T * MLP([h_i || h_j || cos(h_i, h_j)]))``.

    ``h`` has passed multi-head self-attention over the cluster. The first layer of the perceptron
    is applied to the three parts and summed, which equals their concatenation. The perceptron
    starts as ``cos - 0.5``: started at random, it ranks pairs worse than the cosine does.
    """

    def __init__(self, dimension: int) -> None:
        super().__init__()
        inner = _HEADS * _HEAD_SIZE
        self.features = nn.Linear(dimension, inner)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(inner, _HEADS, inner, 0.0, batch_first=True, norm_first=True)
            for _ in range(_EDGE_LAYERS)
        )
        self.source = nn.Linear(inner, _HIDDEN, bias=False)
        self.target = nn.Linear(inner, _HIDDEN, bias=False)
        self.cosine = nn.Linear(1, _HIDDEN)
        self.out = nn.Linear(_HIDDEN, 1)
        self.scale = dimension**0.5  # brings the numbers of unit vectors to about 1
        with torch.no_grad():
            self.source.weight[0] = self.target.weight[0] = 0.0
            self.cosine.weight[0] = self.cosine.bias[0] = 1.0  # so the ReLU is linear there
            self.out.weight *= 0.1
            self.out.weight[0, 0], self.out.bias[0] = 1.0, -1.5

    def forward(self, vectors: Tensor) -> Tensor:
        """Return the logits of the weights, shape (n, n), row i for the edges from chunk i."""
        h = self.features(self.scale * vectors)
        for layer in self.layers:
            h = layer(h.unsqueeze(0)).squeeze(0)
        cosines = (vectors @ vectors.T).unsqueeze(-1)
        pairs = self.source(h).unsqueeze(1) + self.target(h).unsqueeze(0) + self.cosine(cosines)
        logits: Tensor = _TEMPERATURE * self.out(functional.relu(pairs)).squeeze(-1)
        return logits


class GraphAttention(nn.Module):
    """One graph-attention layer with a residual connection: ``h_i + g * elu(Σ_j α_ij W h_j)``.

    Attention is that of [2]_ times the learned edges: ``α_ij ∝ e_ij * exp(leaky_relu(a·W h_i +
    b·W h_j))``. ``W`` starts as the identity and ``g`` small, so an untrained layer keeps vectors
    and mixes in a little of their neighbors.
    """

    def __init__(self, dimension: int) -> None:
        super().__init__()
        size = -(-dimension // _HEADS)
        self.value = nn.Linear(dimension, _HEADS * size, bias=False)
        self.out = nn.Linear(_HEADS * size, dimension, bias=False)
        self.from_source = nn.Parameter(torch.zeros(_HEADS, size))
        self.from_target = nn.Parameter(torch.zeros(_HEADS, size))
        self.gate = nn.Parameter(torch.tensor(_GATE))
        with torch.no_grad():
            self.value.weight.copy_(torch.eye(_HEADS * size, dimension))
            self.out.weight.copy_(self.value.weight.T)

    def attention(self, values: Tensor, log_weights: Tensor) -> Tensor:
        """Return α, shape (heads, n, n); rows sum to 1, or to 0 without neighbors."""
        source = torch.einsum("nhs,hs->hn", values, self.from_source)
        target = torch.einsum("nhs,hs->hn", values, self.from_target)
        raw = functional.leaky_relu(source.unsqueeze(2) + target.unsqueeze(1), 0.2)
        alone = torch.isinf(log_weights).all(dim=1, keepdim=True)
        scores = raw + log_weights.masked_fill(alone, 0.0)
        return torch.softmax(scores, dim=2).masked_fill(alone, 0.0)

    def forward(self, h: Tensor, log_weights: Tensor) -> Tensor:
        """Propagate once; ``log_weights`` are minus infinity where there is no edge i → j."""
        values = self.value(h).view(len(h), _HEADS, -1)
        heard = torch.einsum("hij,jhs->ihs", self.attention(values, log_weights), values)
        return h + self.gate * functional.elu(self.out(heard.reshape(len(h), -1)))


class Model(nn.Module):
    """Edge Transformer and graph attention."""

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.edges = EdgeTransformer(dimension)
        self.layers = nn.ModuleList(GraphAttention(dimension) for _ in range(_ATTENTION_LAYERS))

    def forward(self, vectors: Tensor, n_chunks: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return of a cluster: propagated unit vectors, weights of all pairs, and which are edges.

        ``n_chunks`` is the size of the collection.
        """
        logits = self.edges(vectors)
        weights = torch.sigmoid(logits)
        minimum = minimum_links(len(vectors), n_chunks)
        chosen = torch.from_numpy(select_links(weights.detach().numpy(), minimum))
        log_weights = functional.logsigmoid(logits).masked_fill(~chosen, float("-inf"))
        h = vectors
        for layer in self.layers:
            h = layer(h, log_weights)
        return functional.normalize(h, dim=1), weights, chosen


class Layer(NamedTuple):
    """Directed edges between chunks, and the vectors propagated over them."""

    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    weights: NDArray[np.float32]
    vectors: NDArray[np.float32]


def untrained(dimension: int, seed: int = 0) -> Model:
    """Return the model as it starts."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Model(dimension)


def derive(model: Model, vectors: FloatArray, labels: IntArray | None = None) -> Layer:
    """Return the edges and vectors that a model gives chunks, cluster by cluster.

    Parameters
    ----------
    model : Model
    vectors : ndarray of float32, shape (n_chunks, dimension), of unit length
    labels : ndarray of int, shape (n_chunks,), optional
        Clusters; by default those of :func:`~hebbgraph_papers.nakg.links.cluster_chunks`.
    """
    labels = cluster_chunks(vectors) if labels is None else labels
    propagated = np.array(vectors, np.float32)
    nothing = np.empty(0, np.int64)
    parts = [(nothing, nothing, np.empty(0, np.float32))]
    with torch.inference_mode():
        for members in members_of(labels):
            of_cluster = torch.from_numpy(propagated[members])
            moved, weights, chosen = model(of_cluster, len(vectors))
            first, second = np.nonzero(chosen.numpy())
            parts.append((members[first], members[second], weights.numpy()[first, second]))
            propagated[members] = moved.numpy()
    sources, targets, all_weights = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Layer(sources, targets, all_weights, propagated)
