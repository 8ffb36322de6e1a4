from __future__ import annotations

import threading

import pytest
from conftest import RecordingIndex
from fakes import WordEmbedding
from llama_index.core import VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import TextNode
from llama_index.retrievers.bm25 import BM25Retriever
from retriever_contract import RetrieverContract, slowly

from llama_index.retrievers.hebbgraph import HebbianRetriever, HebbianVectorStore


class TestHebbianRetriever(RetrieverContract):
    def make(self, nodes: list[TextNode], k: int) -> BaseRetriever:
        return HebbianRetriever.from_nodes(nodes, similarity_top_k=k)

    def slow_down(
        self, built: BaseRetriever, monkeypatch: pytest.MonkeyPatch, busy: threading.Event
    ) -> None:
        recaller = built.index._recaller
        monkeypatch.setattr(recaller, "recall", slowly(recaller.recall))


class TestWithEmbeddings(TestHebbianRetriever):
    def make(self, nodes: list[TextNode], k: int) -> BaseRetriever:
        return HebbianRetriever.from_nodes(
            nodes, similarity_top_k=k, embed_model=WordEmbedding()
        )  # fmt: skip


class TestOverAVectorStoreIndex(TestHebbianRetriever):
    def make(self, nodes: list[TextNode], k: int) -> BaseRetriever:
        vectors = VectorStoreIndex(nodes, embed_model=WordEmbedding())
        return HebbianRetriever.from_vector_store_index(vectors, similarity_top_k=k)


class TestStoreUnderVectorStoreIndex(TestHebbianRetriever):
    def make(self, nodes: list[TextNode], k: int) -> BaseRetriever:
        store = HebbianVectorStore.open(":memory:")
        store.add(nodes)
        vectors = VectorStoreIndex.from_vector_store(store, embed_model=WordEmbedding())
        return vectors.as_retriever(similarity_top_k=k)

    def slow_down(
        self, built: BaseRetriever, monkeypatch: pytest.MonkeyPatch, busy: threading.Event
    ) -> None:
        recaller = built._vector_store.index._recaller
        monkeypatch.setattr(recaller, "recall", slowly(recaller.recall))


class TestBM25(RetrieverContract):
    """LlamaIndex's own, so that the suite is not cut to our measure."""

    returns_copies = False
    async_off_loop = False
    breaks_ties = False

    def make(self, nodes: list[TextNode], k: int) -> BaseRetriever:
        return BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=k)


def test_recordings_are_indexes(index: RecordingIndex) -> None:
    assert index.recall("Petrel").hits
