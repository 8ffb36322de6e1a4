"""Async methods end even if the event loop has a single thread that a model needs, too."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest_asyncio
from fakes import QUESTION, RuleLLM, WordEmbedding
from llama_index.core import Document, VectorStoreIndex
from llama_index.core.llms import ChatMessage
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores.types import VectorStoreQuery

from hebbgraph import Chunk, HebbianIndex
from llama_index.retrievers.hebbgraph import (
    CitationFormatter,
    CitationLearner,
    HebbianGraphIndex,
    HebbianMemoryBlock,
    HebbianRetriever,
    HebbianVectorStore,
)
from llama_index.retrievers.hebbgraph.embedding import LlamaIndexEmbedder

LONG = 60.0  # seconds until it counts as hanging


class ThreadedEmbedding(WordEmbedding):
    """Has no async methods of its own, like most models: the loop's threads embed."""

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return await asyncio.to_thread(self._get_query_embedding, query)

    async def _aget_text_embedding(self, text: str) -> list[float]:
        return await asyncio.to_thread(self._get_text_embedding, text)


@pytest_asyncio.fixture(autouse=True)
async def _one_thread() -> AsyncIterator[None]:
    threads = ThreadPoolExecutor(1)
    asyncio.get_running_loop().set_default_executor(threads)
    yield
    threads.shutdown(wait=False, cancel_futures=True)


async def together(*coroutines: Any) -> list[Any]:
    return await asyncio.wait_for(asyncio.gather(*coroutines), LONG)


async def test_retrieving_and_learning(nodes: list[TextNode]) -> None:
    model = ThreadedEmbedding()
    retriever = HebbianRetriever.from_nodes(nodes, embed_model=model)
    over = HebbianRetriever.from_vector_store_index(VectorStoreIndex(nodes, embed_model=model))
    engine = RetrieverQueryEngine.from_args(
        retriever, llm=RuleLLM(), node_postprocessors=[CitationFormatter()]
    )
    async with CitationLearner(retriever) as learner:
        found = await together(
            *(retriever.aretrieve(f"{QUESTION} {number}") for number in range(8)),
            *(over.aretrieve(f"{QUESTION} {number}") for number in range(8)),
            *(engine.aquery(QUESTION) for _ in range(4)),
            learner.aflush(),
        )
        assert all(found)


async def test_writing(nodes: list[TextNode]) -> None:
    index = HebbianGraphIndex(nodes[:3], embed_model=ThreadedEmbedding())
    store = HebbianVectorStore.open(":memory:", embed_model=ThreadedEmbedding())
    memory = HebbianMemoryBlock(index=store.index)
    await together(
        *(index.ainsert(Document(id_=str(number), text="Owls hunt.")) for number in range(4)),
        *(store.async_add([node]) for node in nodes),
        memory.aput([ChatMessage("I moor at Dunmore.")]),
    )
    await together(
        *(store.aquery(VectorStoreQuery(query_str=QUESTION)) for _ in range(8)),
        *(memory.aget([ChatMessage(QUESTION)]) for _ in range(4)),
    )


async def test_a_tagger_and_a_reranker(nodes: list[TextNode]) -> None:
    async def rerank(question: str, texts: list[str]) -> list[float]:
        return await asyncio.to_thread(lambda: [float(len(text)) for text in texts])

    def tag(chunk: Chunk) -> list[str]:
        return asyncio.run(asyncio.to_thread(lambda: [chunk.text.split()[0]]))

    embedder = LlamaIndexEmbedder(ThreadedEmbedding())
    with HebbianIndex.open(":memory:", embedder=embedder, reranker=rerank, tagger=tag) as index:
        retriever = HebbianRetriever(index)
        await together(retriever.aadd(nodes))
        found = await together(*(retriever.aretrieve(f"{QUESTION} {n}") for n in range(8)))
        assert all(found)
