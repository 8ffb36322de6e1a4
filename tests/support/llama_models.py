"""Models of LlamaIndex that answer by rule, and a little corpus with questions for them."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    CompletionResponse,
    LLMMetadata,
)
from llama_index.core.llms import CustomLLM
from llama_index.core.llms.callbacks import llm_chat_callback, llm_completion_callback
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection
from pydantic import Field

__all__ = [
    "CORPUS",
    "QUESTION",
    "BareLLM",
    "RuleLLM",
    "ToolLLM",
    "WordEmbedding",
    "cite_moss",
    "react",
]

#: Id to title and text.
CORPUS = {
    "petrel": ("Petrel", "The Petrel is a lugger that Ida Moss built in the winter of 1889."),
    "moss": ("Ida Moss", "Ida Moss was born in Tessel Bay, above her father's net loft."),
    "tessel": ("Tessel Bay", "Tessel Bay has a chapel whose organ was made by Casimir Dove."),
    "dove": ("Casimir Dove", "Casimir Dove learned his trade from the clockmaker Anton Reve."),
    "harrow": ("Harrow Quay", "Harrow Quay ships salt, and its market is held on Thursdays."),
    "lamp": ("Skerrow Light", "Skerrow Light shows two white flashes every eighteen seconds."),
}
QUESTION = "Where was the builder of the Petrel born?"
_KEYED = re.compile(r"^(?:\[(\d+)\]|Source (\d+):)", re.MULTILINE)


def cite_moss(prompt: str) -> str:
    """Cite the passage on the birth of Ida Moss by its key in a prompt."""
    _, *parts = _KEYED.split(prompt)
    numbered = zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    keys = [first or second for first, second, text in numbered if "Moss was born" in text]
    before = re.search(r"In Tessel Bay \[\d+\]\.", prompt)
    return f"In Tessel Bay [{keys[-1]}]." if keys else before[0] if before else "Nobody knows."


def react(prompt: str) -> str:
    """Search once, then answer, as the ReAct format wants it."""
    asked = prompt.split("## Current Conversation")[-1]
    if "Observation:" in asked:
        return f"Thought: I can answer.\nAnswer: {cite_moss(asked)}"
    return f"Thought: I search.\nAction: search\nAction Input: {json.dumps({'input': QUESTION})}"


class RuleLLM(CustomLLM):
    """Answers at once, by a rule over the whole prompt; remembers its prompts."""

    rule: Callable[[str], str] = cite_moss
    context_window: int = 8000
    prompts: list[str] = Field(default_factory=list)

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(context_window=self.context_window, num_output=256)

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        self.prompts.append(prompt)
        return CompletionResponse(text=self.rule(prompt))

    @llm_completion_callback()
    def stream_complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> Generator[CompletionResponse, None, None]:
        said = ""
        for word in re.findall(r"\S+\s*", self.rule(prompt) + " That is all I know."):
            said += word
            yield CompletionResponse(text=said, delta=word)


class BareLLM(RuleLLM):
    """A model class without LlamaIndex's decorators, which reports nothing."""

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text=self.rule(prompt))


class ToolLLM(FunctionCallingLLM):
    """Calls the tool once for each of ``searches``, then answers by rule."""

    searches: list[str] = Field(default=[QUESTION])
    rule: Callable[[str], str] = cite_moss

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_function_calling_model=True, context_window=8000)

    def _next(self, messages: Sequence[ChatMessage]) -> ChatResponse:
        turn = [message.role.value for message in messages]
        last = len(turn) - 1 - turn[::-1].index("user")
        if (done := turn[last:].count("tool")) < len(self.searches):
            call = {"tool_calls": [{"search": self.searches[done]}]}
            return ChatResponse(
                message=ChatMessage(role="assistant", content="", additional_kwargs=call)
            )
        text = "\n\n".join(message.content or "" for message in messages)
        return ChatResponse(message=ChatMessage(role="assistant", content=self.rule(text)))

    @llm_chat_callback()
    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        return self._next(messages)

    @llm_chat_callback()
    async def astream_chat(
        self, messages: Sequence[ChatMessage], **kwargs: Any
    ) -> AsyncGenerator[ChatResponse, None]:
        async def parts() -> AsyncGenerator[ChatResponse, None]:
            response = self._next(messages)
            response.delta = response.message.content
            yield response

        return parts()

    def _prepare_chat_with_tools(
        self, tools: Any, user_msg: Any = None, chat_history: Any = None, **kwargs: Any
    ) -> dict[str, Any]:
        return {"messages": list(chat_history or [])}

    def get_tool_calls_from_response(
        self, response: ChatResponse, error_on_no_tool_call: bool = True, **kwargs: Any
    ) -> list[ToolSelection]:
        calls = response.message.additional_kwargs.get("tool_calls", [])
        return [
            ToolSelection(
                tool_id=f"call-{at}", tool_name="search", tool_kwargs={"input": call["search"]}
            )
            for at, call in enumerate(calls)
        ]

    def _unused(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    chat = stream_chat = complete = stream_complete = acomplete = astream_complete = _unused


class WordEmbedding(BaseEmbedding):
    """Hashed words; remembers what it embeds."""

    model_name: str = "words-64"
    embedded: list[str] = Field(default_factory=list)

    def _get_text_embedding(self, text: str) -> list[float]:
        self.embedded.append(text)
        return self._get_query_embedding(text)

    def _get_query_embedding(self, query: str) -> list[float]:
        vector = [0.01] * 64
        for word in re.findall(r"\w+", query.lower()):
            vector[sum(map(ord, word)) % 64] += 1.0
        return vector

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)
