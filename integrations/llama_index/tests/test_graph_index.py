"""HebbianGraphIndex: what LlamaIndex asks of an index class, and what makes it learn."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from fakes import RuleLLM, WordEmbedding
from llama_index.core import Document, StorageContext, load_index_from_storage
from llama_index.core.chat_engine.types import ChatMode
from llama_index.core.indices.base import BaseIndex
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.node_parser import HierarchicalNodeParser
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import AutoMergingRetriever
from llama_index.core.schema import BaseNode, IndexNode, TextNode, TransformComponent

from hebbgraph import HebbianIndex, ParameterError
from llama_index.retrievers.hebbgraph import (
    CitationFormatter,
    CitationLearner,
    HebbianGraphIndex,
    HebbianRetriever,
)
from llama_index.retrievers.hebbgraph.prompts import CITATION_QA_TEMPLATE
from llama_index.retrievers.hebbgraph.storage import HebbianStruct

ASKED = "Where was the builder of the Petrel born?"
DOCUMENTS = [
    Document(id_="petrel.md", text="# Petrel\n\nThe Petrel was built by Ida Moss."),
    Document(id_="moss.md", text="# Ida Moss\n\nIda Moss was born in Tessel Bay."),
    Document(id_="bread.md", text="# Bread\n\nBread rises when yeast turns sugar into gas."),
]


@pytest.fixture
def index() -> HebbianGraphIndex:
    return HebbianGraphIndex.from_documents(DOCUMENTS)


def texts(index: HebbianGraphIndex, k: int = 2) -> list[str]:
    return [node.text for node in index.as_retriever(similarity_top_k=k).retrieve(ASKED)]


def learned(index: HebbianGraphIndex) -> int:
    return index.index.log.export(io.StringIO())


def test_is_an_index(index: HebbianGraphIndex) -> None:
    assert isinstance(index, BaseIndex)
    assert "built by Ida Moss" in texts(index)[0]
    assert index.ref_doc_info.keys() == {"petrel.md", "moss.md", "bread.md"}
    assert len(index.ref_doc_info["moss.md"].node_ids) == 1
    assert "HebbianIndex" in repr(index)


def test_documents_come_change_and_go(index: HebbianGraphIndex) -> None:
    changed = Document(id_="moss.md", text="# Ida Moss\n\nIda Moss was born in Ostrand.")
    late = Document(id_="rope.md", text="# Rope\n\nRope is made of hemp.")
    assert index.refresh_ref_docs([DOCUMENTS[0], changed, late]) == [False, True, True]
    assert "Ostrand" in texts(index)[1]
    assert "Tessel" not in " ".join(texts(index, 4))
    index.update_ref_doc(DOCUMENTS[1])
    assert "Tessel" in texts(index)[1]
    index.delete_ref_doc("moss.md")
    index.delete_ref_doc("never.md")
    assert "born" not in " ".join(texts(index, 4))
    index.insert(changed)
    index.insert_nodes([TextNode(id_="lone", text="Ida Moss sailed to Ostrand.")])
    index.delete_nodes(["lone"])
    assert index.index.stats().chunks == 4
    assert index.index.maintenance.doctor().ok


class Noting(TransformComponent):
    """Notes the documents that are split."""

    seen: list[str] = []  # noqa: RUF012

    def __call__(self, nodes: Sequence[BaseNode], **kwargs: Any) -> Sequence[BaseNode]:
        self.seen += [node.node_id for node in nodes]
        return nodes


def test_a_refresh_splits_only_what_has_changed(tmp_path: Path) -> None:
    noting, place = Noting(), {"location": tmp_path / "memory.hebb"}
    documents = [SHIPS, *DOCUMENTS[1:]]
    HebbianGraphIndex.from_documents(documents, transformations=[PARSER], **place).close()
    with HebbianGraphIndex(transformations=[noting, PARSER], **place) as index:
        before = index.vector_store.get_nodes()
        assert index.refresh_ref_docs(documents) == [False] * 3
        assert noting.seen == []
        merging = index.as_retriever(auto_merge=True, similarity_top_k=8, simple_ratio_thresh=0.2)
        assert any(node.node.child_nodes for node in merging.retrieve("Who built the Petrel?"))
        assert index.vector_store.get_nodes() == before
        moved = Document(id_="moss.md", text=DOCUMENTS[1].text, metadata={"shelf": 2})
        assert index.refresh_ref_docs([SHIPS, moved]) == [False, True]
        assert noting.seen == ["moss.md"]
        index.update_ref_doc(moved)
        assert noting.seen == ["moss.md", "moss.md"]
        index.delete_ref_doc("moss.md")
        assert index.refresh_ref_docs([moved]) == [True]


async def test_the_same_without_blocking(index: HebbianGraphIndex) -> None:
    await index.ainsert(Document(id_="rope.md", text="Rope is made of hemp."))
    assert await index.arefresh_ref_docs(DOCUMENTS[:1]) == [False]
    await index.aupdate_ref_doc(Document(id_="rope.md", text="Rope is made of wire."))
    await index.ainsert_nodes([TextNode(id_="lone", text="Ida Moss sailed.")])
    await index.adelete_nodes(["lone"])
    await index.adelete_ref_doc("rope.md")
    assert index.index.stats().chunks == 3


def test_it_is_there_when_it_is_opened_again(tmp_path: Path) -> None:
    model = WordEmbedding()
    place = {"location": tmp_path / "memory.hebb", "embed_model": model}
    HebbianGraphIndex.from_documents(DOCUMENTS, **place).close()
    embedded = len(model.embedded)
    with HebbianGraphIndex(**place) as again:
        assert "built by Ida Moss" in texts(again)[0]
    with HebbianGraphIndex.from_documents(DOCUMENTS, **place) as again:
        assert again.refresh_ref_docs(DOCUMENTS) == [False] * 3
    assert len(model.embedded) == embedded


def test_an_engine_that_cites_teaches() -> None:
    def answer(prompt: str) -> str:
        assert "[1] Petrel" in prompt
        return "Ida Moss built it [1], and was born in Tessel Bay [2]."

    index = HebbianGraphIndex.from_documents(DOCUMENTS)
    engine = index.as_query_engine(llm=RuleLLM(rule=answer), cite=True, similarity_top_k=3)
    with CitationLearner(index):
        assert "Tessel" in str(engine.query(ASKED))
    assert learned(index) == 1
    plain = index.as_query_engine(llm=RuleLLM(rule=lambda prompt: "Who knows?"))
    assert "Who knows?" in str(plain.query(ASKED))


@pytest.mark.parametrize("mode", [ChatMode.CONTEXT, ChatMode.CONDENSE_PLUS_CONTEXT])
def test_a_chat_engine_that_cites_teaches(index: HebbianGraphIndex, mode: ChatMode) -> None:
    def answer(prompt: str) -> str:
        found = re.search(r"\[[a-z]{3}2\]", prompt)
        return f"In Tessel Bay {found[0]}." if found else ASKED

    memory = ChatMemoryBuffer.from_defaults(token_limit=4000)
    chat = index.as_chat_engine(
        mode, llm=RuleLLM(rule=answer), cite=True, memory=memory, similarity_top_k=3
    )
    with CitationLearner(index):
        assert "Tessel" in str(chat.chat(ASKED))
    assert learned(index) == 1


def test_what_is_meant_for_nobody_is_refused(index: HebbianGraphIndex) -> None:
    refused: Any = index
    with pytest.raises(ParameterError, match="write similarity_top_k"):
        refused.as_retriever(top_k=3)
    with pytest.raises(ParameterError, match="did you mean 'response_mode'"):
        refused.as_query_engine(llm=RuleLLM(), respons_mode="compact")
    with pytest.raises(ParameterError, match="did you mean 'cite'"):
        refused.as_query_engine(cit=True)
    with pytest.raises(ParameterError, match="did you mean 'chat_mode'"):
        refused.as_chat_engine(chat_mod="context")
    make: Any = HebbianGraphIndex.from_documents
    with pytest.raises(ParameterError, match=r"location=\.\.\. says where"):
        make(DOCUMENTS, storage_context=object())
    with pytest.raises(ParameterError, match="did you mean 'location'"):
        make(DOCUMENTS, locaton="x")
    with pytest.raises(ParameterError, match="put it in a list"):
        make(DOCUMENTS[0])


# -- hierarchies ------------------------------------------------------------------------

SHIPS = Document(
    id_="ships.md",
    text=(
        "The Petrel is a lugger of forty tons. Ida Moss built the Petrel in 1889. "
        "The Petrel sank off Skerrow in a gale. Her bell hangs in the chapel of Tessel. "
    )
    + "Bakers knead dough before dawn and leave it to rise. " * 12,
)
PARSER = HierarchicalNodeParser.from_defaults(chunk_sizes=[96, 24], chunk_overlap=0)


def test_children_found_together_are_merged_into_their_parent(tmp_path: Path) -> None:
    place = {"location": tmp_path / "i", "transformations": [PARSER]}
    with HebbianGraphIndex.from_documents([SHIPS, *DOCUMENTS], **place) as index:
        leaf = index.as_retriever(similarity_top_k=2).retrieve("Who built the Petrel?")
        assert all(not node.node.child_nodes for node in leaf)
    with HebbianGraphIndex(**place) as again:
        merging = again.as_retriever(auto_merge=True, similarity_top_k=8, simple_ratio_thresh=0.2)
        found = merging.retrieve("Who built the Petrel, and where did she sink?")
        merged = [node for node in found if node.node.child_nodes]
        whole = next(node for node in merged if "Ida Moss built" in node.text)
        assert "sank off Skerrow" in whole.text


def test_a_merged_parent_gives_the_credit_to_the_children_that_were_found() -> None:
    def answer(prompt: str) -> str:
        key = re.search(r"^\[(\w+)\][^[]*Ida Moss built", prompt, re.MULTILINE)
        assert key is not None
        return f"Ida Moss did [{key[1]}]."

    with (
        HebbianGraphIndex.from_documents([SHIPS, *DOCUMENTS], transformations=[PARSER]) as index,
        CitationLearner(index),
    ):
        merging = index.as_retriever(auto_merge=True, similarity_top_k=8, simple_ratio_thresh=0.2)
        assert isinstance(merging, AutoMergingRetriever)
        engine = RetrieverQueryEngine.from_args(
            merging,
            llm=RuleLLM(rule=answer),
            node_postprocessors=[CitationFormatter()],
            text_qa_template=CITATION_QA_TEMPLATE,
        )
        response = engine.query("Who built the Petrel, and where did she sink?")
        (lesson,) = index.index.lessons()
        merged = next(node for node in response.source_nodes if "Ida Moss built" in node.text)
        assert merged.node.child_nodes
        assert merged.node_id not in index.index.ids()
        cited = " ".join(node.text for node in index.index.get(lesson.cited))
        assert "Ida Moss built" in cited
        for text in cited.split(". "):
            assert text.strip(". ") in merged.text


def test_parents_go_and_change_with_their_document(tmp_path: Path) -> None:
    place = tmp_path / "i"
    index = HebbianGraphIndex.from_documents(
        [SHIPS, DOCUMENTS[2]], location=place, transformations=[PARSER]
    )
    (aside,) = [name for name in index.index.namespaces() if "parents" in name]

    def parents() -> str:
        with HebbianIndex.open(place, namespace=aside, settings="saved") as opened:
            return " ".join(node.text for node in opened.get(opened.ids()))

    assert "Petrel" in parents()
    index.update_ref_doc(Document(id_="ships.md", text=SHIPS.text.replace("Petrel", "Kestrel")))
    assert "Kestrel" in parents()
    assert "Petrel" not in parents()
    with HebbianIndex.open(place, namespace=aside, settings="saved") as opened:
        first, *_ = opened.ids()
    index.delete_nodes([first])  # a parent, too
    assert index.vector_store.get_nodes([first]) == []
    index.delete_ref_doc("ships.md")
    assert "Kestrel" not in parents()
    index.close()


def test_objects_are_followed() -> None:
    inner = HebbianRetriever.from_nodes([TextNode(id_="in", text="Ida Moss built the Petrel.")])
    outer = HebbianGraphIndex(
        objects=[IndexNode(text="All about the Petrel.", index_id="petrel", obj=inner)]
    )
    found = outer.as_retriever(similarity_top_k=1).retrieve("Who built the Petrel?")
    assert [node.node_id for node in found] == ["in"]


# -- persisting ---------------------------------------------------------------------


def test_a_persisted_index_loads_as_itself(tmp_path: Path) -> None:
    place, storage = tmp_path / "memory.hebb", tmp_path / "storage"
    with HebbianGraphIndex.from_documents(DOCUMENTS, location=place, namespace="ida") as index:
        expected = texts(index)
        index.storage_context.persist(storage)
    context = StorageContext.from_defaults(persist_dir=str(storage))
    loaded = load_index_from_storage(context)
    assert isinstance(loaded, HebbianGraphIndex)
    assert loaded.index.namespace == "ida"
    assert loaded.index_id == index.index_id
    assert texts(loaded) == expected
    loaded.close()
    place.rename(tmp_path / "moved.hebb")
    with pytest.raises(ParameterError, match="and is not there; if it was moved"):
        load_index_from_storage(context)
    moved = load_index_from_storage(context, location=tmp_path / "moved.hebb")
    assert texts(moved) == expected
    moved.storage_context.persist(storage)
    moved.close()
    context = StorageContext.from_defaults(persist_dir=str(storage))
    with load_index_from_storage(context) as again:
        assert texts(again) == expected


def test_an_index_in_memory_is_not_lost_in_silence(
    index: HebbianGraphIndex, tmp_path: Path
) -> None:
    with pytest.raises(ParameterError, match=r"in memory.*make it with location="):
        index.storage_context.persist(tmp_path / "storage")
    assert not (tmp_path / "storage").exists()


def test_no_password_is_persisted() -> None:
    struct = HebbianStruct.of("postgresql+psycopg://ida:knot@db/boats", "default")
    assert "knot" not in struct.to_json()
    with pytest.raises(ParameterError, match=r"password .*write load_index_from_storage"):
        HebbianGraphIndex(index_struct=struct)
