from __future__ import annotations

import asyncio
import copy
import time
from pathlib import Path
from typing import Any

import pytest
from hebbgraph import FilterError, HebbianIndex, ParameterError, ReadOnlyIndexError
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.load import dumpd
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import ConfigurableField, RunnableLambda
from langchain_core.stores import InMemoryStore
from langchain_core.tracers.run_collector import RunCollectorCallbackHandler
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from lc_helpers import RecordingIndex

from langchain_hebbgraph import (
    HebbianRetriever,
    HebbianVectorStore,
    create_citing_retriever_tool,
)
from langchain_hebbgraph.options import SearchOptions
from langchain_hebbgraph.texts import texts_of

QUERY = "Where was the builder of the Petrel born?"


def ids(documents: list[Document]) -> list[str | None]:
    return [document.id for document in documents]


@pytest.fixture
def retriever(index: RecordingIndex) -> HebbianRetriever:
    return HebbianRetriever.from_index(index, k=3)


async def test_filters_of_retriever_call_and_request_are_joined(
    documents: list[Document],
) -> None:
    for number, document in enumerate(documents):
        document.metadata["owner"] = "ann" if number % 2 else "ben"
    options = SearchOptions(filter_by=lambda request: {"owner": request["user_id"]})
    retriever = HebbianRetriever.from_documents(
        documents, k=8, filter={"n": {"$lt": 6}}, options=options
    )
    ann: Any = {"configurable": {"user_id": "ann"}}
    ben: Any = {"metadata": {"user_id": "ben"}}
    own = {one.id for one in documents if one.metadata["owner"] == "ann"}
    own &= {one.id for one in documents if one.metadata["n"] < 6}
    assert {*ids(retriever.invoke(QUERY, ann))} == own
    assert {*ids(await retriever.ainvoke(QUERY, ann))} == own
    assert not own & {*ids(retriever.invoke(QUERY, ben))}
    for narrowed in ({"n": {"$gte": 3}}, lambda document: document.metadata["n"] >= 3):
        found = retriever.with_config(ann).invoke(QUERY, filter=narrowed)
        assert {one.metadata["n"] for one in found} == {3, 5}
    with pytest.raises(ParameterError, match=r"no 'user_id'; the request has only 'topic'\."):
        retriever.invoke(QUERY, {"metadata": {"topic": "boats"}})  # whom nobody names sees nothing
    tool = create_citing_retriever_tool(retriever.with_config(ann))
    call = {"type": "tool_call", "name": "search", "args": {"query": QUERY}, "id": "1"}
    assert {*ids(tool.invoke(call).artifact)} == own
    plain = create_citing_retriever_tool(retriever)
    assert {*ids((await plain.ainvoke(call, ann)).artifact)} == own
    store = HebbianVectorStore.from_documents(documents)
    listed = store.as_retriever(search_kwargs={"k": 8, "filter": {"n": {"$lt": 6}}})
    assert {one.metadata["n"] for one in listed.invoke(QUERY, filter={"n": {"$gte": 4}})} == {4, 5}


def test_access_rules_fail_closed(index: RecordingIndex) -> None:
    def over(rule: Any) -> HebbianRetriever:
        return HebbianRetriever.from_index(index, options=SearchOptions(filter_by=rule))

    assert over(lambda request: {}).invoke(QUERY)
    for says, rule in {
        r"filter_by returned None; return \{\} where": lambda request: None,
        "got list": lambda request: [],
        "a dict or a callable, got bool": lambda request: True,
        "the filter returned None": lambda request: lambda document: None,
        r"no 'owner' in document '\w+'": lambda request: (
            lambda document: document.metadata["owner"]
        ),
    }.items():
        with pytest.raises(FilterError, match=says):
            over(rule).invoke(QUERY)
    with pytest.raises(FilterError, match=r"write document\.metadata\.get\('owner'\)"):
        over(None).invoke(QUERY, filter=lambda document: document.metadata["owner"] == "ida")


def test_what_nothing_would_read_is_refused_and_old_spellings_say_so(
    retriever: HebbianRetriever, index: RecordingIndex
) -> None:
    with pytest.raises(ParameterError, match='fetch_k goes with search_type="mmr"'):
        retriever.invoke(QUERY, fetch_k=50)
    with pytest.raises(ParameterError, match='lambda_mult goes with search_type="mmr"'):
        HebbianRetriever.from_index(index, lambda_mult=0.3)
    assert retriever.invoke(QUERY, search_type="mmr", fetch_k=50)
    by_threshold = HebbianRetriever.from_index(index, score_threshold=0.2)
    found = by_threshold.invoke(QUERY)
    assert by_threshold.invoke(QUERY, search_type="similarity_score_threshold") == found
    with pytest.warns(DeprecationWarning, match=r"options=SearchOptions\(strategy=...\)"):
        old = HebbianRetriever.from_index(index, strategy="spreading")
    assert old.options == SearchOptions(strategy="spreading")
    with pytest.raises(ParameterError, match="SearchOptions has no argument 'seedk'"):
        HebbianRetriever.from_index(index, options={"seedk": 3})


def test_earlier_turns_come_as_langchain_writes_them(retriever: HebbianRetriever) -> None:
    said = "Where was the builder of the Petrel born?"
    expected = retriever.invoke("And when?", history=[said])
    for turns in ([("human", said), ("ai", "Far.")], [{"role": "user", "content": said}]):
        assert retriever.invoke("And when?", history=turns) == expected


async def test_the_same_as_the_index_says(
    index: RecordingIndex, retriever: HebbianRetriever
) -> None:
    expected = [hit.chunk.id for hit in index.recall(QUERY, k=3).hits]
    assert ids(retriever.invoke(QUERY)) == expected
    assert ids(await retriever.ainvoke(QUERY)) == expected
    assert [ids(found) for found in retriever.batch([QUERY, QUERY])] == [expected] * 2
    assert [ids(found) for found in await retriever.abatch([QUERY, QUERY])] == [expected] * 2
    assert [ids(found) for found in retriever.stream(QUERY)] == [expected]


async def test_call_time_options(retriever: HebbianRetriever) -> None:
    where = {"n": {"$lt": 2}}
    assert set(ids(retriever.invoke(QUERY, k=5, filter=where))) == {"petrel", "moss"}
    assert set(ids(await retriever.ainvoke(QUERY, k=1, filter={"n": 3}))) == {"dunmore"}
    assert ids(retriever.invoke(QUERY, filter=lambda document: document.id == "bread")) == ["bread"]
    assert ids(retriever.invoke("Petrel", strategy="neighbourhood", k=1)) == ["petrel"]
    with pytest.raises(ParameterError, match="top_k"):
        retriever.invoke(QUERY, top_k=3)
    with pytest.raises(FilterError):
        retriever.invoke(QUERY, filter={"n": {"$near": 1}})
    with pytest.raises(FilterError):
        retriever.invoke(QUERY, filter=7)


def test_configurable_fields(retriever: HebbianRetriever) -> None:
    configurable = retriever.configurable_fields(
        k=ConfigurableField(id="k"), filter=ConfigurableField(id="filter")
    )
    assert len(configurable.invoke(QUERY)) == 3
    found = configurable.invoke(QUERY, {"configurable": {"k": 5, "filter": {"n": 1}}})
    assert ids(found) == ["moss"]
    bound = retriever.bind(k=1)
    assert len(bound.invoke(QUERY)) == 1


async def test_a_request_sets_k_and_narrows_the_filter(documents: list[Document]) -> None:
    early: Any = {"configurable": {"k": 2, "filter": {"n": {"$lt": 4}}}}
    own = HebbianRetriever.from_documents(documents, k=8, filter={"n": {"$gt": 1}})
    store = HebbianVectorStore(index=own.index)
    listed = store.as_retriever(search_kwargs={"k": 8, "filter": {"n": {"$gt": 1}}})
    for retriever in (own, listed):
        assert len(retriever.invoke(QUERY)) == 6
        for found in (retriever.invoke(QUERY, early), await retriever.ainvoke(QUERY, early)):
            assert {one.metadata["n"] for one in found} == {2, 3}
        chain = RunnableLambda(lambda asked, retriever=retriever: retriever.invoke(asked))
        assert {one.metadata["n"] for one in chain.invoke(QUERY, early)} == {2, 3}
        assert len(retriever.invoke(QUERY, early, k=1)) == 1  # a call's own k
        assert len(retriever.invoke(QUERY, early, filter={"n": 2})) == 1
    assert own.invoke(QUERY, {"configurable": {"score_key": "s", "k": 1}})[0].metadata["s"] > 0
    with pytest.raises(ParameterError, match="k is a whole number from 1 to 10000, got 'two'"):
        own.invoke(QUERY, {"configurable": {"k": "two"}})


def test_scores_only_on_request(retriever: HebbianRetriever) -> None:
    assert "score" not in retriever.invoke(QUERY)[0].metadata
    scores = [one.metadata["score"] for one in retriever.invoke(QUERY, score_key="score")]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > 0


async def test_the_id_of_the_run_is_the_id_of_the_recall(
    index: RecordingIndex, retriever: HebbianRetriever
) -> None:
    runs = RunCollectorCallbackHandler()
    retriever.invoke(QUERY, {"callbacks": [runs]})
    await retriever.ainvoke(QUERY, {"callbacks": [runs]})
    assert len(runs.traced_runs) == 2
    for run in runs.traced_runs:
        recall = index.find_recall(str(run.id))
        assert recall is not None
        assert recall.query == QUERY


def test_copies_go_out(retriever: HebbianRetriever) -> None:
    first = retriever.invoke(QUERY)
    first[0].metadata["title"] = "changed"
    assert retriever.invoke(QUERY)[0].metadata["title"] != "changed"


def test_copies_of_a_retriever_share_the_index(retriever: HebbianRetriever) -> None:
    assert copy.deepcopy(retriever).index is retriever.index
    assert copy.copy(retriever).index is retriever.index
    assert dumpd(retriever)["type"] == "not_implemented"
    assert "index" not in retriever.model_dump()


async def test_the_loop_is_never_blocked(
    index: RecordingIndex, retriever: HebbianRetriever, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = index._recaller.recall

    def slow(*args: Any, **kwargs: Any) -> Any:
        time.sleep(0.2)
        return quick(*args, **kwargs)

    monkeypatch.setattr(index._recaller, "recall", slow)
    waiting = asyncio.create_task(retriever.ainvoke(QUERY))
    longest, last = 0.0, time.perf_counter()
    while not waiting.done():
        await asyncio.sleep(0.005)
        longest, last = max(longest, time.perf_counter() - last), time.perf_counter()
    assert len(await waiting) == 3
    assert longest < 0.15


def test_from_documents_and_texts(tmp_path: Any, documents: list[Document]) -> None:
    place = tmp_path / "memory.hebb"
    first = HebbianRetriever.from_documents(documents, location=place, k=2)
    expected = ids(first.invoke(QUERY))
    first.index.close()
    again = HebbianRetriever.from_documents(documents, location=place, k=2)
    assert again.index.stats().chunks == len(documents)
    assert ids(again.invoke(QUERY)) == expected
    again.index.close()
    texts = HebbianRetriever.from_texts(
        ["Owls hunt.", "Bread rises."], [{"n": 1}, {"n": 2}], ids=["a", "b"]
    )
    assert ids(texts.invoke("owls", k=1)) == ["a"]
    assert texts.invoke("owls", k=1)[0].metadata == {"n": 1}
    with pytest.raises(ParameterError, match="as many ids"):
        HebbianRetriever.from_texts(["x"], ids=["a", "b"])


def test_an_embedder_and_a_namespace() -> None:
    retriever = HebbianRetriever.from_texts(
        ["Owls hunt.", "Bread rises."],
        embedder=DeterministicFakeEmbedding(size=8),
        open_options={"namespace": "tenant-7"},
    )
    assert retriever.index.namespace == "tenant-7"
    assert retriever.invoke("Bread rises.", k=1)[0].page_content == "Bread rises."


async def test_adding(retriever: HebbianRetriever) -> None:
    (id_,) = await retriever.aadd_documents([Document("The Zephyr has three masts.")])
    assert ids(retriever.invoke("Zephyr masts", k=1)) == [id_]


# -- over a store that is there already ---------------------------------------------


class CountingEmbedding(DeterministicFakeEmbedding):
    counts: list[int]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.counts[0] += len(texts)
        return super().embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        self.counts[1] += 1
        return super().embed_query(text)


@pytest.fixture
def store(documents: list[Document]) -> InMemoryVectorStore:
    store = InMemoryVectorStore(CountingEmbedding(size=8, counts=[0, 0]))
    store.add_documents(documents)
    return store


async def test_a_vector_store_gives_seeds_and_nothing_is_embedded_twice(
    store: InMemoryVectorStore, documents: list[Document]
) -> None:
    embedding: Any = store.embeddings
    retriever = HebbianRetriever.from_vectorstore(
        store, documents=documents, k=3, options={"seed_k": 2}
    )
    found = retriever.invoke(documents[7].page_content)
    assert ids(found)[0] == "bread"
    assert len(found) == 3
    assert ids(await retriever.ainvoke(documents[7].page_content)) == ids(found)
    assert embedding.counts == [len(documents), 2]


async def test_a_graph_that_grows_by_what_searches_bring_up(store: InMemoryVectorStore) -> None:
    retriever = HebbianRetriever.from_vectorstore(store, options={"seed_k": 3})
    found = retriever.invoke(QUERY)
    assert len(found) == 3
    assert len(await retriever.ainvoke("yeast and sugar in bread")) >= 3
    frozen = HebbianRetriever.from_vectorstore(store, options={"grow": False})
    assert frozen.invoke(QUERY) == []


def test_adding_to_both(store: InMemoryVectorStore) -> None:
    retriever = HebbianRetriever.from_vectorstore(store)
    (id_,) = retriever.add_documents([Document("The Zephyr has three masts.")])
    assert store.get_by_ids([id_])
    assert retriever.index.get([id_])


def test_documents_have_the_ids_that_the_store_gave_them(store: InMemoryVectorStore) -> None:
    sails = [Document("The Zephyr has three masts."), Document("Sails are cut from canvas.")]
    chosen = store.add_documents(sails)
    with pytest.raises(ParameterError, match="with the ids that add_documents returned"):
        HebbianRetriever.from_vectorstore(store, documents=sails)
    named = [Document(sail.page_content, id=id_) for sail, id_ in zip(sails, chosen, strict=True)]
    retriever = HebbianRetriever.from_vectorstore(store, documents=named, options={"grow": False})
    assert {*ids(retriever.invoke("How many masts?"))} == {*chosen}

    grown = HebbianRetriever.from_vectorstore(store)
    (made,) = grown.add_documents([Document("A keel is laid first.")])
    again = [Document("A keel is laid first.")]  # under the id that the retriever made of it
    assert HebbianRetriever.from_vectorstore(store, documents=again).index.ids() == [made]


async def test_texts_stay_in_the_store(
    store: InMemoryVectorStore, documents: list[Document], tmp_path: Path
) -> None:
    kept = HebbianRetriever.from_vectorstore(store, documents=documents, k=4)
    bare = HebbianRetriever.from_vectorstore(
        store, documents=documents, location=tmp_path / "index", keep_text=False, k=4
    )
    assert bare.invoke(QUERY) == kept.invoke(QUERY)
    assert await bare.ainvoke(QUERY) == kept.invoke(QUERY)
    bare.index.close()
    again = HebbianRetriever.from_vectorstore(
        store, location=tmp_path / "index", keep_text=False, options={"grow": False}, k=4
    )
    assert again.invoke(QUERY) == kept.invoke(QUERY)
    again.index.close()
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    for document in documents:
        assert not any(document.page_content.encode() in content for content in files)


def test_what_the_store_no_longer_has_does_not_come_back(
    store: InMemoryVectorStore, documents: list[Document]
) -> None:
    bare = HebbianRetriever.from_vectorstore(store, documents=documents, keep_text=False, k=4)
    found = ids(bare.invoke(QUERY))
    store.delete([found[0]])
    assert found[0] not in ids(bare.invoke(QUERY))
    recall = bare.index.recall(QUERY, k=4)
    assert recall.hits[0].lacks_text or recall.notes


def test_a_graph_that_keeps_no_text_grows_too(store: InMemoryVectorStore) -> None:
    bare = HebbianRetriever.from_vectorstore(store, keep_text=False, options={"seed_k": 3})
    assert len(bare.invoke(QUERY)) == 3
    (id_,) = bare.add_documents([Document("The Zephyr has three masts.")])
    assert bare.index.get([id_])[0].text == "The Zephyr has three masts."


def test_texts_of_a_docstore(documents: list[Document]) -> None:
    docstore = InMemoryStore()
    docstore.mset([(str(document.id), document) for document in documents[:2]])
    texts = texts_of(docstore)
    assert texts([str(documents[0].id), "never"]) == {
        str(documents[0].id): documents[0].page_content
    }


def test_texts_need_a_store_that_is_asked_by_id(
    index: HebbianIndex, store: InMemoryVectorStore
) -> None:
    class Blind(InMemoryVectorStore):
        get_by_ids = VectorStore.get_by_ids

    with pytest.raises(ParameterError, match="Blind has no get_by_ids"):
        HebbianRetriever.from_vectorstore(Blind(store.embeddings), keep_text=False)
    with pytest.raises(ParameterError, match=r"texts_of\(docstore\)"):
        HebbianRetriever.from_vectorstore(HebbianRetriever(index=index), keep_text=False)
    with pytest.raises(ParameterError, match="ids that they have in the store"):
        HebbianRetriever.from_vectorstore(store, documents=[Document("No id.")], keep_text=False)


async def test_any_retriever_gives_seeds(index: HebbianIndex, documents: list[Document]) -> None:
    class Backwards(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            return documents[::-1][:2]

    retriever = HebbianRetriever.from_vectorstore(Backwards(), index=index, k=2)
    assert ids(retriever.invoke("anything"))[0] == "bread"
    assert ids(await retriever.ainvoke("anything"))[0] == "bread"
    assert "score" not in retriever.invoke("anything")[0].metadata


def test_an_index_that_cannot_be_written_still_answers(
    store: InMemoryVectorStore,
    documents: list[Document],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    retriever = HebbianRetriever.from_vectorstore(store, documents=documents[:2], k=2)

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise ReadOnlyIndexError("no writing here")

    monkeypatch.setattr(retriever.index, "add", refuse)
    assert set(ids(retriever.invoke(QUERY))) == {"petrel", "moss"}
    assert "6 documents were not added" in caplog.text


def test_fields_of_the_metadata_join_documents() -> None:
    documents = [
        Document("Frost heaves.", id="a", metadata={"author": "Jo"}),
        Document("Use little salt.", id="b", metadata={"author": ["jo", "Ann"]}),
        Document("Nothing.", id="c", metadata={"author": "Ben"}),
    ]
    retriever = HebbianRetriever.from_documents(documents, k=2, open_options={"edges": ("author",)})
    assert [found.id for found in retriever.invoke("When does frost heave?")] == ["a", "b"]
