"""An index as long-term memory: what was said comes back when it matters."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pytest
from fakes import RuleLLM
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.memory import Memory
from llama_index.core.memory.memory import BaseMemoryBlock

from hebbgraph import HebbianIndex
from llama_index.retrievers.hebbgraph import CitationLearner, HebbianMemoryBlock

SAID = [
    ChatMessage(role="user", content="My boat is the Petrel, and she lies at berth 7."),
    ChatMessage(role="assistant", content="Noted: the Petrel lies at berth 7."),
    ChatMessage(role="tool", content="berth table: 1, 2, 3"),
    ChatMessage(role="user", content="Bread rises when yeast turns sugar into gas."),
    ChatMessage(role="assistant", content=""),
]


@pytest.fixture
def index() -> Iterator[HebbianIndex]:
    with HebbianIndex.open(":memory:") as opened:
        yield opened


def asked(text: str) -> list[ChatMessage]:
    return [ChatMessage(role="user", content=text)]


async def test_what_was_said_comes_back(index: HebbianIndex) -> None:
    block = HebbianMemoryBlock(index=index)
    assert isinstance(block, BaseMemoryBlock)
    await block.aput(SAID, session_id="a")
    await block.aput(SAID, session_id="a")
    assert index.stats().chunks == 2  # an exchange each, and each once
    told = await block.aget(asked("Where does the Petrel lie?"), session_id="a")
    assert told.startswith("user: My boat is the Petrel")
    assert "assistant: Noted" in told
    assert "yeast" not in told.split("\n\n")[0]
    assert "berth table" not in told
    strict = HebbianMemoryBlock(index=index, min_score=0.1)
    assert "berth 7" in await strict.aget(asked("Where does the Petrel lie?"), session_id="a")
    assert await strict.aget(asked("How do I renew a passport?"), session_id="a") == ""
    assert await block.aget([]) == ""


async def test_sessions_stay_apart_unless_asked(index: HebbianIndex) -> None:
    block = HebbianMemoryBlock(index=index)
    await block.aput(SAID, session_id="a")
    question = asked("Where does the Petrel lie?")
    assert await block.aget(question, session_id="b") == ""
    shared = HebbianMemoryBlock(index=index, across_sessions=True)
    assert "berth 7" in await shared.aget(question, session_id="b")
    assert await block.aforget("a") == 2
    assert await shared.aget(question, session_id="b") == ""


async def test_too_much_is_shortened_from_its_end(index: HebbianIndex) -> None:
    block = HebbianMemoryBlock(index=index)
    content = "user: one two three\n\nuser: four five six"
    assert await block.atruncate(content, 2) == "user: one two three"
    assert await block.atruncate(content, 500) is None


async def test_in_a_memory_that_overflows(index: HebbianIndex) -> None:
    block = HebbianMemoryBlock(index=index, similarity_top_k=1)
    memory = Memory.from_defaults(
        session_id="a", token_limit=60, token_flush_size=20, memory_blocks=[block]
    )
    for message in SAID[:2] * 6:
        await memory.aput(message)
    assert index.stats().chunks >= 1
    told = await memory.aget(input="Where does the Petrel lie?")
    assert "My boat is the Petrel" in str(told[0].content)


def test_what_an_answer_used_of_it_is_learned(index: HebbianIndex) -> None:
    index.add(
        [
            {"text": "user: My boat is the Petrel, at berth 7.", "metadata": {"session_id": "a"}},
            {"text": "user: The Petrel is painted blue.", "metadata": {"session_id": "a"}},
        ]
    )

    def answer(prompt: str) -> str:
        at = prompt.index("berth 7")
        return f"At berth 7 [{prompt[:at].rsplit('[', 1)[1].split(']')[0]}]."

    block = HebbianMemoryBlock(index=index, cite=True)
    memory = Memory.from_defaults(session_id="a", memory_blocks=[block])
    chat = SimpleChatEngine.from_defaults(llm=RuleLLM(rule=answer), memory=memory)
    with CitationLearner(index) as learner, learner.request():
        assert "berth 7" in str(chat.chat("Where does the Petrel lie?"))
    assert index.log.export(io.StringIO()) == 1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"index": "memory.hebb"}, r"HebbianIndex.open\(...\) opens one"),
        ({"similarity_top_k": 0}, "similarity_top_k is a whole number"),
        ({"min_score": 2}, "less than or equal to 1"),
    ],
)
def test_misuse(options: dict[str, Any], says: str, index: HebbianIndex) -> None:
    with pytest.raises(ValueError, match=says):
        HebbianMemoryBlock(**{"index": index, **options})
