"""Communities on graphs that can be drawn, and against networkx."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from hebbgraph.formulas.communities import (
    colony_weights,
    find_colonies,
    local_moving,
)
from hebbgraph.formulas.weighted_graph import WeightedGraph


def two_cliques(extra: int = 0) -> WeightedGraph:
    """Nodes 0 to 3 and 4 to 7, each joined to all of its own; one bridge."""
    pairs = [(a, b) for half in (range(4), range(4, 8)) for a in half for b in half if a < b]
    sources, targets = np.array([*pairs, (3, 4)]).T
    return WeightedGraph(8 + extra, sources, targets, np.ones(len(sources)))


def test_two_cliques_are_two_colonies() -> None:
    graph = two_cliques(extra=1)
    colony = find_colonies(9, graph.sources, graph.targets, graph.weights)
    assert colony.tolist() == [0, 0, 0, 0, 4, 4, 4, 4, 8]


def test_edges_without_weight_join_nothing() -> None:
    assert find_colonies(2, np.array([0]), np.array([1]), np.zeros(1)).tolist() == [0, 1]
    assert find_colonies(0, np.array([], int), np.array([], int), np.zeros(0)).tolist() == []


def test_a_new_node_joins_its_neighbours() -> None:
    old = two_cliques()
    graph = WeightedGraph(
        9,
        np.concatenate((old.sources, [8, 8, 8])),
        np.concatenate((old.targets, [5, 6, 1])),
        np.ones(len(old) + 3),
    )
    colony = np.array([0, 0, 0, 0, 4, 4, 4, 4, 8])
    assert local_moving(graph, colony, [8]).tolist() == [0, 0, 0, 0, 4, 4, 4, 4, 4]
    assert colony[8] == 8  # untouched


def test_a_node_leaves_a_colony_without_neighbours() -> None:
    graph = two_cliques(extra=1)
    colony = np.array([0, 0, 0, 0, 0, 4, 4, 4, 8])
    assert local_moving(graph, colony, [4]).tolist() == [0, 0, 0, 0, 4, 4, 4, 4, 8]


def test_moves_raise_modularity_as_networkx_counts_it() -> None:
    picture = nx.gnm_random_graph(40, 120, seed=3)
    sources, targets = np.array(list(picture.edges)).T
    weights = np.random.default_rng(0).random(len(sources))
    graph = WeightedGraph(40, sources, targets, weights)
    colony = np.arange(40) % 5
    better = local_moving(graph, colony, range(40))
    nx.set_edge_attributes(
        picture,
        {
            (int(a), int(b)): {"weight": float(w)}
            for a, b, w in zip(sources, targets, weights, strict=True)
        },
    )

    def modularity(partition: np.ndarray) -> float:
        groups = [set(np.flatnonzero(partition == label).tolist()) for label in set(partition)]
        return nx.community.modularity(picture, groups)

    assert modularity(better) > modularity(colony)


def test_bridges_are_weaker_and_need_a_reason() -> None:
    weights = colony_weights(
        np.array([0.6, 0.6, 0.3, 0.3]),
        np.array([0.0, 0.0, 0.0, 0.4]),
        np.array([True, False, False, False]),
    )
    assert weights.tolist() == pytest.approx([0.3, 0.15, 0.0, 0.175])
