"""What is read of raw weights, worked by hand."""

import numpy as np
import pytest

from hebbgraph.formulas.homeostasis import (
    OutgoingEdges,
    bound_outgoing,
    chance_to_activation,
    citation_chance,
    pool_weights,
    target_scales,
)


def test_pooling_equals_folding_by_one_actor():
    # 0.5, then half of what is left: 0.75.
    _, weight = pool_weights(np.array([3, 3]), np.array([0.5, 0.5]))
    assert weight.tolist() == [0.75]


def test_inhibition_of_one_counts_against_praise_of_another():
    _, weight = pool_weights(np.array([3, 3]), np.array([0.5, -0.2]))
    assert weight.tolist() == pytest.approx([0.3])


def test_what_leaves_a_node_is_bounded_in_number_and_sum():
    owner = np.array([0] * 6 + [2])
    rows = OutgoingEdges(owner, np.arange(7), np.full(7, 0.5))
    found = bound_outgoing(rows, 3, min_weight=0.02, fan_out=4, out_strength=1.0)
    assert found.owner.tolist() == [0, 0, 0, 0, 2]
    assert found.targets.tolist() == [0, 1, 2, 3, 6]
    assert found.weights.tolist() == [0.25] * 4 + [0.5]


def test_nodes_may_keep_different_numbers_of_edges():
    rows = OutgoingEdges(np.array([0, 0, 1, 1]), np.arange(4), np.array([0.1, 0.2, 0.3, 0.2]))
    found = bound_outgoing(rows, 2, min_weight=0.0, fan_out=np.array([1, 2]), out_strength=1.0)
    assert found.targets.tolist() == [1, 2, 3]


def test_negative_and_weak_weights_do_not_pass():
    rows = OutgoingEdges(np.zeros(3, np.int64), np.arange(3), np.array([-0.3, 0.01, 0.0]))
    found = bound_outgoing(rows, 1, min_weight=0.0, fan_out=4, out_strength=1.0)
    assert found.targets.tolist() == [1]


def test_often_cited_chunks_are_reached_more_weakly():
    assert target_scales(np.array([0.0, 90.0]), in_credit=10).tolist() == pytest.approx([1, 1 / 3])


def test_the_prior_outweighs_queries_that_are_hardly_alike():
    near, far = (
        citation_chance(np.array([likeness]), likeness, prior=0.3)[0] for likeness in (0.9, 0.1)
    )
    assert near == pytest.approx(0.75)
    assert far == pytest.approx(0.25)


def test_activation_of_a_chance_reads_as_the_chance():
    # Spreading reads x as x / (x + 0.05).
    x = chance_to_activation(np.array([0.2, 0.7]), gain=0.05, at_most=9.0)
    assert (x / (x + 0.05)).tolist() == pytest.approx([0.2, 0.7])
