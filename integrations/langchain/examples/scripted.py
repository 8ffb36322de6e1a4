"""A chat model that needs no network, and a small library.

The model answers only if a source in its prompt supports the answer, and cites its key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

LIBRARY = {
    "Petrel": "The Petrel was built by Ida Moss in the yard at Dunmore.",
    "Ida Moss": "Ida Moss was born in Tessel Bay and learned to draw from Jon Ash.",
    "Tessel Bay": "Tessel Bay is known for its tall lighthouse of red stone.",
    "Dunmore": "Dunmore is a harbour town with a yard for wooden ships.",
    "Heron": "The Heron was built by Jon Ash, who never went to sea himself.",
    "Jon Ash": "Jon Ash was born in Dunmore and kept a diary all his life.",
    "Ledger of 1871": "Paid to J. Ash, forty crowns, for plans of the tower on the northern cape.",
    "The guide": "Visitors who ask for the plans of the lighthouse are sent to the town hall.",
    "The keeper": "A keeper of the lighthouse at Tessel Bay drew birds and made plans to leave.",
    "Town hall": "The town hall shows plans of the harbour and of the lighthouse road.",
    "Lighthouse lamps": "A lighthouse lamp of the old kind burned whale oil.",
    "Bread": "Bread rises when yeast turns sugar into gas.",
}

ANSWERS = [  # words of a question, the passage that answers it, the answer
    ({"builder", "petrel"}, "Ida Moss", "She was born in Tessel Bay"),
    ({"built", "petrel"}, "Petrel", "Ida Moss built it"),
    ({"lighthouse", "plans"}, "Ledger of 1871", "J. Ash drew them"),
    ({"lighthouse", "stone"}, "Tessel Bay", "It is of red stone"),
    ({"bread"}, "Bread", "Yeast makes gas"),
]


def documents() -> list[Document]:
    """Return the library, as a loader would."""
    return [
        Document(text, id=title.lower().replace(" ", "-"), metadata={"title": title})
        for title, text in LIBRARY.items()
    ]


class ScriptedChat(BaseChatModel):
    """Answers from its prompt by a script; searches first if tools are bound."""

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=_reply(messages, **kwargs))])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        reply = _reply(messages, **kwargs)
        if reply.tool_calls:
            yield ChatGenerationChunk(message=AIMessageChunk(**reply.model_dump(exclude={"type"})))
            return
        for word in re.findall(r"\S+\s*", str(reply.text)):
            yield ChatGenerationChunk(message=AIMessageChunk(word))

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        """Remember the first tool; agents call this."""
        return self.bind(search_tool=tools[0].name)

    @property
    def _llm_type(self) -> str:
        return "scripted"


def _reply(messages: list[BaseMessage], search_tool: str | None = None, **_: Any) -> AIMessage:
    question = next(str(message.text) for message in reversed(messages) if message.type == "human")
    question = question.rsplit("\n\n", 1)[-1]
    searched = any(isinstance(message, ToolMessage) for message in messages)
    if search_tool is not None and not searched:
        call = {"name": search_tool, "args": {"query": question}, "id": "search-1"}
        return AIMessage("", tool_calls=[call])
    prompt = "\n\n".join(str(message.text) for message in messages)
    words = set(re.findall(r"\w+", question.lower()))
    for needed, title, answer in ANSWERS:
        match = re.search(rf"^(\[\w+\])[^\n]*\n{re.escape(LIBRARY[title])}", prompt, re.MULTILINE)
        if needed <= words and match is not None:
            return AIMessage(f"{answer} {match.group(1)}.")
    return AIMessage("I do not know.")
