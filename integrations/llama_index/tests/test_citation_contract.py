"""hebbgraph's contract of learning from citations, run through LlamaIndex."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from fakes import RuleLLM
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.instrumentation.dispatcher import instrument_tags
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle
from pydantic import BaseModel

from hebbgraph.testing.citations import CitationContract, Driver, ScriptedIndex, ScriptedTurn
from llama_index.retrievers.hebbgraph import CitationFormatter, CitationLearner, HebbianRetriever
from llama_index.retrievers.hebbgraph.prompts import CITATION_QA_TEMPLATE


class LlamaIndexDriver(Driver):
    """Runs a turn as a query engine; where an engine has no place for it, as a request."""

    def __init__(self, index: ScriptedIndex) -> None:
        super().__init__(index)
        self.retriever = HebbianRetriever(index)
        self.learner = CitationLearner(index).install()
        self.sources: dict[str | None, str] = {}

    def ask(self, turn: ScriptedTurn) -> str | None:
        tags = {"user_id": turn.user, "thread_id": turn.conversation}
        with instrument_tags({name: value for name, value in tags.items() if value is not None}):
            if len(turn.searches) == 1 and turn.calls == 1 and turn.conversation is None:
                self._query(turn)
            else:
                self._request(turn)
        return self.index.last_recall_id

    def _query(self, turn: ScriptedTurn) -> None:
        processors: list[BaseNodePostprocessor] = [Keeping(keep=turn.keep)]
        if turn.layout is not None:
            processors.append(LaidOut(turn=turn))
        elif turn.formatted:
            processors.append(CitationFormatter())
        engine = RetrieverQueryEngine.from_args(
            self.retriever,
            llm=RuleLLM(rule=lambda prompt: _said(turn, prompt)),
            text_qa_template=CITATION_QA_TEMPLATE,
            node_postprocessors=processors,
            streaming="stream" in turn.mode,
            use_async="async" in turn.mode,
            output_cls=Cited if turn.structured else None,
        )

        async def asked() -> None:
            response = await engine.aquery(turn.question)
            if turn.mode == "async stream":
                async for _ in response.async_response_gen():
                    pass

        if "async" in turn.mode:
            asyncio.run(asked())
        else:
            response = engine.query(turn.question)
            if turn.mode == "stream":
                for _ in response.response_gen:
                    pass

    def _request(self, turn: ScriptedTurn) -> None:
        formatter = CitationFormatter(prefix="always")
        llm = RuleLLM(rule=lambda prompt: _said(turn, prompt))
        with self.learner.request():
            found = [
                node.node.get_content(MetadataMode.LLM)
                for search in turn.searches
                for node in formatter.postprocess_nodes(self.retriever.retrieve(search.query))
            ]
            own = self.sources.get(turn.conversation, "")
            context = "\n\n".join([*(self.sources.values() if turn.pasted else [own]), *found])
            if turn.conversation is not None:
                self.sources[turn.conversation] = context
            for _ in range(turn.calls):
                llm.chat([ChatMessage(role="user", content=f"{context}\n\n{turn.question}")])

    def judge(self, answer: str, good: bool) -> None:
        self.learner.feedback(answer, good)

    def counts(self) -> dict[str, int]:
        return self.learner.counts

    def close(self) -> None:
        self.learner.uninstall()


class Keeping(BaseNodePostprocessor):
    """A reranker that keeps what the script says."""

    keep: tuple[str, ...] | None = None

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        by_id = {node.node_id: node for node in nodes}
        return nodes if self.keep is None else [by_id[id_] for id_ in self.keep]


class LaidOut(BaseNodePostprocessor):
    """The application's own way to write sources."""

    turn: Any

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        found = []
        for number, one in enumerate(nodes, 1):
            node = one.node.model_copy(update={"metadata": {}})
            node.set_content(self.turn.laid_out(number, one.node_id))
            found.append(NodeWithScore(node=node, score=one.score))
        return found


class Cited(BaseModel):
    answer: str
    citations: list[str]


def _said(turn: ScriptedTurn, prompt: str) -> Any:
    return json.dumps(turn.structured_reply(prompt)) if turn.structured else turn.reply(prompt)


class TestCitationContract(CitationContract):
    def make_driver(self, index: ScriptedIndex) -> LlamaIndexDriver:
        return LlamaIndexDriver(index)
