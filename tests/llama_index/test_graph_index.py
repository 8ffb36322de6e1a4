"""HebbianGraphIndex: documents by id, engines, and the price of a default."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from llama_index.core import Document, StorageContext
from llama_index.core.node_parser import HierarchicalNodeParser, SentenceSplitter, get_leaf_nodes
from llama_index.core.retrievers import AutoMergingRetriever
from llama_index.core.schema import TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.retrievers import hebbgraph as adapter
from llama_index.retrievers.hebbgraph import HebbianGraphIndex, HebbianRetriever
from llama_models import QUESTION, RuleLLM

from hebbgraph import HebbianIndex
from hebbgraph.errors import HebbgraphError

TEXTS = ["Hello world.", "This is a test.", "This is another test.", "This is a test v2."]


def documents() -> list[Document]:
    return [Document(text=text, id_=f"test_id_{at}") for at, text in enumerate(TEXTS)]


def test_documents_in_the_order_in_which_they_came() -> None:
    """LlamaIndex's own ``test_build_simple``."""
    with HebbianGraphIndex.from_documents(documents()) as index:
        assert [*index.ref_doc_info] == [f"test_id_{at}" for at in range(4)]
        assert [len(info.node_ids) for info in index.ref_doc_info.values()] == [1, 1, 1, 1]
        index.update_ref_doc(Document(text="Hello again.", id_="test_id_0"))
        assert [*index.ref_doc_info][-1] == "test_id_0"


def test_refresh_replaces_what_has_changed() -> None:
    given = documents()
    with HebbianGraphIndex.from_documents(given) as index:
        before = index.index.stats()["changes"]
        assert index.refresh_ref_docs(given) == [False] * 4
        assert index.index.stats()["changes"] == before
        given[1] = Document(text="An edit.", id_="test_id_1")
        given[2] = Document(text=TEXTS[2], id_="test_id_2", metadata={"year": 1871})
        given.append(Document(text="New.", id_="test_id_4"))
        assert index.refresh_ref_docs(given) == [False, True, True, False, True]
        assert len(index.ref_doc_info) == 5
        assert index.ref_doc_info["test_id_2"].metadata["year"] == 1871
        index.delete_ref_doc("test_id_1")
        index.delete_ref_doc("unknown")
        index.update_ref_doc(Document(text=" ", id_="test_id_2"))
        assert [*index.ref_doc_info] == ["test_id_0", "test_id_3", "test_id_4"]
        assert index.index.doctor() == []


async def test_async_twins() -> None:
    index = HebbianGraphIndex(nodes=[])
    await index.ainsert(Document(text="Ice floats.", id_="ice"))
    await index.ainsert_nodes([TextNode(text="Salt sinks.", id_="salt")])
    assert await index.arefresh_ref_docs([Document(text="Ice melts.", id_="ice")]) == [True]
    await index.aupdate_ref_doc(Document(text="Ice floats again.", id_="ice"))
    await index.adelete_nodes(["salt"])
    assert [*index.ref_doc_info] == ["ice"]
    await index.adelete_ref_doc("ice")
    assert index.ref_doc_info == {}
    index.close()


def test_an_insert_adds_and_the_same_changes_nothing(tmp_path: Path) -> None:
    for at in range(3):
        with HebbianGraphIndex.from_documents(
            [Document(text=text) for text in TEXTS],
            path=tmp_path,
            insert_batch_size=2,
            use_async=True,
            show_progress=False,
        ) as index:
            index.insert(Document(text="Hello world.", id_="mine"))
            assert index.index.stats()["chunks"] == 5, at


def test_batches(memory: HebbianIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes, add = list[int](), memory.add
    monkeypatch.setattr(memory, "add", lambda chunks, **o: sizes.append(len(chunks)) or add(chunks))
    with HebbianGraphIndex(index=memory, insert_batch_size=3) as index:
        index.insert_nodes([TextNode(text=text) for text in TEXTS])
        assert sizes == [3, 1]
    assert memory.stats()["chunks"] == 4  # still open, for it was opened elsewhere
    with pytest.raises(HebbgraphError, match="insert_batch_size is a whole number"):
        HebbianGraphIndex([TextNode(text="Ice")], insert_batch_size=0)


def test_a_failed_build_leaves_nothing_open(tmp_path: Path) -> None:
    bad: Any = [Document(text="Ice", metadata={"rank": float("nan")})]
    for make in (HebbianGraphIndex.from_documents, HebbianRetriever.from_documents):
        with pytest.raises(HebbgraphError, match="rank"):
            make(bad, path=tmp_path)
    HebbianIndex.open(tmp_path).close()


def test_a_default_engine_costs_one_call() -> None:
    long = [
        Document(
            id_=str(at),
            text=" ".join(f"Sentence {n} of report {at} about the Petrel." for n in range(400)),
        )
        for at in range(6)
    ]
    llm = RuleLLM(context_window=4096)
    with HebbianGraphIndex.from_documents(long) as index:
        index.as_query_engine(llm).query("Petrel?")
        assert len(llm.prompts) == 1
        index.as_query_engine(llm, cite=True).query("Petrel?")
        assert len(llm.prompts) == 2


def test_arguments_reach_their_engine(index: HebbianGraphIndex) -> None:
    llm = RuleLLM()
    engine = index.as_query_engine(llm, similarity_top_k=3, response_mode="accumulate")
    assert len(engine.query(QUESTION).source_nodes) == len(llm.prompts) == 3
    chat = index.as_chat_engine("context", llm, system_prompt="Be brief.", similarity_top_k=1)
    assert len(chat.chat(QUESTION).source_nodes) == 1
    assert "Be brief." in llm.prompts[-1]


def test_auto_merging() -> None:
    """As LlamaIndex's own page on its auto-merging retriever has it."""
    text = " ".join(f"Sentence {at} tells about the harbour." for at in range(120))
    parser = HierarchicalNodeParser.from_defaults(chunk_sizes=[512, 128])
    nodes = parser.get_nodes_from_documents([Document(text=text)])
    docstore = SimpleDocumentStore()
    docstore.add_documents(nodes)
    with HebbianGraphIndex(get_leaf_nodes(nodes)) as index:
        base: Any = index.as_retriever(similarity_top_k=12)
        context = StorageContext.from_defaults(docstore=docstore)
        found = AutoMergingRetriever(base, context).retrieve("the harbour")
        assert any(result.node.child_nodes for result in found)


def test_documents_are_split_by_other_parsers() -> None:
    text = "\n\n".join(f"Paragraph {at} on ropes." for at in range(100))
    steps = [SentenceSplitter(chunk_size=64, chunk_overlap=0)]
    with HebbianGraphIndex.from_documents([Document(text=text)], transformations=steps) as index:
        assert index.index.stats()["chunks"] > 5


def test_types_and_names() -> None:
    """What a strict type checker sees, and what is exported."""
    hints = get_type_hints(HebbianGraphIndex.as_retriever)
    assert hints["return"] is HebbianRetriever
    assert "options" in inspect.signature(HebbianGraphIndex.as_retriever).parameters
    assert len(adapter.__all__) <= 11
    assert sorted(adapter.__all__) == adapter.__all__
    assert Path(adapter.__file__).with_name("py.typed").exists()
    sources = Path(adapter.__file__).parent.glob("*.py")
    assert sum(len(source.read_text().splitlines()) for source in sources) <= 1_800
