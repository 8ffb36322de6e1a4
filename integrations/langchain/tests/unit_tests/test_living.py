"""Documents live: what is changed or deleted, here or in a store beneath, does not come back."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from hebbgraph import NotFoundError, ParameterError
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_hebbgraph import HebbianRetriever, HebbianTextSplitter, HebbianVectorStore
from langchain_hebbgraph.texts import texts_of

BUILT = Document("The Petrel was built by Ida Moss.", id="petrel", metadata={"title": "Petrel"})
BREAD = Document("Bread rises when yeast turns sugar into gas.", id="bread")
SUNK = BUILT.model_copy(update={"page_content": "The Petrel was sunk by Jon Ash."})
QUERY = "What became of the Petrel?"


def texts(found: list[Document]) -> list[str]:
    return [one.page_content for one in found]


# -- in an index of its own ------------------------------------------------------------


def test_from_documents_adds_whatever_it_is_called_with(tmp_path: Path) -> None:
    pages = [
        Document(f"Page {n} tells of owls.", id=f"p{n}", metadata={"source": "https://o.org/a.pdf"})
        for n in range(10)
    ]
    for first in range(0, 10, 4):
        with HebbianRetriever.from_documents(pages[first : first + 4], location=tmp_path):
            pass
    with HebbianRetriever.from_texts(["Bread rises."], location=tmp_path) as retriever:
        assert retriever.index.stats().chunks == 11


def test_refresh_puts_pieces_of_a_changed_file_in_the_place_of_the_old(tmp_path: Path) -> None:
    def pieces(text: str) -> list[Document]:
        page = Document(text, metadata={"source": "docs/tides.md"})
        other = Document("A note on owls.", metadata={"source": "wiki"})
        return [*HebbianTextSplitter(chunk_tokens=(1, 16)).split_documents([page]), other]

    old = pieces("# Tides\n\nThe tide rises at six.\n\n## Moon\n\nThe moon draws it.")
    with HebbianRetriever.from_documents(old, location=tmp_path):
        pass
    new = pieces("# Tides\n\nThe tide rises at seven.")
    note = Document("A note on bread.", metadata={"source": "wiki"})
    with HebbianRetriever.from_documents([note], location=tmp_path) as retriever:
        assert retriever.refresh([new[0]]).deleted == 2
        held = {chunk.text for chunk in retriever.index.get(retriever.index.ids())}
        assert held == {new[0].page_content, "A note on owls.", "A note on bread."}
        report = retriever.refresh([note])
        assert (report.unchanged, report.deleted) == (1, 1)
        report = retriever.refresh([note], delete_missing=True)
        assert retriever.index.stats().chunks == 1


async def test_adding_deleting_refreshing() -> None:
    with HebbianRetriever.from_documents([BUILT]) as retriever:
        bad = Document("x", metadata={"n": float("inf")})
        report = retriever.add([BREAD, bad, Document("ice\x00trade")], on_error="skip")
        assert (report.added, report.cleaned, report.failed[0].position) == (2, 1, 1)
        assert retriever.delete(["bread", "nobody"]) == 1
        assert (await retriever.aadd([SUNK])).replaced == 1
        assert (await retriever.arefresh([SUNK], delete_missing=True)).deleted == 1
        assert await retriever.adelete(["petrel"]) == 1
        assert retriever.invoke(QUERY) == []
        with pytest.raises(ParameterError, match="only over a vector store"):
            retriever.refresh()


def test_a_dense_index_without_its_model_is_mended_by_adding_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with HebbianRetriever.from_documents([BUILT], location=tmp_path):
        pass
    model = DeterministicFakeEmbedding(size=8)
    with HebbianRetriever.from_documents([BUILT], model, location=tmp_path) as retriever:
        assert retriever.index.maintenance.reembed() == 0  # it had been embedded
    caplog.set_level(logging.WARNING)
    with HebbianRetriever.from_documents([BREAD], location=tmp_path) as retriever:
        retriever.invoke(QUERY)
    assert len([one for one in caplog.records if "opened without that model" in one.message]) == 1


# -- over a store ------------------------------------------------------------------------


def store_of(*documents: Document) -> InMemoryVectorStore:
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    store.add_documents(list(documents))
    return store


@pytest.mark.parametrize("keep_text", [True, False])
async def test_what_the_store_deletes_and_edits_is_followed(keep_text: bool) -> None:
    store = store_of(BUILT, BREAD)
    retriever = HebbianRetriever.from_vectorstore(
        store, documents=[BUILT, BREAD], keep_text=keep_text, k=2, options={"seed_k": 1}
    )
    assert set(texts(retriever.invoke(QUERY))) == {BUILT.page_content, BREAD.page_content}
    store.add_documents([SUNK])
    for found in (retriever.invoke(QUERY), await retriever.ainvoke(QUERY)):
        assert set(texts(found)) == {SUNK.page_content, BREAD.page_content}
    store.delete(["petrel"])
    for found in (retriever.invoke(QUERY), await retriever.ainvoke(QUERY)):
        assert texts(found) == [BREAD.page_content]
    assert retriever.refresh().deleted == 1
    assert retriever.index.ids() == ["bread"]
    store.delete(["bread"])
    assert retriever.invoke(QUERY) == []


def test_an_edit_reaches_the_graph_unless_it_must_not_grow() -> None:
    for grow in (True, False):
        store = store_of(BUILT)
        retriever = HebbianRetriever.from_vectorstore(
            store, documents=[BUILT], options={"grow": grow}
        )
        store.add_documents([SUNK])
        assert texts(retriever.invoke(QUERY)) == [SUNK.page_content]
        (chunk,) = retriever.index.get(["petrel"])
        assert (chunk.text == SUNK.page_content) is grow
        assert retriever.refresh().replaced == (0 if grow else 1)


def test_what_the_graph_knows_beyond_the_store_stays() -> None:
    bare = Document(BUILT.page_content, id="petrel")  # a store without metadata
    store = store_of(bare)
    retriever = HebbianRetriever.from_vectorstore(store, documents=[BUILT])
    assert retriever.invoke(QUERY) == [BUILT]
    store.add_documents([bare.model_copy(update={"page_content": SUNK.page_content})])
    for _ in range(2):
        assert retriever.invoke(QUERY) == [SUNK]
    assert retriever.refresh().replaced == 0
    assert retriever.index.get(["petrel"])[0].title == "Petrel"


def test_a_store_that_cannot_be_asked_by_id_is_believed() -> None:
    class Mute(InMemoryVectorStore):
        def get_by_ids(self, ids: Any, /) -> list[Document]:
            return []  # it looks in another namespace, say

    store = Mute(DeterministicFakeEmbedding(size=8))
    store.add_documents([BUILT, BREAD])
    retriever = HebbianRetriever.from_vectorstore(
        store, documents=[BUILT, BREAD], options={"seed_k": 1}
    )
    assert len(retriever.invoke(QUERY)) == 2
    over = HebbianRetriever.from_vectorstore(store.as_retriever(), documents=[BUILT])
    with pytest.raises(ParameterError, match="hand over those that it holds now"):
        over.refresh()


def test_a_store_that_fails_to_be_asked_by_id_fails_no_search(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken(InMemoryVectorStore):  # Chroma's, for documents without metadata
        def get_by_ids(self, ids: Any, /) -> list[Document]:
            raise ValueError("metadata is None")

    store = Broken(DeterministicFakeEmbedding(size=8))
    store.add_documents([BUILT, BREAD])
    retriever = HebbianRetriever.from_vectorstore(
        store, documents=[BUILT, BREAD], options={"seed_k": 1}
    )
    for _ in range(2):
        assert len(retriever.invoke(QUERY)) == 2
    assert caplog.text.count("cannot be asked for documents by id") == 1
    assert retriever.delete(["bread"]) == 1
    with pytest.raises(ValueError, match="metadata is None"):
        retriever.refresh()


def test_what_is_written_goes_to_both() -> None:
    store = store_of(BUILT)
    retriever = HebbianRetriever.from_vectorstore(store, documents=[BUILT])
    assert retriever.add([BREAD, Document("x", id="x", metadata={"source": "x.md"})]).added == 2
    assert len(store.get_by_ids(["bread", "x"])) == 2
    assert retriever.delete(["bread", "nobody"]) == 1
    assert retriever.delete(document_id="x.md") == 1
    assert store.get_by_ids(["bread", "x"]) == []
    bad = Document("x", id="bad", metadata={"n": float("inf")})
    assert retriever.add([bad, SUNK], on_error="skip").failed[0].id == "bad"
    assert store.get_by_ids(["bad"]) == []


def test_blank_pages_are_skipped_and_named(caplog: pytest.LogCaptureFixture) -> None:
    page = Document("The Petrel was built in Dunmore.", id="p1", metadata={"source": "scan.pdf"})
    blank = Document(" \n\x00", id="p2", metadata={"source": "scan.pdf"})
    store = store_of(Document("", id="p2"), page)
    with HebbianRetriever.from_documents([page, blank]) as retriever:
        assert retriever.index.ids() == ["p1"]
        assert "chunks were skipped: 1; the first: chunk 'p2': it has neither text" in caplog.text
        assert [one.id for one in retriever.add([blank]).failed] == ["p2"]
        retriever.refresh([page.model_copy(update={"page_content": ""})])
        assert retriever.index.ids() == []
    own = HebbianVectorStore()
    assert own.add_documents([blank, page]) == ["p2", "p1"]
    assert own.index.ids() == ["p1"]
    over = HebbianRetriever.from_vectorstore(store, documents=[page], k=2)
    store.add_documents([Document("\t", id="p1")])
    assert over.invoke("Petrel")
    assert over.refresh().deleted == 1
    assert over.index.ids() == []


def test_scores_of_the_store_count_whether_they_rise_or_fall() -> None:
    class Distances(InMemoryVectorStore):
        def similarity_search_with_score(self, *args: Any, **kwargs: Any) -> Any:
            pairs = super().similarity_search_with_score(*args, **kwargs)
            return [(document, 2.0 - 2.0 * score) for document, score in pairs]

    documents = [Document(f"Boat {n} lies at berth {n}.", id=f"boat-{n}") for n in range(9)]
    rankings = []
    for kind in (InMemoryVectorStore, Distances):
        store = kind(DeterministicFakeEmbedding(size=8))
        store.add_documents(documents)
        retriever = HebbianRetriever.from_vectorstore(store, documents=documents, score_key="s")
        rankings.append([(one.id, one.metadata["s"]) for one in retriever.invoke("Which berth?")])
    for one, other in zip(*rankings, strict=True):
        assert one[0] == other[0]
        assert one[1] == pytest.approx(other[1])


# -- how it was found ----------------------------------------------------------------------


def test_why_this_came_back() -> None:
    with HebbianRetriever.from_documents([BUILT, BREAD]) as retriever:
        (found, *_) = retriever.invoke("Who built the Petrel?")
        assert "hebbgraph" not in found.metadata
        retriever.index.keep_recalls()
        assert retriever.why(found).chunk_id == retriever.why("petrel").chunk_id == "petrel"
        (found, *_) = retriever.invoke("Who built the Petrel?", include_path=True)
        trail = found.metadata["hebbgraph"]
        assert trail["path"] == "question → Petrel"
        assert trail["cues"] == ["petrel"]
        assert retriever.index.find_recall(trail["recall_id"]) is not None
        assert retriever.why(found).chunk_id == "petrel"
        assert retriever.add([found]).unchanged == 1  # the path is not kept with the document
        with pytest.raises(NotFoundError, match="ask first"):
            retriever.why("nobody")
        with HebbianRetriever.from_documents([BUILT, BREAD]) as other:
            (foreign, *_) = other.invoke("Who built the Petrel?")
        del other  # what it returned is known all the same
        with pytest.raises(ParameterError, match="'petrel' came back from another retriever"):
            retriever.why(foreign)
        wrong: Any = 3
        with pytest.raises(ParameterError, match="why takes a document that came back"):
            retriever.why(wrong)


async def test_mmr_and_thresholds_per_call() -> None:
    twins = [Document(f"The Petrel was built by Ida Moss{end}", id=end) for end in ("!", "?")]
    other = Document("The Petrel sank.", id="sank")
    with HebbianRetriever.from_documents([*twins, other], k=2) as retriever:
        query = "Who built the Petrel?"
        assert {one.id for one in retriever.invoke(query)} == {"!", "?"}
        options: dict[str, Any] = {"search_type": "mmr", "lambda_mult": 0.3}
        for found in (
            retriever.invoke(query, **options),
            await retriever.ainvoke(query, **options),
            HebbianRetriever.from_index(retriever.index, k=2, search_kwargs=options).invoke(query),
        ):
            assert "sank" in {one.id for one in found}
        retriever.add([BREAD])
        above = retriever.invoke(query, k=4, score_threshold=0.2)
        assert "bread" not in {one.id for one in above}


# -- elsewhere -------------------------------------------------------------------------------


def test_a_vector_store_needs_no_embedding() -> None:
    store = HebbianVectorStore.from_documents([BUILT, BREAD])
    assert store.similarity_search(QUERY, k=1)[0].id == "petrel"


def test_a_docstore_gives_texts_as_they_were_cleaned() -> None:
    docstore = InMemoryStore()
    docstore.mset([("a", Document("ice\x00trade on the\x92coast", id="a"))])
    assert texts_of(docstore)(["a"]) == {"a": "ice trade on the’coast"}
