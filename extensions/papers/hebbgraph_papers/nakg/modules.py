"""The Edge Transformer and the graph-attention layers (plain torch).

Modules operate on the chunks of one cluster, as dense matrices of at most a few hundred
rows. Neither encodes positions, so the order of the chunks does not matter.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from hebbgraph_papers.nakg.edges import minimum_links, select_edges
from hebbgraph_papers.nakg.parameters import NeuralSettings

__all__ = ["EdgeTransformer", "GraphAttention", "Nakg"]

#: Initial weight of the neighbours in the residual connections. Ours.
_GATE = 0.1


class EdgeTransformer(nn.Module):
    """Computes the weights of all pairs in a cluster [1]_, equation 1.

    ``e_ij = sigmoid(T * MLP([h_i || h_j || cos(h_i, h_j)]))``, where ``h`` has passed
    multi-head self-attention over the cluster ("local document features with global
    context", figure 3). The first layer of the MLP is applied to the three parts
    separately and summed: equal to applying it to their concatenation, without n² copies
    of the features.

    Parameters
    ----------
    dimension : int
        Dimension of the vectors.
    settings : NeuralSettings

    References
    ----------
    .. [1] Gibbs, Neural Adaptive Knowledge Graphs, section 3.3.
    """

    def __init__(self, dimension: int, settings: NeuralSettings) -> None:
        super().__init__()
        inner = settings.heads * settings.head_size
        self.temperature = settings.temperature
        self.features = nn.Linear(dimension, inner)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                inner,
                settings.heads,
                dim_feedforward=inner,
                dropout=0.0,
                batch_first=True,
                norm_first=True,
            )
            for _ in range(settings.edge_layers)
        )
        self.source = nn.Linear(inner, settings.hidden, bias=False)
        self.target = nn.Linear(inner, settings.hidden, bias=False)
        self.cosine = nn.Linear(1, settings.hidden)
        self.out = nn.Linear(settings.hidden, 1)
        self.scale = dimension**0.5  # brings the components of unit vectors to about 1
        self._start_as_cosine()

    @torch.no_grad()
    def _start_as_cosine(self) -> None:
        """Initialise the MLP to ``cos - 0.5``, approximately."""
        self.source.weight[0] = 0.0
        self.target.weight[0] = 0.0
        self.cosine.weight[0] = 1.0
        self.cosine.bias[0] = 1.0  # keeps the ReLU linear
        self.out.weight *= 0.1
        self.out.weight[0, 0] = 1.0
        self.out.bias[0] = -1.5

    def forward(self, vectors: Tensor) -> Tensor:
        """Return ``T * MLP``: the logits of the weights.

        Parameters
        ----------
        vectors : Tensor of float32, shape (n, dimension), unit length

        Returns
        -------
        Tensor of float32, shape (n, n)
            Row i holds the edges leaving chunk i; the diagonal is meaningless.
        """
        h = self.features(self.scale * vectors)
        for layer in self.layers:
            h = layer(h.unsqueeze(0)).squeeze(0)
        cosines = (vectors @ vectors.T).unsqueeze(-1)
        pairs = self.source(h).unsqueeze(1) + self.target(h).unsqueeze(0) + self.cosine(cosines)
        logits: Tensor = self.temperature * self.out(functional.relu(pairs)).squeeze(-1)
        return logits


class GraphAttention(nn.Module):
    """One graph-attention layer with a residual connection [1]_, equation 2.

    ``h_i + g * elu(Σ_j α_ij W h_j)``. Attention over the neighbours of i is that of graph
    attention networks [2]_, weighted by the learned edges: ``α_ij ∝ e_ij *
    exp(leaky_relu(a·W h_i + b·W h_j))``, with ``a, b`` per head. ``W`` starts as the
    identity and the gate ``g`` is small, so an untrained layer mixes in a little of the
    neighbours and preserves the vectors.

    References
    ----------
    .. [1] Gibbs, Neural Adaptive Knowledge Graphs, section 3.4.
    .. [2] Veličković et al. (2018), Graph Attention Networks.
    """

    def __init__(self, dimension: int, heads: int, gate: float) -> None:
        super().__init__()
        self.heads = heads
        size = -(-dimension // heads)
        self.value = nn.Linear(dimension, heads * size, bias=False)
        self.out = nn.Linear(heads * size, dimension, bias=False)
        self.from_source = nn.Parameter(torch.zeros(heads, size))
        self.from_target = nn.Parameter(torch.zeros(heads, size))
        self.gate = nn.Parameter(torch.tensor(float(gate)))
        with torch.no_grad():
            self.value.weight.copy_(torch.eye(heads * size, dimension))
            self.out.weight.copy_(self.value.weight.T)

    def attention(self, values: Tensor, log_weights: Tensor) -> Tensor:
        """Return ``α``, shape (heads, n, n); rows sum to 1, or to 0 without neighbours.

        Parameters
        ----------
        values : Tensor, shape (n, heads, size)
            ``W h`` of all chunks.
        log_weights : Tensor, shape (n, n)
            Log weights of the edges i → j, minus infinity where there is none.
        """
        source = torch.einsum("nhs,hs->hn", values, self.from_source)
        target = torch.einsum("nhs,hs->hn", values, self.from_target)
        raw = functional.leaky_relu(source.unsqueeze(2) + target.unsqueeze(1), 0.2)
        alone = torch.isinf(log_weights).all(dim=1, keepdim=True)
        scores = raw + log_weights.masked_fill(alone, 0.0)
        return torch.softmax(scores, dim=2).masked_fill(alone, 0.0)

    def forward(self, h: Tensor, log_weights: Tensor) -> Tensor:
        """Propagate once; the result has the shape of ``h``, (n, dimension)."""
        values = self.value(h).view(len(h), self.heads, -1)
        heard = torch.einsum("hij,jhs->ihs", self.attention(values, log_weights), values)
        message = self.out(heard.reshape(len(h), -1))
        return h + self.gate * functional.elu(message)


class Nakg(nn.Module):
    """The NAKG model: Edge Transformer and graph attention."""

    def __init__(self, dimension: int, settings: NeuralSettings) -> None:
        super().__init__()
        self.dimension = dimension
        self.settings = settings
        self.edges = EdgeTransformer(dimension, settings)
        self.layers = nn.ModuleList(
            GraphAttention(dimension, settings.layer_heads, _GATE) for _ in range(settings.layers)
        )

    def choose(self, logits: Tensor, n_chunks: int) -> Tensor:
        """Return which edges of a cluster are kept, by the logits of their weights.

        ``n_chunks`` is the size of the collection; see :func:`minimum_links`.
        """
        share, at_least = self.settings.link_share, self.settings.min_links
        minimum = minimum_links(len(logits), n_chunks, share=share, at_least=at_least)
        weights = torch.sigmoid(logits.detach()).numpy()
        return torch.from_numpy(select_edges(weights, minimum=minimum))

    def propagate(self, vectors: Tensor, logits: Tensor, chosen: Tensor) -> Tensor:
        """Propagate vectors along the chosen edges; return them at unit length.

        Parameters
        ----------
        vectors : Tensor, shape (n, dimension), unit length
        logits : Tensor, shape (n, n)
        chosen : Tensor of bool, shape (n, n)
        """
        log_weights = functional.logsigmoid(logits).masked_fill(~chosen, float("-inf"))
        h = vectors
        for layer in self.layers:
            h = layer(h, log_weights)
        return functional.normalize(h, dim=1)
