"""Native citations in messages of LangChain, LlamaIndex and providers, read by their shape."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate
from llama_index.core.base.llms.types import (
    ChatMessage,
    CitableBlock,
    CitationBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)

from hebbgraph.citations import Passage, number_passages, read_answer, shown_in

#: Short ones: an index or a source is enough.
PETREL = Passage("petrel", "Petrel was built by Ida Moss.", "Petrel")
GULL = Passage("gull", "Gull: built by Jon Ash, 1901.", "Gull")
PASSAGES = [GULL, PETREL]
NUMBERED = number_passages(PASSAGES)


def search_result(passage: Passage) -> dict[str, Any]:
    content = [{"type": "text", "text": passage.text}]
    return {"type": "search_result", "source": passage.id, "title": "", "content": content}


def document(passage: Passage) -> dict[str, Any]:
    source = {"type": "text", "media_type": "text/plain", "data": passage.text}
    return {"type": "document", "source": source, "title": passage.title}


RESULTS = [HumanMessage([*map(search_result, PASSAGES), {"type": "text", "text": "Who?"}])]
DOCUMENTS = [HumanMessage([*map(document, PASSAGES), {"type": "text", "text": "Who?"}])]
IN_TOOL = [
    HumanMessage("Who?"),
    ToolMessage(list(map(search_result, PASSAGES)), tool_call_id="1", artifact=[{"id": "gull"}]),
]
CITABLE = [
    ChatMessage(
        role="user",
        blocks=[
            *(
                CitableBlock(title=p.title, source=p.id, content=[TextBlock(text=p.text)])
                for p in PASSAGES
            ),
            TextBlock(text="Who?"),
        ],
    )
]
PLAIN = [SystemMessage(NUMBERED.text), HumanMessage("Who built the Petrel?")]


def cited(answer: Any, prompt: Any = PLAIN) -> list[str]:
    return list(read_answer(answer, shown_in(prompt, PASSAGES), PASSAGES).cited)


BY_RESULT = {
    "type": "search_result_location",
    "cited_text": PETREL.text,
    "source": "petrel",
    "title": "Petrel",
    "search_result_index": 1,
    "start_block_index": 0,
    "end_block_index": 1,
}
BY_DOCUMENT = {"type": "char_location", "cited_text": PETREL.text, "document_index": 1}
LABELS = [
    None,
    "anthropic",
    "bedrock_converse",
    "bedrock",
    "google_vertexai",
    "google_anthropic_vertex",
    "litellm",
    "openai",
]


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("prompt", [RESULTS, IN_TOOL])
def test_raw_citations_under_any_label(label: str | None, prompt: list[Any]) -> None:
    meta = {"model_provider": label} if label else {}
    block = {"type": "text", "text": "Ida Moss", "citations": [BY_RESULT]}
    message = AIMessage([block], response_metadata=meta)
    assert cited(message, prompt) == ["petrel"]
    assert cited({"role": "assistant", "content": message.content_blocks}, prompt) == ["petrel"]


def bedrock(index: int, quote: str) -> dict[str, Any]:
    location = {"documentChar": {"documentIndex": index, "start": 0, "end": 9}}
    return {"title": "Petrel", "sourceContent": [{"text": quote}], "location": location}


@pytest.mark.parametrize(
    ("citation", "expected"),
    [
        (BY_DOCUMENT, ["petrel"]),
        ({"type": "citation", "cited_text": "by Ida Moss", "extras": {}}, ["petrel"]),
        ({"type": "citation", "extras": {"document_index": 0}}, ["gull"]),
        (bedrock(1, "built by Ida Moss"), ["petrel"]),
        (bedrock(0, "built by Ida Moss"), []),
        ({"type": "url_citation", "url": "https://example.org", "title": "Petrel"}, []),
        ({"type": "char_location", "document_index": 9}, []),
        ({"type": "citation", "cited_text": "built by"}, []),
        ("no dict", []),
    ],
)
def test_kinds_of_native_citations(citation: Any, expected: list[str]) -> None:
    for name in ("citations", "annotations"):
        message = AIMessage([{"type": "text", "text": "Ida Moss", name: [citation]}])
        assert cited(message, DOCUMENTS) == expected
    loose = {"type": "non_standard", "value": {"citations": [citation]}}
    assert cited(AIMessage([{"type": "text", "text": "Moss"}, loose]), DOCUMENTS) == expected
    beside = AIMessage("Ida Moss", additional_kwargs={"citations": [citation]})
    assert cited(beside, DOCUMENTS) == expected


def test_a_block_may_show_several_chunks() -> None:
    parts = [{"type": "text", "text": p.text} for p in PASSAGES]
    source = {"type": "content", "content": parts}
    result = {"type": "search_result", "source": "boats.md", "title": "", "content": parts}
    for prompt, index in (
        ({"type": "document", "source": source}, "document_index"),
        (result, "search_result_index"),
    ):
        for passage in PASSAGES:
            citation = {"type": "location", index: 0, "cited_text": passage.text}
            answer = AIMessage([{"type": "text", "text": "So.", "citations": [citation]}])
            assert cited(answer, [HumanMessage([prompt])]) == [passage.id]
        vague = AIMessage([{"type": "text", "text": "So.", "citations": [{index: 0}]}])
        assert cited(vague, [HumanMessage([prompt])]) == []


def test_documents_and_search_results_are_counted_apart() -> None:
    file = {"type": "document", "source": {"type": "base64", "data": "JVBERi0="}}
    results = [search_result(p) | {"source": "boats.md"} for p in PASSAGES]
    citation = BY_RESULT | {"source": "boats.md"}
    answer = AIMessage([{"type": "text", "text": "Ida Moss", "citations": [citation]}])
    assert cited(answer, [HumanMessage([file, *results])]) == ["petrel"]


@pytest.mark.parametrize(
    "answer",
    [
        AIMessage("Moss", additional_kwargs={"citations": [{"document_ids": ["doc-1"]}]}),
        AIMessage("Moss", additional_kwargs={"citations": [{"sources": [{"id": "doc-1"}]}]}),
        AIMessage([{"type": "reference", "text": "Moss", "reference_ids": ["doc-1"]}]),
        AIMessage([{"type": "text", "text": "Moss", "reference": {"reference_ids": ["doc-1"]}}]),
    ],
)
def test_native_citations_may_name_keys_of_the_prompt(answer: AIMessage) -> None:
    texts = (f'<document id="doc-{at}">\n{p.text}\n</document>' for at, p in enumerate(PASSAGES))
    assert cited(answer, "\n".join(texts)) == ["petrel"]


def test_blocks_as_bedrock_has_them() -> None:
    documents = [{"document": {"name": p.id, "source": {"text": p.text}}} for p in PASSAGES]
    results = [{"searchResult": {"source": p.id, "content": [{"text": p.text}]}} for p in PASSAGES]
    block = {"citationsContent": {"citations": [bedrock(1, "built by Ida Moss")]}}
    for blocks in (documents, results):
        prompt = [{"role": "user", "content": blocks}]
        assert cited({"role": "assistant", "content": [block]}, prompt) == ["petrel"]


def test_citation_blocks_of_llama_index() -> None:
    quoted = CitationBlock(
        cited_content=TextBlock(text="built by Ida Moss"),
        source="petrel",
        title="Petrel",
        additional_location_info={},
    )
    message = ChatMessage(role="assistant", blocks=[TextBlock(text="Ida Moss."), quoted])
    assert cited(message, CITABLE) == ["petrel"]
    # Without a source that we know, the quotation tells.
    other = quoted.model_copy(update={"source": "doc_3"})
    assert cited(ChatMessage(role="assistant", blocks=[other]), PLAIN) == ["petrel"]


def test_markers_and_structured_answers_in_messages() -> None:
    assert cited(AIMessage("Ida Moss [2].")) == ["petrel"]
    assert cited(AIMessage(["Ida Moss [2].", {"type": "text", "text": "Not Ash [1]."}])) == [
        "petrel",
        "gull",
    ]
    call = {"name": "CitedAnswer", "args": {"answer": "Moss", "citations": ["2"]}, "id": "1"}
    assert cited(AIMessage("", tool_calls=[call])) == ["petrel"]
    assert cited(ChatMessage(role="assistant", content="Ida Moss [2].")) == ["petrel"]
    tool = ToolCallBlock(tool_name="Cited", tool_kwargs={"answer": "Moss", "citations": [2]})
    assert cited(ChatMessage(role="assistant", blocks=[tool])) == ["petrel"]
    assert cited({"role": "assistant", "content": "Ida Moss [2]."}) == ["petrel"]


def test_reasoning_is_no_answer() -> None:
    blocks = [{"type": "thinking", "thinking": "Or [1]?"}, {"type": "text", "text": "Moss [2]."}]
    assert cited(AIMessage(blocks)) == ["petrel"]
    reasoning = {"type": "reasoning", "reasoning": "Or [1]?", "content": "Or [1]?"}
    assert cited(AIMessage([reasoning, *blocks])) == ["petrel"]
    thought = ThinkingBlock(content="Or [1]?")
    message = ChatMessage(role="assistant", blocks=[thought, TextBlock(text="Moss [2].")])
    assert cited(message) == ["petrel"]


def test_a_denial_denies_native_citations_too() -> None:
    block = {"type": "text", "text": "The documents do not say.", "citations": [BY_DOCUMENT]}
    reading = read_answer(AIMessage([block]), shown_in(DOCUMENTS, PASSAGES), PASSAGES)
    assert (reading.cited, reading.denied) == ((), True)


def test_prompts_of_all_kinds_show_the_same_keys() -> None:
    text = f"{NUMBERED.text}\n\nWho?"
    template = ChatPromptTemplate([("system", "{context}"), ("human", "Who?")])
    for prompt in (
        text,
        PLAIN,
        [ChatMessage(role="user", content=text)],
        [{"role": "user", "content": [{"type": "text", "text": text}]}],
        [("system", NUMBERED.text), ("human", "Who?")],
        template.invoke({"context": NUMBERED.text}),
        [ToolMessage(NUMBERED.text, tool_call_id="1", artifact=[{"text": "Gull"}])],
    ):
        assert shown_in(prompt, PASSAGES).keys == NUMBERED.shown.keys
    assert shown_in(RESULTS, PASSAGES).blocks == (
        ("search_result", ("gull",)),
        ("search_result", ("petrel",)),
    )
    assert shown_in(DOCUMENTS, [PETREL]).blocks == (
        ("document", ()),
        ("document", ("petrel",)),
    )
