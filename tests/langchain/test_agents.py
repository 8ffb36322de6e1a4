"""Agents that cite: the middleware, and the retriever tool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.callbacks import CallbackManager
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_hebbgraph import CitationLearner, CitingMiddleware, HebbianRetriever
from langchain_hebbgraph import create_citing_retriever_tool as make_tool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel
from scripted import QUESTION, Scripted, cited, citing, key_before

from hebbgraph.errors import ParameterError

ASKED = {"messages": [HumanMessage(QUESTION)]}


@dataclass
class Context:
    user_id: str


def test_the_middleware_shows_sources_and_learns(retriever: HebbianRetriever) -> None:
    handlers = [type(handler) for handler in CallbackManager.configure().handlers]
    middleware = CitingMiddleware(retriever)
    agent = create_agent(citing("built by"), middleware=[middleware], context_schema=Context)
    config: Any = {"configurable": {"user_id": "ben"}, "metadata": {"user_id": "ben"}}
    answer = agent.invoke(ASKED, config, context=Context("ann"))["messages"][-1]
    sources = answer.response_metadata["sources"]
    assert [source["id"] for source in sources if source["cited"]] == ["petrel"]
    assert {"key", "id", "document_id", "title", "cited"} == sources[0].keys()
    assert len(sources) == 3
    middleware.learner.close()
    (lesson,) = retriever.index.lessons()
    assert (sorted(lesson.cited), lesson.actor) == (["petrel"], "ann")
    assert [type(handler) for handler in CallbackManager.configure().handlers] == handlers


async def test_the_middleware_is_async(retriever: HebbianRetriever) -> None:
    middleware = CitingMiddleware(retriever)
    await create_agent(citing("built by"), middleware=[middleware]).ainvoke(ASKED)
    middleware.learner.close()
    assert cited(retriever.index.lessons()) == [["petrel"]]


def test_one_learner_learns_once(retriever: HebbianRetriever) -> None:
    middleware = CitingMiddleware(retriever)
    agent = create_agent(citing("built by"), middleware=[middleware])
    with CitationLearner(retriever) as learner, CitationLearner(retriever) as second:
        agent.invoke(ASKED, {"callbacks": [learner, second]})
    assert (learner.counts, second.counts, middleware.learner.counts) == ({"learned": 1}, {}, {})
    with HebbianRetriever.from_texts(["Owls."]) as other, CitationLearner(other) as foreign:
        agent.invoke(ASKED, {"callbacks": [foreign]})
    middleware.learner.close()
    assert cited(retriever.index.lessons()) == [["petrel"]] * 2


class Cited(BaseModel):
    answer: str
    citations: list[int]


def test_a_structured_answer_that_is_given_as_a_call_teaches(retriever: HebbianRetriever) -> None:
    def call(messages: list[BaseMessage]) -> AIMessage:
        key = int(key_before(messages, "built by").strip("[]"))
        fields = {"answer": "Ida Moss", "citations": [key]}
        return AIMessage("", tool_calls=[{"name": "Cited", "args": fields, "id": "1"}])

    middleware = CitingMiddleware(retriever)
    agent = create_agent(Scripted(answer=call), middleware=[middleware], response_format=Cited)
    assert agent.invoke(ASKED)["structured_response"].answer == "Ida Moss"
    middleware.learner.close()
    assert cited(retriever.index.lessons()) == [["petrel"]]


def test_an_answer_that_was_replaced_does_not_teach(retriever: HebbianRetriever) -> None:
    class Guard(AgentMiddleware):
        def after_model(self, state: Any, runtime: Any) -> dict[str, Any]:
            return {"messages": [AIMessage("I may not say.", id=state["messages"][-1].id)]}

    middleware = CitingMiddleware(retriever)
    agent = create_agent(citing("built by"), middleware=[middleware, Guard()])
    assert agent.invoke(ASKED)["messages"][-1].text == "I may not say."
    middleware.learner.close()
    assert retriever.index.lessons() == []


def test_the_middleware_needs_a_question_and_a_retriever(retriever: HebbianRetriever) -> None:
    hello = Scripted(answer=lambda messages: "Hello.")
    silent = create_agent(hello, middleware=[CitingMiddleware(retriever)])
    answer = silent.invoke({"messages": [AIMessage("Welcome.")]})["messages"][-1]
    assert "sources" not in answer.response_metadata
    with pytest.raises(ParameterError, match="a learner takes"):
        CitingMiddleware(RunnableLambda(lambda question: []))
    middleware = CitingMiddleware(retriever.bind(k=2))
    agent = create_agent(citing("built by"), middleware=[middleware])
    answer = agent.invoke(ASKED)["messages"][-1]
    middleware.learner.close()
    assert len(answer.response_metadata["sources"]) == 2
    assert middleware.learner.counts == {"learned": 1}


def searching(messages: list[BaseMessage]) -> Any:
    """Search once in a conversation, then cite what was found."""
    if not any(isinstance(message, ToolMessage) for message in messages):
        call = {"name": "search", "args": {"query": QUESTION}, "id": "1"}
        return AIMessage("", tool_calls=[call])
    return f"Ida Moss {key_before(messages, 'built by')}."


async def test_the_tool_shows_keys_and_teaches(retriever: HebbianRetriever) -> None:
    tool = make_tool(retriever, description="Search ships.")
    assert tool.description.startswith("Search ships. Answer from the passages.")
    assert tool.invoke({"query": " "}) == "No passage was found."
    agent = create_agent(Scripted(answer=searching), [tool])
    with CitationLearner(retriever) as learner:
        for state in (
            agent.invoke(ASKED, {"callbacks": [learner], "configurable": {"user_id": "ann"}}),
            await agent.ainvoke(ASKED, {"callbacks": [learner]}),
        ):
            (found,) = (m for m in state["messages"] if isinstance(m, ToolMessage))
            assert {document.id for document in found.artifact} == {"petrel", "moss", "bread"}
    lessons = retriever.index.lessons()
    assert cited(lessons) == [["petrel"]] * 2
    assert {lesson.actor for lesson in lessons} == {"ann", None}


@pytest.mark.parametrize("at_once", [True, False])
def test_a_citation_teaches_the_search_that_showed_its_key(
    retriever: HebbianRetriever, at_once: bool
) -> None:
    asked = {QUESTION: "was born", "Where was Ida Moss born?": "yeast"}  # which ranks her better

    def answer(messages: list[BaseMessage]) -> Any:
        found = [message for message in messages if isinstance(message, ToolMessage)]
        left = [*asked][len(found) :] if at_once else [*asked][len(found) :][:1]
        calls = [{"name": "search", "args": {"query": text}, "id": text} for text in left]
        pairs = zip(found, asked.values(), strict=False)
        said = ", ".join(f"so {key_before([result], text)}" for result, text in pairs)
        return AIMessage("", tool_calls=calls) if calls else said

    agent = create_agent(Scripted(answer=answer), [make_tool(retriever)])
    with CitationLearner(retriever) as learner:
        agent.invoke({"messages": [HumanMessage("Both?")]}, {"callbacks": [learner]})
    assert sorted(cited(retriever.index.lessons())) == [["bread"], ["moss"]]
    assert [retriever.index.recall(question)[0].id for question in asked] == ["moss", "bread"]


def test_a_later_turn_may_cite_what_an_earlier_one_found(retriever: HebbianRetriever) -> None:
    model, tools = Scripted(answer=searching), [make_tool(retriever)]
    agent = create_agent(model, tools, checkpointer=InMemorySaver())
    with CitationLearner(retriever) as learner:
        for question in (QUESTION, "Say it again."):
            config: Any = {"callbacks": [learner], "configurable": {"thread_id": "7"}}
            agent.invoke({"messages": [HumanMessage(question)]}, config)
            learner.flush()
    assert cited(retriever.index.lessons()) == [["petrel"]] * 2
