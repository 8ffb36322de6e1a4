from __future__ import annotations

import pytest
from hebbgraph.citations import CITATION_INSTRUCTION, Formatter
from langchain_core.documents import Document
from langchain_core.messages import HumanMessage, ToolMessage
from lc_helpers import RecordingIndex

from langchain_hebbgraph import (
    HebbianRetriever,
    citation_prompt,
    create_citing_retriever_tool,
    format_documents,
)
from langchain_hebbgraph.prompts import CitedAnswer, search_result_blocks


def test_formatting(documents: list[Document]) -> None:
    assert format_documents(documents[:2]) == (
        f"[1] Petrel\n{documents[0].page_content}\n\n[2] Ida Moss\n{documents[1].page_content}"
    )
    assert format_documents(documents[:1], Formatter(style="id")).startswith("[petrel] Petrel")
    assert format_documents([]) == "No source was found."


def test_the_prompt() -> None:
    messages = citation_prompt("Be {brief}.", history="chat").invoke(
        {"context": "[1] {braces}", "question": "Who?", "chat": [HumanMessage("Hello.")]}
    )
    system, earlier, question = messages.to_messages()
    assert system.text == f"Be {{brief}}.\n\n{CITATION_INSTRUCTION}\n\n[1] {{braces}}"
    assert (earlier.text, question.text) == ("Hello.", "Who?")
    assert citation_prompt().input_variables == ["context", "question"]


@pytest.mark.parametrize("is_async", [False, True])
async def test_the_tool(index: RecordingIndex, is_async: bool) -> None:
    tool = create_citing_retriever_tool(HebbianRetriever(index=index, k=2), "library", "Ships.")
    assert (tool.name, tool.description) == ("library", f"Ships. {CITATION_INSTRUCTION}")
    assert list(tool.args) == ["query"]
    call = {"type": "tool_call", "name": "library", "args": {"query": "Petrel"}, "id": "1"}
    message = await tool.ainvoke(call) if is_async else tool.invoke(call)
    assert isinstance(message, ToolMessage)
    assert message.artifact[0].id == "petrel"
    key = str(message.content).partition("]")[0]
    assert not key[1:].isdecimal()
    plain = create_citing_retriever_tool(
        HebbianRetriever(index=index), formatter=Formatter(), instruct=False
    )
    assert CITATION_INSTRUCTION not in plain.description
    assert str(plain.invoke("Petrel")).startswith("[1] ")


def test_native_blocks(documents: list[Document]) -> None:
    (block,) = search_result_blocks(documents[:1])
    assert (block["source"], block["title"]) == ("petrel", "Petrel")
    assert block["content"] == [{"type": "text", "text": documents[0].page_content}]


def test_the_schema() -> None:
    assert set(CitedAnswer.model_json_schema()["properties"]) == {"answer", "citations"}
