from __future__ import annotations

import numpy as np
import pytest
from hebbgraph import ParameterError
from hypothesis import given
from hypothesis import strategies as st

from hebbgraph_papers.nakg import NeuralRecall
from hebbgraph_papers.nakg.relevance import (
    rank_decay,
    relevance,
    separate_scores,
    term_presence,
    word_order,
)


def test_forty_thirty_thirty() -> None:
    parts = np.eye(3)
    found = relevance(parts[:, 0], parts[:, 1], parts[:, 2], NeuralRecall())
    assert found.round(9).tolist() == [0.4, 0.3, 0.3]


def test_a_negative_cosine_takes_nothing_away() -> None:
    found = relevance(np.array([1.0]), np.array([0.0]), np.array([-1.0]), NeuralRecall())
    assert found.round(9).tolist() == [0.4]


def test_terms_exact_and_partial() -> None:
    assert term_presence(["harbour", "master"], ["harbour", "masters", "log"]) == 0.75
    assert term_presence(["oar"], ["oars"]) == 0.0  # too short to match in part
    assert term_presence([], ["oar"]) == 0.0


def test_order_by_hand() -> None:
    # "a" to "b": one apart; "b" to "c": never; so (1 + 0) / 2
    assert word_order(["a", "b", "c"], ["c", "a", "b"]) == 0.5
    assert word_order(["b", "a"], ["a", "b"]) == 0.0
    assert word_order(["a"], ["a"]) == 0.0


def test_a_term_that_a_chunk_repeats_without_end_costs_no_square() -> None:
    assert word_order(["a", "b"], ["b", "x", "a", "x"] * 50_000) == 0.5


def test_separation_and_decay_keep_the_order() -> None:
    scores = np.array([0.1, 0.5, 0.4, 0.9])
    assert separate_scores(np.array([0.5]))[0] == 0.5
    assert separate_scores(np.array([1.0]), temperature=8)[0] == pytest.approx(1 / (1 + np.exp(-4)))
    found = rank_decay(separate_scores(scores), decay=0.95)
    assert np.argsort(found).tolist() == np.argsort(scores).tolist()


@pytest.mark.parametrize(
    "wrong",
    [
        {"term_share": -0.1},
        {"term_share": 0, "order_share": 0, "semantic_share": 0},
        {"candidates": 0},
    ],
)
def test_settings_out_of_range(wrong: dict[str, float]) -> None:
    with pytest.raises(ParameterError, match="got"):
        NeuralRecall(**wrong)  # type: ignore[arg-type]


words = st.lists(st.sampled_from(["ab", "abcd", "abcde", "xyzw", "xy"]), max_size=8)


@given(words, words)
def test_parts_lie_between_0_and_1(query: list[str], chunk: list[str]) -> None:
    assert 0.0 <= term_presence(query, chunk) <= 1.0
    assert 0.0 <= word_order(query, chunk) <= 1.0
