"""Over a store, its vectors weigh what its search did not return: hits are those of an index."""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hebbgraph import ParameterError
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from langchain_hebbgraph import HebbianRetriever
from langchain_hebbgraph.options import SearchOptions

PLACES = ["Anwick", "Borve", "Crail", "Dornie", "Elgol", "Fyvie", "Garve", "Huna"]
METALS = ["brass", "tin", "iron", "lead", "zinc", "steel", "copper", "pewter"]
DOCUMENTS = [
    Document(text, id=f"{place}-{n}", metadata={"place": place})
    for place, metal in zip(PLACES, METALS, strict=True)
    for n, text in enumerate(
        (
            f"The ferry to {place} carries {metal} in summer.",
            f"{place} lies by the sea; its bell is of {metal}.",
            f"A keeper tends the lamp of {place} through winter storms.",
        )
    )
]
QUESTIONS = [
    "Where is a bell of copper?",
    "Who tends the lamp of Crail?",
    "What lies by the sea at Huna?",
]


class Words(Embeddings):
    """Hashed words; counts what it embeds."""

    def __init__(self) -> None:
        self.passages = 0
        self.questions = 0

    def _of(self, text: str) -> list[float]:
        vector = [0.02] * 48
        for word in re.findall(r"\w+", text.lower()):
            vector[sum(map(ord, word)) % 48] += 1.0
        return vector

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.passages += len(texts)
        return list(map(self._of, texts))

    def embed_query(self, text: str) -> list[float]:
        self.questions += 1
        return self._of(text)


class Bare(VectorStore):
    """Gives no vectors back, as most stores."""

    def __init__(self, embedding: Embeddings) -> None:
        self.inner = InMemoryVectorStore(embedding)

    @property
    def embeddings(self) -> Embeddings:
        return self.inner.embeddings

    def add_documents(self, documents: list[Document], **kwargs: Any) -> list[str]:
        return self.inner.add_documents(documents, **kwargs)

    def delete(self, ids: Any = None, **kwargs: Any) -> None:
        self.inner.delete(ids)

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        return self.inner.get_by_ids(ids)

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        return self.inner.similarity_search(query, k=k, **kwargs)

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, **kwargs: Any
    ) -> list[Document]:
        return self.inner.similarity_search_by_vector(embedding, k=k, **kwargs)

    @classmethod
    def from_texts(cls, *args: Any, **kwargs: Any) -> Bare:
        raise NotImplementedError


class Numbered(Bare):
    """As FAISS: vectors by number, and the ids of the numbers."""

    def __init__(self, embedding: Embeddings) -> None:
        super().__init__(embedding)
        self.index_to_docstore_id: dict[int, str] = {}
        self.index = SimpleNamespace(reconstruct=self._reconstruct)

    def _reconstruct(self, number: int) -> Any:
        return np.array(self.inner.store[self.index_to_docstore_id[number]]["vector"])

    def add_documents(self, documents: list[Document], **kwargs: Any) -> list[str]:
        ids = super().add_documents(documents, **kwargs)
        self.index_to_docstore_id.update(enumerate(ids, len(self.index_to_docstore_id)))
        return ids

    def delete(self, ids: Any = None, **kwargs: Any) -> None:
        super().delete(ids)
        left = [one for one in self.index_to_docstore_id.values() if one not in ids]
        self.index_to_docstore_id = dict(enumerate(left))


class Included(Bare):
    """As Chroma: ``get(ids, include=...)``."""

    def get(self, ids: list[str], include: list[str]) -> dict[str, Any]:
        assert include == ["embeddings"]
        held = [id_ for id_ in ids if id_ in self.inner.store]
        vectors = np.array([self.inner.store[id_]["vector"] for id_ in held])
        return {"ids": held[::-1], "embeddings": vectors[::-1]}


def faiss(embedding: Embeddings) -> VectorStore:
    community = pytest.importorskip("langchain_community.vectorstores")
    pytest.importorskip("faiss")
    kept = Document("Nobody asks for this.", id="other")
    store: VectorStore = community.FAISS.from_documents([kept], embedding, ids=["other"])
    return store


def chroma(embedding: Embeddings) -> VectorStore:
    module = pytest.importorskip("langchain_chroma")
    store: VectorStore = module.Chroma(embedding_function=embedding, collection_name="places")
    store.reset_collection()  # type: ignore[attr-defined]
    return store


@pytest.fixture(params=[InMemoryVectorStore, Numbered, Included, faiss, chroma])
def store(request: pytest.FixtureRequest) -> VectorStore:
    made = request.param(Words())
    made.add_documents(DOCUMENTS, ids=[one.id for one in DOCUMENTS])
    return made


def over(store: Any, seed_vectors: Any = None, **fields: Any) -> HebbianRetriever:
    options = SearchOptions(seed_k=10, seed_vectors=seed_vectors)
    return HebbianRetriever.from_vectorstore(
        store, documents=DOCUMENTS, k=8, options=options, **fields
    )


def found(documents: list[Document]) -> list[str | None]:
    """The best, whose scores stand apart: all else ties or nearly ties."""
    return [one.id for one in documents[:2]]


async def test_hits_are_those_of_an_index_with_the_same_embeddings(store: VectorStore) -> None:
    alone = HebbianRetriever.from_documents(DOCUMENTS, Words(), k=8)
    retriever = over(store)
    for question in QUESTIONS:
        wanted = found(alone.invoke(question))
        assert found(retriever.invoke(question)) == wanted
        assert found(await retriever.ainvoke(question)) == wanted
    words: Any = store.embeddings
    assert words.questions == 2 * len(QUESTIONS)  # for search and comparison, once
    assert words.passages <= len(DOCUMENTS) + 1


def test_what_is_deleted_leaves_the_other_vectors_in_place(store: VectorStore) -> None:
    retriever = over(store)
    assert found(retriever.invoke(QUESTIONS[1]))[0] == "Crail-2"
    gone = [one.id or "" for one in DOCUMENTS if one.metadata["place"] in ("Anwick", "Borve")]
    store.delete(gone)
    after = [one.id for one in retriever.invoke(QUESTIONS[1])]
    assert after[0] == "Crail-2"
    assert not set(after) & set(gone)


def test_a_store_that_gives_no_vectors_can_have_its_texts_embedded() -> None:
    words = Words()
    store = Bare(words)
    store.add_documents(DOCUMENTS)
    alone = HebbianRetriever.from_documents(DOCUMENTS, Words(), k=8)
    retriever = over(store, seed_vectors="embed")
    for _ in range(2):
        for question in QUESTIONS:
            assert found(retriever.invoke(question)) == found(alone.invoke(question))
        assert words.passages == 2 * len(DOCUMENTS)  # each once more
    retriever = over(store)
    retriever.invoke(QUESTIONS[0])
    assert words.passages == 2 * len(DOCUMENTS)
    read = over(
        store, seed_vectors=lambda ids: {id_: store.inner.store[id_]["vector"] for id_ in ids}
    )
    assert found(read.invoke(QUESTIONS[2])) == found(alone.invoke(QUESTIONS[2]))


def test_a_store_whose_vectors_cannot_be_read_is_searched_all_the_same(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken(Included):
        def get(self, ids: list[str], include: list[str]) -> dict[str, Any]:
            raise ConnectionError("gone")

    store = Broken(Words())
    store.add_documents(DOCUMENTS)
    retriever = over(store)
    for _ in range(2):
        assert len(retriever.invoke(QUESTIONS[0])) == 8
    assert caplog.text.count("ConnectionError: gone") == 1


def test_what_cannot_be_compared_is_refused() -> None:
    store = InMemoryVectorStore(Words())
    with pytest.raises(ParameterError, match='or "embed"'):
        over(store, seed_vectors="embedding")
    with pytest.raises(ParameterError, match="the question is embedded too"):
        over(store.as_retriever(), seed_vectors="embed")


@pytest.mark.parametrize("seed_vectors", [None, "embed", lambda ids: {}])
def test_what_a_score_is_made_of_adds_up(seed_vectors: Any) -> None:
    store = InMemoryVectorStore(Words())
    store.add_documents(DOCUMENTS)
    retriever = over(store, seed_vectors=seed_vectors, include_path=True, score_key="score")
    retriever.index.keep_recalls()
    for taught in (False, True):
        documents = retriever.invoke(QUESTIONS[1])
        for document in documents:
            causes = retriever.why(document).causes
            score = document.metadata["score"]
            assert sum(causes.model_dump().values()) == pytest.approx(score, abs=1e-9)
        if not taught:
            recall = retriever.index.find_recall(documents[0].metadata["hebbgraph"]["recall_id"])
            assert recall is not None
            retriever.index.reinforce(recall, [documents[-1].id or ""])
