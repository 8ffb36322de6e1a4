"""Worked by hand on three chunks: a (grade 2) and b (grade 1) are relevant, x is not."""

from __future__ import annotations

from math import log2

import pytest
from usebench.errors import ParameterError

from hebbgraph_bench.metrics import (
    all_relevant_at_k,
    answer_in_context,
    context_tokens,
    hit_at_k,
    ndcg_at_k,
    normalize_answer,
    precision_at_k,
    recall_at_k,
    reciprocal_rank,
)

RELEVANT = {"a": 2, "b": 1, "x": 0}
RANKED = ["x", "b", "a"]


@pytest.mark.parametrize(
    ("metric", "values"),
    [
        (recall_at_k, (0, 1 / 2, 1)),
        (all_relevant_at_k, (0, 0, 1)),
        (hit_at_k, (0, 1, 1)),
        (precision_at_k, (0, 1 / 2, 2 / 3)),
        (reciprocal_rank, (0, 1 / 2, 1 / 2)),
        (
            ndcg_at_k,
            (
                0 / 2,
                (1 / log2(3)) / (2 + 1 / log2(3)),
                (1 / log2(3) + 2 / log2(4)) / (2 + 1 / log2(3)),
            ),
        ),
    ],
)
def test_at_one_two_three(metric, values) -> None:
    assert [metric(RANKED, RELEVANT, k) for k in (1, 2, 3)] == pytest.approx(values)
    assert metric([], RELEVANT, 3) == 0
    assert metric(["a", "b"], RELEVANT, 2) == 1
    with pytest.raises(ParameterError, match="at least one relevant passage"):
        metric(RANKED, {"x": 0}, 3)
    with pytest.raises(ParameterError, match="k must be at least 1, got 0"):
        metric(RANKED, RELEVANT, 0)


def test_repeated_id_counts_once() -> None:
    assert ndcg_at_k(["a", "a", "a"], RELEVANT, 3) < 1
    assert precision_at_k(["a", "a", "b"], RELEVANT, 2) == 1


def test_more_relevant_chunks_than_k() -> None:
    assert ndcg_at_k(["a"], RELEVANT, 1) == 1
    assert recall_at_k(["a"], RELEVANT, 1) == 1 / 2


def test_answers_are_normalised_and_matched_as_words() -> None:
    assert normalize_answer("An  Apple-tree, the OLD one.") == "appletree old one"
    assert answer_in_context(["The Cliff!"], ["on a cliff above", "x"]) == 1
    assert answer_in_context(["cliff"], ["cliffs"]) == 0
    assert answer_in_context(["one two"], ["one", "two"]) == 0
    assert answer_in_context(["nowhere", "x"], ["y", "x"]) == 1
    assert answer_in_context(["the", "?"], ["the end?"]) == 0
    assert answer_in_context([], ["x"]) == 0


def test_context_tokens() -> None:
    assert context_tokens([]) == 0
    assert context_tokens(["ab cd", "ef."]) == 4
    assert context_tokens(["transmembrane"]) == 2
    assert context_tokens(["突触学习"]) == 4
    assert context_tokens(["GPT4 1234"]) == 4
