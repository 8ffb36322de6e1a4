"""How far citations agree with search."""

import numpy as np
import pytest

from hebbgraph.formulas.agreement import agreement


def test_citing_the_best_speaks_for_a_reader_and_the_worst_against():
    evidence = np.array([1.0, 0.7, 0.4])
    found = [agreement(evidence, [at], telling=False)[0] for at in range(3)]
    # A reader: .8 of the weights 1, .7^12, .4^12, and .2 / 3 for each; at random: 1/3.
    total = 1.0 + 0.7**12 + 0.4**12
    assert found == pytest.approx(
        [np.log(3 * (0.8 * weight / total + 0.2 / 3)) for weight in (1.0, 0.7**12, 0.4**12)]
    )
    assert found[0] > 0 > found[1] > found[2]
    # What speaks for a reader counts by how open evidence left it; what speaks against, by how sure
    # it is.
    sure, is_open = 0.8 / total + 0.2 / 3, 1 - 1 / total
    told = [2 * found[0] * is_open**4, *(2 * one * sure**4 for one in found[1:])]
    assert [agreement(evidence, [at])[0] for at in range(3)] == pytest.approx(told)
    assert agreement(evidence, [0])[1] == pytest.approx(is_open)


def test_easy_questions_earn_little_belief():
    easy, hard = np.array([1.0, *(9 * [0.3])]), np.array([1.0, 0.95, *(8 * [0.3])])
    (right, _), (lie, openness) = agreement(easy, [0]), agreement(easy, [5])
    assert 0 <= 1000 * right < -lie  # a thousand make up for no lie
    assert openness > 0.99
    assert right < agreement(hard, [0])[0]
    assert lie < agreement(hard, [5])[0] < 0


def test_twenty_easy_questions_do_not_make_up_for_a_lie():
    evidence = [1.0, 0.9, *8 * [0.6]]
    (lies, _), (agrees, _) = agreement(evidence, [2]), agreement(evidence, [0])
    assert lies < 0 < agrees
    assert lies + 20 * agrees < 0


def test_several_cited_ones_are_drawn_one_after_the_other():
    # Both of two: the first at even odds, and then there is no choice.
    assert agreement(np.ones(2), [0, 1]) == pytest.approx((0.0, 0.25))
    assert agreement(np.array([1.0, 1.0, 0.1]), [0, 1])[0] > agreement(np.ones(3), [0, 1])[0]


def test_without_a_choice_nothing_is_known():
    nothing = agreement(np.ones(1), [0]), agreement(np.zeros(4), [2]), agreement(np.ones(3), [])
    assert set(nothing) == {(0.0, 0.0)}
