"""Reinforcement on numbers worked by hand."""

import numpy as np
import pytest

from hebbgraph_papers.bio_rag.learning import reinforced


def test_weights_gain_relevance_over_path_length() -> None:
    weight = np.array([0.5, 0.5, 0.95])
    gained = reinforced(weight, np.ones(3), np.array([1.0, 4.0, 1.0]), learning_rate=0.2)
    assert gained.tolist() == pytest.approx([0.7, 0.55, 1.0])
    assert weight.tolist() == [0.5, 0.5, 0.95]  # the input is unchanged


def test_weights_stay_within_bounds() -> None:
    rng = np.random.default_rng(0)
    weight = np.zeros(200)
    for _ in range(50):
        length = rng.integers(1, 6, 200).astype(float)
        weight = reinforced(weight, rng.uniform(-1, 1, 200), length, learning_rate=0.9, w_max=0.7)
        assert weight.min() >= 0.0
        assert weight.max() <= 0.7
