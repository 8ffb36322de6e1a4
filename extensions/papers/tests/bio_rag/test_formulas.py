"""Bio-RAG's search on a graph of seven nodes, worked by hand, and against networkx."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hebbgraph.arrays import BoolArray, IntArray
from hebbgraph.errors import ParameterError
from hebbgraph.formulas.weighted_graph import WeightedGraph

from hebbgraph_papers.bio_rag.formulas import (
    BreadthFirstParameters,
    Labels,
    blend,
    expand,
    gather,
    hybrid_score,
    path_to,
)

# Documents 0 to 2; terms 3 (cell), 4 (energy), 5 (light), 6 (noise).
GRAPH = WeightedGraph(
    7, [3, 3, 4, 4, 5, 3, 6], [0, 4, 1, 5, 2, 6, 2], [0.6, 0.9, 0.5, 0.3, 0.7, 0.01, 1.0]
)


def is_document(nodes: IntArray) -> BoolArray:
    return nodes < 3


def test_strong_edges_first_level_by_level() -> None:
    found = expand(GRAPH.neighbours, 3)
    assert found.nodes.tolist() == [3, 4, 0, 1, 5, 2, 6]  # 6 not by 0.01
    assert found.parents.tolist() == [-1, 0, 0, 1, 1, 4, 5]
    assert found.totals.tolist() == pytest.approx([0, 0.9, 0.6, 1.4, 1.2, 1.9, 2.9])


def test_the_search_stops_after_so_many_nodes() -> None:
    assert expand(GRAPH.neighbours, 3, max_nodes=2).nodes.tolist() == [3, 4, 0]
    assert expand(GRAPH.neighbours, 3, max_nodes=4).nodes.tolist() == [3, 4, 0, 1, 5]


def test_the_strongest_path_counts_or_all() -> None:
    expansions = [expand(GRAPH.neighbours, seed) for seed in (3, 5)]
    best = gather(expansions, is_document)
    assert best.targets.tolist() == [0, 1, 2]
    # From 5: to 2 by 0.7; to 4 by 0.3, and on to 1 by 0.5, or by 3 (0.9) to 0 (0.6).
    assert best.totals.tolist() == pytest.approx([1.8, 1.4, 1.9])
    assert best.expansion.tolist() == [1, 0, 0]
    path = path_to(expansions[1], int(best.position[0]))
    assert path == [5, 4, 3, 0]
    both = gather(expansions, is_document, combine="sum")
    assert both.totals.tolist() == pytest.approx([0.6 + 1.8, 1.4 + 0.8, 1.9 + 0.7])


def test_nothing_is_reached_without_seeds() -> None:
    assert len(gather([], is_document).targets) == 0
    assert hybrid_score(np.empty(0), np.empty(0)).tolist() == []


def test_scores_follow_the_formula() -> None:
    graph = hybrid_score(np.array([2.0, 0.0]), np.array([0.5, 1.0]), alpha=0.5, beta=1.0)
    assert graph.tolist() == pytest.approx([1.0, 1.0 / 1.5])
    assert blend(np.array([0.2, 0.4]), graph, mu=0.5).tolist() == pytest.approx([0.6, 0.2 + 1 / 3])


def test_labels_contain_words() -> None:
    labels = Labels(["Climate", "climate model", "Microclimate", "model\nrun"])
    assert labels.containing("CLIMATE", limit=9).tolist() == [0, 2, 1]
    assert labels.containing("climate", limit=2).tolist() == [0, 2]
    assert labels.containing("model run", limit=9).tolist() == [3]
    assert labels.containing("atom", limit=9).tolist() == []
    assert labels.containing("", limit=9).tolist() == []


def test_levels_are_those_of_networkx() -> None:
    rng = np.random.default_rng(0)
    picture = nx.gnm_random_graph(60, 180, seed=1)
    sources, targets = np.array(list(picture.edges)).T
    weights = rng.random(len(sources))
    graph = WeightedGraph(60, sources, targets, weights)
    strong = nx.Graph()
    strong.add_nodes_from(range(60))
    strong.add_edges_from(
        (a, b) for a, b, w in zip(sources, targets, weights, strict=True) if w >= 0.3
    )
    found = expand(graph.neighbours, 0, min_weight=0.3, max_nodes=60)
    depth = nx.single_source_shortest_path_length(strong, 0)
    assert {int(node): len(path_to(found, at)) - 1 for at, node in enumerate(found.nodes)} == depth


@pytest.mark.parametrize(
    "wrong",
    [{"mu": 1.5}, {"alpha": -1.0}, {"max_nodes": 0}, {"combine": "mean"}, {"min_weight": -1.0}],
)
def test_parameters_outside_their_range(wrong: dict[str, float]) -> None:
    with pytest.raises(ParameterError):
        BreadthFirstParameters(**wrong)  # type: ignore[arg-type]
