"""LangGraph's store over an index: what is put comes back, and what is asked is found."""

from __future__ import annotations

import asyncio
import io
import time
from pathlib import Path
from typing import Any, TypedDict

import pytest
from hebbgraph import HebbianIndex, InvalidChunkError, ParameterError
from langchain_core.embeddings import DeterministicFakeEmbedding
from langgraph.config import get_store
from langgraph.graph import START, StateGraph
from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from lc_helpers import citing

from langchain_hebbgraph import CitationLearner, HebbianStore, citation_prompt

ANN, BOB = ("users", "ann"), ("users", "bob")


@pytest.fixture
def store() -> HebbianStore:
    store = HebbianStore.open(":memory:")
    store.put(ANN, "boat", {"text": "Her boat is the Petrel.", "kind": "thing", "n": 1})
    store.put(ANN, "home", {"text": "She lives in Tessel Bay.", "kind": "place", "n": 2})
    store.put(BOB, "boat", {"text": "His boat is the Heron.", "kind": "thing", "n": 3})
    return store


def keys(found: Any) -> list[tuple[str, str]]:
    return [(one.namespace[-1], one.key) for one in found]


def test_what_is_put_comes_back(store: HebbianStore) -> None:
    item = store.get(ANN, "boat")
    assert item is not None
    assert (item.namespace, item.key) == (ANN, "boat")
    assert item.value == {"text": "Her boat is the Petrel.", "kind": "thing", "n": 1}
    store.put(ANN, "boat", {"text": "She sold it.", "tags": ["sad", {"deep": None}]})
    again = store.get(ANN, "boat")
    assert again is not None
    assert again.value == {"text": "She sold it.", "tags": ["sad", {"deep": None}]}
    assert again.created_at == item.created_at <= again.updated_at
    store.delete(ANN, "boat")
    assert store.get(ANN, "boat") is None
    assert store.get(("users",), "boat") is None


async def test_a_question_finds_within_its_namespace(store: HebbianStore) -> None:
    (first, *_) = store.search(ANN, query="Which boat is hers?")
    assert (first.namespace, first.key) == (ANN, "boat")
    assert first.score is not None
    assert keys(await store.asearch(BOB, query="Petrel")) == [("bob", "boat")]
    assert set(keys(store.search(("users",), query="boat", limit=2))) == {
        ("ann", "boat"),
        ("bob", "boat"),
    }
    assert store.search(("user",), query="boat") == []
    assert len(store.search((), query="boat", offset=1)) == 2


def test_filters(store: HebbianStore) -> None:
    store.put(BOB, "trip", {"where": {"bay": "Tessel"}, "days": [1, 2], "a.b": 5})
    for query in (None, "boat"):

        def found(filter: dict[str, Any], query: str | None = query) -> set[Any]:
            return set(keys(store.search(("users",), query=query, filter=filter)))

        assert found({"kind": "thing"}) == {("ann", "boat"), ("bob", "boat")}
        assert found({"kind": "thing", "n": {"$gte": 3}}) == {("bob", "boat")}
        assert found({"n": {"$gt": 1, "$lte": 2}}) == {("ann", "home")}
        assert ("ann", "home") in found({"kind": {"$ne": "thing"}})
        for deep in ({"where": {"bay": "Tessel"}}, {"where.bay": "Tessel"}, {"days": [1, 2]}):
            assert found(deep) == {("bob", "trip")}
        assert found({"a.b": 5}) == {("bob", "trip")}
        with pytest.raises(ParameterError, match=r"unknown operator '\$near'"):
            found({"n": {"$near": 3}})


@pytest.mark.parametrize("condition", [{"n": 1}, {"at": {"port": "bay"}}, {"tags": ["a", "b"]}])
def test_pages_fit_together(store: HebbianStore, condition: dict[str, Any]) -> None:
    for number in range(24):
        text = ["Her boat is the Petrel.", "Owls hunt at night.", "Boats rest."][number % 3]
        value = {"text": text, "n": number % 2, "at": {"port": "bay"}, "tags": ["a", "b"]}
        store.put(ANN if number % 5 else BOB, f"note {number}", value)
    pages = [
        keys(store.search((), query="Which boat?", filter=condition, limit=3, offset=offset))
        for offset in range(0, 12, 3)
    ]
    whole = store.search((), query="Which boat?", filter=condition, limit=12)
    assert [key for page in pages for key in page] == keys(whole)


def test_namespaces_are_listed(store: HebbianStore) -> None:
    store.put(("teams", "red", "notes"), "x", {"text": "y"})
    assert store.list_namespaces() == [("teams", "red", "notes"), ANN, BOB]
    assert store.list_namespaces(prefix=("users",), limit=1) == [ANN]
    assert store.list_namespaces(suffix=("*", "notes")) == [("teams", "red", "notes")]
    assert store.list_namespaces(max_depth=1) == [("teams",), ("users",)]
    with pytest.raises(InvalidNamespaceError):
        store.put(("a.b",), "x", {})
    with pytest.raises(InvalidNamespaceError, match=r"without periods, got 'a.b'"):
        store.batch([GetOp(("a.b",), "x")])
    with pytest.raises(InvalidNamespaceError):
        store.batch([ListNamespacesOp((MatchCondition("prefix", ("a.b",)),))])


def test_what_is_searched_can_be_chosen() -> None:
    store = HebbianStore.open(":memory:", fields=["title", "notes[*].body"])
    value = {"title": "Petrel", "secret": "walrus", "notes": [{"body": "sails at dawn"}]}
    store.put(ANN, "a", value)
    store.put(ANN, "b", {"title": "Heron"}, index=False)
    store.put(ANN, "c", {"title": "Gull", "secret": "walrus"}, index=["secret"])
    assert store.search(ANN, query="dawn", limit=1)[0].key == "a"
    assert store.search(ANN, query="walrus", limit=1)[0].key == "c"
    hidden = next(one for one in store.search(ANN, query="Heron") if one.key == "b")
    assert not hidden.score


@pytest.mark.parametrize("text", ["", " \n", "\u200b", "\ufeff \u00ad"])
def test_a_value_that_shows_nothing_is_kept(store: HebbianStore, text: str) -> None:
    store.put(ANN, "a", {"note": text})
    found = store.get(ANN, "a")
    assert found is not None
    assert found.value == {"note": text}


def test_a_batch_reads_what_was_there_before_it(store: HebbianStore) -> None:
    results = store.batch(
        [
            PutOp(ANN, "new", {"text": "A new thing."}),
            GetOp(ANN, "new"),
            PutOp(ANN, "new", {"text": "A newer thing."}),
            PutOp(ANN, "boat", None),
            SearchOp(ANN, query="boat", limit=1),
        ]
    )
    assert results[:4] == [None] * 4
    assert keys(results[4]) == [("ann", "boat")]
    item = store.get(ANN, "new")
    assert item is not None
    assert item.value == {"text": "A newer thing."}
    assert store.get(ANN, "boat") is None


def test_what_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1_000_000.0
    monkeypatch.setattr("langchain_hebbgraph.store.time.time", lambda: now)
    store = HebbianStore.open(
        ":memory:", ttl={"default_ttl": 10, "sweep_interval_minutes": 60, "refresh_on_read": True}
    )
    store.put(ANN, "short", {"text": "gone soon"})
    store.put(ANN, "long", {"text": "stays"}, ttl=100)
    store.put(ANN, "ever", {"text": "stays"}, ttl=None)
    now += 8 * 60
    assert store.get(ANN, "short") is not None  # prolongs it
    now += 8 * 60
    assert store.get(ANN, "short", refresh_ttl=False) is not None
    now += 8 * 60
    assert store.get(ANN, "short") is None
    assert set(keys(store.search(ANN))) == {("ann", "long"), ("ann", "ever")}
    assert set(keys(store.search(ANN, query="gone soon"))) == {("ann", "long"), ("ann", "ever")}
    assert store.sweep_ttl() == 1
    now += 101 * 60
    store.put(ANN, "other", {"text": "writes sweep when it is time"}, ttl=None)
    assert len(store.index.ids()) == 2
    item = store.get(ANN, "ever")
    assert item is not None


def test_it_lasts_and_takes_an_embedding(tmp_path: Path) -> None:
    model = DeterministicFakeEmbedding(size=8)
    with HebbianStore.open(tmp_path, embedding=model) as store:
        asyncio.run(store.aput(ANN, "boat", {"text": "Her boat is the Petrel."}))
    with HebbianIndex.open(tmp_path, embedder=model) as index:
        assert index.embeds
        assert keys(HebbianStore(index).search(ANN)) == [("ann", "boat")]


class State(TypedDict):
    answer: str


def test_an_answer_that_cites_a_memory_teaches_it(chat: Any) -> None:
    store = HebbianStore.open(":memory:", fields=["text"])
    text = "Her boat is the Petrel."
    store.put(ANN, "boat", {"text": text, "kind": "thing"})
    store.put(ANN, "home", {"text": "She lives in Tessel Bay.", "kind": "place"})
    chain = citation_prompt() | chat(citing("boat", texts={"boat": text}))

    def answer(state: State) -> State:
        items = get_store().search(ANN, query="Which boat is hers?")
        context = "\n\n".join(f"[{n}]\n{one.value['text']}" for n, one in enumerate(items, 1))
        return {"answer": chain.invoke({"context": context, "question": "Which boat?"}).text}

    graph = StateGraph(State)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    learner = CitationLearner()
    app = graph.compile(store=store)
    app.invoke({"answer": ""}, {"callbacks": [learner]})
    learner.flush()
    assert store.index.log.export(io.StringIO()) == 1


def test_misuse(store: HebbianStore) -> None:
    wrong: Any = "memory.hebb"
    with pytest.raises(ParameterError, match=r"HebbianStore.open takes a location"):
        HebbianStore(wrong)
    with pytest.raises(ParameterError, match="put it in a list"):
        HebbianStore(store.index, fields=wrong)


def test_reading_brings_back_nothing_that_was_replaced_or_deleted_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = HebbianStore.open(":memory:", ttl={"default_ttl": 1, "refresh_on_read": True})
    read = store.index.get

    def reading(meanwhile: Any) -> None:
        def read_before(ids: Any) -> Any:
            chunks = read(ids)
            monkeypatch.setattr(store.index, "get", read)
            meanwhile()
            return chunks

        for key in ("boat", "home"):
            store.put(ANN, key, {"text": "old"}, ttl=0.1)
        time.sleep(0.35)  # more than a twentieth of their time, so that reading prolongs them
        monkeypatch.setattr(store.index, "get", read_before)

    reading(lambda: store.delete(ANN, "boat"))
    assert store.get(ANN, "boat") is not None  # it was read before
    assert store.get(ANN, "boat") is None
    reading(lambda: store.put(ANN, "home", {"text": "new"}, ttl=0.1))
    store.get(ANN, "home")
    item = store.get(ANN, "home")
    assert item is not None
    assert item.value == {"text": "new"}


def test_mistakes_are_named_by_key_and_namespace(store: HebbianStore) -> None:
    with pytest.raises(
        InvalidChunkError, match=r"item 'odd' of \('users', 'ann'\): metadata: value"
    ):
        store.put(ANN, "odd", {"text": "x", "size": float("inf")})
    with pytest.raises(ParameterError, match=r"the value of 'odd' is a dict, .*; got str"):
        store.put(ANN, "odd", "Her boat is the Petrel.")  # type: ignore[arg-type]
    one: Any = "users"
    for call in (store.search, lambda namespace: store.put(namespace, "odd", {"text": "x"})):
        with pytest.raises(InvalidNamespaceError, match=r"a tuple of labels, got 'users'; write"):
            call(one)
