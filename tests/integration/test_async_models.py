"""Async methods end however few threads the event loop has, whatever a model does with them."""

from __future__ import annotations

import asyncio
import multiprocessing
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from hebbgraph import Chunk, HebbianIndex

TEXTS = [{"id": str(n), "text": f"Owl {n} hunts voles at night."} for n in range(8)]
LONG = 60.0  # seconds until it counts as hanging


def _vector(text: str) -> list[float]:
    return [1.0 + text.count(letter) for letter in "aehor"]


class ThreadedModel:
    """As LangChain's Embeddings are: async methods run the others in the loop's own threads."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [_vector(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return _vector(text)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(None, self.embed_documents, texts)

    async def aembed_query(self, text: str) -> list[float]:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(None, self.embed_query, text)


class AskingModel(ThreadedModel):
    """A model that asks an index before it answers."""

    def __init__(self, index: HebbianIndex) -> None:
        self.index = index

    async def aembed_query(self, text: str) -> list[float]:
        await self.index.arecall(text)
        return await super().aembed_query(text)


@pytest.fixture
def one_thread() -> Iterator[ThreadPoolExecutor]:
    threads = ThreadPoolExecutor(1)
    yield threads
    threads.shutdown(wait=False, cancel_futures=True)


async def _many(index: HebbianIndex, threads: ThreadPoolExecutor, count: int) -> list[Any]:
    asyncio.get_running_loop().set_default_executor(threads)
    await asyncio.wait_for(index.aadd(TEXTS), LONG)
    questions = [f"Which owl hunts {n} voles?" for n in range(count)]
    return await asyncio.wait_for(asyncio.gather(*map(index.arecall, questions)), LONG)


async def test_an_embedder(one_thread: ThreadPoolExecutor) -> None:
    with HebbianIndex.open(":memory:", embedder=ThreadedModel()) as index:
        assert all(recall.hits for recall in await _many(index, one_thread, 12))


async def test_an_embedder_that_asks_an_index_itself(one_thread: ThreadPoolExecutor) -> None:
    with HebbianIndex.open(":memory:") as asked:
        asked.add(TEXTS)
        with HebbianIndex.open(":memory:", embedder=AskingModel(asked)) as index:
            assert all(recall.hits for recall in await _many(index, one_thread, 40))


async def test_a_reranker_and_a_tagger(one_thread: ThreadPoolExecutor) -> None:
    async def rerank(question: str, texts: list[str]) -> list[float]:
        return await asyncio.to_thread(lambda: [float(len(text)) for text in texts])

    def tag(chunk: Chunk) -> list[str]:
        return asyncio.run(asyncio.to_thread(lambda: [chunk.text.split()[0]]))

    with HebbianIndex.open(":memory:", reranker=rerank, tagger=tag) as index:
        recalls = await _many(index, one_thread, 12)
        assert all(recall.hits[0].reranked is not None for recall in recalls)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
async def test_a_forked_process_has_threads_of_its_own() -> None:
    with HebbianIndex.open(":memory:") as index:
        await index.astats()
        child = multiprocessing.get_context("fork").Process(target=_ask_again)
        child.start()
        await asyncio.to_thread(child.join, LONG)
        assert child.exitcode == 0


def _ask_again() -> None:
    async def ask() -> None:
        with HebbianIndex.open(":memory:") as index:
            await index.aadd(TEXTS)

    loop = asyncio.new_event_loop()
    asyncio.events._set_running_loop(None)
    loop.run_until_complete(asyncio.wait_for(ask(), LONG))
