"""Documents that come, change and go: added again, refreshed, and edited in a wrapped store."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from fakes import QUESTION, WordEmbedding
from llama_index.core import Document, StorageContext, VectorStoreIndex
from llama_index.core.node_parser import HierarchicalNodeParser, SentenceSplitter
from llama_index.core.schema import NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores.simple import SimpleVectorStore
from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters

from hebbgraph import ParameterError
from llama_index.retrievers.hebbgraph import (
    HebbianGraphIndex,
    HebbianRetriever,
    HebbianVectorStore,
    RecallBundle,
)
from llama_index.retrievers.hebbgraph.options import SearchOptions

ASKED = "When does the ferry to Skerrow leave?"


def ferry(hour: str) -> Document:
    return Document(id_="ferry.md", text=f"# Ferry\n\nThe ferry to Skerrow leaves at {hour}.")


BREAD = Document(id_="bread.md", text="# Bread\n\nBread rises when yeast turns sugar into gas.")


def said(found: list[NodeWithScore]) -> str:
    return " ".join(node.text for node in found)


# -- our own documents --------------------------------------------------------------


def test_a_second_run_adds_and_refreshing_replaces(tmp_path: Path) -> None:
    place = tmp_path / "memory.hebb"
    with HebbianRetriever.from_documents([ferry("seven"), BREAD], location=place) as first:
        bread = first.index.ids({"$document_id": "bread.md"})
    with HebbianRetriever.from_documents([ferry("nine"), BREAD], location=place) as second:
        assert {"seven", "nine"} <= set(said(second.retrieve(ASKED)).replace(".", "").split())
        assert second.refresh([ferry("nine"), BREAD]).unchanged == 2
        assert "seven" not in said(second.retrieve(ASKED))
        assert second.index.ids({"$document_id": "bread.md"}) == bread
        assert second.index.maintenance.doctor().ok


def test_chunks_of_one_document_that_come_in_several_calls_all_stay() -> None:
    pages = [
        TextNode(
            id_=f"page-{number}",
            text=f"Page {number} of the log of the Petrel.",
            relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id="log.pdf")},
        )
        for number in range(10)
    ]
    retriever = HebbianRetriever.from_nodes(pages[:4])
    assert retriever.add(pages[4:8]).added == 4
    index = HebbianGraphIndex(pages[:4])
    index.insert_nodes(pages[4:8])
    store = HebbianVectorStore.open(":memory:")
    store.add(pages[:4])
    store.add(pages[4:8])
    for held in (retriever.index, index.index, store.index):
        assert len(held.ids({"$document_id": "log.pdf"})) == 8
    assert retriever.refresh(pages[8:]).deleted == 8
    index.insert(Document(id_="log.pdf", text="The log ends here."))
    assert len(index.index.ids()) == 9
    index.update_ref_doc(Document(id_="log.pdf", text="The log ends here."))
    assert len(index.index.ids()) == 1


def test_any_parser_gets_ids_that_last(tmp_path: Path) -> None:
    options = {"location": tmp_path / "i", "node_parser": SentenceSplitter(chunk_size=1000)}
    with HebbianRetriever.from_documents([ferry("seven"), BREAD], **options) as first:
        ids = first.index.ids()
        assert first.add([ferry("seven"), BREAD]).unchanged == 2
        assert first.refresh([ferry("nine")]).deleted == 1
        assert len(set(ids) & set(first.index.ids())) == 1


def test_a_document_that_was_given_twice_is_there_once() -> None:
    page = Document(id_="book", text="The Petrel is a lugger.")
    other = Document(id_="book", text="Ida Moss built it.")  # of the same book
    index = HebbianGraphIndex.from_documents([page, other, page])
    assert len(index.ref_doc_info["book"].node_ids) == 2
    assert index.refresh_ref_docs([page, other]) == [False, False]


def test_a_document_that_lost_all_its_text_is_gone() -> None:
    retriever = HebbianRetriever.from_documents([ferry("seven"), BREAD])
    retriever.refresh([Document(id_="ferry.md", text="")])
    assert retriever.index.ids({"$document_id": "ferry.md"}) == []


def test_blank_pages_are_skipped_and_named(caplog: pytest.LogCaptureFixture) -> None:
    page = TextNode(id_="p1", text="The Petrel was built in Dunmore.", metadata={"page": 1})
    blank = TextNode(id_="p2", text=" \n\x00", metadata={"page": 2})
    with HebbianRetriever.from_documents([BREAD, Document(id_="scan.pdf", text=" ")]) as retriever:
        assert "chunks were skipped: 1; the first: chunk 'scan.pdf': it has neither" in caplog.text
        assert [chunk.id for chunk in retriever.add([page, blank]).failed] == ["p2"]
        retriever.refresh([page.model_copy(update={"text": ""})])
        assert retriever.index.get(["p1", "p2"]) == []
    store = HebbianVectorStore.open(":memory:")
    assert store.add([blank, page]) == ["p2", "p1"]
    assert HebbianGraphIndex([blank, page]).index.ids() == store.index.ids() == ["p1"]


async def test_the_same_without_blocking() -> None:
    async with HebbianRetriever.from_documents([BREAD]) as retriever:
        assert (await retriever.aadd([ferry("seven")])).added == 1
        assert (await retriever.arefresh([ferry("nine")])).deleted == 1
        assert await retriever.adelete(document_id="ferry.md") == 1


def test_what_one_document_cannot_be_taken_for_is_said_and_can_be_skipped() -> None:
    retriever = HebbianRetriever.from_documents([BREAD])
    odd = Document(id_="price.md", text="It costs 5\x80 a head.")
    with pytest.raises(ValueError, match="control character"):
        retriever.add([odd], strict=True)
    assert retriever.add([odd]).cleaned == 1
    nodes = [TextNode(id_="x" * 600, text="Too long an id."), TextNode(id_="ok", text="Fine.")]
    report = retriever.add(nodes, on_error="skip")
    assert (report.added, report.failed[0].position) == (1, 0)


def test_reopened_without_its_model_it_says_so_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place, model = tmp_path / "i", WordEmbedding()
    HebbianRetriever.from_documents([BREAD], location=place, embed_model=model).close()
    with HebbianRetriever.from_documents([ferry("seven")], location=place) as bare:
        bare.retrieve(ASKED)
        bare.retrieve(ASKED)
    assert caplog.text.count("opened without that model") == 1
    embedded = len(model.embedded)
    again = HebbianRetriever.from_documents(
        [BREAD, ferry("seven")], location=place, embed_model=model
    )
    assert len(model.embedded) == embedded + 1  # the one that had no vector
    again.close()


def test_parents_of_a_hierarchy_make_no_tags(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    text = " ".join(
        f"Harbour {name} keeps a lamp of {metal} and a bell." for name, metal in PLACES.items()
    )
    parser = HierarchicalNodeParser.from_defaults(chunk_sizes=[512, 128, 64], chunk_overlap=0)
    document = Document(id_="harbours.md", text=text)
    with HebbianRetriever.from_documents([document], node_parser=parser) as found:
        tags = set(found.index.inspect.to_networkx("tags"))
        # Of a lone chunk, a name that is nowhere else is no tag.
        assert not {f"harbour {name.lower()}" for name in PLACES} & tags
        assert all(not node.node.child_nodes for node in found.retrieve("Which harbour?"))
    assert "parents of others" in caplog.text


PLACES = {
    "Anwick": "brass", "Borve": "tin", "Crail": "iron", "Dornie": "lead", "Elgol": "zinc",
    "Fyvie": "steel", "Garve": "copper", "Huna": "pewter",
}  # fmt: skip


# -- a store that others write to ---------------------------------------------------


@pytest.fixture(params=["texts in the docstore", "texts in the store"])
def vectors(request: pytest.FixtureRequest, nodes: list[TextNode]) -> VectorStoreIndex:
    if request.param == "texts in the docstore":
        return VectorStoreIndex(nodes, embed_model=WordEmbedding())
    context = StorageContext.from_defaults(vector_store=HebbianVectorStore.open(":memory:"))
    return VectorStoreIndex(nodes, storage_context=context, embed_model=WordEmbedding())


@pytest.mark.parametrize("keep_text", [True, False])
@pytest.mark.parametrize("from_docstore", [True, False])
def test_what_the_store_has_deleted_does_not_come_back(
    vectors: VectorStoreIndex, keep_text: bool, from_docstore: bool
) -> None:
    over = HebbianRetriever.from_vector_store_index(
        vectors, keep_text=keep_text, similarity_top_k=4, options=SearchOptions(seed_top_k=3)
    )
    assert [node.node_id for node in over.retrieve(QUESTION)][:2] == ["petrel", "moss"]
    vectors.delete_nodes(["moss"], delete_from_docstore=from_docstore)
    vectors.delete_ref_doc("tessel.md", delete_from_docstore=from_docstore)
    found = over.retrieve(QUESTION)
    assert len(found) == 4
    assert not {"moss", "tessel"} & {node.node_id for node in found}
    report = over.refresh()
    assert report.deleted == 2
    assert not over.index.holds(["moss", "tessel"])


@pytest.mark.parametrize("keep_text", [True, False])
async def test_what_the_store_has_edited_comes_back_as_it_is_now(
    vectors: VectorStoreIndex, nodes: list[TextNode], keep_text: bool
) -> None:
    over = HebbianRetriever.from_vector_store_index(
        vectors, keep_text=keep_text, similarity_top_k=4
    )
    late = nodes[0].model_copy(deep=True)
    late.set_content("The Petrel is a lugger that Ida Moss built in 1901, after all.")
    vectors.delete_nodes(["petrel"], delete_from_docstore=True)
    vectors.insert_nodes([late])
    for found in (over.retrieve(QUESTION), await over.aretrieve(QUESTION)):
        assert "1901" in said(found)
        assert "1889" not in said(found)
    assert over.refresh().replaced == 1


def test_a_store_that_cannot_be_asked_says_so_once(
    nodes: list[TextNode], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    context = StorageContext.from_defaults(vector_store=HebbianVectorStore.open(":memory:"))
    vectors = VectorStoreIndex(nodes, storage_context=context, embed_model=WordEmbedding())
    over = HebbianRetriever.from_vector_store_index(
        vectors, similarity_top_k=4, options=SearchOptions(seed_top_k=1)
    )

    def refuse(*args: object, **kwargs: object) -> None:
        raise NotImplementedError

    monkeypatch.setattr(HebbianVectorStore, "get_nodes", refuse)
    assert len(over.retrieve(QUESTION)) == len(over.retrieve(QUESTION)) == 4
    assert caplog.text.count("cannot return nodes by id") == 1


@pytest.mark.parametrize("keep_text", [True, False])
def test_what_is_added_and_deleted_goes_through_to_the_store(
    vectors: VectorStoreIndex, keep_text: bool
) -> None:
    over = HebbianRetriever.from_vector_store_index(
        vectors, keep_text=keep_text, similarity_top_k=3
    )
    assert over.add([ferry("seven")]).added == 1
    assert over.add([ferry("seven")]).unchanged == 1
    assert "seven" in said(over.retrieve(ASKED))
    assert "seven" in said(vectors.as_retriever(similarity_top_k=30).retrieve(ASKED))
    over.refresh([ferry("nine")])
    assert over.delete(["moss"]) == 1
    assert over.delete(document_id="tessel.md") == 1
    assert over.refresh().deleted == 0  # nothing that the store does not know of
    for searched in (over, vectors.as_retriever(similarity_top_k=30)):
        found = [*searched.retrieve(ASKED), *searched.retrieve(QUESTION)]
        assert "nine" in said(found)
        assert "seven" not in said(found)
        assert not {"moss", "tessel"} & {node.node_id for node in found}
    over.refresh([BREAD], delete_missing=True)
    with pytest.raises(ParameterError, match="nothing to keep"):
        over.refresh([], delete_missing=True)
    assert {node.node.ref_doc_id for node in vectors.as_retriever().retrieve(ASKED)} == {"bread.md"}


def test_what_is_gone_already_is_passed_over(vectors: VectorStoreIndex) -> None:
    over = HebbianRetriever.from_vector_store_index(vectors, similarity_top_k=3)
    assert over.delete(["nobody", "moss", "moss"]) == 1
    vectors.delete_ref_doc("tessel.md")  # leaves the node in the docstore
    assert over.delete(document_id="tessel.md") == 1
    assert over.delete(document_id="tessel.md") == 0
    assert not {"moss", "tessel"} & {node.node_id for node in over.retrieve(QUESTION)}


def test_a_store_that_cannot_delete_is_named_and_nothing_is_changed(
    nodes: list[TextNode], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise NotImplementedError

    monkeypatch.setattr(SimpleVectorStore, "delete_nodes", refuse)
    monkeypatch.setattr(SimpleVectorStore, "delete", refuse)
    vectors = VectorStoreIndex(nodes, embed_model=WordEmbedding())
    over = HebbianRetriever.from_vector_store_index(vectors, similarity_top_k=4)
    for options in ({"ids": ["moss"]}, {"document_id": "moss.md"}):
        with pytest.raises(ParameterError, match="SimpleVectorStore cannot delete nodes"):
            over.delete(**options)  # type: ignore[arg-type]
    other = nodes[1].model_copy(update={"text": "Ida Moss was born in Ostrand."})
    with pytest.raises(ParameterError, match="SimpleVectorStore cannot delete nodes"):
        over.add([other])
    assert [node.node_id for node in over.retrieve(QUESTION)][:2] == ["petrel", "moss"]
    assert over.add([ferry("nine")]).added == 1


# -- why, and otherwise than usual ----------------------------------------------------


def test_a_node_tells_how_it_was_found(nodes: list[TextNode]) -> None:
    retriever = HebbianRetriever.from_nodes(nodes, similarity_top_k=2, include_path=True)
    retriever.index.keep_recalls()
    found = retriever.retrieve(QUESTION)
    trail = found[1].metadata["hebbgraph"]
    assert trail["rank"] == 2
    assert trail["path"].startswith("question → ")
    assert "ida moss" in [*trail["cues"], *trail["tags"]]
    recall = retriever.index.find_recall(trail["recall_id"])
    assert recall is not None
    assert recall.query == QUESTION
    assert "hebbgraph" not in found[1].node.get_content("llm")
    assert retriever.add([found[1].node]).added == 0  # what was found is no part of the node
    assert "hebbgraph" not in HebbianRetriever(retriever.index).retrieve(QUESTION)[0].metadata


def test_a_question_may_have_its_own_k_and_filters(nodes: list[TextNode]) -> None:
    short = MetadataFilter(key="letters", value=70, operator="<")
    retriever = HebbianRetriever.from_nodes(nodes, similarity_top_k=2)
    own = RecallBundle(QUESTION, similarity_top_k=5, filters=MetadataFilters(filters=[short]))
    found = retriever.retrieve(own)
    assert len(found) == 5
    assert all(node.metadata["letters"] < 70 for node in found)
    assert len(retriever.retrieve(QUESTION)) == 2


def test_alike_nodes_give_way_to_others() -> None:
    built = "The Petrel was built by Ida Moss"
    texts = [f"{built}.", f"{built}!", f"{built} !", "The Petrel was sold to a bishop."]
    nodes = [TextNode(id_=str(at), text=text) for at, text in enumerate(texts)]
    usual = HebbianRetriever.from_nodes(nodes, similarity_top_k=2)
    diverse = HebbianRetriever(usual.index, similarity_top_k=2, mmr_threshold=0.3)
    question = "Who built the Petrel?"
    assert "3" not in {node.node_id for node in usual.retrieve(question)}
    assert [node.node_id for node in diverse.retrieve(question)][1] == "3"
