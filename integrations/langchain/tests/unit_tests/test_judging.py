"""Judges that are models of LangChain: of an answer's citations, and of what a recall found."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hebbgraph import HebbianIndex
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable, RunnablePassthrough
from lc_helpers import make_documents
from pydantic import BaseModel, Field

from langchain_hebbgraph import (
    CitationLearner,
    HebbianRetriever,
    citation_prompt,
    format_documents,
)

QUERY = "Who built the Petrel?"


class Support(BaseModel):
    """Whether a source supports a sentence."""

    supports: bool


class Needed(BaseModel):
    """The passages that are needed."""

    passages: list[int] = Field(description="Their numbers, the most needed first.")


class Judging(BaseChatModel):
    """Answers with a call of the tool that it is bound to, or with JSON where it is to none."""

    asked: list[str] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "judging"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Runnable[LanguageModelInput, AIMessage]:
        return self.bind(tools=tools)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        tools: Any = (),
        **kwargs: Any,
    ) -> ChatResult:
        text = "\n".join(str(one.text) for one in messages)
        self.asked.append(text)
        if tools and tools[0] is Support:
            call: dict[str, Any] = {"supports": "Jon Ash" not in text}
        else:
            call = {"passages": [self._number_of_the_heron(text)]}
        message = AIMessage(json.dumps(call))
        if tools:
            message = AIMessage(
                "", tool_calls=[{"name": tools[0].__name__, "args": call, "id": "1"}]
            )
        return ChatResult(generations=[ChatGeneration(message=message)])

    @staticmethod
    def _number_of_the_heron(text: str) -> int:
        boundary = text.split("two lines that read ")[1][:16]
        passages = json.loads(text.split(boundary)[2])["passages"]
        return next(one["number"] for one in passages if one["title"] == "Heron")


class CitesAll(Judging):
    """Cites what it is shown of the Petrel and of Jon Ash."""

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        lines = str(messages[0].text).split("\n")
        keys = [line[1 : line.index("]")] for line in lines if line[:1] == "["]
        titles = [line.partition("] ")[2] for line in lines if line[:1] == "["]
        by_title = dict(zip(titles, keys, strict=True))
        text = f"Ida Moss did [{by_title['Petrel']}]. Jon Ash drew [{by_title['Jon Ash']}]."
        return ChatResult(generations=[ChatGeneration(message=AIMessage(text))])


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_structured_model_judges_what_an_answer_cites(is_async: bool) -> None:
    model = Judging().with_structured_output(Support)

    def judge(sentence: str, text: str) -> bool:
        found = model.invoke(f"{sentence}\n{text}")
        assert isinstance(found, Support)
        return found.supports

    with HebbianRetriever.from_documents(make_documents(), k=8) as retriever:
        learner = CitationLearner(retriever, actor="ida", judge=judge)
        chain = (
            {"context": retriever | format_documents, "question": RunnablePassthrough()}
            | citation_prompt()
            | CitesAll()
        )
        config: Any = {"callbacks": [learner]}
        if is_async:
            await chain.ainvoke(QUERY, config)
            await learner.aflush()
        else:
            chain.invoke(QUERY, config)
            learner.flush()
        (outcome,) = learner.lessons
        assert (outcome.cited, outcome.dismissed) == (("petrel",), ("ash",))


@pytest.mark.parametrize("structured", [False, True])
def test_a_chat_model_judges_what_a_recall_found(structured: bool) -> None:
    model = Judging()
    judge: Any = model.with_structured_output(Needed) if structured else model
    with HebbianIndex.open(":memory:", judge=judge) as index:
        retriever = HebbianRetriever(index=index, k=3)
        retriever.add(make_documents())
        assert retriever.invoke(QUERY)[0].id == "heron"
        assert index.recall(QUERY).notes == ()
    assert len(model.asked) == 2
