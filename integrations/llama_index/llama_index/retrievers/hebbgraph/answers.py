"""What an answer was shown and cites, and which recall gets the credit."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.base.response.schema import PydanticResponse, Response
from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore

from hebbgraph.citations import (
    Rendered,
    Source,
    parse_annotations,
    parse_citations,
    parse_structured,
    rendered_in,
)
from llama_index.retrievers.hebbgraph.tracing import Request, SeenRecall

__all__ = [
    "Answer",
    "cited_in",
    "contents",
    "credit",
    "hit_ids",
    "render",
    "result_of",
    "text_of",
]

_NUMBERED = re.compile(r"Source (\d+):\n")


@dataclass
class Answer:
    """All that decides what an answer teaches; self-contained, so it can wait."""

    request: Request
    recalls: list[SeenRecall]
    tags: Mapping[str, Any]
    prompt: str = ""
    nodes: list[NodeWithScore] = field(default_factory=list)
    text: str = ""
    structured: Any = None
    message: ChatMessage | None = None


def text_of(answer: object) -> tuple[str, Any]:
    """Return a response's text and its structured answer."""
    if isinstance(answer, PydanticResponse):
        return "", answer.response
    if isinstance(answer, Response):
        return answer.response or "", None
    return str(answer), None


def result_of(result: object) -> tuple[str, Any]:
    """Read an agent's output, as far as it is one."""
    output = getattr(result, "result", result)
    structured = getattr(output, "structured_response", None)
    response = getattr(output, "response", output)
    if isinstance(response, ChatMessage):
        return response.content or "", structured
    return (response, structured) if isinstance(response, str) else ("", structured)


def contents(nodes: Sequence[NodeWithScore]) -> str:
    """Return nodes as a synthesizer writes them into a prompt."""
    return "\n\n".join(one.node.get_content(metadata_mode=MetadataMode.LLM) for one in nodes)


def render(answer: Answer) -> Rendered:
    """Tell which of our chunks the model saw, and under which keys."""
    if _are_numbered(answer.nodes):
        return Rendered.numbered(
            Source(_chunk_id(one.node, answer.recalls), one.node.get_content())
            for one in answer.nodes
        )
    own: dict[str, Source] = {}
    for seen in answer.recalls:
        for hit in seen.recall.hits:
            chunk = hit.chunk
            own.setdefault(chunk.id, Source(chunk.id, chunk.text, chunk.title))
    foreign = [
        Source("", one.node.get_content(metadata_mode=MetadataMode.NONE))
        for one in answer.nodes
        if one.node_id not in own
    ]
    sources = [*own.values(), *foreign]
    rendered = rendered_in(answer.prompt, sources) if answer.prompt else Rendered()
    if not answer.nodes or (rendered.ids and set(rendered.ids) <= set(rendered.keys.values())):
        return rendered
    # The prompt was not heard, or wraps what the synthesizer was given.
    given = rendered_in(contents(answer.nodes), sources)
    if not rendered.ids:
        return given
    keys = {key: id_ for key, id_ in given.keys.items() if id_ in rendered.ids}
    return Rendered(rendered.sources, {**keys, **rendered.keys})


def cited_in(answer: Answer, rendered: Rendered) -> list[str]:
    """Return the chunks that an answer cites."""
    if not rendered.ids:
        return []
    found = parse_citations(answer.text, rendered)
    if answer.structured is not None:
        found += parse_structured(answer.structured, rendered)
    if answer.message is not None:
        found += parse_annotations(_annotations(answer.message), rendered)
    return list(dict.fromkeys(found))


def _annotations(message: ChatMessage) -> list[dict[str, Any]]:
    """Native citations, in the words of ``parse_annotations``."""
    result = []
    for block in message.blocks:
        if getattr(block, "block_type", "") == "citation":
            cited = getattr(block, "cited_content", None)
            result.append(
                {
                    **(getattr(block, "additional_location_info", None) or {}),
                    "type": "citation",
                    "source": getattr(block, "source", None),
                    "title": getattr(block, "title", None),
                    "cited_text": getattr(cited, "text", None),
                }
            )
    return result


def credit(cited: list[str], recalls: list[SeenRecall]) -> dict[str, list[str]]:
    """Give each cited chunk to the recall that ranked it best, among equals the latest."""
    credited: dict[str, list[str]] = {}
    for id_ in cited:
        ranked = [
            (hit.rank, -number, seen.recall.id)
            for number, seen in enumerate(recalls)
            if (hit := seen.recall.hit(id_)) is not None
        ]
        if ranked:
            credited.setdefault(min(ranked)[2], []).append(id_)
    return credited


def _are_numbered(nodes: list[NodeWithScore]) -> bool:
    """Tell whether a CitationQueryEngine made these nodes."""
    return bool(nodes) and all(
        (found := _NUMBERED.match(one.node.get_content())) is not None
        and found.group(1) == str(number)
        for number, one in enumerate(nodes, 1)
    )


def _chunk_id(node: BaseNode, recalls: list[SeenRecall]) -> str:
    """Return the chunk that a piece of a CitationQueryEngine was cut from, or ``""``.

    Pieces have ids of their own, but their node's relationships and metadata.
    """
    if any(node.node_id in hit_ids(seen) for seen in recalls):
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


def hit_ids(seen: SeenRecall) -> set[str]:
    """Return the ids of a recall's chunks."""
    return {hit.chunk.id for hit in seen.recall.hits}
