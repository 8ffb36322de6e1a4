"""What is used wrongly says so, before anything is opened or embedded."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import Document, MockEmbedding, VectorStoreIndex
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.core.vector_stores.types import MetadataFilter, VectorStoreQuery

from hebbgraph import FeedbackError, HebbgraphError, HebbianIndex, ParameterError
from llama_index.retrievers.hebbgraph import (
    CitationLearner,
    HebbianGraphIndex,
    HebbianRetriever,
    HebbianVectorStore,
    RecallBundle,
    citing_tool,
)
from llama_index.retrievers.hebbgraph.embedding import LlamaIndexEmbedder
from llama_index.retrievers.hebbgraph.exporting import export_property_graph

QUERY = "Who built the Petrel?"


class Counting(MockEmbedding):
    """Counts the texts that it embeds."""

    embedded: int = 0

    def _get_text_embedding(self, text: str) -> list[float]:
        self.embedded += 1
        return super()._get_text_embedding(text)


DOCUMENTS = [
    Document(id_="petrel.md", text="The Petrel was built by Ida Moss."),
    Document(id_="bread.md", text="Bread rises when yeast turns sugar into gas."),
]
NODES = [
    TextNode(id_="petrel", text="The Petrel was built by Ida Moss."),
    TextNode(id_="bread", text="Bread rises when yeast turns sugar into gas."),
]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"k": 3}, "no argument 'k'; write similarity_top_k=3"),
        ({"top_k": 3}, "no argument 'top_k'; write similarity_top_k=3"),
        ({"search_kwargs": {"k": 3}}, "write similarity_top_k=3"),
        ({"similarity_topk": 3}, "did you mean 'similarity_top_k'"),
        ({"embedding": 1}, "no argument 'embedding'; write embed_model"),
        ({"embed_modle": 1}, "did you mean 'embed_model'"),
        ({"filter": 1}, r"write filters=MetadataFilters"),
        ({"lokation": "x"}, "did you mean 'location'"),
        ({"similarity_top_k": -1}, "similarity_top_k is a whole number from 1 to 10000, got -1"),
        ({"similarity_top_k": "5"}, "got '5'"),
        ({"strategy": "spreded"}, "strategy is one of .*, spreading, .* got 'spreded'"),
        ({"filters": {"year": 3}}, r"got dict; write MetadataFilters\(filters=\[MetadataFilter"),
        ({"filters": MetadataFilter(key="year", value=3)}, r"write MetadataFilters\(filters="),
        ({"doc_ids": "petrel.md"}, "doc_ids is a list of str, got 'petrel.md'"),
        ({"node_ids": "petrel"}, "node_ids is a list of str, got 'petrel'"),
        ({"embed_model": "local"}, "got 'local'; pass the model itself"),
        ({"source": "bm25"}, "source is another retriever, got str"),
        ({"mmr_threshold": 2}, r"mmr_threshold lies in \[0, 1\]"),
        ({"include_path": "yes"}, "include_path is True or False, got 'yes'"),
        ({"score_threshold": 0.2}, "no argument 'score_threshold'; add SimilarityPostprocessor"),
        ({"actor": "ida"}, "no argument 'actor'; ask within instrument_tags"),
    ],
)
def test_nothing_is_done_before_an_argument_is_refused(
    options: dict[str, Any], says: str, tmp_path: Path
) -> None:
    embed_model, place = Counting(embed_dim=2), tmp_path / "index"
    given = {"location": place, "embed_model": embed_model, **options}
    for make, sources in (
        (HebbianRetriever.from_documents, DOCUMENTS),
        (HebbianRetriever.from_nodes, NODES),
    ):
        refused: Callable[..., Any] = make
        with pytest.raises(HebbgraphError, match=says):
            refused(sources, **given)
    assert embed_model.embedded == 0
    assert not place.exists()


@pytest.fixture
def made() -> HebbianRetriever:
    return HebbianRetriever.from_nodes(NODES, similarity_top_k=2)


@pytest.fixture
def store() -> HebbianVectorStore:
    return HebbianVectorStore.open(":memory:")


DOCS, FROM_NODES = HebbianRetriever.from_documents, HebbianRetriever.from_nodes


def set_top_k(retriever: HebbianRetriever, k: Any) -> list[NodeWithScore]:
    retriever.similarity_top_k = k
    return retriever.retrieve(QUERY)


@pytest.mark.parametrize(
    ("misuse", "says"),
    [
        (lambda r, s: DOCS(DOCUMENTS[0]), "got one Document; put it in a list"),
        (lambda r, s: DOCS("Hello world"), "documents is a list of Document, got 'Hello world'"),
        (lambda r, s: DOCS(["Hello"]), r"write Document\(text="),
        (lambda r, s: DOCS(None), "got None"),
        (lambda r, s: FROM_NODES(NODES[0]), "got one TextNode; put it in a list"),
        (lambda r, s: FROM_NODES(["Hello"]), "nodes is a list of BaseNode, got 'Hello' in it"),
        (lambda r, s: HebbianRetriever("memory.hebb"), r"open one with HebbianIndex.open\(...\)"),
        (lambda r, s: HebbianRetriever(), r"or location=\.\.\."),
        (lambda r, s: HebbianRetriever(r.index, namespace="ann"), "go with location"),
        (lambda r, s: HebbianRetriever.from_index(r.index, k=3), "write similarity_top_k"),
        (lambda r, s: HebbianRetriever(r.index, strategy="x"), "strategy is one of"),
        (lambda r, s: HebbianRetriever.from_vector_store_index(r.index), "got HebbianIndex"),
        (
            lambda r, s: HebbianRetriever.from_vector_store_index(
                VectorStoreIndex([], embed_model=Counting(embed_dim=2)),
                embed_model=Counting(embed_dim=2),
            ),
            "the vector index embeds",
        ),
        (lambda r, s: set_top_k(r, "5"), "similarity_top_k is a whole number"),
        (lambda r, s: set_top_k(r, 0), "similarity_top_k is a whole number"),
        (lambda r, s: HebbianVectorStore.open(":memory:", embeding=1), "did you mean"),
        (lambda r, s: HebbianVectorStore.open(":memory:", embedding=1), "write embed_model"),
        (lambda r, s: HebbianVectorStore.open(":memory:", embed_model="local"), "got 'local'"),
        (lambda r, s: s.add(["Hello"]), "nodes is a list of BaseNode"),
        (lambda r, s: s.get_nodes(filters={"year": 3}), "filters is a MetadataFilters"),
        (lambda r, s: LlamaIndexEmbedder("local"), "embed_model is a BaseEmbedding"),
        (lambda r, s: citing_tool(r.index), r"write HebbianRetriever\(index\)"),
        (lambda r, s: citing_tool(r, prefx="always"), "did you mean 'prefix'"),
        (lambda r, s: CitationLearner("memory.hebb"), "got 'memory.hebb'"),
        (lambda r, s: CitationLearner(HebbianIndex), "an object, got the class HebbianIndex"),
        (lambda r, s: CitationLearner(r, trusted="ida"), "trusted is True, False, or a callable"),
        (lambda r, s: CitationLearner(r, judge="gpt"), "judge is a callable from a sentence"),
        (lambda r, s: s.query(VectorStoreQuery(query_embedding=[0.5])), "set query_str"),
        (lambda r, s: s.query(VectorStoreQuery(query_str="x", mode="svm")), "is not supported"),
        (lambda r, s: s.delete_nodes(), r"clear\(\) deletes all"),
        (lambda r, s: r.add([Document(id_="", text="Owls.")]), "an id is not empty"),
        (lambda r, s: r.add([TextNode(id_="", text="Owls.")]), "an id is not empty"),
        (lambda r, s: r.refresh(), "refresh takes documents"),
        (lambda r, s: r.refresh("Hello world"), "documents is a list of Document"),
        (lambda r, s: r.add(DOCUMENTS[0]), "got one Document; put it in a list"),
        (lambda r, s: r.add(NODES, on_error="ignore"), "on_error is 'raise' or 'skip'"),
        (lambda r, s: r.add(NODES, strict="yes"), "strict is True or False"),
        (lambda r, s: r.delete(), "delete takes ids or a document_id"),
        (lambda r, s: r.why(7), "why takes a retrieved node or its id, got 7"),
        (lambda r, s: r.why("nope"), "of this retriever returned 'nope'; ask first"),
        (lambda r, s: r.retrieve(RecallBundle("x", similarity_top_k=-1)), "got -1"),
        (lambda r, s: r.retrieve(RecallBundle("x", filters={"year": 3})), "filters is a Metadata"),
        (lambda r, s: r.retrieve(RecallBundle("x", namespace="anna")), "searches only 'default'"),
        (lambda r, s: HebbianRetriever.from_pool("tenants"), "pool is an IndexPool, got str"),
        (lambda r, s: HebbianGraphIndex(NODES[0]), "got one TextNode; put it in a list"),
        (lambda r, s: HebbianGraphIndex(embed_model="local"), "got 'local'"),
        (lambda r, s: HebbianGraphIndex().as_retriever(top_k=3), "write similarity_top_k"),
        (lambda r, s: HebbianGraphIndex().insert("Hello"), r"write Document\(text="),
        (lambda r, s: export_property_graph(r.index, {}), "store is a PropertyGraphStore"),
        (lambda r, s: CitationLearner(r.index, learn_on="thumbs"), "'citation' or 'approval'"),
        (
            lambda r, s: CitationLearner(r).feedback(7.5, True),
            "name a Recall, its id or a response",
        ),
        (lambda r, s: CitationLearner(r).undo("nope"), "'nope'"),
        (lambda r, s: pickle.dumps(r.index), "neither pickled nor copied"),
        (lambda r, s: pickle.dumps(r), "neither pickled nor copied; hand its location on"),
    ],
)
def test_misuse_gets_an_answer(
    misuse: Callable[[Any, Any], Any],
    says: str,
    made: HebbianRetriever,
    store: HebbianVectorStore,
) -> None:
    with pytest.raises(HebbgraphError, match=says):
        misuse(made, store)


def test_a_learner_takes_whatever_has_an_index(
    made: HebbianRetriever, store: HebbianVectorStore
) -> None:
    assert CitationLearner(made).index is made.index
    assert CitationLearner(store).index is store.index


def test_feedback_is_a_thumb_on_what_was_shown(made: HebbianRetriever) -> None:
    learner = CitationLearner(made)
    recall = made.index.recall(QUERY)
    for good in (None, "down"):
        given: Any = good
        with pytest.raises(ParameterError, match="good is True"):
            learner.feedback(recall, given, cited=["petrel"])
    with pytest.raises(FeedbackError, match="'nope' is not among the hits"):
        learner.feedback(recall, True, cited=["nope"])
    with pytest.raises(ParameterError, match="put it in a list"):
        learner.feedback(recall, True, cited="petrel")
    assert learner.feedback(recall, True, cited=["petrel"])


def test_what_is_made_shows_what_it_searches(tmp_path: Path) -> None:
    with HebbianIndex.open(tmp_path / "birds.hebb") as index:
        shown = repr(HebbianRetriever(index, similarity_top_k=3))
        assert "birds.hebb" in shown
        assert "similarity_top_k=3" in shown
        assert "birds.hebb" in repr(HebbianVectorStore(index))


# -- thresholds on scores -----------------------------------------------------------


@pytest.mark.parametrize("cutoff", [1e-9, 0.2])
def test_a_cutoff_leaves_out_what_fills_up(made: HebbianRetriever, cutoff: float) -> None:
    found = made.retrieve(QUERY)
    assert len(found) == 2
    kept = SimilarityPostprocessor(similarity_cutoff=cutoff).postprocess_nodes(found)
    assert [node.node_id for node in kept] == ["petrel"]


def test_a_cutoff_rejects_questions_that_the_index_knows_nothing_of(
    made: HebbianRetriever,
) -> None:
    found = made.retrieve("How do I renew a passport in Portugal?")
    assert SimilarityPostprocessor(similarity_cutoff=0.2).postprocess_nodes(found) == []


def test_a_location_opens_a_namespace(tmp_path: Path) -> None:
    HebbianRetriever.from_nodes(NODES, location=tmp_path, namespace="ann").close()
    with HebbianRetriever(location=tmp_path, namespace="ann", similarity_top_k=1) as there:
        assert [node.node_id for node in there.retrieve(QUERY)] == ["petrel"]
