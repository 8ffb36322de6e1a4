from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from usebench.bootstrap import paired_bootstrap
from usebench.errors import ParameterError
from usebench.metrics import judge, ndcg_at_k, recall_at_k
from usebench.regret import regret_curve

RANKED = st.lists(st.sampled_from("abcdef"), unique=True, max_size=6)
GRADES = st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 3), min_size=1)


def test_three_passages_by_hand() -> None:
    judged = judge(["x", "b", "a"], {"a": 1, "b": 1})
    assert judged["R@2"] == 0.5
    assert judged["R@5"] == judged["all-gold@5"] == 1.0
    assert judged["MRR"] == 0.5
    assert judged["nDCG@10"] == pytest.approx((0.63093 + 0.5) / (1 + 0.63093), abs=1e-5)


@given(RANKED, GRADES)
def test_what_is_deeper_finds_no_less_and_the_best_order_finds_all(
    ranked: list[str], grades: dict[str, int]
) -> None:
    recalls = [recall_at_k(ranked, grades, k) for k in range(1, 7)]
    assert recalls == sorted(recalls)
    best = sorted(grades, key=lambda id_: -grades[id_])
    assert ndcg_at_k(best, grades, 6) == pytest.approx(1)
    assert judge(best, grades)["R@10"] == judge(best, grades)["MRR"] == 1


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1)), min_size=1))
def test_an_interval_holds_its_mean_and_turns_with_the_systems(
    pairs: list[tuple[float, float]],
) -> None:
    ours, theirs = zip(*pairs, strict=True)
    by, turned = paired_bootstrap(ours, theirs), paired_bootstrap(theirs, ours)
    assert by.low - 1e-9 <= by.mean <= by.high + 1e-9
    assert (by.wins, by.losses) == (turned.losses, turned.wins)
    assert by.mean == pytest.approx(-turned.mean)


def test_systems_of_different_length_cannot_be_compared() -> None:
    with pytest.raises(ParameterError, match="one value a question"):
        paired_bootstrap([1.0], [1.0, 0.0])
    with pytest.raises(ParameterError, match="one value a question"):
        regret_curve([1.0], [1.0, 0.0])


def test_regret_adds_up_what_the_other_had_more() -> None:
    assert regret_curve([0, 1, 1, 1], [1, 1, 0, 0], points=4) == [1, 1, 0, -1]
    assert regret_curve([], []) == []
