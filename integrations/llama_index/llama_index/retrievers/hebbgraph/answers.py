"""From LlamaIndex's events and responses to what :mod:`hebbgraph.citations` reads."""

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

from hebbgraph.citations import (
    Exchange,
    Recalled,
    Rendered,
    Reply,
    Source,
)
from llama_index.retrievers.hebbgraph.tracing import ModelReply, Request, SeenRecall

__all__ = [
    "ANSWER_EVENTS",
    "PROMPT_EVENTS",
    "Answer",
    "chunk_id",
    "contents",
    "exchange_of",
    "prompt_of",
    "reply_in",
    "result_of",
    "structured_in",
    "text_of",
    "texts_of_messages",
]

PROMPT_EVENTS = (
    LLMChatStartEvent,
    LLMCompletionStartEvent,
    LLMPredictStartEvent,
    LLMStructuredPredictStartEvent,
)
ANSWER_EVENTS = (LLMChatEndEvent, LLMCompletionEndEvent, LLMStructuredPredictEndEvent)
#: The instrument tag by which callers name an answer themselves.
ANSWER_ID = "answer_id"

#: What a CitationFormatter puts before a text.
_HEADER = re.compile(r"\A\s*\[[^\[\]\n]{1,200}\][^\n]*\n")
#: How a CitationQueryEngine begins the nodes that it shows.
_NUMBERED = re.compile(r"Source (\d+):\n")


@dataclass
class Answer:
    """All that decides what an answer teaches; of a stream, the text comes last."""

    request: Request
    recalls: Sequence[SeenRecall]
    tags: Mapping[str, Any]
    earlier: Sequence[Recalled] = ()
    prompt: str = ""
    nodes: Sequence[NodeWithScore] = ()
    text: str = ""
    structured: Any = None
    message: ChatMessage | None = None
    silent: bool = False  # nothing was said
    output: Sequence[str] = ()  # what the application returned in its place


def exchange_of(answer: Answer, *, actor: str | None, trusted: bool) -> Exchange:
    """Read an answer."""
    thread = answer.tags.get("thread_id")
    named = answer.tags.get(ANSWER_ID)
    reply = Reply(
        text=answer.text,
        prompt=answer.prompt,
        structured=() if answer.structured is None else (answer.structured,),
        annotations=() if answer.message is None else list(_annotations(answer.message)),
        given=contents(answer.nodes),
        rendered=_numbered(answer),
    )
    return Exchange(
        recalls=[seen.plain() for seen in answer.recalls],
        replies=[] if answer.silent else [reply],
        output=answer.output,
        earlier=answer.earlier,
        foreign=[
            Source(one.node_id, _HEADER.sub("", one.node.get_content(MetadataMode.NONE)).strip())
            for one in answer.nodes
        ],
        actor=actor,
        trusted=trusted,
        conversation=None if thread is None else str(thread),
        failed=answer.request.failed,
        ids=[
            *([] if named in (None, "") else [str(named)]),
            *(seen.recall.id for seen in answer.recalls),
        ],
        taught=answer.request.taught,
    )


# -- what events and responses say ------------------------------------------------------


def structured_in(event: BaseEvent) -> Any:
    """Return what a structured prediction came to."""
    return event.output if isinstance(event, LLMStructuredPredictEndEvent) else None


def prompt_of(event: BaseEvent) -> str:
    """Return what a model is asked, as text."""
    if isinstance(event, LLMChatStartEvent):
        return "\n\n".join(texts_of_messages(event.messages))
    if isinstance(event, LLMCompletionStartEvent):
        return event.prompt
    if isinstance(event, LLMPredictStartEvent | LLMStructuredPredictStartEvent):
        return "\n\n".join(
            str(value) for value in (event.template_args or {}).values() if value is not None
        )
    return ""


def reply_in(event: BaseEvent) -> ModelReply | None:
    """Return what a model said, and what it was asked."""
    if isinstance(event, LLMChatEndEvent) and event.response is not None:
        message = event.response.message
        return ModelReply(texts_of_messages(event.messages), message, message.content or "")
    if isinstance(event, LLMCompletionEndEvent):
        # A chat model made of a completion model says it twice; the chat has the messages.
        return ModelReply([event.prompt], None, event.response.text)
    return None


def text_of(answer: object) -> tuple[str, Any]:
    """Return a response's text and its structured answer."""
    if isinstance(answer, PydanticResponse):
        return "", answer.response
    if isinstance(answer, Response):
        return answer.response or "", None
    return str(answer), None


def result_of(result: object) -> tuple[str, Any]:
    """Return the text and the structured answer of what an agent or a workflow returned."""
    output = getattr(result, "result", result)
    structured = getattr(output, "structured_response", None)
    response = getattr(output, "response", output)
    if isinstance(response, ChatMessage):
        return response.content or "", structured
    return (response, structured) if isinstance(response, str) else ("", structured)


def contents(nodes: Sequence[NodeWithScore]) -> str:
    """Return nodes as a synthesizer writes them into a prompt."""
    return "\n\n".join(one.node.get_content(metadata_mode=MetadataMode.LLM) for one in nodes)


def texts_of_messages(messages: Sequence[ChatMessage]) -> list[str]:
    """Return what messages say; those that say nothing are left out."""
    return [text for message in messages if (text := message.content)]


def _annotations(message: ChatMessage) -> Iterator[dict[str, Any]]:
    """Yield native citations in the words of ``parse_annotations``."""
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


# -- what was shown ---------------------------------------------------------------------


def _numbered(answer: Answer) -> Rendered | None:
    """Return the keys that a CitationQueryEngine gave; None if another engine did."""
    if not _are_numbered(answer.nodes):
        return None
    return Rendered.numbered(
        Source(chunk_id(one.node, answer.recalls), one.node.get_content()) for one in answer.nodes
    )


def _are_numbered(nodes: Sequence[NodeWithScore]) -> bool:
    """Tell whether a CitationQueryEngine made these nodes."""
    return bool(nodes) and all(
        (found := _NUMBERED.match(one.node.get_content())) is not None
        and found.group(1) == str(number)
        for number, one in enumerate(nodes, 1)
    )


def chunk_id(node: BaseNode, recalls: Sequence[SeenRecall]) -> str:
    """Return the chunk that a CitationQueryEngine cut a piece from, or ``""``.

    Pieces have ids of their own, but their node's relationships and metadata.
    """
    if any(node.node_id in seen.ids for seen in recalls):
        return node.node_id
    text = " ".join(_NUMBERED.sub("", node.get_content(), count=1).split())
    alike: list[str] = []
    holding: list[str] = []
    for seen in recalls:
        for own in seen.nodes:
            same = own.relationships == node.relationships and own.metadata == node.metadata
            holds = text in " ".join(own.get_content(metadata_mode=MetadataMode.NONE).split())
            if same and holds:
                return own.node_id
            (alike if same else holding if holds else []).append(own.node_id)
    candidates = dict.fromkeys(alike) or dict.fromkeys(holding)
    return next(iter(candidates)) if len(candidates) == 1 else ""
