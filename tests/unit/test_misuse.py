"""What is used wrongly says so."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import hebbgraph
from hebbgraph import (
    FilterError,
    HebbgraphError,
    HebbianIndex,
    LearningSettings,
    ParameterError,
    Settings,
)

CHUNKS = [
    {"id": "petrel", "text": "The Petrel was built by Ida Moss.", "metadata": {"year": 1871}},
    {"id": "bread", "text": "Bread rises.", "metadata": {"range": {"gte": 3}}},
]


@pytest.fixture
def index() -> HebbianIndex:
    index = HebbianIndex.open(":memory:")
    index.add(CHUNKS)
    return index


@pytest.mark.parametrize(
    ("misuse", "says"),
    [
        (lambda _: Settings(keep_text="yes"), "keep_text: .*got 'yes'"),
        (lambda _: Settings(text_tags=1), "text_tags: .*got 1"),
        (lambda _: LearningSettings(require_actor="no"), "require_actor: .*got 'no'"),
        (lambda i: i.recall("x", where={"year": {"gte": 3}}), r"by '\$gte', got 'gte'"),
        (lambda i: i.recall("x", k="5"), "k is a whole number from 1 to 10000, got '5'"),
        (lambda _: HebbianIndex("a.hebb"), r"HebbianIndex.open\('a.hebb'\)"),  # type: ignore[arg-type]
        (lambda i: i.reinforce(i.recall("x"), [i.recall("x").hits[0]]), "hit.chunk.id; got Hit"),
        (lambda i: i.forget(since=5.0, until=1.0), "until, 1.0, lies before since, 5.0"),
        (lambda i: i.lessons(since=5.0, until=1.0), "lies before since"),
        (lambda i: i.get([7]), "a chunk id is a printable str, got 7"),  # type: ignore[list-item]
        (lambda i: i.add([SimpleNamespace(metadata={})]), "HebbianRetriever.from_documents"),
        (pickle.dumps, "neither pickled nor copied; hand its location on"),
        (copy.copy, "neither pickled nor copied"),
    ],
)
def test_misuse_gets_an_answer(
    misuse: Callable[[Any], Any], says: str, index: HebbianIndex
) -> None:
    with pytest.raises(HebbgraphError, match=says):
        misuse(index)


def test_a_model_by_its_name_makes_no_index(tmp_path: Path) -> None:
    model: Any = "all-MiniLM-L6-v2"
    with pytest.raises(HebbgraphError, match="is SentenceTransformerEmbedder"):
        HebbianIndex.open(tmp_path / "new", embedder=model)
    assert list(tmp_path.iterdir()) == []


def test_an_object_with_fields_named_like_operators_can_be_found(index: HebbianIndex) -> None:
    with pytest.raises(FilterError, match=r"'\$eq': {'gte': 3}"):
        index.ids({"range": {"gte": 3}})
    assert index.ids({"range": {"$eq": {"gte": 3}}}) == ["bread"]


def test_a_misspelt_argument_is_told_which_is_meant(index: HebbianIndex) -> None:
    wrong: dict[str, Any] = {"embeder": None}
    with pytest.raises(ParameterError, match=r"^HebbianIndex\.open .*did you mean 'embedder'\?$"):
        HebbianIndex.open(":memory:", **wrong)
    with pytest.raises(ParameterError, match=r"^HebbianIndex\.recall .*it takes query, k, where"):
        index.recall("Petrel", xyz=1)  # type: ignore[call-arg]


def test_forgetting_what_was_never_known_says_so(
    index: HebbianIndex, caplog: pytest.LogCaptureFixture
) -> None:
    known = index.reinforce(index.recall("Petrel"), ["petrel"])
    assert index.forget(known) == 1
    assert not caplog.records
    assert index.forget("nope") == 0
    assert "no such feedback is known by ['nope']" in caplog.text
    index.reinforce(index.recall("Petrel"), ["petrel"], actor="ida")
    for names, told in (
        ({"actor": "idda"}, "no such feedback by 'idda'; did you mean 'ida'?"),
        ({"actor": " Ida. "}, "no such feedback by ' Ida. '; did you mean 'ida'?"),
        ({"feedback": "ida"}, "is known by ['ida']; what an actor said is forgotten by forget(ac"),
        ({"actor": "eve"}, "no such feedback by 'eve'\n"),
        ({"chunk": "petrle"}, "speaks of a chunk 'petrle'"),
    ):
        assert index.forget(**names) == 0
        assert told in caplog.text


def test_a_vector_without_an_embedder_is_noted(index: HebbianIndex) -> None:
    assert any("vector=" in note for note in index.recall("Petrel", vector=[0.5] * 4).notes)
    assert not any("vector=" in note for note in index.recall("Petrel").notes)


def test_lazy_names_are_listed() -> None:
    assert set(hebbgraph.__all__) <= set(dir(hebbgraph))
