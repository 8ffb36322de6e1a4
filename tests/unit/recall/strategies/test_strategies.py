from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from hebbgraph import HebbianIndex
from hebbgraph.errors import ParameterError
from hebbgraph.formulas.paths import PathNode
from hebbgraph.recall import Ranking, Request


class _Last:
    """Wants the last allowed chunk, whatever was asked."""

    name = "last"
    pads = False

    def rank(self, request: Request) -> Ranking:
        slots = np.flatnonzero(request.allowed)[-1:]
        scores = np.ones(len(slots))
        return Ranking(slots, scores, lambda slot: (PathNode("chunk", slot, 1.0),), notes=("last",))


@pytest.fixture
def index() -> HebbianIndex:
    index = HebbianIndex.open(":memory:")
    index.add({"id": id_, "text": f"Note {id_}.", "metadata": {"id": id_}} for id_ in "abc")
    return index


def test_a_strategy_of_the_callers_ranks(index: HebbianIndex) -> None:
    recall = index.recall("note", k=2, strategy=_Last())
    assert [hit.chunk.id for hit in recall.hits] == ["c"]
    assert (recall.strategy, recall.notes) == ("last", ("last",))
    filtered = index.recall("note", strategy=_Last(), where={"id": {"$ne": "c"}})
    assert [hit.chunk.id for hit in filtered.hits] == ["b"]


def test_feedback_on_a_strategy_of_the_callers_teaches(index: HebbianIndex) -> None:
    recall = index.recall("note", k=2, strategy=_Last())
    feedback = index.reinforce(index.find_recall(recall.id) or recall, ["c"])
    assert feedback.cited == ("c",)


class _Returning:
    name = "mine"
    pads = False

    def __init__(self, ranking: object) -> None:
        self.ranking = ranking

    def rank(self, request: Request) -> Ranking:
        return self.ranking  # type: ignore[return-value]


@pytest.mark.parametrize(
    "ranking",
    [
        None,
        Ranking(np.array([0, 1]), np.ones(2)),  # 0 does not pass the filter
        Ranking(np.array([1, 1]), np.ones(2)),
        Ranking(np.array([-1]), np.ones(1)),
        Ranking(np.array([9]), np.ones(1)),
        Ranking(np.array([1.0]), np.ones(1)),
        Ranking(np.array([1]), np.ones(2)),
        Ranking(np.array([1]), np.array([np.nan])),
        Ranking(np.array([1]), np.array([-1.0])),
    ],
)
def test_a_ranking_that_no_recall_can_use_names_its_strategy(
    index: HebbianIndex, ranking: object
) -> None:
    with pytest.raises(ParameterError, match="'mine'"):
        index.recall("note", strategy=_Returning(ranking), where={"id": {"$ne": "a"}})


def test_a_ranking_may_be_lists_or_empty(index: HebbianIndex) -> None:
    lists = Ranking([1, 0], [0.5, 0.2])  # type: ignore[arg-type]
    found = index.recall("note", strategy=_Returning(lists), where=lambda chunk: True)
    assert [hit.chunk.id for hit in found.hits] == ["b", "a"]
    nothing = Ranking([], [])  # type: ignore[arg-type]
    assert index.recall("note", strategy=_Returning(nothing)).hits == ()


WITHOUT_PAPERS = """
import importlib.metadata
importlib.metadata.distributions = lambda **_: iter(())
from hebbgraph import HebbianIndex, MissingExtraError
with HebbianIndex.open(":memory:") as index:
    index.add(["A note."])
    for name in ("neighbourhood", "breadth_first", "neural"):
        try:
            index.recall("note", strategy=name)
        except MissingExtraError as error:
            print(error)
"""


def test_a_strategy_of_a_paper_says_what_installs_it() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_PAPERS], capture_output=True, text=True, timeout=60
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 3, done.stderr
    assert all('pip install "hebbgraph[papers]"' in line for line in lines)


@pytest.mark.parametrize("name", ["breadth", None, ["spreading"]])
def test_what_is_no_strategy_is_answered_with_those_there_are(
    index: HebbianIndex, name: object
) -> None:
    with pytest.raises(ParameterError, match="neural, spreading"):
        index.recall("note", strategy=name)  # type: ignore[arg-type]


def test_a_class_in_place_of_a_strategy_is_answered_with_the_call(index: HebbianIndex) -> None:
    with pytest.raises(ParameterError, match=r"got the class _Last; pass _Last\(\)"):
        index.recall("note", strategy=_Last)  # type: ignore[arg-type]
