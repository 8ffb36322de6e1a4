"""One line makes an agent that retrieves, numbers, shows, cites and learns."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
from hebbgraph import ParameterError
from langchain.agents import create_agent
from langchain.agents.middleware import AgentState, ModelRequest, after_agent, after_model
from langchain.agents.structured_output import ToolStrategy
from langchain_core.documents import Document
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.runnables import ConfigurableField
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from lc_helpers import TEXT, ScriptedChat, citing, key_of, prompt_of

from langchain_hebbgraph import (
    CitationLearner,
    CitingMiddleware,
    HebbianRetriever,
    create_citing_retriever_tool,
)
from langchain_hebbgraph.options import SearchOptions
from langchain_hebbgraph.prompts import CitedAnswer

Chat = Callable[..., ScriptedChat]
QUERY = "Who built the Petrel?"


def asking(text: str = QUERY) -> Any:
    return {"messages": [HumanMessage(text)]}


@pytest.fixture
def retriever(documents: list[Document]) -> HebbianRetriever:
    return HebbianRetriever.from_documents(documents, k=3)


def lessons(retriever: HebbianRetriever) -> list[str]:
    file = io.StringIO()
    retriever.index.log.export(file)
    return file.getvalue().splitlines()


@pytest.mark.parametrize("is_async", [False, True])
async def test_in_one_line(retriever: HebbianRetriever, chat: Chat, is_async: bool) -> None:
    citing_sources = CitingMiddleware(retriever)
    model = chat(citing("petrel"))
    agent = create_agent(model, middleware=[citing_sources], system_prompt="Be brief.")
    config: Any = {"metadata": {"user_id": "ann"}}
    state = await agent.ainvoke(asking(), config) if is_async else agent.invoke(asking(), config)
    prompt = prompt_of(model.seen[0])
    assert prompt.startswith("Be brief.")
    assert "[1] Petrel\nThe Petrel was built by Ida Moss" in prompt
    answer = state["messages"][-1]
    sources = answer.response_metadata["sources"]
    assert sources[0] == {"key": "1", "id": "petrel", "title": "Petrel", "cited": True}
    assert [one["cited"] for one in sources] == [True, False, False]
    citing_sources.learner.flush()
    (lesson,) = lessons(retriever)
    assert '"actor":"ann"' in lesson.replace(" ", "")
    assert citing_sources.learner.feedback(answer.id, good=False)


def test_a_structured_answer_lists_its_sources(retriever: HebbianRetriever, chat: Chat) -> None:
    def script(messages: list[BaseMessage]) -> AIMessage:
        key = key_of(messages, TEXT["petrel"])
        args = {"answer": "Ida Moss", "citations": [key]}
        return AIMessage("", tool_calls=[{"name": "CitedAnswer", "args": args, "id": "1"}])

    citing_sources = CitingMiddleware(retriever)
    form = ToolStrategy(CitedAnswer)
    agent = create_agent(chat(script), middleware=[citing_sources], response_format=form)
    state = agent.invoke(asking())
    (answer,) = (one for one in state["messages"] if isinstance(one, AIMessage))
    cited = [one["id"] for one in answer.response_metadata["sources"] if one["cited"]]
    citing_sources.learner.flush()
    assert cited == ["petrel"]
    assert citing_sources.learner.lessons[-1].cited == ("petrel",)


def _guardrail(state: AgentState[Any], runtime: Any) -> dict[str, Any]:
    return {"messages": [AIMessage("I may not say.", id=state["messages"][-1].id)]}


def _writing_names(state: AgentState[Any], runtime: Any) -> dict[str, Any]:
    last = state["messages"][-1]
    return {"messages": [AIMessage(str(last.text).replace("[1]", "(Petrel)"), id=last.id)]}


@pytest.mark.parametrize("hook", [after_model, after_agent])
@pytest.mark.parametrize("is_outside", [False, True])
@pytest.mark.parametrize("is_attached", [False, True])
@pytest.mark.parametrize("is_async", [False, True])
async def test_what_a_guardrail_replaces_teaches_nothing(
    retriever: HebbianRetriever,
    chat: Chat,
    is_async: bool,
    is_attached: bool,
    is_outside: bool,
    hook: Any,
) -> None:
    told: list[str] = []
    learner = CitationLearner(retriever, on_answer=lambda outcome: told.append(outcome.code))
    citing_sources = CitingMiddleware(retriever, learner=None if is_attached else learner)
    config: Any = {"callbacks": [learner]} if is_attached else {}
    for guards, taught in (([hook(_guardrail)], 0), ([hook(_writing_names)], 1), ([], 2)):
        middleware = [*guards, citing_sources] if is_outside else [citing_sources, *guards]
        agent = create_agent(chat(citing("petrel")), middleware=middleware)
        if is_async:
            await agent.ainvoke(asking(), config)
            await learner.aflush()
        else:
            agent.invoke(asking(), config)
            learner.flush()
        assert len(lessons(retriever)) == taught
    assert told == ["replaced", "learned", "learned"]  # it never says learned, to take it back


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_request_narrows_what_the_middleware_shows(
    documents: list[Document], chat: Chat, is_async: bool
) -> None:
    for number, document in enumerate(documents):
        document.metadata["owner"] = "ann" if number % 2 else "ben"
    rule = SearchOptions(filter_by=lambda request: {"owner": request["user_id"]})
    ruled = HebbianRetriever.from_documents(documents, k=8, filter={"n": {"$lt": 6}}, options=rule)
    plain = HebbianRetriever.from_documents(documents, k=8, filter={"n": {"$lt": 6}})
    anns: Any = {"owner": "ann"}
    configurable = plain.configurable_fields(filter=ConfigurableField(id="filter"))
    for shown, narrowing, expected in (
        (ruled, {"configurable": {"user_id": "ann"}}, {1, 3, 5}),
        (ruled, {"metadata": {"user_id": "ann"}}, {1, 3, 5}),
        (ruled.with_config({"configurable": {"user_id": "ann"}}), {}, {1, 3, 5}),
        (plain.bind(filter=anns), {}, {1, 3, 5}),
        (configurable, {"configurable": {"filter": anns}}, {1, 3, 5, 7}),  # in place of its own
    ):
        agent = create_agent(chat("I do not know."), middleware=[CitingMiddleware(shown)])
        asked: Any = narrowing
        state = await agent.ainvoke(asking(), asked) if is_async else agent.invoke(asking(), asked)
        sources = state["messages"][-1].response_metadata["sources"]
        assert {one["id"] for one in sources} == {documents[n].id for n in expected}


LOG = "ERROR worker.py: the connection timed out. " * 2_200


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(
    ("pasted", "noted"),
    [
        (f"{QUERY}\n{LOG}", True),
        (f"{LOG}\n{QUERY}", True),
        (f"{QUERY} \ud83d", False),
        (" ", False),
    ],
    ids=["before a log", "after a log", "half an emoji", "nothing"],
)
async def test_what_users_paste_ends_no_run(
    retriever: HebbianRetriever, chat: Chat, pasted: str, noted: bool, is_async: bool
) -> None:
    model = chat("Ida Moss built it [1].")
    agent = create_agent(model, middleware=[CitingMiddleware(retriever)])
    asked = asking(pasted)
    state = await agent.ainvoke(asked) if is_async else agent.invoke(asked)
    assert state["messages"][-1].text
    prompt = prompt_of(model.seen[0])
    assert ("first and last 4,096 were searched for" in prompt) is noted
    assert ("The Petrel was built by Ida Moss" in prompt) is bool(pasted.strip())


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("", "the query is empty. Call this tool again"),
        ("\ud83d", "the query is empty. Call this tool again"),
        (f"{QUERY}\n{LOG}", "its first and last 4,096 were searched for."),
        (f"{QUERY} \ud83d", "The Petrel was built by Ida Moss"),
    ],
    ids=["nothing", "half an emoji alone", "a log", "half an emoji"],
)
async def test_what_models_ask_a_tool_ends_no_run(
    retriever: HebbianRetriever, chat: Chat, query: str, told: str, is_async: bool
) -> None:
    call: Any = {"type": "tool_call", "name": "search", "args": {"query": query}, "id": "1"}

    def asks_once(messages: list[BaseMessage]) -> AIMessage:
        done = isinstance(messages[-1], ToolMessage)
        return AIMessage("Now I know.") if done else AIMessage("", tool_calls=[call])

    model = chat(asks_once)
    agent = create_agent(model, tools=[create_citing_retriever_tool(retriever)])
    state = await agent.ainvoke(asking()) if is_async else agent.invoke(asking())
    *_, result, answer = state["messages"]
    assert told in result.text
    assert answer.text == "Now I know."


def test_only_the_attached_learner_learns(retriever: HebbianRetriever, chat: Chat) -> None:
    listening, own = CitationLearner(), CitationLearner()
    agent = create_agent(
        chat(citing("petrel")), middleware=[CitingMiddleware(retriever, learner=own)]
    )
    agent.invoke(asking(), {"callbacks": [listening]})
    listening.flush()
    own.flush()
    assert len(lessons(retriever)) == 1


def test_between_calls_of_tools_and_in_a_conversation(
    retriever: HebbianRetriever, chat: Chat
) -> None:
    @tool
    def weather() -> str:
        """Tell the weather."""
        return "It rains."

    def script(messages: list[BaseMessage]) -> Any:
        if isinstance(messages[-1], HumanMessage) and messages[-1].text == QUERY:
            return AIMessage("", tool_calls=[{"name": "weather", "args": {}, "id": "1"}])
        return citing("petrel", "moss")(messages)

    model, middleware = chat(script), CitingMiddleware(retriever)
    agent = create_agent(model, [weather], middleware=[middleware], checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "1"}}
    agent.invoke(asking(), config)
    state = agent.invoke(asking("And where was she born?"), config)
    assert all("[1]" in prompt_of(seen[:1]) for seen in model.seen)
    assert state["messages"][-1].response_metadata["sources"]
    # Sources are shown for the present question alone; they do not pile up in the conversation.
    assert not any(isinstance(one, SystemMessage) for one in state["messages"])
    middleware.learner.flush()
    assert len(lessons(retriever)) == 2


def test_without_a_question_or_a_find(chat: Chat) -> None:
    model = chat("I do not know.")
    empty = HebbianRetriever.from_documents([])
    agent = create_agent(model, middleware=[CitingMiddleware(empty)])
    agent.invoke(asking())
    assert "No source was found." in prompt_of(model.seen[0])
    agent.invoke(asking(" "))
    assert "source" not in prompt_of(model.seen[1])


@pytest.mark.skipif(
    not hasattr(ModelRequest, "system_prompt"), reason="LangChain 1.0 knows texts alone"
)
def test_blocks_of_a_system_message_stay_blocks(retriever: HebbianRetriever, chat: Chat) -> None:
    model = chat(citing("petrel"))
    cached = {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}
    agent = create_agent(
        model, middleware=[CitingMiddleware(retriever)], system_prompt=SystemMessage([cached])
    )
    agent.invoke(asking())
    assert model.seen[0][0].content[0] == cached


def test_misuse(retriever: HebbianRetriever) -> None:
    wrong: Any = retriever.index
    with pytest.raises(ParameterError, match=r"HebbianRetriever.from_index\(index\)"):
        CitingMiddleware(wrong)
