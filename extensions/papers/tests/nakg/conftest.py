"""Small clusters in few dimensions."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from hebbgraph_papers.nakg.parameters import NeuralSettings

TINY = NeuralSettings(
    heads=2,
    head_size=4,
    edge_layers=1,
    hidden=8,
    layers=2,
    layer_heads=2,
    max_cluster=12,
    min_samples=3,
    edge_epochs=4,
    retrieval_epochs=4,
    patience=2,
    edge_learning_rate=1e-2,
    retrieval_learning_rate=1e-2,
)


def blobs(n: int = 24, dimension: int = 6, topics: int = 3, seed: int = 0) -> NDArray[np.float32]:
    """Chunk i is about topic i % topics."""
    rng = np.random.default_rng(seed)
    centres = np.eye(dimension)[:topics]
    vectors = centres[np.arange(n) % topics] + 0.15 * rng.standard_normal((n, dimension))
    unit: NDArray[np.float32] = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(
        np.float32
    )
    return unit


@pytest.fixture
def tiny() -> NeuralSettings:
    return TINY


@pytest.fixture
def vectors() -> NDArray[np.float32]:
    return blobs()
