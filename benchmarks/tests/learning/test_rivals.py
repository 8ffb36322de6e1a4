"""What others would do with citations: each moves what was cited up."""

from __future__ import annotations

import numpy as np
import pytest
from hebbgraph.arrays import FloatArray

from hebbgraph_bench import Dataset
from hebbgraph_bench.learning.experiment import run_learning
from hebbgraph_bench.learning.rivals import ElementWeights, LinearAdapter, Mover, Rocchio
from hebbgraph_bench.learning.teachers import Event, Shown


def unit(*values: float) -> FloatArray:
    vector = np.array(values)
    return vector / np.linalg.norm(vector)


def test_weights_go_a_tenth_of_the_way(dataset: Dataset) -> None:
    learner = ElementWeights(lambda text, k: Shown(text, ()), influence=0.5)
    for _ in range(2):
        learner.learn(Event(Shown("?", ("a", "b")), ["b"]))
    assert learner._weights == pytest.approx({"a": 0.405, "b": 0.595})
    assert learner.ask("?", 2).ids == ()


@pytest.mark.parametrize("mover", [Rocchio(), LinearAdapter(rate=0.05, steps=20)])
def test_a_question_moves_to_what_it_cited(mover: Mover) -> None:
    question, cited, other = unit(1, 0.2, 0), unit(0, 1, 0.2), unit(0.2, 0, 1)
    assert mover.moved(question) is question
    mover.taught(question, [cited])
    mover.taught(unit(0, 0.2, 1), [other])
    assert mover.moved(question) @ cited > question @ cited + 0.2
    assert np.linalg.norm(mover.moved(question)) == pytest.approx(1)


def test_rocchio_leaves_other_questions_alone() -> None:
    mover = Rocchio()
    mover.taught(unit(1, 0, 0), [unit(0, 1, 0)])
    assert mover.moved(unit(0, 0, 1)).tolist() == [0, 0, 1]


def test_they_run_beside_ours(dataset: Dataset) -> None:
    found = run_learning(dataset, rounds=1, parts=("rivals",), seeds=1)
    names = [arm.name for arm in found.arms]
    assert names == ["none", "ours", "cognee's weights", "Rocchio", "linear adapter"]
