"""What LlamaIndex's events say of prompts and answers."""

from __future__ import annotations

from collections.abc import Sequence

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.instrumentation.events.base import BaseEvent
from llama_index.core.instrumentation.events.llm import (
    LLMChatEndEvent,
    LLMChatStartEvent,
    LLMCompletionEndEvent,
    LLMCompletionStartEvent,
    LLMPredictStartEvent,
    LLMStructuredPredictStartEvent,
)

from llama_index.retrievers.hebbgraph.tracing import Conversation, Span

__all__ = ["ANSWER_EVENTS", "PROMPT_EVENTS", "hear_message", "prompt_of"]

PROMPT_EVENTS = (
    LLMChatStartEvent,
    LLMCompletionStartEvent,
    LLMPredictStartEvent,
    LLMStructuredPredictStartEvent,
)
ANSWER_EVENTS = (LLMChatEndEvent, LLMCompletionEndEvent)


def hear_message(span: Span, event: BaseEvent) -> None:
    """Note what a model said outside any synthesis, retrieval and postprocessor."""
    if span.nearest("answers", "echoes", "serves") is not None:
        return
    said: Conversation | None = None
    if isinstance(event, LLMChatEndEvent) and event.response is not None:
        message = event.response.message
        said = Conversation(_texts(event.messages), message, message.content or "")
    elif isinstance(event, LLMCompletionEndEvent):
        # A chat model made of a completion model says it twice; the chat has the messages.
        said = Conversation([event.prompt], None, event.response.text)
    if said is not None:
        span.request.conversation = said


def prompt_of(event: BaseEvent) -> str:
    """Return what a model is asked, as text."""
    if isinstance(event, LLMChatStartEvent):
        return "\n\n".join(_texts(event.messages))
    if isinstance(event, LLMCompletionStartEvent):
        return event.prompt
    if isinstance(event, LLMPredictStartEvent | LLMStructuredPredictStartEvent):
        return "\n\n".join(
            str(value) for value in (event.template_args or {}).values() if value is not None
        )
    return ""


def _texts(messages: Sequence[ChatMessage]) -> list[str]:
    return [text for message in messages if (text := message.content)]
