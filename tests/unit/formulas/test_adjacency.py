"""Edges grouped by their source."""

from __future__ import annotations

import numpy as np

from hebbgraph.formulas.adjacency import EdgeSet


def test_edges_of_several_sources() -> None:
    edges = EdgeSet.from_arrays(
        np.array([4, 1, 4, 9]), np.array([0, 1, 2, 3]), np.array([0.1, 0.2, 0.3, 0.4])
    )
    owner, targets, weights = edges.edges_from(np.array([9, 2, 4]))
    assert owner.tolist() == [0, 2, 2]
    assert targets.tolist() == [3, 0, 2]
    assert weights.tolist() == [0.4, 0.1, 0.3]


def test_empty() -> None:
    assert len(EdgeSet.empty()) == 0
    owner, targets, _ = EdgeSet.empty().edges_from(np.array([1, 2]))
    assert len(owner) == len(targets) == 0
