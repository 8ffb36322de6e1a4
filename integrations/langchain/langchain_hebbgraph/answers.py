"""Converts traces and messages to what :mod:`hebbgraph.citations` reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hebbgraph.citations import Exchange, Recalled, Reply, Source
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, Generation

from langchain_hebbgraph.conversion import TRAIL, stable_id, to_source
from langchain_hebbgraph.tracing import Prompt, Trace

__all__ = ["annotations_of", "exchange_of", "reply_to"]

_MAX_OUTPUT_VALUES = 1_000
_MAX_DEPTH = 6
#: A shorter text may occur in another one by chance.
_MIN_PART = 32
_DOCUMENT_BLOCKS = frozenset({"document", "search_result", "file", "text-plain"})
#: Fields of a content block without text for the model.
_NO_TEXT = frozenset({"type", "id", "index", "media_type", "mime_type", "source_type"})


def exchange_of(
    trace: Trace, *, ids: Sequence[str], earlier: Sequence[Recalled] = (), **fields: Any
) -> Exchange:
    """Convert a complete trace, with the fields of an exchange that its request sets."""
    recalls = list(trace.recalls.values())
    return Exchange(
        recalls=recalls,
        replies=[
            _reply(prompt, candidates[0], trace.tools)
            for call in trace.calls.values()
            if call.ended
            for prompt, candidates in zip(call.prompts, call.answers, strict=False)
            if candidates
        ],
        output=list(_output_texts(trace.output, 0, [_MAX_OUTPUT_VALUES])),
        earlier=earlier,
        foreign=list(_foreign(trace, [*recalls, *earlier])),
        ids=[
            *ids,
            *(str(run_id) for run_id in (trace.root, *trace.recalls, *trace.calls)),
            *_message_ids(trace),
        ],
        failed=trace.failed,
        **fields,
    )


def reply_to(prompt: Prompt, answer: Any) -> Reply:
    """Make a reply of an answer: a str, a message, a dict or a pydantic model."""
    text, blocks = _prompt_text(prompt)
    if isinstance(answer, BaseMessage):
        return Reply(prompt=text, blocks=blocks, text=str(answer.text))
    return Reply(prompt=text, blocks=blocks, structured=[answer])


def _reply(prompt: Prompt, answer: Generation, tools: set[str]) -> Reply:
    message = answer.message if isinstance(answer, ChatGeneration) else None
    if message is None:
        text, blocks = _prompt_text(prompt)
        return Reply(prompt=text, blocks=blocks, text=answer.text)
    reply = reply_to(prompt, message)
    if not isinstance(message, AIMessage):
        return reply
    # The call of a tool that ran is no answer.
    structured = [call["args"] for call in message.tool_calls if call["name"] not in tools]
    if parsed := message.additional_kwargs.get("parsed"):
        structured.append(parsed)
    return replace(reply, structured=structured, annotations=list(annotations_of(message)))


def _message_ids(trace: Trace) -> Iterator[str]:
    """Yield the ids that a provider gave its answers (``resp_...``, ``msg_...``)."""
    for call in trace.calls.values():
        for candidates in call.answers:
            for answer in candidates:
                id_ = answer.message.id if isinstance(answer, ChatGeneration) else None
                if id_ and not id_.startswith("lc_run-"):
                    yield id_


def _foreign(trace: Trace, recalls: Sequence[Recalled]) -> Iterator[Source]:
    """Yield the documents of other retrievers, under the ids that an index may have for them."""
    recalled_ids = {id_ for recalled in recalls for id_ in recalled.ids}
    for documents in trace.foreign.values():
        for document in documents:
            source, id_ = to_source(document), document.id
            if id_ not in recalled_ids:
                id_ = _chunk_in(document, recalls) or stable_id(document)
            yield Source(id_ or "", source.text, source.title)


def _chunk_in(document: Document, recalls: Sequence[Recalled]) -> str:
    """Return the chunk that a document is an extract or the parent of, or ``""``.

    An extract has the chunk's metadata, which name its recall if ``include_path`` is set. A parent
    contains the text of the chunk; of several, the best ranked counts.
    """
    trail = document.metadata.get(TRAIL)
    known = trail if isinstance(trail, Mapping) else {}
    for recalled in recalls:
        if recalled.recall.id == known.get("recall_id"):
            ranked = {hit.rank: hit.chunk.id for hit in recalled.recall.hits}
            return ranked.get(known.get("rank", 0), "")
    text = document.page_content
    for recalled in recalls:
        for hit in recalled.recall.hits:
            part = hit.chunk.text.strip()
            if _MIN_PART <= len(part) < len(text) and part in text:
                return hit.chunk.id
    return ""


def annotations_of(message: AIMessage) -> Iterator[Any]:
    """Yield the native citations of a message."""
    if isinstance(message.content, str):
        return
    for block in message.content_blocks:
        if block["type"] == "text":
            yield from block.get("annotations") or ()
        elif block["type"] == "non_standard" and isinstance(block.get("value"), Mapping):
            yield from block["value"].get("citations") or ()


def _prompt_text(prompt: Prompt) -> tuple[str, list[str]]:
    """Return all text in a prompt, and the texts of native document blocks."""
    if isinstance(prompt, str):
        return prompt, []
    texts: list[str] = []
    documents: list[str] = []
    for message in prompt:
        content = message.content
        for block in [content] if isinstance(content, str) else content:
            # The content of a tool's result may be blocks.
            inner = block.get("content") if isinstance(block, dict) else None
            if not isinstance(inner, list) or _is_document(block):
                inner = [block]
            for part in inner:
                if _is_document(part):
                    documents.append("\n".join(_strings(part)))
                else:
                    texts.extend(_strings(part))
    return "\n\n".join(texts), documents


def _is_document(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") in _DOCUMENT_BLOCKS


def _strings(block: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(block, str):
        yield block
    elif depth < _MAX_DEPTH:
        if isinstance(block, Mapping):
            for name, part in block.items():
                if name not in _NO_TEXT:
                    yield from _strings(part, depth + 1)
        elif isinstance(block, list):
            for part in block:
                yield from _strings(part, depth + 1)


def _output_texts(value: Any, depth: int, budget: list[int]) -> Iterator[str]:
    """Yield the texts of answers in the output of a root run."""
    budget[0] -= 1
    if budget[0] < 0 or depth > _MAX_DEPTH or isinstance(value, Document):
        return
    if isinstance(value, str):
        yield value
    elif isinstance(value, BaseMessage):
        if isinstance(value, AIMessage):
            yield str(value.text)  # without reasoning and tool calls
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _output_texts(part, depth + 1, budget)
    elif isinstance(value, list | tuple):
        # Of a conversation, only the last message.
        parts: Sequence[Any] = value[-1:] if value and isinstance(value[-1], BaseMessage) else value
        for part in parts:
            yield from _output_texts(part, depth + 1, budget)
