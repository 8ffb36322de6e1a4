from __future__ import annotations

import sys
from types import ModuleType
from typing import get_args

import numpy as np
import pytest

from hebbgraph import HebbianIndex
from hebbgraph.errors import MissingExtraError, ParameterError
from hebbgraph.formulas.paths import PathNode
from hebbgraph.recall.strategies import STRATEGIES, Entry, Ranking, Request, StrategyName


def test_each_registered_strategy_is_a_name_that_recall_takes() -> None:
    assert list(STRATEGIES) == list(get_args(StrategyName))


class _Last:
    """Wants the last allowed chunk, whatever was asked."""

    fills = False

    def rank(self, request: Request) -> Ranking:
        slots = np.flatnonzero(request.allowed)[-1:]
        scores = np.ones(len(slots))
        return Ranking(slots, scores, lambda slot: (PathNode("chunk", slot, 1.0),), notes=("last",))


@pytest.fixture
def index() -> HebbianIndex:
    index = HebbianIndex.open(":memory:")
    index.add({"id": id_, "text": f"Note {id_}.", "metadata": {"id": id_}} for id_ in "abc")
    return index


def _register(monkeypatch: pytest.MonkeyPatch, entry: Entry) -> None:
    monkeypatch.setitem(STRATEGIES, "last", entry)  # type: ignore[misc]


def test_a_registered_module_makes_the_strategy(
    index: HebbianIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = ModuleType("strategy_of_this_test")
    module.make = lambda settings, truth, derived: _Last()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    _register(monkeypatch, Entry(module.__name__))
    recall = index.recall("note", k=2, strategy="last")  # type: ignore[arg-type]
    assert [hit.chunk.id for hit in recall.hits] == ["c"]
    assert (recall.strategy, recall.notes) == ("last", ("last",))
    filtered = index.recall("note", strategy="last", where={"id": {"$ne": "c"}})  # type: ignore[arg-type]
    assert [hit.chunk.id for hit in filtered.hits] == ["b"]


def test_a_missing_extra_is_named(index: HebbianIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    _register(monkeypatch, Entry("no_such_package.strategy", extra="neural"))
    with pytest.raises(MissingExtraError, match=r"no_such_package.*hebbgraph\[neural\]"):
        index.recall("note", strategy="last")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["breadth", None, ["spreading"]])
def test_an_unknown_name_is_answered_with_those_there_are(index: HebbianIndex, name: str) -> None:
    with pytest.raises(ParameterError, match="spreading, neighbourhood"):
        index.recall("note", strategy=name)  # type: ignore[arg-type]
