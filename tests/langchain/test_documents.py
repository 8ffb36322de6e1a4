"""Ids rest on text and document; metadata come back, or are refused by name."""

from __future__ import annotations

import logging
import math
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.indexing import InMemoryRecordManager, index
from langchain_hebbgraph import HebbianRetriever, HebbianVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter

from hebbgraph.errors import InvalidChunkError


def test_the_same_texts_twice_are_the_same_passages(tmp_path: Path) -> None:
    texts = ["The Petrel was built by Ida Moss.", "Owls hunt voles."]
    for _ in range(3):
        with HebbianRetriever.from_texts(texts, path=tmp_path / "memory.hebb") as retriever:
            assert len(retriever.index.ids()) == 2
        store = HebbianVectorStore.from_texts(texts, path=tmp_path / "memory.hebb")
        assert len(store.index.ids()) == 2
        store.close()


def test_the_same_text_in_two_documents_is_two_passages() -> None:
    same = [Document("See above.", metadata={"source": source}) for source in ("a.md", "b.md")]
    with HebbianRetriever.from_documents([*same, *same]) as retriever:
        assert len(retriever.index.ids()) == 2


@pytest.mark.parametrize("add_start_index", [False, True])
def test_lessons_follow_passages_whose_text_is_the_same(add_start_index: bool) -> None:
    """A paragraph is inserted at the top; positions, and other metadata, change."""
    first = "\n\n".join(
        f"The boat number {n} was built by builder {n} in the yard of town {n}, for fish and coal."
        for n in range(12)
    )
    splitter = RecursiveCharacterTextSplitter(
        chunk_size=110, chunk_overlap=0, add_start_index=add_start_index
    )

    def split(text: str, day: str) -> list[Document]:
        whole = Document(text, metadata={"source": "boats.md", "last_modified": day})
        return splitter.split_documents([whole])

    with HebbianRetriever.from_documents(split(first, "May"), k=5) as retriever:
        recall = retriever.index.recall("Who made vessel number 7?", k=5)
        target = next(hit for hit in recall if "builder 7" in hit.text)
        retriever.index.reinforce(recall, cited=[target.id])
        taught = retriever.index.recall("Who made vessel number 7?", k=5)
        assert taught[target.id].score > target.score
        report = retriever.refresh(split(f"A new introduction.\n\n{first}", "June"))
        assert (report.replaced, report.deleted) == (11, 1)  # the first is another passage now
        after = retriever.index.recall("Who made vessel number 7?", k=5)[target.id]
        assert after.score > target.score
        assert after.metadata["last_modified"] == "June"


def test_metadata_come_back() -> None:
    metadata: dict[str, Any] = {
        "title": "Petrel",
        "source": "ships.md",
        "hebbgraph": {"anything": 1},
        "_llama_index": "kept",
        "nested": {"list": [1, 2, {"deep": None}]},
        "day": date(2024, 5, 17),
        "empty": None,
    }
    given = Document("Built by Moss.", metadata=dict(metadata))
    with HebbianRetriever.from_documents([given]) as retriever:
        (found,) = retriever.invoke("Moss")
        assert found.metadata == {**metadata, "day": "2024-05-17"}
        assert given.metadata == metadata  # untouched
        (again,) = retriever.add_documents([found])
        assert again == found.id
        assert retriever.index.ids({"hebbgraph.anything": 1}) == [found.id]


class Scored(Document):
    score: float = 0.0


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (
            Document("x", metadata={"ratio": math.nan}),
            r"documents\[1\]: .*'ratio'\] is nan",
        ),
        (
            Document("x", metadata={"a": [1, {"b": math.inf}]}),
            r"\['a'\] is \[1, {'b': inf}\], and Out of range",
        ),
        (Document("x", metadata={"model": object()}), "JSON cannot hold a object"),
        (Scored(page_content="x", score=1.0), "a Scored has the field 'score'"),
        (Document("x", id="a\nb"), "an id takes printable characters only"),
    ],
)
def test_what_cannot_be_kept_is_refused_by_name(document: Document, message: str) -> None:
    with HebbianRetriever(path=":memory:") as retriever:
        with pytest.raises(InvalidChunkError, match=message):
            retriever.add_documents([Document("fine"), document])
        assert retriever.index.ids() == []  # nothing was added


def test_blank_documents_are_left_out_and_named(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING), HebbianVectorStore.from_texts(["a"]).index as index:
        store = HebbianVectorStore(index=index)
        assert len(store.add_documents([Document(" "), Document("b"), Document("")])) == 1
    assert "2 of 3 documents have no text" in caplog.text


def test_tags_addresses_and_references_are_read() -> None:
    documents = [
        Document("Rules of the harbour.", id="rules", metadata={"addresses": ["rules.md"]}),
        Document("See there.", id="see", metadata={"references": ["rules.md"], "tags": ["Docks"]}),
        Document("Cranes.", id="cranes", metadata={"tags": ["docks"], "references": "no list"}),
    ]
    with HebbianRetriever.from_documents(documents) as retriever:
        see, cranes = retriever.index.get(["see", "cranes"])
        assert (see.references, see.tags) == (("rules.md",), ("Docks",))
        assert cranes.references == ()
        assert retriever.index.tags("docks")[0].chunks == 2


def test_langchains_indexing_keeps_a_store_in_step(ships: list[Document]) -> None:
    store = HebbianVectorStore()
    records = InMemoryRecordManager(namespace="ships")
    records.create_schema()

    def run(documents: list[Document]) -> dict[str, int]:
        options: dict[str, Any] = {"cleanup": "full", "key_encoder": "sha256"}
        return dict(index(documents, records, store, source_id_key="source", **options))

    for document in ships:
        document.metadata.setdefault("source", "bread.md")
    assert run(ships)["num_added"] == 3
    assert run(ships)["num_skipped"] == 3
    assert run(ships[:2])["num_deleted"] == 1
    assert len(store.index.ids()) == 2
    store.close()
