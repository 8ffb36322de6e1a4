"""Questions at once end, however few threads the event loop has to lend."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_hebbgraph import HebbianRetriever, HebbianStore, HebbianVectorStore

MODEL = DeterministicFakeEmbedding(size=8)  # whose async methods run in the loop's threads
QUESTIONS = [f"Who built the Petrel, asked {n} times?" for n in range(8)]
LONG = 60.0  # seconds until it counts as hanging


@pytest.fixture
def one_thread() -> Iterator[ThreadPoolExecutor]:
    threads = ThreadPoolExecutor(1)
    yield threads
    threads.shutdown(wait=False, cancel_futures=True)


async def test_a_retriever_a_vector_store_and_a_store(
    documents: list[Document], one_thread: ThreadPoolExecutor
) -> None:
    asyncio.get_running_loop().set_default_executor(one_thread)
    retriever = HebbianRetriever.from_documents(documents, embedding=MODEL, k=2)
    vectors = HebbianVectorStore.from_documents(documents, MODEL)
    memory = HebbianStore.open(":memory:", embedding=MODEL)
    beneath = InMemoryVectorStore(MODEL)
    await beneath.aadd_documents(documents)
    over = HebbianRetriever.from_vectorstore(beneath, documents=documents, k=2)
    await asyncio.wait_for(memory.aput(("a",), "1", {"text": "Ida built the Petrel."}), LONG)
    for asked in (
        retriever.abatch(QUESTIONS),
        over.abatch(QUESTIONS),
        asyncio.gather(*(vectors.asimilarity_search(one, k=2) for one in QUESTIONS)),
        asyncio.gather(*(memory.asearch(("a",), query=one) for one in QUESTIONS)),
    ):
        answers = await asyncio.wait_for(asked, LONG)
        assert len(answers) == len(QUESTIONS)
        assert all(answers)
