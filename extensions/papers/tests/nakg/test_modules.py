from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from hebbgraph_papers.nakg.modules import EdgeTransformer, GraphAttention, Nakg
from hebbgraph_papers.nakg.parameters import NeuralSettings


def test_the_edge_formula_by_hand(tiny: NeuralSettings) -> None:
    """sigmoid(T * MLP([h_i || h_j || cos])), the perceptron written out for one pair."""
    torch.manual_seed(1)
    vectors = torch.nn.functional.normalize(torch.randn(5, 6), dim=1)
    edges = EdgeTransformer(6, tiny)
    with torch.no_grad():
        h = edges.features(edges.scale * vectors)
        for layer in edges.layers:
            h = layer(h.unsqueeze(0)).squeeze(0)
        cosine = (vectors[1] @ vectors[3]).reshape(1)
        concatenated = torch.cat([h[1], h[3], cosine])
        first = torch.cat([edges.source.weight, edges.target.weight, edges.cosine.weight], dim=1)
        hidden = torch.relu(first @ concatenated + edges.cosine.bias)
        mlp = float(edges.out.weight[0] @ hidden + edges.out.bias[0])
        expected = 1.0 / (1.0 + math.exp(-8.0 * mlp))
        found = torch.sigmoid(edges(vectors))[1, 3]
    assert float(found) == pytest.approx(expected, abs=1e-6)


def test_untrained_weights_follow_the_cosine(vectors: NDArray[np.float32]) -> None:
    torch.manual_seed(0)
    edges = EdgeTransformer(6, NeuralSettings(edge_layers=0, hidden=4))
    with torch.no_grad():
        edges.out.weight[0, 1:] = 0.0
        logits = edges(torch.from_numpy(vectors)).numpy()
    cosines = vectors @ vectors.T
    assert np.allclose(logits, 8.0 * (cosines - 0.5), atol=1e-5)


def test_attention_rows_sum_to_one() -> None:
    torch.manual_seed(2)
    layer = GraphAttention(6, 2, gate=0.5)
    torch.nn.init.normal_(layer.from_source)
    torch.nn.init.normal_(layer.from_target)
    chosen = torch.tensor([[0, 1, 1], [1, 0, 0], [0, 0, 0]], dtype=torch.bool)
    weights = torch.full((3, 3), 0.5).log().masked_fill(~chosen, -torch.inf)
    values = torch.randn(3, 2, 3)
    found = layer.attention(values, weights)
    assert torch.allclose(found.sum(dim=2), torch.tensor([[1.0, 1.0, 0.0]] * 2))
    assert (found[:, ~chosen] == 0).all()


def test_attention_follows_the_edge_weights() -> None:
    """Without attention of its own, α is the edge's share: .8 / (.8 + .2)."""
    layer = GraphAttention(4, 2, gate=0.5)
    weights = torch.tensor([[0.0, 0.8, 0.2], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]).log()
    found = layer.attention(torch.randn(3, 2, 2), weights)
    assert torch.allclose(found[0, 0], torch.tensor([0.0, 0.8, 0.2]))


def test_a_chunk_without_links_keeps_its_vector(tiny: NeuralSettings) -> None:
    torch.manual_seed(0)
    model = Nakg(6, tiny)
    h = torch.nn.functional.normalize(torch.randn(4, 6), dim=1)
    chosen = torch.zeros(4, 4, dtype=torch.bool)
    chosen[0, 1] = True
    found = model.propagate(h, torch.zeros(4, 4), chosen)
    assert torch.allclose(found[1:], h[1:], atol=1e-6)
    assert not torch.allclose(found[0], h[0], atol=1e-3)


def test_the_order_of_chunks_is_irrelevant(
    tiny: NeuralSettings, vectors: NDArray[np.float32]
) -> None:
    torch.manual_seed(3)
    model = Nakg(6, tiny)
    h = torch.from_numpy(vectors)
    order = torch.randperm(len(h))
    with torch.no_grad():
        logits = model.edges(h)
        shuffled = model.edges(h[order])
        chosen = logits > 0
        moved = model.propagate(h, logits, chosen)
        moved_shuffled = model.propagate(h[order], shuffled, chosen[order][:, order])
    assert torch.allclose(logits[order][:, order], shuffled, atol=1e-4)
    assert torch.allclose(moved[order], moved_shuffled, atol=1e-4)


def test_a_dimension_that_heads_do_not_divide() -> None:
    model = Nakg(5, NeuralSettings(heads=2, head_size=3, hidden=4, layer_heads=3))
    h = torch.nn.functional.normalize(torch.randn(3, 5), dim=1)
    chosen = ~torch.eye(3, dtype=torch.bool)
    assert model.propagate(h, model.edges(h), chosen).shape == (3, 5)
