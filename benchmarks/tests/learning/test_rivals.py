"""What others would do with citations: each moves what was cited up."""

from __future__ import annotations

import pytest

from hebbgraph_bench import Dataset
from hebbgraph_bench.learning.experiment import run_learning
from hebbgraph_bench.learning.rivals import ElementWeights
from hebbgraph_bench.learning.teachers import Event, Shown


def test_weights_go_a_tenth_of_the_way(dataset: Dataset) -> None:
    learner = ElementWeights(lambda text, k: Shown(text, ()), influence=0.5)
    for _ in range(2):
        learner.learn(Event(Shown("?", ("a", "b")), ["b"]))
    assert learner._weights == pytest.approx({"a": 0.405, "b": 0.595})
    assert learner.ask("?", 2).ids == ()


def test_they_run_beside_ours(dataset: Dataset) -> None:
    found = run_learning(dataset, rounds=1, parts=("rivals",), seeds=1)
    names = [arm.name for arm in found.arms]
    assert names == ["none", "ours", "cognee's weights", "Rocchio", "linear adapter"]
