"""Above a vector store that people have: seeds from it, copies of texts, and what is true."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from langchain_hebbgraph import CitationLearner, HebbianRetriever
from scripted import Scripted, chain_of, key_before

from hebbgraph.errors import ParameterError

PAY = "The salary table of the Petrel crew."
DOCUMENTS = [
    Document(PAY, id="pay", metadata={"owner": "ann"}),
    Document("The menu of the galley.", id="menu", metadata={"owner": "ann"}),
]


@pytest.fixture
def store() -> InMemoryVectorStore:
    made = InMemoryVectorStore(DeterministicFakeEmbedding(size=16))
    made.add_documents(DOCUMENTS)
    return made


@pytest.fixture
def over(store: InMemoryVectorStore) -> Iterator[HebbianRetriever]:
    with HebbianRetriever(path=":memory:", vectorstore=store) as made:
        yield made


def ids(documents: list[Document]) -> list[str | None]:
    return sorted(str(document.id) for document in documents)


def test_texts_are_copied_when_the_index_is_new(over: HebbianRetriever) -> None:
    assert over.index.ids() == ["menu", "pay"]
    assert over.index.stats()["vectors"] == 0  # nothing is embedded a second time
    assert over.invoke("salary table")[0].id == "pay"


def test_edited_metadata_are_seen_at_once(
    over: HebbianRetriever, store: InMemoryVectorStore, caplog: pytest.LogCaptureFixture
) -> None:
    store.add_documents([Document(PAY, id="pay", metadata={"owner": "boss"})])
    (pay, _) = over.invoke("salary table Petrel")
    assert pay.metadata == {"owner": "boss"}
    assert "pay" not in ids(over.invoke("salary table", filter={"owner": "ann"}))
    assert "refresh() updates the index" in caplog.text
    report = over.refresh()
    assert (report.replaced, report.unchanged) == (1, 1)
    assert ids(over.invoke("salary table", filter={"owner": "boss"})) == ["pay"]
    assert ids(over.invoke("salary table", filter={"owner": "ann"})) == ["menu"]


async def test_what_is_gone_never_comes_back(
    over: HebbianRetriever, store: InMemoryVectorStore
) -> None:
    store.delete(["pay"])
    assert ids(over.invoke("salary table")) == ["menu"]
    assert ids(await over.ainvoke("salary table")) == ["menu"]
    assert over.refresh().deleted == 1
    assert over.index.ids() == ["menu"]


def test_an_edited_text_comes_back_new(over: HebbianRetriever, store: InMemoryVectorStore) -> None:
    store.add_documents([Document("The wages of the crew.", id="pay", metadata={"owner": "ann"})])
    (pay,) = (d for d in over.invoke("salary", filter={"owner": "ann"}) if d.id == "pay")
    assert pay.page_content == "The wages of the crew."
    store.add_documents([Document(" ", id="pay")])
    assert ids(over.invoke("salary")) == ["menu"]


def test_what_an_edited_text_teaches_is_in_force_after_a_refresh(
    over: HebbianRetriever, store: InMemoryVectorStore
) -> None:
    model = Scripted(answer=lambda messages: f"So much {key_before(messages, 'Gull')}.")
    store.add_documents([Document("The salary table of the Gull crew.", id="pay")])
    with CitationLearner(over, on_sigterm=False) as learner:
        chain_of(over, model).invoke("What does the crew earn?", {"callbacks": [learner]})
    (lesson,) = over.index.lessons()
    assert "rests until the same text is back" in lesson.note
    assert over.refresh().resting == 0
    assert [(one.id, one.note) for one in over.index.lessons()] == [(lesson.id, "")]
    store.delete(["pay"])
    assert over.refresh().resting == 1


def test_there_are_k_although_some_are_gone(store: InMemoryVectorStore) -> None:
    store.add_texts([f"Boat {number}" for number in range(9)], ids=[str(n) for n in range(9)])
    with HebbianRetriever(path=":memory:", vectorstore=store, k=3) as over:
        store.delete(["0", "1", "2"])
        assert len(over.invoke("Boat")) == 3


def test_a_store_that_was_filled_anew_is_seen_at_refresh(
    over: HebbianRetriever, store: InMemoryVectorStore, caplog: pytest.LogCaptureFixture
) -> None:
    store.delete(["pay", "menu"])
    store.add_documents([Document(PAY, id="p-2"), Document("The galley.", id="m-2")])
    assert over.invoke("salary table") == []
    assert "of the vector store's documents until refresh()" in caplog.text
    report = over.refresh()
    assert (report.added, report.deleted) == (2, 2)
    assert over.invoke("salary table")[0].id == "p-2"


def test_documents_are_added_and_deleted_in_both(
    over: HebbianRetriever, store: InMemoryVectorStore
) -> None:
    (new,) = over.add_documents([Document("The log of the Petrel.", metadata={"source": "log"})])
    assert store.get_by_ids([new])[0].page_content == "The log of the Petrel."
    assert over.delete(["menu"]).deleted == 1
    assert over.delete(document_id="log").deleted == 1
    assert list(store.store) == ["pay"] == over.index.ids()


class Common(VectorStore):
    """Finds by words that texts share, and has nothing else; it gives no scores."""

    def __init__(self, documents: list[Document]) -> None:
        self.documents = documents

    @classmethod
    def from_texts(cls, texts: list[str], embedding: Any, *args: Any, **kwargs: Any) -> Common:
        raise NotImplementedError

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        words = set(query.lower().split())
        shared = [len(words & set(d.page_content.lower().split())) for d in self.documents]
        order = sorted(range(len(shared)), key=lambda at: -shared[at])
        return [self.documents[at] for at in order[:k]]


class ById(Common):
    """Can be asked by id as well."""

    def get_by_ids(self, ids: Any, /) -> list[Document]:
        return [document for document in self.documents if document.id in ids]


def test_a_store_that_cannot_be_listed_takes_documents() -> None:
    with HebbianRetriever(path=":memory:", vectorstore=ById(list(DOCUMENTS))) as over:
        with pytest.raises(ParameterError, match="ById cannot list its documents"):
            over.refresh()
        over.refresh(DOCUMENTS)
        over.vectorstore.documents.pop()  # type: ignore[union-attr]
        assert ids(over.invoke("salary")) == ["pay"]
        assert over.refresh().deleted == 1
    made = HebbianRetriever.from_documents(DOCUMENTS, vectorstore=ById(list(DOCUMENTS)))
    assert made.index.ids() == ["menu", "pay"]
    with pytest.raises(ParameterError, match="ById has no document 'other'"):
        made.refresh([Document("x", id="other")])
    made.close()


def test_a_store_with_search_alone_seeds(caplog: pytest.LogCaptureFixture) -> None:
    unnamed = [Document(document.page_content) for document in DOCUMENTS]
    with HebbianRetriever.from_documents(unnamed, vectorstore=Common(unnamed), k=1) as over:
        assert over.invoke("galley menu")[0].page_content == "The menu of the galley."
        assert over.refresh(unnamed[:1]).deleted == 1
        with pytest.raises(ParameterError, match="pass its current documents"):
            over.refresh()
        over.invoke("galley")
    assert "the index lacks 1 of the vector store's documents" in caplog.text


def test_distances_and_similarities_give_the_same_seeds(store: InMemoryVectorStore) -> None:
    class Distances(InMemoryVectorStore):
        def similarity_search_with_score(
            self, query: str, k: int = 4, **kwargs: Any
        ) -> list[tuple[Document, float]]:
            found = super().similarity_search_with_score(query, k)
            return [(document, 1 - score) for document, score in found]

    other = Distances(DeterministicFakeEmbedding(size=16))
    other.add_documents(DOCUMENTS)
    found = []
    for beneath in (store, other):
        with HebbianRetriever(path=":memory:", vectorstore=beneath, score_key="s") as over:
            found.append([(d.id, round(d.metadata["s"], 6)) for d in over.invoke("wages")])
    assert found[0] == found[1]


def test_real_stores_name_documents_in_their_ways() -> None:
    model = DeterministicFakeEmbedding(size=16)
    unnamed = [Document(d.page_content, metadata=d.metadata) for d in DOCUMENTS]
    qdrant = pytest.importorskip("langchain_qdrant").QdrantVectorStore
    options: Any = {"location": ":memory:", "collection_name": "ships"}
    store = qdrant.from_documents(unnamed, model, **options)
    found = store.similarity_search("x", k=9)  # its ids are in metadata only
    with HebbianRetriever.from_documents(found, vectorstore=store) as over:
        assert len(over.invoke("salary", filter={"owner": "ann"})) == 2
        (one,) = over.add_documents([Document("The log.")])
        assert over.add_documents([Document("The log.")]) == [one]
        assert len(store.similarity_search("x", k=9)) == 3
        store.delete([one])
        assert over.refresh().deleted == 1
    faiss = pytest.importorskip("langchain_community.vectorstores").FAISS
    pytest.importorskip("faiss")
    listed = faiss.from_documents(unnamed, model)
    with HebbianRetriever(path=":memory:", vectorstore=listed, k=1) as over:
        assert over.invoke("salary table")[0].page_content == PAY


def test_nothing_is_embedded_by_a_second_model(store: InMemoryVectorStore) -> None:
    with pytest.raises(ParameterError, match="nothing is embedded; leave embedding= out"):
        HebbianRetriever(path=":memory:", vectorstore=store, embedding=store.embeddings)


def test_an_index_that_is_read_only_is_left_alone(
    store: InMemoryVectorStore, tmp_path: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with HebbianRetriever.from_documents(DOCUMENTS[:1], path=tmp_path / "m"):
        pass
    caplog.set_level(logging.ERROR)
    with HebbianRetriever(path=tmp_path / "m", vectorstore=store, read_only=True) as over:
        assert ids(over.invoke("salary")) == ["pay"]
