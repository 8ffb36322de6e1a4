"""HebbianVectorStore beyond LangChain's own suite."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import VectorStoreRetriever
from langchain_hebbgraph import HebbianVectorStore

from hebbgraph import HebbianIndex
from hebbgraph.errors import ParameterError

MODEL = DeterministicFakeEmbedding(size=8)


@pytest.fixture
def store(ships: list[Document]) -> HebbianVectorStore:
    return HebbianVectorStore.from_documents(ships, MODEL)


def test_scores_are_relevance_from_zero_to_one(store: HebbianVectorStore) -> None:
    found = store.similarity_search_with_score("Who built the Petrel?", k=3)
    scores = [score for _, score in found]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert store.similarity_search_with_relevance_scores("Who built the Petrel?", k=3) == found
    least = scores[0] - 1e-6
    few = store.similarity_search_with_relevance_scores("Who built it?", score_threshold=0.99)
    assert len(few) < 3
    assert store.similarity_search("Who built the Petrel?", score_threshold=least) == [found[0][0]]


def test_search_by_vector_alone(store: HebbianVectorStore) -> None:
    vector = MODEL.embed_documents(["Bread\nBread rises when yeast turns sugar into gas."])[0]
    assert store.similarity_search_by_vector(vector, k=1)[0].id == "bread"
    only_ben = {"owner": "ben", "title": {"$ne": "Bread"}}
    assert store.similarity_search_by_vector(vector, filter=only_ben)[0].id == "moss"
    with pytest.raises(ParameterError, match="the store has no embedding"):
        HebbianVectorStore().similarity_search_by_vector(vector)


def test_there_is_no_mmr(store: HebbianVectorStore) -> None:
    with pytest.raises(NotImplementedError, match="use similarity_search"):
        store.max_marginal_relevance_search("Who built the Petrel?", k=2)


def test_its_retriever_reads_requests_and_is_typed(store: HebbianVectorStore) -> None:
    retriever = store.as_retriever(search_kwargs={"k": 2, "filter": {"owner": "ben"}})
    assert isinstance(retriever, VectorStoreRetriever)
    assert retriever.vectorstore is store
    assert {d.id for d in retriever.invoke("x")} == {"moss", "bread"}
    assert len(retriever.invoke("x", {"configurable": {"hebbgraph_k": 1}})) == 1
    assert retriever.invoke("x", filter={"owner": "ann"}) == []
    assert {"HebbianVectorStore", "DeterministicFakeEmbedding"} <= set(retriever.tags or ())
    strict = store.as_retriever(
        search_type="similarity_score_threshold", search_kwargs={"score_threshold": 0.99}
    )
    assert strict.invoke("zeppelin") == []
    assert strict.invoke(" ") == []


async def test_its_retriever_is_async(store: HebbianVectorStore) -> None:
    retriever = store.as_retriever(search_kwargs={"k": 1})
    assert await retriever.ainvoke("Bread") == retriever.invoke("Bread")
    assert await store.asimilarity_search("Bread", k=1) == retriever.invoke("Bread")
    made = await HebbianVectorStore.afrom_texts(["a"], MODEL)
    assert await made.adelete(made.index.ids())
    assert await made.aadd_texts(["b"], ids=["1"]) == ["1"]
    assert (await made.aget_by_ids(["1"]))[0].page_content == "b"


def test_an_empty_store_warns_and_an_empty_question_finds_nothing() -> None:
    store = HebbianVectorStore()
    with pytest.warns(UserWarning, match="is empty"):
        assert store.similarity_search("owls") == []
    assert store.similarity_search("") == []


def test_it_shares_an_index_with_others(ships: list[Document]) -> None:
    with HebbianIndex.open(":memory:", embedder=MODEL) as index:
        store = HebbianVectorStore(index=index)
        store.add_documents(ships, ids=["1", None, "3"])
        assert index.ids() == ["1", "3", "moss"]
        assert store.embeddings is MODEL
        store.close()
        assert len(index.ids()) == 3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.delete(), "delete takes ids"),
        (lambda s: s.delete(where={}), "takes no 'where'"),
        (lambda s: s.similarity_search("x", kk=3), "takes no 'kk'"),
        (lambda s: s.as_retriever(k=3), "takes no 'k'"),
        (lambda s: s.as_retriever(search_type="mmr"), "mmr"),
        (lambda s: s.as_retriever(search_kwargs={"kk": 3}).invoke("x"), "takes no 'kk'"),
        (lambda s: s.add_texts(["a", "b"], ids=["1"]), "got . ids for . documents; pass as many"),
        (lambda s: s.add_texts("a"), "texts is a list of str"),
        (lambda s: HebbianVectorStore(s.embeddings, index=s.index), "an open index takes no path"),
        (lambda s: HebbianVectorStore(speed=1), "takes no 'speed'"),
    ],
)
def test_misuse_is_named(store: HebbianVectorStore, call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(store)
