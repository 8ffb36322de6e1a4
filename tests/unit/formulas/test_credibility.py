"""How far actors are believed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hebbgraph.formulas.credibility import agreement, allowances, credibilities


def test_citing_the_best_speaks_for_a_reader_and_the_worst_against():
    evidence = np.array([1.0, 0.7, 0.4])
    found = [agreement(evidence, [at], telling=False) for at in range(3)]
    # A reader: .8 of the weights 1, .7^12, .4^12, and .2 / 3 for each; at random: 1/3.
    total = 1.0 + 0.7**12 + 0.4**12
    assert found == pytest.approx(
        [np.log(3 * (0.8 * weight / total + 0.2 / 3)) for weight in (1.0, 0.7**12, 0.4**12)]
    )
    assert found[0] > 0 > found[1] > found[2]
    # What speaks for a reader counts by how little it was to be expected; what speaks against, by
    # how sure evidence is.
    sure = 0.8 / total + 0.2 / 3
    told = [2 * found[0] * (1 - sure) ** 1.5, *(2 * one * sure**2 for one in found[1:])]
    assert [agreement(evidence, [at]) for at in range(3)] == pytest.approx(told)


def test_easy_questions_earn_little_belief():
    easy, hard = np.array([1.0, *(9 * [0.3])]), np.array([1.0, 0.95, *(8 * [0.3])])
    assert 0 < 2 * agreement(easy, [0]) < -agreement(easy, [5])  # two make up for no lie
    assert agreement(easy, [0]) < agreement(hard, [0])
    assert agreement(easy, [5]) < agreement(hard, [5]) < 0


def test_several_cited_ones_are_drawn_one_after_the_other():
    # Both of two: the first at even odds, and then there is no choice.
    assert agreement(np.ones(2), [0, 1]) == pytest.approx(0.0)
    assert agreement(np.array([1.0, 1.0, 0.1]), [0, 1]) > agreement(np.ones(3), [0, 1])


def test_without_a_choice_nothing_is_known():
    assert (
        agreement(np.ones(1), [0]) == agreement(np.zeros(4), [2]) == agreement(np.ones(3), []) == 0
    )


def test_a_new_name_is_judged_by_the_other_new_names():
    record, events = np.array([0.0, -1.0, -1.0, 0.0]), np.array([0.0, 1.0, 1.0, 0.0])
    among_liars, alone = (
        credibilities(record, events)[3],
        credibilities(np.zeros(2), np.zeros(2))[1],
    )
    assert among_liars < 0.01 < 0.8 < alone


def test_whoever_is_known_is_judged_by_his_own_record():
    record = np.array([0.0, 5.0, *(40 * [-1.5])])
    events = np.array([0.0, 300.0, *(40 * [1.0])])
    found = credibilities(record, events)
    assert found[1] > 0.99
    assert (found[2:] < 0.02).all()


def test_flooding_does_not_raise_the_allowance_of_the_flooder():
    few, many = (
        allowances(np.array([100.0, n]), np.zeros(2), at_least=20, share=0.1)[1] * n
        for n in (5000.0, 500_000.0)
    )
    assert few == pytest.approx(many, rel=0.01) == pytest.approx(20, rel=0.01)


def test_rotating_names_have_one_allowance():
    one, many = (
        allowances(np.array([0.0] + n * [200 / n]), np.zeros(n + 1), at_least=20, share=0.1)
        for n in (1, 200)
    )
    # A fifth of a first lesson is its own; the rest is what 200 lessons of one would be.
    assert many[1:].sum() < 0.25 * 200 + one[1] * 200


def test_lessons_that_agree_earn_room():
    assert allowances(np.array([0.0, 500]), np.array([0.0, 250]), at_least=20, share=0.1)[1] == 1


@given(
    st.lists(
        st.tuples(st.floats(-6, 6), st.integers(0, 10_000), st.integers(0, 10_000)), min_size=1
    )
)
def test_factors_are_shares_and_the_trusted_one_is_whole(actors):
    record, events, earned = np.array(actors, dtype=np.float64).T
    for found in (
        credibilities(record, events),
        allowances(events, np.minimum(earned, events), at_least=20, share=0.1),
    ):
        assert ((found >= 0) & (found <= 1)).all()
        assert found[0] == 1.0
