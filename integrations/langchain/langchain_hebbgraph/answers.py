"""From a finished Trace to lessons: which recall to credit with which cited chunks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hebbgraph.citations import (
    Rendered,
    Source,
    parse_annotations,
    parse_citations,
    parse_structured,
    rendered_in,
)
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, Generation

from langchain_hebbgraph.conversion import to_source
from langchain_hebbgraph.runs import Retrieval, Trace

__all__ = ["Lesson", "lessons", "message_text", "prompt_text", "share"]

_MAX_OUTPUT_VALUES = 1_000
_MAX_OUTPUT_DEPTH = 6
#: A shorter answer ("yes") may stand in another by chance.
_TELLING = 20
_DOCUMENT_BLOCKS = frozenset({"document", "search_result", "file", "text-plain"})


@dataclass(frozen=True, slots=True)
class Lesson:
    """What one recall is to be told: of the chunks shown, those that were cited."""

    retrieval: Retrieval
    cited: tuple[str, ...]
    shown: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Answer:
    text: str
    cited: list[str]
    shown: tuple[str, ...]


def lessons(trace: Trace) -> list[Lesson]:
    """Read a finished trace.

    The answer is what the model said that came out at the root; where that cannot be
    told (the root's output was parsed, or its stream abandoned), the last thing that
    cites any source. Drafts, gradings and failed attempts teach nothing.
    """
    retrievals = list(trace.retrievals.values())
    if not (retrievals or trace.earlier) or trace.failed:
        return []
    sources = list(_sources(trace, [*retrievals, *trace.earlier]))
    answers = [
        answer
        for call in trace.calls.values()
        if call.ended
        for prompt, said in zip(call.prompts, call.answers, strict=False)
        if said and (answer := _answer(prompt, said[0], sources, trace.tools)) is not None
    ]
    said_last = _that_came_out(answers, trace.output)
    if said_last is None:
        said_last = [answer for answer in answers if answer.cited][-1:]
    cited = dict.fromkeys(id_ for answer in said_last for id_ in answer.cited)
    shown = dict.fromkeys(id_ for answer in said_last for id_ in answer.shown)
    found = share(retrievals, cited, shown)
    # What this run did not find itself, an earlier turn of the conversation did.
    own = {hit.chunk.id for retrieval in retrievals for hit in retrieval.recall.hits}
    return found + share(trace.earlier, [id_ for id_ in cited if id_ not in own], shown)


def share(
    retrievals: Sequence[Retrieval], cited: Iterable[str], shown: Iterable[str]
) -> list[Lesson]:
    """Credit each cited chunk to one recall: where it ranks best, the earlier among equals.

    A recall is not told of chunks that another one is credited with, lest they count as
    shown but not cited.
    """
    ranks = [{hit.chunk.id: hit.rank for hit in retrieval.recall.hits} for retrieval in retrievals]
    credited: dict[int, list[str]] = {}
    taken = set()
    for id_ in cited:
        holders = [(ranks[at][id_], at) for at in range(len(retrievals)) if id_ in ranks[at]]
        if holders:
            credited.setdefault(min(holders)[1], []).append(id_)
            taken.add(id_)
    own_shown = list(dict.fromkeys(shown))
    return [
        Lesson(
            retrieval=retrievals[at],
            cited=tuple(own),
            shown=tuple(
                id_ for id_ in own_shown if id_ in ranks[at] and (id_ in own or id_ not in taken)
            ),
        )
        for at, own in sorted(credited.items())
    ]


def _sources(trace: Trace, retrievals: Sequence[Retrieval]) -> Iterator[Source]:
    """Every text that may be in a prompt; those of other indexes without an id."""
    held = set()
    for retrieval in retrievals:
        for hit in retrieval.recall.hits:
            if hit.chunk.id not in held:
                held.add(hit.chunk.id)
                yield Source(hit.chunk.id, hit.chunk.text, hit.chunk.title)
    for documents in trace.foreign.values():
        for document in documents:
            if document.id not in held:
                source = to_source(document)
                yield Source("", source.text, source.title)


def _answer(
    prompt: Sequence[BaseMessage] | str,
    said: Generation,
    sources: Sequence[Source],
    tools: set[str],
) -> _Answer | None:
    """Read one model call; None if it was shown no chunk of ours."""
    text, blocks = prompt_text(prompt)
    rendered = rendered_in(text, sources, blocks=blocks)
    if not rendered.ids:
        return None
    message = said.message if isinstance(said, ChatGeneration) else None
    answer = said.text if message is None else message_text(message)
    cited = dict.fromkeys(parse_citations(answer, rendered))
    if isinstance(message, AIMessage):
        cited.update(dict.fromkeys(_structured(message, rendered, tools)))
        cited.update(dict.fromkeys(parse_annotations(_annotations(message), rendered)))
    return _Answer(answer, list(cited), rendered.ids)


def _structured(message: AIMessage, rendered: Rendered, tools: set[str]) -> Iterator[str]:
    # A call of a tool that ran is a question, not an answer.
    for call in message.tool_calls:
        if call["name"] not in tools:
            yield from parse_structured(call["args"], rendered)
    if parsed := message.additional_kwargs.get("parsed"):
        yield from parse_structured(parsed, rendered)


def _annotations(message: AIMessage) -> Iterator[Any]:
    if isinstance(message.content, str):
        return
    for block in message.content_blocks:
        if block["type"] == "text":
            yield from block.get("annotations") or ()
        elif block["type"] == "non_standard" and isinstance(block.get("value"), Mapping):
            yield from block["value"].get("citations") or ()


def message_text(message: BaseMessage) -> str:
    """Return the text of a message, without reasoning and tool calls."""
    return str(message.text)


def prompt_text(prompt: Sequence[BaseMessage] | str) -> tuple[str, list[str]]:
    """Return all text that a model was given, and the texts of native document blocks."""
    if isinstance(prompt, str):
        return prompt, []
    texts: list[str] = []
    blocks: list[str] = []
    for message in prompt:
        if isinstance(message.content, str):
            texts.append(message.content)
            continue
        for block in message.content:
            if isinstance(block, str):
                texts.append(block)
            elif block.get("type") in _DOCUMENT_BLOCKS:
                blocks.append("\n".join(_strings(block)))
            elif isinstance(block.get("content"), list):  # a tool result that holds blocks
                for inner in block["content"]:
                    if isinstance(inner, dict) and inner.get("type") in _DOCUMENT_BLOCKS:
                        blocks.append("\n".join(_strings(inner)))
                    else:
                        texts.extend(_strings(inner))
            else:
                texts.extend(_strings(block))
    return "\n\n".join(texts), blocks


_NO_TEXT = frozenset({"type", "id", "index", "media_type", "mime_type", "source_type"})


def _strings(block: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(block, str):
        yield block
    elif depth < _MAX_OUTPUT_DEPTH:
        if isinstance(block, Mapping):
            for name, part in block.items():
                if name not in _NO_TEXT:
                    yield from _strings(part, depth + 1)
        elif isinstance(block, list):
            for part in block:
                yield from _strings(part, depth + 1)


def _that_came_out(answers: Sequence[_Answer], output: Any) -> list[_Answer] | None:
    """Return the answers that stand in the root's output; None if it holds none of them."""
    out = [text for text in _output_texts(output, 0, [_MAX_OUTPUT_VALUES]) if text]
    found = [
        answer
        for answer in answers
        if (text := answer.text.strip())
        and any(text == one or (len(text) >= _TELLING and text in one) for one in out)
    ]
    return found or None


def _output_texts(value: Any, depth: int, budget: list[int]) -> Iterator[str]:
    budget[0] -= 1
    if budget[0] < 0 or depth > _MAX_OUTPUT_DEPTH:
        return
    if isinstance(value, str):
        yield value.strip()
    elif isinstance(value, BaseMessage):
        if isinstance(value, AIMessage):
            yield message_text(value).strip()
    elif isinstance(value, Document):
        return
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _output_texts(part, depth + 1, budget)
    elif isinstance(value, list | tuple):
        if value and isinstance(value[-1], BaseMessage):
            # Of a conversation, what was said last.
            value = value[-1:]
        for part in value:
            yield from _output_texts(part, depth + 1, budget)
