"""What is used wrongly says so, before anything is opened or embedded."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hebbgraph import FeedbackError, HebbgraphError, HebbianIndex, ParameterError
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.messages import HumanMessage
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_hebbgraph import (
    CitationLearner,
    CitingMiddleware,
    HebbianRetriever,
    HebbianStore,
    HebbianVectorStore,
    cite_documents,
    create_citing_retriever_tool,
    format_documents,
)
from langchain_hebbgraph.langsmith import LangSmithFeedback
from langchain_hebbgraph.options import SearchOptions

QUERY = "Who built the Petrel?"


class Counting(DeterministicFakeEmbedding):
    """Counts the texts that it embeds."""

    size: int = 8
    embedded: int = 0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.embedded += len(texts)
        return super().embed_documents(texts)


DOCUMENTS = [
    Document("The Petrel was built by Ida Moss.", id="petrel", metadata={"year": 1871}),
    Document("Bread rises when yeast turns sugar into gas.", id="bread", metadata={"year": 1990}),
]

Make = Callable[..., Any]


@pytest.mark.parametrize("spelling", ["embedder", "embedding", "embeddings"])
def test_every_spelling_of_an_embedding_embeds(spelling: str) -> None:
    embedding = Counting()
    made: Make = HebbianRetriever.from_documents
    retriever = made(DOCUMENTS, **{spelling: embedding})
    assert embedding.embedded == 2
    assert retriever.index.recall(QUERY).vector is not None
    store: Make = HebbianVectorStore
    assert store(**{spelling: embedding}).embeddings is embedding
    with pytest.raises(ParameterError, match="one argument"):
        made(DOCUMENTS, embedding, embedder=embedding)


def test_search_kwargs_are_those_of_a_vector_store() -> None:
    where = {"year": {"$lt": 1900}}
    retriever = HebbianRetriever.from_documents(DOCUMENTS, search_kwargs={"k": 1, "filter": where})
    assert (retriever.k, retriever.filter) == (1, where)
    assert HebbianRetriever.from_index(retriever.index, search_kwargs={"k": 2}).k == 2


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"top_k": 3}, "no argument 'top_k'; write k=3"),
        ({"similarity_top_k": 3}, "no argument 'similarity_top_k'; write k=3"),
        ({"strateggy": "spreading"}, "did you mean 'strategy'"),
        ({"lokation": "x"}, "did you mean 'location'"),
        ({"embeding": 1}, "did you mean 'embedding'"),
        ({"search_kwargs": {"kk": 3}}, "search_kwargs has no argument 'kk'"),
        ({"search_kwargs": {"k": 3}, "k": 4}, "search_kwargs too"),
        ({"search_kwargs": 3}, "search_kwargs is a dict"),
        ({"open_options": {"namespce": "x"}}, "did you mean 'namespace'"),
        ({"k": -1}, "k is a whole number from 1 to 10000, got -1"),
        ({"k": "5"}, "k is a whole number from 1 to 10000, got '5'"),
        ({"score_key": 5}, "score_key is a name for the score in metadata, got 5"),
        ({"strategy": "spreded"}, "strategy is one of .*spreading"),
        ({"filter": {"year": {"gte": 3}}}, r"compared by '\$gte', got 'gte'"),
        ({"filter": {"year": {"$near": 3}}}, r"unknown operator '\$near'"),
        ({"filter": "year > 3"}, "a filter is a dict or a callable, got str"),
        ({"ids": "petrel"}, "put it in a list"),
        ({"ids": ["petrel"]}, "as many ids as documents"),
        ({"embedder": "openai"}, "an embedder must have embed_documents"),
    ],
)
def test_nothing_is_done_before_an_argument_is_refused(
    options: dict[str, Any], says: str, tmp_path: Path
) -> None:
    embedding, place = Counting(), tmp_path / "index"
    given = {"location": place, "embedder": embedding, **options}
    for make, sources in (
        (HebbianRetriever.from_documents, DOCUMENTS),
        (HebbianRetriever.from_texts, [one.page_content for one in DOCUMENTS]),
    ):
        refused: Make = make
        with pytest.raises(HebbgraphError, match=says):
            refused(sources, **given)
    assert embedding.embedded == 0
    assert not place.exists() or "embedder" in options


@pytest.fixture
def retriever() -> HebbianRetriever:
    return HebbianRetriever.from_documents(DOCUMENTS)


@pytest.fixture
def store() -> HebbianVectorStore:
    return HebbianVectorStore.from_texts(["Owls hunt.", "Bread rises."], ids=["owls", "bread"])


DOCS, TEXTS = HebbianRetriever.from_documents, HebbianRetriever.from_texts
OTHER = InMemoryVectorStore(DeterministicFakeEmbedding(size=4))


@pytest.mark.parametrize(
    ("misuse", "says"),
    [
        (lambda r, s: DOCS(DOCUMENTS[0]), "got one Document; put it in a list"),
        (lambda r, s: DOCS("Hello world"), "a list of Document, got 'Hello world'"),
        (lambda r, s: DOCS(["Hello"]), "texts go to from_texts"),
        (lambda r, s: DOCS(None), "a list of Document, got None"),
        (lambda r, s: TEXTS("Hello world"), "a list of str, got 'Hello world'"),
        (lambda r, s: TEXTS(DOCUMENTS), "documents go to from_documents"),
        (lambda r, s: TEXTS(["a", "b"], [{}]), "got 1 for 2"),
        (lambda r, s: TEXTS(["a"], {"n": 1}), "metadatas is a list of dict"),
        (lambda r, s: HebbianRetriever.from_index("memory.hebb"), "index: .*got 'memory.hebb'"),
        (lambda r, s: HebbianRetriever(index=r.index, kk=3), "no argument 'kk'"),
        (lambda r, s: HebbianRetriever.from_vectorstore(OTHER, embedder=1), "the store embeds"),
        (lambda r, s: HebbianRetriever.from_vectorstore(r.index), "got HebbianIndex"),
        (lambda r, s: r.add_documents(DOCUMENTS[0]), "put it in a list"),
        (lambda r, s: r.invoke(QUERY, top_k=3), "no argument 'top_k'; write k=3"),
        (lambda r, s: r.invoke(QUERY, startegy="x"), "did you mean 'strategy'"),
        (lambda r, s: r.invoke(QUERY, k=0), "got 0"),
        (lambda r, s: r.invoke(QUERY, strategy="x"), "strategy is one of"),
        (lambda r, s: r.invoke(3), "a query is a str, got int"),
        (lambda r, s: r.invoke({"input": QUERY, "n": 1}), r"'input', 'n'; .*itemgetter\('input'\)"),
        (lambda r, s: r.invoke(HumanMessage(QUERY)), r"got HumanMessage; .*message\.text"),
        (lambda r, s: r.invoke(" "), "the query is empty"),
        (lambda r, s: s.add_texts("Hello"), "put it in a list"),
        (lambda r, s: s.add_texts(["a", "b"], [{}]), "got 1 for 2"),
        (lambda r, s: s.add_documents(DOCUMENTS, id=["x"]), "did you mean 'ids'"),
        (lambda r, s: s.delete(["owls"], document="x"), "did you mean 'document_id'"),
        (lambda r, s: HebbianVectorStore.from_texts("Hello"), "put it in a list"),
        (lambda r, s: HebbianVectorStore.from_texts(["x"], locaton="x"), "'location'"),
        (lambda r, s: HebbianVectorStore(strategy="x"), "strategy is one of"),
        (lambda r, s: s.as_retriever(k=3), "goes into search_kwargs"),
        (lambda r, s: s.as_retriever(search_typ="mmr"), "did you mean 'search_type'"),
        (lambda r, s: s.similarity_search(QUERY, top_k=3), "no argument 'top_k'"),
        (lambda r, s: s.similarity_search_by_vector([0.5] * 8), "this store has no embedding"),
        (
            lambda r, s: s.max_marginal_relevance_search_by_vector([0.5] * 8),
            "this store has no embedding",
        ),
        (lambda r, s: create_citing_retriever_tool(r.index), r"HebbianRetriever.from_index\(index"),
        (lambda r, s: create_citing_retriever_tool(s), r"store.as_retriever\(\)"),
        (lambda r, s: format_documents(["Owls hunt."]), "a list of Document"),
        (lambda r, s: CitationLearner("memory.hebb"), "got 'memory.hebb'"),
        (lambda r, s: CitationLearner(HebbianIndex), "an object, got the class HebbianIndex"),
        (lambda r, s: CitationLearner(r, trusted="ida"), "trusted is True, False, or a callable"),
        (lambda r, s: CitationLearner(r, judge="gpt"), "judge is a callable from a sentence"),
        (lambda r, s: CitationLearner(r, learn_on="thumbs"), "'citation' or 'approval'"),
        (lambda r, s: CitationLearner(r, lern_on="approval"), "did you mean 'learn_on'"),
        (lambda r, s: SearchOptions(filterby=dict), "did you mean 'filter_by'"),
        (lambda r, s: CitationLearner(r).undo("nope"), "'nope'"),
        (lambda r, s: CitationLearner(OTHER.as_retriever()), "a retriever or vector store over"),
        (lambda r, s: r.add("Hello world"), "a list of Document, got 'Hello world'"),
        (lambda r, s: r.add(DOCUMENTS, on_error="ignore"), "on_error is 'raise' or 'skip'"),
        (lambda r, s: r.add([Document("Owls.", id="")]), "an id is not empty"),
        (lambda r, s: r.add(DOCUMENTS, ids=["a", ""]), "an id is not empty"),
        (lambda r, s: r.refresh(), "refresh takes documents"),
        (lambda r, s: r.delete(), "ids or a document_id, got neither"),
        (
            lambda r, s: HebbianRetriever(),
            "takes index=, or location= to open one; from_documents",
        ),
        (lambda r, s: r.why(3), "why takes a document that came back, or its id; got 3"),
        (lambda r, s: r.why("nobody"), "none of the latest 64 recalls"),
        (lambda r, s: r.invoke(QUERY, k="5"), "k is a whole number from 1 to 10000, got '5'"),
        (lambda r, s: r.invoke(QUERY, search_type="mrr"), "search_type is one of similarity, mmr"),
        (lambda r, s: r.invoke(QUERY, score_threshold=7), "a number from 0 to 1, got 7"),
        (lambda r, s: r.invoke(QUERY, lambda_mult="1"), "a number from 0 to 1, got '1'"),
        (lambda r, s: r.invoke(QUERY, namespace="bert"), "make it by from_pool"),
        (lambda r, s: r.invoke(QUERY, filter={"year": {"gte": 3}}), r"compared by '\$gte'"),
        (lambda r, s: HebbianRetriever.from_pool("x.hebb"), "pool is an IndexPool, got str"),
        (
            lambda r, s: DOCS(
                DOCUMENTS, options={"namespace": "a"}, open_options={"namespace": "b"}
            ),
            "namespace is 'a', and in open_options 'b'",
        ),
        (
            lambda r, s: DOCS(DOCUMENTS, search_type="similarity_score_threshold"),
            "needs the threshold: score_threshold=0.3",
        ),
        (lambda r, s: cite_documents(["Owls hunt."]), "a list of Document"),
        (lambda r, s: CitingMiddleware(r.index), r"HebbianRetriever.from_index\(index"),
        (lambda r, s: HebbianStore("memory.hebb"), r"HebbianStore.open takes a location"),
        (lambda r, s: LangSmithFeedback("key"), r"client is a langsmith.Client, got 'key'"),
        (lambda r, s: pickle.dumps(r), "pickled if its index is a directory"),
        (lambda r, s: pickle.dumps(s), "neither pickled nor copied"),
    ],
)
def test_misuse_gets_an_answer(
    misuse: Callable[[Any, Any], Any],
    says: str,
    retriever: HebbianRetriever,
    store: HebbianVectorStore,
) -> None:
    with pytest.raises(HebbgraphError, match=says):
        misuse(retriever, store)


def test_a_learner_takes_whatever_has_an_index(
    retriever: HebbianRetriever, store: HebbianVectorStore
) -> None:
    for given, index in (
        (retriever, retriever.index),
        (store, store.index),
        (store.as_retriever(), store.index),
    ):
        assert CitationLearner(given).index is index


def test_feedback_is_a_thumb_on_what_was_shown(retriever: HebbianRetriever) -> None:
    learner = CitationLearner(retriever)
    recall = retriever.index.recall(QUERY, id="0123abcd-0123-4567-89ab-0123456789ab")
    for good in (None, "down"):
        given: Any = good
        with pytest.raises(ParameterError, match="good is True"):
            learner.feedback(recall.id, given, cited=["petrel"])
    with pytest.raises(FeedbackError, match="'nope' is not among the hits"):
        learner.feedback(recall.id, True, cited=["nope"])
    with pytest.raises(ParameterError, match="put it in a list"):
        learner.feedback(recall.id, True, cited="petrel")
    assert learner.feedback(recall.id, True, cited=["petrel"])


def test_what_is_made_shows_what_it_searches(
    retriever: HebbianRetriever, store: HebbianVectorStore, tmp_path: Path
) -> None:
    with HebbianIndex.open(tmp_path / "birds.hebb") as index:
        shown = repr(HebbianRetriever.from_index(index, k=3))
        assert "birds.hebb" in shown
        assert "k=3" in shown
        assert "birds.hebb" in repr(HebbianVectorStore(index=index))


# -- thresholds on scores -----------------------------------------------------------


@pytest.mark.parametrize("threshold", [1e-9, 0.2])
async def test_a_threshold_leaves_out_what_fills_up(threshold: float) -> None:
    store = HebbianVectorStore()
    store.add_documents(DOCUMENTS)
    assert len(store.similarity_search(QUERY, k=2)) == 2
    retriever = store.as_retriever(
        search_type="similarity_score_threshold",
        search_kwargs={"k": 2, "score_threshold": threshold},
    )
    assert [one.id for one in retriever.invoke(QUERY)] == ["petrel"]
    assert [one.id for one in await retriever.ainvoke(QUERY)] == ["petrel"]


def test_a_threshold_rejects_questions_that_the_store_knows_nothing_of() -> None:
    store = HebbianVectorStore()
    store.add_documents(DOCUMENTS)
    retriever = store.as_retriever(
        search_type="similarity_score_threshold", search_kwargs={"score_threshold": 0.2}
    )
    assert retriever.invoke("How do I renew a passport in Portugal?") == []
