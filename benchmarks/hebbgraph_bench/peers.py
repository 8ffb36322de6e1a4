"""Retrievers of other projects, set up as their users would, on the same vectors.

- LlamaIndex ``QueryFusionRetriever`` (MIT): BM25 and dense, by reciprocal rank fusion,
  without questions rewritten by an LLM.
- LangChain ``EnsembleRetriever`` (MIT): LangChain's versions of the same two.

They need the extra ``peers`` and are imported when first indexed.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
from hebbgraph.errors import MissingExtraError
from hebbgraph.protocols import Embedder
from hebbgraph.records import Chunk

from hebbgraph_bench.baselines import BM25, RankedChunk, passage_text

__all__ = ["EnsemblePeer", "QueryFusionPeer", "load_peer"]


class QueryFusionPeer:
    """LlamaIndex ``QueryFusionRetriever`` over its ``BM25Retriever`` and vector index.

    Parameters
    ----------
    embedder : Embedder
    candidates : int
        Hits to take from each of the two.

    Raises
    ------
    MissingExtraError
        If it is not installed.
    """

    name = "LlamaIndex QueryFusionRetriever"

    def __init__(self, embedder: Embedder, *, candidates: int = 100) -> None:
        self._library = load_peer(
            self.name,
            "llama_index.core",
            "llama_index.core.llms",
            "llama_index.core.retrievers",
            "llama_index.core.schema",
            "llama_index.retrievers.bm25",
        )
        self.embedder = embedder
        self.candidates = candidates
        self._retriever: Any = None

    def index(self, chunks: Sequence[Chunk], /) -> None:
        """Fill both indexes."""
        core, llms, retrievers, schema, bm25 = self._library
        texts = [passage_text(chunk) for chunk in chunks]
        vectors = np.asarray(self.embedder.embed_documents(texts), dtype=np.float64)
        nodes = [
            schema.TextNode(id_=chunk.id, text=text, embedding=vector)
            for chunk, text, vector in zip(chunks, texts, vectors.tolist(), strict=True)
        ]
        # Nodes and questions have their vectors: the mock is never called.
        index = core.VectorStoreIndex(nodes, embed_model=core.MockEmbedding(vectors.shape[1]))
        depth = min(self.candidates, len(nodes))
        lexical = bm25.BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=depth)
        self._retriever = retrievers.QueryFusionRetriever(
            [index.as_retriever(similarity_top_k=depth), lexical],
            llm=llms.MockLLM(),
            num_queries=1,
            mode="reciprocal_rerank",
            similarity_top_k=depth,
            use_async=False,
        )

    def retrieve(self, query: str, k: int, /) -> list[RankedChunk]:
        """Fuse."""
        vector = np.asarray(self.embedder.embed_query(query), dtype=np.float64).tolist()
        nodes = self._retriever.retrieve(self._library[3].QueryBundle(query, embedding=vector))
        return [RankedChunk(hit.node.node_id, float(hit.score or 0.0)) for hit in nodes[:k]]

    def close(self) -> None:
        """Drop both indexes."""
        self._retriever = None


class EnsemblePeer:
    """LangChain ``EnsembleRetriever`` over its ``BM25Retriever`` and an in-memory vector store.

    Parameters
    ----------
    embedder : Embedder
    candidates : int
        Hits to take from each of the two.

    Raises
    ------
    MissingExtraError
        If it is not installed.

    Notes
    -----
    ``BM25Retriever`` splits at spaces unless told otherwise, which misses every word before a
    comma. It is given the tokens of our BM25.
    """

    name = "LangChain EnsembleRetriever"

    def __init__(self, embedder: Embedder, *, candidates: int = 100) -> None:
        self._library = load_peer(
            self.name,
            "langchain_classic.retrievers.ensemble",
            "langchain_community.retrievers.bm25",
            "rank_bm25",
            "langchain_core.documents",
            "langchain_core.vectorstores",
        )
        self.embedder = embedder
        self.candidates = candidates
        self._retriever: Any = None

    def index(self, chunks: Sequence[Chunk], /) -> None:
        """Fill both indexes."""
        ensemble, bm25, _, records, stores = self._library
        documents = [
            records.Document(id=chunk.id, page_content=passage_text(chunk)) for chunk in chunks
        ]
        store = stores.InMemoryVectorStore(_ListEmbedder(self.embedder))
        store.add_documents(documents, ids=[chunk.id for chunk in chunks])
        depth = min(self.candidates, len(documents))
        lexical = bm25.BM25Retriever.from_documents(
            documents, preprocess_func=BM25().tokens, k=depth
        )
        dense = store.as_retriever(search_kwargs={"k": depth})
        self._retriever = ensemble.EnsembleRetriever(
            retrievers=[lexical, dense], weights=[0.5, 0.5], id_key=None
        )

    def retrieve(self, query: str, k: int, /) -> list[RankedChunk]:
        """Fuse."""
        documents = self._retriever.invoke(query)[:k]
        return [RankedChunk(document.id, 1 / rank) for rank, document in enumerate(documents, 1)]

    def close(self) -> None:
        """Drop both indexes."""
        self._retriever = None


def load_peer(name: str, *modules: str) -> list[Any]:
    """Import what a peer needs, or say how it is installed."""
    try:
        return [import_module(module) for module in modules]
    except ImportError as error:
        raise MissingExtraError(
            f"comparing with {name} needs {error.name}, which is not installed;"
            ' run: pip install "hebbgraph-bench[peers]"'
        ) from error


class _ListEmbedder:
    """An embedder whose vectors are lists of float, as LangChain has them."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        lists: list[list[float]] = np.asarray(
            self._embedder.embed_documents(texts), dtype=np.float64
        ).tolist()
        return lists

    def embed_query(self, text: str) -> list[float]:
        return [float(value) for value in self._embedder.embed_query(text)]
