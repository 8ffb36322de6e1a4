"""A small corpus, and models that answer by rule."""

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

CHUNKS = {
    "petrel": ("Petrel", "The Petrel is a lugger that Ida Moss built in the winter of 1889."),
    "moss": ("Ida Moss", "Ida Moss was born in Tessel Bay, above her father's net loft."),
    "tessel": ("Tessel Bay", "Tessel Bay has a chapel whose organ was made by Casimir Dove."),
    "dove": ("Casimir Dove", "Casimir Dove learned his trade from the clockmaker Anton Reve."),
    "reve": ("Anton Reve", "Anton Reve kept bees on the roof of his workshop in Harrow Quay."),
    "harrow": ("Harrow Quay", "Harrow Quay ships salt, and its market is held on Thursdays."),
    "kestrel": ("Kestrel Viaduct", "The Kestrel Viaduct is clad in porphyry from Ostrand."),
    "ostrand": ("Ostrand", "Ostrand is a quarry town where blue porphyry has been cut since 1702."),
    "glaze": ("Tidewater glaze", "Tidewater glaze turns green if the kiln cools for three days."),
    "lamp": ("Skerrow Light", "Skerrow Light shows two white flashes every eighteen seconds."),
    "teale": (
        "Brannoch Teale",
        "Brannoch Teale plays the viola and maps deep sea trenches.",
    ),
    "linnet": ("Grey linnet", "The grey linnet nests in gorse and leaves the coast in October."),
}

#: What a model that knows cites, by words of the question.
ANSWERS = {
    "builder of the Petrel": ["Ida Moss was born"],
    "made the organ": ["organ was made by"],
    "happens on Thursdays": ["held on Thursdays"],
    "stone of the Kestrel Viaduct": ["clad in porphyry", "since 1702"],
    "many flashes": ["two white flashes"],
    "who plays the viola": ["plays the viola"],
    "nobody knows": [],
}
QUESTION = "Where was the builder of the Petrel born?"

_KEYED = re.compile(r"^\[(\w+)\][^\n]*\n([^\n]+)", re.MULTILINE)
_NUMBERED = re.compile(r"^Source (\d+):\n([^\n]+)", re.MULTILINE)


def answer_by_rule(prompt: str) -> str:
    """Cite the sources that hold the answer to the last question asked."""
    asked = max(ANSWERS, key=lambda words: prompt.rfind(words))
    if asked not in prompt or not ANSWERS[asked]:
        return "I do not know."
    prompt = prompt.replace("\\n", "\n")  # SimpleSummarize hands a list over, as text
    before = re.search(r"The answer so far: (.*\[.*)", prompt)
    sources = dict([*_KEYED.findall(prompt), *_NUMBERED.findall(prompt)])
    keys = [
        key
        for wanted in ANSWERS[asked]
        for key, text in sources.items()
        if wanted in text
    ]  # fmt: skip
    marks = "".join(f"[{key}]" for key in dict.fromkeys(keys))
    if marks:
        return f"The sources tell {marks}."
    return before.group(1) if before else "The sources do not tell."


class RuleLLM(CustomLLM):
    """Answers at once, by a rule over the whole prompt."""

    rule: Callable[[str], str] = answer_by_rule
    context_window: int = 8000

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(context_window=self.context_window, num_output=256)

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text=self.rule(prompt))

    @llm_completion_callback()
    def stream_complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> Generator[CompletionResponse, None, None]:
        def parts() -> Generator[CompletionResponse, None, None]:
            said = ""
            for word in re.findall(r"\S+\s*", self.rule(prompt)):
                said += word
                yield CompletionResponse(text=said, delta=word)

        return parts()


def react_by_rule(prompt: str) -> str:
    """A ReAct model: one search, then the answer."""
    asked = prompt.split("## Current Conversation")[-1]
    if "Observation:" not in asked:
        question = next(words for words in ANSWERS if words in asked)
        return (
            f"Thought: I search.\nAction: search\nAction Input: {json.dumps({'input': question})}"
        )
    return f"Thought: I can answer.\nAnswer: {answer_by_rule(asked)}"


class ToolLLM(FunctionCallingLLM):
    """Calls the tools once each, then answers by rule over the whole conversation."""

    searches: list[str] = Field(default=["{question}"])

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_function_calling_model=True, context_window=8000)

    def _next(self, messages: Sequence[ChatMessage]) -> ChatMessage:
        done = sum(message.role.value == "tool" for message in messages)
        if done < len(self.searches):
            question = next(
                message.content or "" for message in messages if message.role.value == "user"
            )
            call = {"search": self.searches[done].format(question=question)}
            return ChatMessage(
                role="assistant", content="", additional_kwargs={"tool_calls": [call]}
            )
        text = "\n\n".join(message.content or "" for message in messages)
        asked = [message.content or "" for message in messages if message.role.value == "user"][-1]
        return ChatMessage(role="assistant", content=answer_by_rule(f"{text}\n{asked}"))

    @llm_chat_callback()
    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        return ChatResponse(message=self._next(messages))

    @llm_chat_callback()
    def stream_chat(
        self, messages: Sequence[ChatMessage], **kwargs: Any
    ) -> Generator[ChatResponse, None, None]:
        def parts() -> Generator[ChatResponse, None, None]:
            message = self._next(messages)
            yield ChatResponse(message=message, delta=message.content)

        return parts()

    @llm_chat_callback()
    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        return ChatResponse(message=self._next(messages))

    @llm_chat_callback()
    async def astream_chat(
        self, messages: Sequence[ChatMessage], **kwargs: Any
    ) -> AsyncGenerator[ChatResponse, None]:
        async def parts() -> AsyncGenerator[ChatResponse, None]:
            message = self._next(messages)
            yield ChatResponse(message=message, delta=message.content)

        return parts()

    def complete(self, *args: Any, **kwargs: Any) -> CompletionResponse:
        raise NotImplementedError

    async def acomplete(self, *args: Any, **kwargs: Any) -> CompletionResponse:
        raise NotImplementedError

    def stream_complete(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    async def astream_complete(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def _prepare_chat_with_tools(
        self, tools: Any, user_msg: Any = None, chat_history: Any = None, **kwargs: Any
    ) -> dict[str, Any]:
        messages = list(chat_history or [])
        if user_msg is not None:
            messages.append(ChatMessage(role="user", content=str(user_msg)))
        return {"messages": messages}

    def get_tool_calls_from_response(
        self, response: ChatResponse, error_on_no_tool_call: bool = True, **kwargs: Any
    ) -> list[ToolSelection]:
        return [
            ToolSelection(
                tool_id=f"call-{number}",
                tool_name="search",
                tool_kwargs={"input": call["search"]},
            )
            for number, call in enumerate(response.message.additional_kwargs.get("tool_calls", []))
        ]


class WordEmbedding(BaseEmbedding):
    """Hashed words; counts what it embeds."""

    model_name: str = "words-64"
    embedded: list[str] = Field(default_factory=list)

    def _vector(self, text: str) -> list[float]:
        vector = [0.01] * 64
        for word in re.findall(r"\w+", text.lower()):
            vector[sum(map(ord, word)) % 64] += 1.0
        return vector

    def _get_text_embedding(self, text: str) -> list[float]:
        self.embedded.append(text)
        return self._vector(text)

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._vector(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._vector(query)
