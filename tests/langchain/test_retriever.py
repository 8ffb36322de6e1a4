"""HebbianRetriever as LangChain uses it."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.messages import HumanMessage
from langchain_core.runnables import ConfigurableField, RunnableParallel
from langchain_hebbgraph import HebbianRetriever, HebbianVectorStore

from hebbgraph import HebbianIndex
from hebbgraph.errors import ClosedIndexError, HebbgraphError, ParameterError

QUESTION = "Where was the builder of the Petrel born?"


def ids(documents: list[Document]) -> list[str | None]:
    return [document.id for document in documents]


def test_it_finds_what_is_two_steps_away(retriever: HebbianRetriever) -> None:
    assert set(ids(retriever.invoke(QUESTION, k=2))) == {"petrel", "moss"}


def test_k_is_four_by_default() -> None:
    with HebbianRetriever.from_texts([f"Boat {number}" for number in range(9)]) as retriever:
        assert len(retriever.invoke("Boat")) == 4
        assert len(retriever.invoke("Boat", k=6)) == 6
        assert len(retriever.invoke("Boat", search_kwargs={"k": 2})) == 2
        assert len(retriever.invoke("Boat", search_kwargs={"k": 2}, k=3)) == 3
        assert len(retriever.bind(k=1).invoke("Boat")) == 1
    with HebbianRetriever.from_texts(["a", "b"], search_kwargs={"k": 1}) as retriever:
        assert len(retriever.invoke("a")) == 1


@pytest.mark.parametrize("question", ["", " \n", "\ud83d"])
async def test_an_empty_question_finds_nothing(retriever: HebbianRetriever, question: str) -> None:
    assert retriever.invoke(question) == []
    assert await retriever.ainvoke(question) == []


def test_an_empty_index_warns() -> None:
    with HebbianRetriever(path=":memory:") as retriever:
        with pytest.warns(UserWarning, match="is empty, so nothing can be found"):
            assert retriever.invoke("owls") == []
        retriever.add_documents([Document("Owls hunt voles.")])
        assert len(retriever.invoke("owls")) == 1


def test_filters_and_thresholds(retriever: HebbianRetriever) -> None:
    assert ids(retriever.invoke("Ida Moss", filter={"year": {"$gte": 1850}})) == ["petrel"]
    assert ids(retriever.invoke("x", filter=lambda d: d.metadata["title"] == "Bread")) == ["bread"]
    assert "bread" not in ids(retriever.invoke(QUESTION, score_threshold=0.2))
    assert retriever.invoke("zeppelin", score_threshold=0.9) == []
    (best, *_) = retriever.invoke(QUESTION, score_key="score")
    assert 0.2 < best.metadata["score"] <= 1
    assert "score" not in retriever.invoke(QUESTION)[0].metadata


async def test_async_calls_leave_the_loop_free(retriever: HebbianRetriever) -> None:
    async def many() -> list[list[Document]]:
        return await asyncio.gather(*(retriever.ainvoke(QUESTION, k=2) for _ in range(20)))

    assert all(ids(found) == ids(retriever.invoke(QUESTION, k=2)) for found in await many())
    assert len(await retriever.abatch(["Petrel", "Bread"], k=1)) == 2
    caller = threading.get_ident()
    seen: list[int] = []
    await retriever.ainvoke("x", filter=lambda d: bool(seen.append(threading.get_ident())) or True)
    assert caller not in seen


def test_configurable_copies_share_the_index(retriever: HebbianRetriever) -> None:
    chosen = retriever.configurable_fields(k=ConfigurableField(id="how_many"))
    assert len(chosen.invoke("x", {"configurable": {"how_many": 1}})) == 1
    assert len(chosen.invoke("x")) == 3
    both = RunnableParallel(one=chosen, two=retriever)
    found = both.invoke("x", {"configurable": {"how_many": 1}})
    assert [len(found["one"]), len(found["two"])] == [1, 3]
    assert {"how_many", "hebbgraph_k"} <= {spec.id for spec in chosen.config_specs}


def test_an_index_that_was_opened_elsewhere_stays_open(ships: list[Document]) -> None:
    with HebbianIndex.open(":memory:") as index:
        with HebbianRetriever(index) as retriever:
            retriever.add_documents(ships)
        assert len(HebbianRetriever(index=index).invoke("x")) == 3
        with HebbianRetriever.from_documents(ships) as own:
            pass
        with pytest.raises(ClosedIndexError):
            own.invoke("x")


def test_documents_of_a_source_are_refreshed(retriever: HebbianRetriever) -> None:
    new = [Document("The Petrel sank.", metadata={"source": "ships.md"})]
    report = retriever.refresh(new)
    assert (report.added, report.deleted) == (1, 1)
    assert "petrel" not in retriever.index.ids()
    with pytest.raises(ParameterError, match="refresh needs documents"):
        retriever.refresh()
    with pytest.raises(ParameterError, match="has none"):
        retriever.refresh([Document("no source")])


def test_documents_are_deleted_by_id_or_source(retriever: HebbianRetriever) -> None:
    assert retriever.delete(["petrel", "unknown"]).deleted == 1
    assert retriever.delete(document_id="people.md").deleted == 1
    assert retriever.index.ids() == ["bread"]
    with pytest.raises(ParameterError, match="delete takes ids"):
        retriever.delete()


def test_an_embedding_is_used(tmp_path: Path, ships: list[Document]) -> None:
    class Counting(DeterministicFakeEmbedding):
        n_asked: int = 0

        def embed_query(self, text: str) -> list[float]:
            self.n_asked += 1
            return super().embed_query(text)

    model = Counting(size=8)
    with HebbianRetriever.from_documents(ships, model, path=tmp_path / "m") as retriever:
        retriever.invoke("Petrel")
        assert (model.n_asked, retriever.index.stats()["vectors"]) == (1, 3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: HebbianRetriever(), "takes index= or path="),
        (lambda: HebbianRetriever(path=":memory:", top_k=3), "write k=3"),
        (lambda: HebbianRetriever(path=":memory:", location="x"), "write path="),
        (lambda: HebbianRetriever(path=":memory:", speed=3), "takes no 'speed'; known are"),
        (
            lambda: HebbianRetriever("memory.hebb"),
            "index is a HebbianIndex, got str; or write path=",
        ),
        (lambda: HebbianVectorStore("memory.hebb"), "embedding has embed_query .*, got str"),
        (lambda: HebbianRetriever(path=":memory:", k="many"), "k is a whole number .* got 'many'"),
        (lambda: HebbianRetriever(path=":memory:", k=0), "k is a whole number"),
        (lambda: HebbianRetriever(path=":memory:", search_kwargs={"kk": 3}), "takes no 'kk'"),
        (lambda: HebbianRetriever.from_texts("one text"), "texts is a list of str, got str"),
        (lambda: HebbianRetriever.from_documents(["text"]), "texts go to from_texts"),
        (lambda: HebbianRetriever.from_texts(["a"], [{}, {}]), "got 2 metadatas for 1 texts"),
        (
            lambda: HebbianRetriever.from_texts(["a"], ids=["1", "2"]),
            "got 2 ids for 1 documents",
        ),
    ],
)
def test_misuse_of_constructors_is_named(make: Any, message: str) -> None:
    with pytest.raises(HebbgraphError, match=message) as caught:
        make()
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("question", "options", "message"),
    [
        ("x", {"kk": 3}, "takes no 'kk'"),
        ("x", {"k": 0}, "k is a whole number"),
        ("x", {"score_threshold": 2}, "score_threshold is a number"),
        ("x", {"filter": {"year": {"$near": 3}}}, "unknown operator"),
        ("x", {"filter": "year > 3"}, "a dict or a callable, got str"),
        ({"question": "x"}, {}, r"itemgetter"),
        (HumanMessage("x"), {}, "message.text"),
    ],
)
def test_misuse_of_calls_is_named(
    retriever: HebbianRetriever, question: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(HebbgraphError, match=message):
        retriever.invoke(question, **options)
