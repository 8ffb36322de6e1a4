"""What LlamaIndex asks of a retriever, as a suite; LlamaIndex itself has none.

Subclass it and implement ``make``.
"""

from __future__ import annotations

import asyncio
import copy
import threading
import time
from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from fakes import CHUNKS, QUESTION, RuleLLM
from llama_index.core import PromptTemplate
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.query_engine import CitationQueryEngine, RetrieverQueryEngine
from llama_index.core.retrievers import QueryFusionRetriever, RouterRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.selectors import LLMSingleSelector
from llama_index.core.tools import RetrieverTool


class RetrieverContract(ABC):
    #: Whether nodes can be changed by the caller without harm.
    returns_copies = True
    #: Whether ``_aretrieve`` leaves the event loop alone.
    async_off_loop = True
    #: Whether equals come in an order of their own.
    breaks_ties = True

    @abstractmethod
    def make(self, nodes: list[TextNode], k: int) -> BaseRetriever: ...

    @pytest.fixture
    def built(self, nodes: list[TextNode]) -> BaseRetriever:
        return self.make(nodes, 4)

    def test_is_a_retriever(self, built: BaseRetriever) -> None:
        assert isinstance(built, BaseRetriever)

    @pytest.mark.parametrize("k", [1, 3, 12])
    def test_k_nodes_come_back_best_first(self, nodes: list[TextNode], k: int) -> None:
        found = self.make(nodes, k).retrieve(QUESTION)
        assert len(found) == k
        assert all(isinstance(one, NodeWithScore) for one in found)
        scores = [node.score for node in found]
        assert None not in scores
        assert scores == sorted(scores, reverse=True)
        assert len({node.node_id for node in found}) == k

    def test_str_and_bundle_ask_the_same(self, built: BaseRetriever) -> None:
        by_text = [node.node_id for node in built.retrieve(QUESTION)]
        by_bundle = [node.node_id for node in built.retrieve(QueryBundle(QUESTION))]
        assert by_text == by_bundle

    async def test_async_finds_the_same(self, built: BaseRetriever) -> None:
        waiting = await built.aretrieve(QUESTION)
        assert [(o.node_id, o.score) for o in waiting] == [
            (o.node_id, o.score) for o in await asyncio.to_thread(built.retrieve, QUESTION)
        ]

    def test_nodes_come_back_as_they_went_in(
        self, built: BaseRetriever, nodes: list[TextNode]
    ) -> None:
        by_id = {node.node_id: node for node in nodes}
        for one in built.retrieve(QUESTION):
            node = by_id[one.node_id]
            assert one.node.hash == node.hash  # fusion joins by it
            assert one.metadata == node.metadata
            assert one.node.relationships == node.relationships
            assert one.node.get_content("llm") == node.get_content("llm")
            assert one.node.get_content("embed") == node.get_content("embed")

    def test_asking_changes_no_input(self, nodes: list[TextNode]) -> None:
        before = copy.deepcopy(nodes)
        self.make(nodes, 3).retrieve(QUESTION)
        assert nodes == before

    def test_results_are_the_callers_own(self, built: BaseRetriever) -> None:
        if not self.returns_copies:
            pytest.skip("this retriever hands out its own nodes")
        for one in built.retrieve(QUESTION):
            one.node.metadata["spoilt"] = True
            one.node.set_content("spoilt")
        again = built.retrieve(QUESTION)
        assert all("spoilt" not in node.metadata and node.text != "spoilt" for node in again)

    def test_is_deterministic(self, nodes: list[TextNode]) -> None:
        one, other = self.make(nodes, 5), self.make(nodes, 5)
        assert ranking(one) == ranking(one) == ranking(other)

    def test_the_order_of_nodes_is_nothing(self, nodes: list[TextNode]) -> None:
        if not self.breaks_ties:
            pytest.skip("ties fall as the nodes came")
        one, other = self.make(nodes, 5), self.make(list(reversed(nodes)), 5)
        assert ranking(one) == ranking(other)

    def test_serves_many_threads(self, built: BaseRetriever) -> None:
        expected = [node.node_id for node in built.retrieve(QUESTION)]
        with ThreadPoolExecutor(8) as pool:
            for found in pool.map(built.retrieve, [QUESTION] * 40):
                assert [node.node_id for node in found] == expected

    async def test_async_runs_off_the_event_loop(
        self, built: BaseRetriever, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        if not self.async_off_loop:
            pytest.skip("this retriever searches on the event loop")
        busy, ticks = threading.Event(), 0
        self.slow_down(built, monkeypatch, busy)

        async def tick() -> None:
            nonlocal ticks
            while not task.done():
                ticks += 1
                await asyncio.sleep(0.01)

        task = asyncio.create_task(built.aretrieve(QUESTION))
        await tick()
        await task
        assert ticks >= 10

    def slow_down(
        self, built: BaseRetriever, monkeypatch: pytest.MonkeyPatch, busy: threading.Event
    ) -> None:
        raise NotImplementedError

    # -- in the framework --

    def test_in_a_query_engine(self, built: BaseRetriever) -> None:
        engine = RetrieverQueryEngine.from_args(built, llm=RuleLLM())
        assert len(engine.query(QUESTION).source_nodes) == 4

    def test_in_a_citation_query_engine(self, built: BaseRetriever) -> None:
        engine = CitationQueryEngine(built, llm=RuleLLM())
        assert engine.query(QUESTION).source_nodes[0].text.startswith("Source 1:")

    def test_in_fusion_with_itself(self, built: BaseRetriever, nodes: list[TextNode]) -> None:
        fused = QueryFusionRetriever(
            [built, self.make(nodes, 4)],
            llm=RuleLLM(),
            num_queries=1,
            similarity_top_k=4,
            mode="reciprocal_rerank",
            use_async=False,
        ).retrieve(QUESTION)
        assert len(fused) == 4
        assert fused[0].score == pytest.approx(2 / 60)  # one node, found by both

    def test_in_a_router(self, built: BaseRetriever) -> None:
        tool = RetrieverTool.from_defaults(built, description="ships")
        choose = RuleLLM(rule=lambda prompt: '[{"choice": 1, "reason": "ships"}]')
        router = RouterRetriever(LLMSingleSelector.from_defaults(llm=choose), [tool])
        assert len(router.retrieve(QUESTION)) == 4

    async def test_as_a_tool(self, built: BaseRetriever) -> None:
        tool = RetrieverTool.from_defaults(built, description="ships")
        assert CHUNKS["petrel"][1] in str(await tool.acall(QUESTION))

    def test_prompts_can_be_listed(self, built: BaseRetriever) -> None:
        assert all(isinstance(one, PromptTemplate) for one in built.get_prompts().values())


def ranking(retriever: BaseRetriever) -> list[tuple[str, float]]:
    return [(node.node_id, round(node.score or 0.0, 9)) for node in retriever.retrieve(QUESTION)]


def slowly(function: Any) -> Any:
    def slow(*args: Any, **kwargs: Any) -> Any:
        time.sleep(0.3)
        return function(*args, **kwargs)

    return slow
