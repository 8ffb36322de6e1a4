"""Splits, worked by hand."""

from __future__ import annotations

import pytest
from hebbgraph.errors import DatasetError

from hebbgraph_bench.datasets import Dataset, Query, Variant
from hebbgraph_bench.learning.splits import split


def test_variants_are_strata() -> None:
    variants = {"keywords": Variant("k", {"a": 1}), "follow_up": Variant("f", {"b": 1})}
    queries = (
        Query("1", "one", {"a": 1}, variants=variants),
        Query("2", "two", {"a": 1, "c": 1}),
        Query("3", "three", {"d": 1}),
    )
    parts = split(Dataset("x", (), queries))
    assert [question.id for question in parts.learn] == ["1"]
    assert {name: [question.id for question in some] for name, some in parts.strata.items()} == {
        "same": ["1"],
        "keywords": ["1 keywords"],
        "follow_up": ["1 follow_up"],
        "shared evidence": ["2"],
        "untouched": ["3"],
    }
    assert parts.strata["follow_up"][0].relevant == {"b": 1}


def test_of_a_group_the_first_type_is_learned() -> None:
    queries = (
        Query("p1", "reworded", {"a": 1}, type="dev_para", group="g"),
        Query("o1", "original", {"a": 1}, type="dev_orig", group="g"),
        Query("alone", "alone", {"b": 1}, group="h"),
    )
    parts = split(Dataset("x", (), queries))
    assert [question.id for question in parts.learn] == ["o1"]
    assert [question.id for question in parts.strata["reworded (dev_para)"]] == ["p1"]
    assert [question.id for question in parts.strata["untouched"]] == ["alone"]


def test_halves_are_fixed_by_the_seed_and_can_be_drawn_from() -> None:
    queries = tuple(Query(str(n), f"{n}", {f"c{n % 5}": 1}) for n in range(20))
    first, again, other = (split(Dataset("x", (), queries), seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert len(first.learn) == 10
    drawn = split(Dataset("x", (), queries), seed=1, at_most=3)
    assert drawn.learn == first.learn
    assert all(len(some) <= 3 for some in drawn.strata.values())
    with pytest.raises(DatasetError, match="nothing that is learned could help"):
        split(Dataset("x", (), (Query("1", "one", {"a": 1}), Query("2", "two", {"b": 1}))))
