"""Chat models of LangChain that follow a script, and chains that ask for citations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable, RunnablePassthrough
from langchain_hebbgraph import citation_prompt, format_documents

from hebbgraph import Lesson

__all__ = ["QUESTION", "Scripted", "chain_of", "cited", "citing", "key_before"]

QUESTION = "Who built the Petrel?"


class Scripted(BaseChatModel):
    """Answers what a function makes of the messages."""

    answer: Callable[[list[BaseMessage]], Any]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        said = self.answer(messages)
        message = said if isinstance(said, AIMessage) else AIMessage(said)
        return ChatResult(generations=[ChatGeneration(message=message)])

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self


def key_before(messages: list[BaseMessage], text: str) -> str:
    """Return the key of the passage with a text, as a model reads it in the prompt."""
    lines = "\n".join(str(message.content) for message in messages).split("\n")
    at = next(at for at, line in enumerate(lines) if text in line)
    return next(line for line in lines[at::-1] if line.startswith("[")).split("]")[0] + "]"


def citing(text: str) -> Scripted:
    return Scripted(answer=lambda messages: f"Ida Moss {key_before(messages, text)}.")


def chain_of(retriever: Any, model: Any) -> Runnable[str, Any]:
    context = {"context": retriever | format_documents, "question": RunnablePassthrough()}
    return context | citation_prompt("Be brief.") | model


def cited(lessons: list[Lesson]) -> list[list[str]]:
    return [sorted(lesson.cited) for lesson in lessons]
