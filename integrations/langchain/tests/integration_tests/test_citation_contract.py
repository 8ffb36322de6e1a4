"""hebbgraph's contract of learning from citations, run through LangChain."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from typing import Any

from hebbgraph.citations import Formatter
from hebbgraph.testing.citations import CitationContract, Driver, ScriptedIndex, ScriptedTurn
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.runnables import Runnable, RunnableLambda
from lc_helpers import ScriptedChat, prompt_of

from langchain_hebbgraph import CitationLearner, HebbianRetriever, citation_prompt, format_documents
from langchain_hebbgraph.prompts import CitedAnswer


class LangChainDriver(Driver):
    """Runs a turn as a chain: searches, a prompt, a model."""

    def __init__(self, index: ScriptedIndex) -> None:
        super().__init__(index)
        self.retriever = HebbianRetriever(index=index)
        self.learner = CitationLearner(index)
        self.sources: dict[str | None, str] = {}

    def ask(self, turn: ScriptedTurn) -> str | None:
        model = ScriptedChat(script=lambda messages: _said(turn, messages), seen=[])
        llm: Runnable[Any, Any] = (
            model.with_structured_output(CitedAnswer)
            if turn.structured
            else model | StrOutputParser()
        )
        answering = citation_prompt() | llm

        def repeated(prompt: dict[str, str]) -> Any:
            for _ in range(turn.calls - 1):
                answering.invoke(prompt)
            return answering

        chain = RunnableLambda(lambda _: self._prompt(turn)) | repeated
        metadata = {"user_id": turn.user, "thread_id": turn.conversation}
        given = {name: value for name, value in metadata.items() if value is not None}
        run_id = uuid.uuid4()
        _call(chain, turn, {"callbacks": [self.learner], "metadata": given, "run_id": run_id})
        return str(run_id)

    def _prompt(self, turn: ScriptedTurn) -> dict[str, str]:
        mixed = len(turn.searches) > 1 or turn.conversation is not None
        formatter = Formatter(prefix="always" if mixed else "auto")
        found = [
            _formatted(_kept(self.retriever.invoke(search.query), turn), turn, formatter)
            for search in turn.searches
        ]
        own = self.sources.get(turn.conversation, "")
        earlier = self.sources.values() if turn.pasted else [own]
        context = "\n\n".join([*earlier, *found])
        if turn.conversation is not None:
            self.sources[turn.conversation] = context
        return {"context": context, "question": turn.question}

    def judge(self, answer: str, good: bool) -> None:
        self.learner.feedback(answer, good)

    def counts(self) -> dict[str, int]:
        return self.learner.counts

    def close(self) -> None:
        assert self.learner.flush(30)


def _said(turn: ScriptedTurn, messages: Sequence[BaseMessage]) -> AIMessage:
    prompt = prompt_of(messages)
    if not turn.structured:
        return AIMessage(turn.reply(prompt))
    args = turn.structured_reply(prompt)
    return AIMessage("", tool_calls=[{"name": "CitedAnswer", "args": args, "id": "call-1"}])


def _kept(documents: list[Document], turn: ScriptedTurn) -> list[Document]:
    by_id = {document.id: document for document in documents}
    return documents if turn.keep is None else [by_id[id_] for id_ in turn.keep]


def _formatted(documents: list[Document], turn: ScriptedTurn, formatter: Formatter) -> str:
    if turn.layout is not None:
        return "\n\n".join(turn.laid_out(n, one.id or "") for n, one in enumerate(documents, 1))
    if turn.formatted:
        return format_documents(documents, formatter)
    return "\n\n".join(document.page_content for document in documents)


def _call(chain: Runnable[Any, Any], turn: ScriptedTurn, config: Any) -> None:
    async def streamed() -> None:
        async for _ in chain.astream(turn.question, config):
            pass

    if turn.mode == "stream":
        for _ in chain.stream(turn.question, config):
            pass
    elif turn.mode == "async":
        asyncio.run(chain.ainvoke(turn.question, config))
    elif turn.mode == "async stream":
        asyncio.run(streamed())
    else:
        chain.invoke(turn.question, config)


class TestCitationContract(CitationContract):
    def make_driver(self, index: ScriptedIndex) -> LangChainDriver:
        return LangChainDriver(index)
