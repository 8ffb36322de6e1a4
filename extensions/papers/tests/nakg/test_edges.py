from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hebbgraph_papers.nakg.edges import NeuralEdges, edges_in_cluster, minimum_links, select_edges


def test_minimum_links_of_the_paper() -> None:
    # max(2, 0.3 n), rounded up
    assert [minimum_links(n, 1_000) for n in (3, 6, 7, 10, 11, 100)] == [2, 2, 3, 3, 4, 30]


def test_a_cluster_cannot_give_more_links_than_it_has_others() -> None:
    assert [minimum_links(n, 1_000) for n in (1, 2, 3)] == [0, 1, 2]


def test_the_cap_holds_beyond_two_thousand_chunks() -> None:
    assert minimum_links(200, 2_000) == 60
    assert minimum_links(200, 2_001) == 32


def test_dynamic_threshold_by_hand() -> None:
    # Row 0: mean .3, deviation .4 / √2 ≈ .2828: the threshold is .5828.
    weights = np.array([[0, 0.1, 0.1, 0.7], [0.5] * 4, [0.5] * 4, [0.5] * 4])
    chosen = select_edges(weights, minimum=0, deviations=1.0)
    assert chosen[0].tolist() == [False, False, False, True]
    assert not chosen[1:].any()  # equal weights: none stands out


def test_edges_are_numbered_by_the_collection() -> None:
    weights = np.array([[0.0, 0.9], [0.4, 0.0]])
    found = edges_in_cluster(
        np.array([4, 7]), weights, select_edges(weights, minimum=1, deviations=1.0)
    )
    assert found.sources.tolist() == [4, 7]
    assert found.targets.tolist() == [7, 4]
    assert found.weights.tolist() == pytest.approx([0.9, 0.4])
    assert len(NeuralEdges.concatenated([]).sources) == 0


@given(st.integers(1, 12), st.integers(0, 2**32 - 1), st.floats(-1, 2))
def test_every_chunk_has_its_minimum_and_never_itself(n: int, seed: int, deviations: float) -> None:
    weights = np.random.default_rng(seed).random((n, n))
    minimum = minimum_links(n, 100)
    chosen = select_edges(weights, minimum=minimum, deviations=deviations)
    assert not chosen.diagonal().any()
    assert (chosen.sum(axis=1) >= minimum).all()
