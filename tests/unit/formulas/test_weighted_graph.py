"""A weighted graph small enough to draw."""

from __future__ import annotations

import numpy as np
import pytest

from hebbgraph.errors import ParameterError
from hebbgraph.formulas.weighted_graph import WeightedGraph


@pytest.fixture
def graph() -> WeightedGraph:
    return WeightedGraph(5, [3, 0, 0, 1], [0, 1, 2, 3], [0.4, 0.5, 0.9, 0.8])


def test_an_edge_is_listed_at_both_ends(graph: WeightedGraph) -> None:
    owner, targets, weights = graph.neighbours(np.array([3, 4, 0]))
    assert owner.tolist() == [0, 0, 2, 2, 2]
    assert targets.tolist() == [0, 1, 1, 2, 3]
    assert weights.tolist() == [0.4, 0.8, 0.5, 0.9, 0.4]


def test_a_changed_weight_is_read(graph: WeightedGraph) -> None:
    graph.weights[0] = 0.7  # of the first edge given
    assert graph.neighbours(np.array([3]))[2].tolist() == [0.7, 0.8]


@pytest.mark.parametrize(
    ("sources", "targets", "message"),
    [([1], [1], "two different"), ([0, 1], [1, 0], "twice"), ([0], [5], r"lie in \[0, 5\)")],
)
def test_bad_edges(sources: list[int], targets: list[int], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        WeightedGraph(5, sources, targets, [1.0] * len(sources))
