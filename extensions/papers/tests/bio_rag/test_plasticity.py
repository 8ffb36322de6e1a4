"""Learning rules on numbers worked by hand."""

import numpy as np
import pytest

from hebbgraph_papers.bio_rag.plasticity import RULES, bio_rag, hebb

ONE = np.ones(1)


def test_hebb_grows_by_what_is_left_to_the_bound():
    weight = np.zeros(1)
    steps = []
    for _ in range(3):
        weight = hebb(weight, ONE, ONE, learning_rate=0.5, w_max=0.8)
        steps.append(round(float(weight[0]), 6))
    assert steps == [0.4, 0.6, 0.7]


def test_hebb_credit_scales_the_step_and_its_sign_turns_it():
    up_and_down = hebb(
        np.array([0.2, 0.2]), np.array([0.5, -0.5]), np.ones(2), learning_rate=0.4, w_min=-0.3
    )
    assert up_and_down.tolist() == pytest.approx([0.2 + 0.2 * 0.8, 0.2 - 0.2 * 0.5])


def test_bio_rag_adds_relevance_over_path_length():
    new = bio_rag(
        np.array([0.5, 0.5, 0.95]), np.ones(3), np.array([1.0, 4.0, 1.0]), learning_rate=0.2
    )
    assert new.tolist() == pytest.approx([0.7, 0.55, 1.0])


@pytest.mark.parametrize("rule", RULES.values())
def test_rules_leave_their_input_alone(rule):
    weight, credit = np.array([0.1, 0.9]), np.array([1.0, -1.0])
    rule(weight, credit, np.ones(2), learning_rate=0.5, w_max=1.0, w_min=-0.5)
    assert weight.tolist() == [0.1, 0.9]
    assert credit.tolist() == [1.0, -1.0]


@pytest.mark.parametrize("rule", RULES.values())
def test_rules_stay_within_bounds(rule):
    rng = np.random.default_rng(0)
    weight = np.zeros(200)
    for _ in range(50):
        credit = rng.uniform(-1, 1, 200)
        length = rng.integers(1, 6, 200).astype(float)
        weight = rule(weight, credit, length, learning_rate=0.9, w_max=0.7, w_min=-0.2)
        assert weight.min() >= -0.2
        assert weight.max() <= 0.7
