"""``dumps`` and ``loads``: a retriever is where its index lies, and how it is asked."""

from __future__ import annotations

import json
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
from hebbgraph import HebbianIndex, ParameterError, Settings
from langchain_core.documents import Document
from langchain_core.load import dumpd, dumps, loads

from langchain_hebbgraph import HebbianRetriever

pytestmark = pytest.mark.filterwarnings("ignore:The function .loads. is in beta")

DOCUMENT = Document("The Petrel was built by Ida Moss.", id="petrel", metadata={"year": 1871})
QUERY = "Who built the Petrel?"


def load(text: str) -> HebbianRetriever:
    options: dict[str, Any] = {"valid_namespaces": ["langchain_hebbgraph"]}
    if "allowed_objects" in signature(loads).parameters:  # since langchain-core 1.2
        options["allowed_objects"] = [HebbianRetriever]
    loaded = loads(text, **options)
    assert isinstance(loaded, HebbianRetriever)
    return loaded


def test_a_retriever_over_a_directory(tmp_path: Path) -> None:
    where = {"year": {"$lt": 1900}}
    with HebbianRetriever.from_documents(
        [DOCUMENT],
        location=tmp_path / "birds",
        open_options={"namespace": "anna", "settings": Settings(batch_size=3)},
        k=3,
        filter=where,
        search_type="mmr",
    ) as retriever:
        text = dumps(retriever)
        found = retriever.invoke(QUERY)
    assert "Moss" not in text
    with load(text) as again:
        assert (again.k, again.filter, again.search_type) == (3, where, "mmr")
        assert again.index.namespace == "anna"
        assert again.invoke(QUERY) == found
        assert load(dumps(again)).k == 3


def test_what_lies_nowhere_says_so(tmp_path: Path) -> None:
    retriever = HebbianRetriever.from_documents([DOCUMENT])
    assert dumpd(retriever)["type"] == "not_implemented"
    assert json.loads(dumps(retriever))["type"] == "not_implemented"


def test_a_constructor_opens_an_index(tmp_path: Path) -> None:
    with HebbianRetriever(location=tmp_path) as retriever:
        retriever.add([DOCUMENT])
        assert retriever.invoke(QUERY)[0].id == "petrel"
    with (
        HebbianIndex.open(tmp_path) as index,
        pytest.raises(ParameterError, match="location and index are one argument"),
    ):
        HebbianRetriever(index=index, location=tmp_path)
    with pytest.raises(ParameterError, match="embedding goes with location"):
        HebbianRetriever(embedding=object())
