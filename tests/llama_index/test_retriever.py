"""HebbianRetriever: what it finds, what it refuses, and what a request may read."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import Document, QueryBundle
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import IndexNode, TextNode
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
)
from llama_index.retrievers.hebbgraph import HebbianGraphIndex, HebbianRetriever
from llama_index_instrumentation.dispatcher import instrument_tags
from llama_models import CORPUS, QUESTION, WordEmbedding

from hebbgraph.errors import FilterError, HebbgraphError, ParameterError


def by(key: str, value: Any, operator: str = "==") -> MetadataFilters:
    part = MetadataFilter(key=key, value=value, operator=FilterOperator(operator))
    return MetadataFilters(filters=[part])


def ids(retriever: HebbianRetriever, question: str = QUESTION) -> list[str]:
    return [result.node_id for result in retriever.retrieve(question)]


# -- finding ------------------------------------------------------------------------------


def test_it_returns_two_nodes_unless_told_otherwise(index: HebbianGraphIndex) -> None:
    found = index.as_retriever().retrieve(QUESTION)
    assert len(found) == 2
    assert [type(result.score) for result in found] == [float, float]
    assert found[0].metadata == {"title": "Petrel", "place": "p"}
    assert len(ids(index.as_retriever(similarity_top_k=5))) == 5


async def test_async_finds_the_same(index: HebbianGraphIndex) -> None:
    retriever = index.as_retriever(similarity_top_k=4)
    assert await retriever.aretrieve(QUESTION) == retriever.retrieve(QUESTION)


@pytest.mark.parametrize("question", ["", " \n", "\ud83d"])
def test_an_empty_question_finds_nothing(question: str, index: HebbianGraphIndex) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert index.as_retriever().retrieve(question) == []


def test_an_empty_index_warns() -> None:
    with (
        HebbianRetriever(path=":memory:") as retriever,
        pytest.warns(UserWarning, match="is empty, so nothing can be found; add to it first"),
    ):
        assert retriever.retrieve(QUESTION) == []


def test_a_filter_that_leaves_nothing_does_not_warn(index: HebbianGraphIndex) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        retriever = index.as_retriever(filters=by("place", "z"))
        assert retriever.retrieve(QUESTION) == []
        assert "no chunk passes the filter" in retriever.recall(QUESTION).notes


def test_why_a_node_was_found(index: HebbianGraphIndex) -> None:
    recall = index.as_retriever().recall("Which light flashes?")
    assert (recall[0].id, recall[0].why) == ("lamp", "has light, flashes")


def test_a_question_may_bring_its_embedding(nodes: list[TextNode]) -> None:
    model = WordEmbedding()
    with HebbianRetriever.from_nodes(nodes, embed_model=model, similarity_top_k=1) as retriever:
        lamp = CORPUS["lamp"][1]
        given = QueryBundle("", embedding=model._get_query_embedding(lamp))
        hypothetical = QueryBundle("Which one?", custom_embedding_strs=[lamp])
        for bundle in (given, hypothetical):
            assert retriever.retrieve(bundle)[0].node_id == "lamp"
        assert retriever.retrieve("flashes")[0].node_id == "lamp"


def test_a_reference_to_another_retriever_is_followed(index: HebbianGraphIndex) -> None:
    with HebbianGraphIndex([]) as outer:
        outer.insert_nodes([IndexNode(text="Ships", index_id="ships", obj=index.as_retriever())])
        assert [result.node_id for result in outer.as_retriever().retrieve("ships?")] == [
            hit.node_id for hit in index.as_retriever().retrieve("ships?")
        ]


@pytest.mark.parametrize("steps", [None, [SentenceSplitter(chunk_size=64, chunk_overlap=0)]])
def test_the_same_again_doubles_nothing(tmp_path: Path, steps: Any) -> None:
    text = "\n\n".join(f"Paragraph {at} of the report on the harbour at dawn." for at in range(40))
    counts = set()
    for _ in range(3):
        documents = [  # without ids, so LlamaIndex gives them random ones
            Document(text=f"{text} The Petrel was built by Ida Moss."),
            Document(text="Ida Moss was born in Tessel Bay."),
            Document(text="Ida Moss was born in Tessel Bay.", metadata={"file_name": "moss.txt"}),
        ]
        with HebbianRetriever.from_documents(
            documents, path=tmp_path, transformations=steps
        ) as retriever:
            counts.add(retriever.index.stats()["chunks"])
            assert retriever.retrieve("Who built the Petrel?")[0].node.ref_doc_id in {
                document.id_ for document in documents
            }
    assert len(counts) == 1


# -- filters ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (by("year", 1871), "a"),
        (by("year", 1871, "!="), "bc"),
        (by("year", 1871, ">"), "b"),
        (by("year", 1871, ">="), "ab"),
        (by("year", 1900, "<"), "a"),
        (by("year", 1900, "<="), "ab"),
        (by("year", [1871, 5], "in"), "a"),
        (by("year", [1871, 5], "nin"), "bc"),
        (by("yards", ["skerrow"], "any"), "ab"),
        (by("yards", ["skerrow", "dunmore"], "all"), "b"),
        (by("yards", "dunmore", "contains"), "b"),
        (by("name", "etr", "text_match"), "a"),
        (by("name", "PETR", "text_match_insensitive"), "a"),
        (by("year", None, "is_empty"), "c"),
        (MetadataFilters(filters=[]), "abc"),
        (
            MetadataFilters(
                filters=[by("year", 1871), by("year", 1900)], condition=FilterCondition.OR
            ),
            "ab",
        ),
        (
            MetadataFilters(
                filters=[*by("year", 1871).filters, *by("name", "Linnet").filters],
                condition=FilterCondition.NOT,
            ),
            "c",
        ),
        (MetadataFilters(filters=[by("year", 1, ">"), by("name", "Petrel", "!=")]), "b"),
    ],
)
def test_all_operators_nested(filters: MetadataFilters, expected: str) -> None:
    nodes = [
        TextNode(
            id_="a", text="x", metadata={"year": 1871, "yards": ["skerrow"], "name": "Petrel"}
        ),
        TextNode(
            id_="b",
            text="x",
            metadata={"year": 1900, "yards": ["skerrow", "dunmore"], "name": "Linnet"},
        ),
        TextNode(id_="c", text="x", metadata={"name": "Curlew"}),
    ]
    with HebbianRetriever.from_nodes(nodes, similarity_top_k=9, filters=filters) as retriever:
        assert "".join(sorted(ids(retriever, "x"))) == expected


def test_some_nodes_or_documents_only(index: HebbianGraphIndex, nodes: list[TextNode]) -> None:
    assert sorted(ids(index.as_retriever(node_ids=["moss", "lamp"], similarity_top_k=9))) == [
        "lamp",
        "moss",
    ]
    assert ids(index.as_retriever(doc_ids=["dove"])) == ["dove"]
    assert ids(index.as_retriever(node_ids=[])) == []
    random = TextNode(text="An owl.")
    index.insert_nodes([random])
    assert ids(index.as_retriever(node_ids=[random.node_id])) == [random.node_id]


def test_a_cutoff(index: HebbianGraphIndex) -> None:
    scores = [hit.score for hit in index.as_retriever(similarity_top_k=6).recall(QUESTION)]
    retriever = index.as_retriever(similarity_top_k=6, similarity_cutoff=float(scores[2]))
    assert 3 <= len(ids(retriever)) < 6


# -- access -------------------------------------------------------------------------------


def test_a_rule_of_access_holds_whatever_the_request_says(index: HebbianGraphIndex) -> None:
    retriever = index.as_retriever(
        similarity_top_k=9,
        filters=by("title", "Tessel Bay", "!="),
        filter_by=lambda request: by("place", request["owner"]),
    )
    with instrument_tags({"owner": "t"}):
        assert ids(retriever) == []
    for name in ("hebbgraph_filters", "hebbgraph_filter"):  # as LangChain's adapter says
        with instrument_tags({"owner": "m", name: by("place", "p")}):
            assert ids(retriever) == []
    with instrument_tags({"owner": "m", "hebbgraph_filters": by("title", "Ida Moss")}):
        assert ids(retriever) == ["moss"]
    with pytest.raises(
        ParameterError, match=r"filter_by finds no 'owner' in the request; set it there"
    ):
        ids(retriever)
    with pytest.raises(FilterError, match="filter_by returned None"):
        ids(index.as_retriever(filter_by=lambda request: None))  # type: ignore[arg-type,return-value]


async def test_a_request_narrows_and_never_widens(index: HebbianGraphIndex) -> None:
    retriever = index.as_retriever(similarity_top_k=9, filters=by("place", "p"))
    everything = MetadataFilters(filters=[])
    for tags in ({"hebbgraph_filters": everything}, {"namespace": "other", "filters": everything}):
        with instrument_tags(tags):
            assert [result.node_id for result in await retriever.aretrieve(QUESTION)] == ["petrel"]
            assert ids(retriever) == ["petrel"]
    store = index.storage_context.vector_store
    with instrument_tags({"hebbgraph_filters": by("place", "m")}):
        assert ids(index.as_retriever()) == ["moss"]
        assert [node.node_id for node in store.get_nodes(filters=by("place", "p"))] == ["petrel"]


def test_the_application_chooses_the_namespace(tmp_path: Path) -> None:
    for name in ("anna", "ben"):
        node = TextNode(id_=name, text=f"The diary of {name}.")
        HebbianRetriever.from_nodes([node], path=tmp_path, namespace=name).close()
    rule: Any = {"namespace_by": lambda request: request["user_id"]}
    with HebbianRetriever(path=tmp_path, **rule) as retriever:
        for name in ("anna", "ben"):
            with instrument_tags({"user_id": name, "namespace": "anna"}):
                assert ids(retriever, "diary") == [name]
        with (
            instrument_tags({"user_id": "nobody"}),
            pytest.warns(UserWarning, match="there is no namespace 'nobody'"),
        ):
            assert ids(retriever, "diary") == []
        assert "nobody" not in retriever.index.namespaces()
    other = {"namespace": "anna", "hebbgraph_namespace": "anna"}
    with HebbianRetriever(path=tmp_path, namespace="ben") as bound, instrument_tags(other):
        assert ids(bound, "diary") == ["ben"]


# -- mistakes -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda index: HebbianRetriever(), "pass an open HebbianIndex, or path="),
        (lambda index: HebbianGraphIndex(), r"pass path='memory.hebb', or nodes=\[\] for an index"),
        (lambda index: HebbianRetriever(index), "index is a HebbianIndex, got Hebbian"),
        (lambda index: HebbianRetriever(index.index, path="x"), "an open index takes no path"),
        (lambda index: index.as_retriever(top_k=3), "takes no 'top_k'; write similarity_top_k=3"),
        (lambda index: index.as_query_engine(k=3), "takes no 'k'; write similarity_top_k=3"),
        (lambda index: HebbianRetriever(location="x"), "no 'location'; write path="),
        (lambda index: index.as_retriever(filters={"a": 1}), "filters are MetadataFilters, got di"),
        (
            lambda index: index.as_retriever(similarity_cutoff=2),
            "similarity_cutoff is a number from 0 to 1",
        ),
        (
            lambda index: index.as_retriever(similarity_top_k=0),
            "similarity_top_k is a whole number",
        ),
        (lambda index: HebbianRetriever(path=":memory:", embed_model="x"), "is a BaseEmbedding"),
        (
            lambda index: HebbianGraphIndex.from_documents([], storage_context=None),
            "takes no 'storage_context'; the index stores its nodes itself",
        ),
    ],
)
def test_mistakes_are_named(index: HebbianGraphIndex, make: Any, message: str) -> None:
    with pytest.raises(HebbgraphError, match=message):
        make(index)
