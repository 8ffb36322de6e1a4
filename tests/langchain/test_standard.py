"""LangChain's own suites, whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from langchain_hebbgraph import HebbianRetriever, HebbianVectorStore
from langchain_tests.integration_tests import (
    RetrieversIntegrationTests,
    VectorStoreIntegrationTests,
)

TEXTS = ["The Petrel was built by Ida Moss.", "Ida Moss was born here.", "Bread.", "Heron"]


class TestRetriever(RetrieversIntegrationTests):
    @property
    def retriever_constructor(self) -> Any:
        return HebbianRetriever.from_texts

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"texts": TEXTS}

    @property
    def retriever_query_example(self) -> str:
        return "Who built the Petrel?"


class TestRetrieverWithEmbedding(TestRetriever):
    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"texts": TEXTS, "embedding": DeterministicFakeEmbedding(size=8)}


class TestRetrieverAboveAVectorStore(TestRetriever):
    @property
    def retriever_constructor(self) -> Any:
        return HebbianRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
        store.add_texts(TEXTS)
        return {"path": ":memory:", "vectorstore": store}


class TestRetrieverOfTheVectorStore(RetrieversIntegrationTests):
    @property
    def retriever_constructor(self) -> Any:
        def make(k: int = 4) -> BaseRetriever:
            store = HebbianVectorStore.from_texts(TEXTS)
            return store.as_retriever(search_kwargs={"k": k})

        return make

    @property
    def retriever_query_example(self) -> str:
        return "Who built the Petrel?"


@pytest.mark.filterwarnings("ignore:HebbianIndex.* is empty")
class TestVectorStore(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self) -> Iterator[VectorStore]:
        store = HebbianVectorStore(self.get_embeddings())
        yield store
        store.close()


@pytest.mark.filterwarnings("ignore:HebbianIndex.* is empty")
class TestVectorStoreWithoutEmbedding(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self) -> Iterator[VectorStore]:
        store = HebbianVectorStore()
        yield store
        store.close()


@pytest.mark.filterwarnings("ignore:HebbianIndex.* is empty")
class TestVectorStoreOnDisk(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self, tmp_path: Path) -> Iterator[VectorStore]:
        store = HebbianVectorStore(self.get_embeddings(), path=tmp_path / "memory.hebb")
        yield store
        store.close()
