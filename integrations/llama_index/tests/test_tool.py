"""An agent's tool: what it asks, and what it answers where nothing can be asked."""

from __future__ import annotations

import pytest
from conftest import RecordingIndex
from fakes import QUESTION, ToolLLM
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.tools import RetrieverTool, ToolOutput

from llama_index.retrievers.hebbgraph import CitationLearner, HebbianRetriever, citing_tool
from llama_index.retrievers.hebbgraph.prompts import CITATION_INSTRUCTION

AGAIN = "Call this tool again"


async def test_an_agent_asks_and_teaches_the_question_itself(
    index: RecordingIndex, retriever: HebbianRetriever
) -> None:
    agent = FunctionAgent(
        tools=[citing_tool(retriever)], llm=ToolLLM(), system_prompt=CITATION_INSTRUCTION
    )
    async with CitationLearner(retriever) as learner:
        await agent.run(QUESTION)
        await learner.aflush()
    assert index.lessons[0]["query"] == QUESTION


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize(
    "given",
    [
        {"input": f"  {QUESTION}\n"},
        {"query": QUESTION},
        {"input": QUESTION, "k": 3},
        {"input": {"query": QUESTION}},
        {"input": [QUESTION]},
    ],
)
async def test_the_question_is_what_the_model_says(
    retriever: HebbianRetriever, given: dict[str, object], asynchronous: bool
) -> None:
    tool = citing_tool(retriever)
    output: ToolOutput = await tool.acall(**given) if asynchronous else tool.call(**given)
    assert output.raw_input == {"input": QUESTION}
    assert output.content.count("\n[") == 4


async def test_it_needs_no_method_that_early_versions_lack(
    retriever: HebbianRetriever, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(RetrieverTool, "_async_apply_node_postprocessors", raising=False)
    output = await citing_tool(retriever).acall(input=QUESTION)
    assert output.content.count("\n[") == 4


def test_where_nothing_is_found_the_model_is_told() -> None:
    retriever = HebbianRetriever.from_nodes([])
    assert citing_tool(retriever)(QUESTION).content == (
        f"No source was found. {AGAIN} with other words."
    )


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize(
    ("question", "says"),
    [
        ("", AGAIN),
        (" \n", AGAIN),
        ("\ud83d", AGAIN),
        (None, AGAIN),
        ("Petrel \ud83d", "Ida Moss"),
        ("Petrel\x00", "Ida Moss"),
        ("Petrel " * 20_000, "its first and last 4,096 were searched for"),
    ],
)
async def test_input_that_is_no_question_gets_a_message(
    retriever: HebbianRetriever, question: str, says: str, asynchronous: bool
) -> None:
    tool = citing_tool(retriever)
    output = await tool.acall(input=question) if asynchronous else tool.call(input=question)
    assert says in output.content
    assert not output.is_error
