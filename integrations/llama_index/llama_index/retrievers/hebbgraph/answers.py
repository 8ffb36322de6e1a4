"""Reads LlamaIndex's events and responses into what :mod:`hebbgraph.citations` takes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.base.response.schema import PydanticResponse, Response
from llama_index.core.instrumentation.events.base import BaseEvent
from llama_index.core.instrumentation.events.llm import (
    LLMChatEndEvent,
    LLMChatStartEvent,
    LLMCompletionEndEvent,
    LLMCompletionStartEvent,
    LLMPredictStartEvent,
    LLMStructuredPredictEndEvent,
    LLMStructuredPredictStartEvent,
)
from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore

from hebbgraph.citations import Exchange, Recalled, Rendered, Reply, Source
from llama_index.retrievers.hebbgraph.tracing import ModelReply, Request, SeenRecall

__all__ = [
    "ANSWER_EVENTS",
    "PROMPT_EVENTS",
    "Answer",
    "chunk_id",
    "exchange_of",
    "message_texts",
    "prompt_of",
    "prompt_text_of",
    "reply_in",
    "result_of",
    "text_of",
]

PROMPT_EVENTS = (
    LLMChatStartEvent,
    LLMCompletionStartEvent,
    LLMPredictStartEvent,
    LLMStructuredPredictStartEvent,
)
ANSWER_EVENTS = (LLMChatEndEvent, LLMCompletionEndEvent, LLMStructuredPredictEndEvent)

#: What a CitationFormatter puts before a text.
_HEADER = re.compile(r"\A\s*\[[^\[\]\n]{1,200}\][^\n]*\n")
#: What a CitationQueryEngine puts before a text.
_NUMBER = re.compile(r"Source (\d+):\n")


@dataclass
class Answer:
    """All that decides what an answer teaches. The text of a stream is set last."""

    request: Request
    recalls: Sequence[SeenRecall]
    tags: Mapping[str, Any]
    earlier: Sequence[Recalled] = ()
    prompt: str = ""
    nodes: Sequence[NodeWithScore] = ()
    text: str = ""
    structured: Any = None
    message: ChatMessage | None = None
    is_missing: bool = False  # the request recalled something and got no answer
    output: Sequence[str] = ()  # what the application returned in place of the answer


def exchange_of(answer: Answer, *, ids: Sequence[str], **fields: Any) -> Exchange:
    """Convert an answer, with the fields of an exchange that its request sets."""
    reply = Reply(
        text=answer.text,
        prompt=answer.prompt,
        structured=() if answer.structured is None else (answer.structured,),
        annotations=() if answer.message is None else list(_annotations(answer.message)),
        given=prompt_text_of(answer.nodes),
        rendered=_numbered_sources(answer),
    )
    return Exchange(
        recalls=[recall.plain() for recall in answer.recalls],
        replies=[] if answer.is_missing else [reply],
        output=answer.output,
        foreign=[
            Source(
                result.node_id,
                _HEADER.sub("", result.node.get_content(MetadataMode.NONE)).strip(),
            )
            for result in answer.nodes
        ],
        failed=answer.request.failed,
        ids=[*ids, *(recall.recall.id for recall in answer.recalls)],
        taught=answer.request.taught,
        **{"earlier": answer.earlier, **fields},
    )


# -- events and responses ---------------------------------------------------------------


def prompt_of(event: BaseEvent) -> str:
    """Return a model's prompt as text."""
    if isinstance(event, LLMChatStartEvent):
        return "\n\n".join(message_texts(event.messages))
    if isinstance(event, LLMCompletionStartEvent):
        return event.prompt
    if isinstance(event, LLMPredictStartEvent | LLMStructuredPredictStartEvent):
        values = (event.template_args or {}).values()
        return "\n\n".join(str(value) for value in values if value is not None)
    return ""


def reply_in(event: BaseEvent, last: ModelReply | None) -> ModelReply | None:
    """Return the reply that an event tells of; ``last`` if it tells of none."""
    if isinstance(event, LLMChatEndEvent) and event.response is not None:
        message = event.response.message
        return ModelReply(message_texts(event.messages), message, message.content or "")
    if isinstance(event, LLMCompletionEndEvent):
        # A chat model made of a completion model sends both events; the chat's has the messages.
        return ModelReply([event.prompt], None, event.response.text)
    if isinstance(event, LLMStructuredPredictEndEvent) and last is not None:
        last.structured = event.output  # parsed from the last reply
    return last


def text_of(answer: object) -> tuple[str, Any]:
    """Return a response's text and its structured answer."""
    if isinstance(answer, PydanticResponse):
        return "", answer.response
    if isinstance(answer, Response):
        return answer.response or "", None
    return str(answer), None


def result_of(result: object) -> tuple[str, Any]:
    """Return the text and the structured answer in the result of an agent or a workflow."""
    output = getattr(result, "result", result)
    structured = getattr(output, "structured_response", None)
    response = getattr(output, "response", output)
    if isinstance(response, ChatMessage):
        return response.content or "", structured
    return (response if isinstance(response, str) else ""), structured


def prompt_text_of(nodes: Sequence[NodeWithScore]) -> str:
    """Return nodes as a synthesizer writes them into a prompt."""
    return "\n\n".join(result.node.get_content(MetadataMode.LLM) for result in nodes)


def message_texts(messages: Sequence[ChatMessage]) -> list[str]:
    """Return the texts of messages; messages without text are left out."""
    return [text for message in messages if (text := message.content)]


def _annotations(message: ChatMessage) -> Iterator[dict[str, Any]]:
    """Yield native citations in the format of ``parse_annotations``."""
    for block in message.blocks:
        if getattr(block, "block_type", "") == "citation":
            cited = getattr(block, "cited_content", None)
            yield {
                **(getattr(block, "additional_location_info", None) or {}),
                "type": "citation",
                "source": getattr(block, "source", None),
                "title": getattr(block, "title", None),
                "cited_text": getattr(cited, "text", None),
            }


# -- sources ----------------------------------------------------------------------------


def _numbered_sources(answer: Answer) -> Rendered | None:
    """Return the sources that a CitationQueryEngine numbered; None for another engine."""
    texts = [result.node.get_content() for result in answer.nodes]
    numbers = [match and match.group(1) for match in map(_NUMBER.match, texts)]
    if not texts or numbers != [str(number) for number in range(1, len(texts) + 1)]:
        return None
    return Rendered.numbered(
        Source(chunk_id(result.node, answer.recalls), text)
        for result, text in zip(answer.nodes, texts, strict=True)
    )


def chunk_id(node: BaseNode, recalls: Sequence[SeenRecall]) -> str:
    """Return the chunk that a CitationQueryEngine cut a node from, or ``""``.

    Such nodes have new ids, but the relationships and metadata of their original.
    """
    if any(node.node_id in recall.ids for recall in recalls):
        return node.node_id
    text = " ".join(_NUMBER.sub("", node.get_content(), count=1).split())
    alike: list[str] = []
    containing: list[str] = []
    for original in (original for recall in recalls for original in recall.nodes):
        is_alike = (original.relationships, original.metadata) == (
            node.relationships,
            node.metadata,
        )
        contains = text in " ".join(original.get_content(MetadataMode.NONE).split())
        if is_alike and contains:
            return original.node_id
        if is_alike:
            alike.append(original.node_id)
        elif contains:
            containing.append(original.node_id)
    candidates = set(alike or containing)
    return candidates.pop() if len(candidates) == 1 else ""
