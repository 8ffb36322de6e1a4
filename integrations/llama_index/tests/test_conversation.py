"""Follow-ups: a bundle that carries its turns, a chat engine's memory; rerankers of both sides."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from fakes import WordEmbedding
from llama_index.core import VectorStoreIndex
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.chat_engine import ContextChatEngine
from llama_index.core.llms import MockLLM
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from hebbgraph import HebbianIndex, RerankSettings, Settings
from llama_index.retrievers.hebbgraph import HebbianRetriever, RecallBundle
from llama_index.retrievers.hebbgraph.embedding import LlamaIndexEmbedder

NODES = [
    TextNode(id_="port-summer", text="Mooring in Tessel Bay: in summer the port asks nine crowns."),
    TextNode(id_="port-winter", text="Mooring in Tessel Bay: in winter the port asks four crowns."),
    TextNode(id_="ski-winter", text="The ski lift on Gannet Fell runs in winter, if it snows."),
    TextNode(id_="bread", text="Rye bread rises slowly; leave the dough in a warm place."),
]
MOORING = "What does mooring in the port of Tessel Bay cost in summer?"
LIFT = "When does the ski lift on Gannet Fell run?"
FOLLOW_UP = "And in winter?"


@pytest.fixture
def retriever() -> Iterator[HebbianRetriever]:
    made = HebbianRetriever.from_nodes(NODES, similarity_top_k=2)
    yield made
    made.index.close()


def best(nodes: list[NodeWithScore]) -> str:
    return nodes[0].node_id


async def test_a_bundle_carries_its_turns(retriever: HebbianRetriever) -> None:
    mooring = RecallBundle(FOLLOW_UP, history=[MOORING])
    assert best(retriever.retrieve(mooring)) == "port-winter"
    assert best(await retriever.aretrieve(mooring)) == "port-winter"
    assert best(retriever.retrieve(RecallBundle(FOLLOW_UP, history=[LIFT]))) == "ski-winter"
    engine = RetrieverQueryEngine.from_args(retriever, llm=MockLLM())
    assert best(engine.query(mooring).source_nodes) == "port-winter"


async def test_a_chat_engine_s_memory() -> None:
    memory = ChatMemoryBuffer.from_defaults(token_limit=2000)
    retriever = HebbianRetriever.from_nodes(NODES, memory=memory, similarity_top_k=2)
    engine = ContextChatEngine.from_defaults(retriever=retriever, memory=memory, llm=MockLLM())
    engine.chat(MOORING)
    assert best(engine.chat(FOLLOW_UP).source_nodes) == "port-winter"
    memory.set([ChatMessage(role=MessageRole.USER, content=LIFT)])
    memory.put(ChatMessage(role=MessageRole.ASSISTANT, content=MOORING))
    assert best((await engine.achat(FOLLOW_UP)).source_nodes) == "ski-winter"
    retriever.index.close()


async def test_a_vector_index_beneath_is_asked_in_full() -> None:
    asked: list[str] = []

    class Listening(WordEmbedding):
        def _get_query_embedding(self, query: str) -> list[float]:
            asked.append(query)
            return super()._get_query_embedding(query)

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_query_embedding(query)

    vectors = VectorStoreIndex(NODES, embed_model=Listening())
    retriever = HebbianRetriever.from_vector_store_index(vectors, similarity_top_k=2)
    retriever.retrieve(RecallBundle(FOLLOW_UP, history=[MOORING]))
    await retriever.aretrieve(RecallBundle(FOLLOW_UP, history=[MOORING]))
    retriever.retrieve(QueryBundle(FOLLOW_UP))
    assert asked == [f"{MOORING}\n{FOLLOW_UP}"] * 2 + [FOLLOW_UP]
    retriever.index.close()


def test_models_are_awaited_on_the_caller_s_loop() -> None:
    loops: list[Any] = []

    class Native(WordEmbedding):
        async def _aget_query_embedding(self, query: str) -> list[float]:
            loops.append(asyncio.get_running_loop())
            return self._get_query_embedding(query)

    async def use() -> None:
        with HebbianIndex.open(":memory:", embedder=LlamaIndexEmbedder(Native())) as index:
            HebbianRetriever(index).add(NODES)
            await index.arecall(FOLLOW_UP, history=[MOORING])
        assert loops
        assert set(loops) == {asyncio.get_running_loop()}

    asyncio.run(use())


class Backwards(BaseNodePostprocessor):
    """Stands for a reranker of LlamaIndex."""

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return nodes[::-1]


async def test_a_reranker_in_the_index_and_one_of_llama_index() -> None:
    def by_length(question: str, texts: list[str]) -> list[float]:
        return [-float(len(text)) for text in texts]

    question = f"{LIFT} {MOORING}"
    settings = Settings(rerank=RerankSettings(weight=1.0))
    with HebbianIndex.open(":memory:", reranker=by_length, settings=settings) as index:
        HebbianRetriever(index).add(NODES)
        retriever = HebbianRetriever.from_index(index, similarity_top_k=3)
        found = [node.node_id for node in retriever.retrieve(question)]
        lengths = [len(node.text) for node in retriever.retrieve(question)]
        assert lengths == sorted(lengths)
        assert [node.node_id for node in await retriever.aretrieve(question)] == found
        engine = RetrieverQueryEngine.from_args(
            retriever, llm=MockLLM(), node_postprocessors=[Backwards()]
        )
        assert [node.node_id for node in engine.query(question).source_nodes] == found[::-1]
