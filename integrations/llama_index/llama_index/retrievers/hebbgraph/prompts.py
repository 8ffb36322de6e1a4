"""Prompts that make a model cite: a node postprocessor and templates."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Literal

from llama_index.core.instrumentation.span import active_span_id
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.prompts import PromptTemplate
from llama_index.core.prompts.prompt_type import PromptType
from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, QueryBundle
from pydantic import Field

from hebbgraph.citations import CITATION_INSTRUCTION, Formatter, Source
from llama_index.retrievers.hebbgraph.nodes import TITLE_KEY

__all__ = [
    "CITATION_CHAT_TEMPLATE",
    "CITATION_INSTRUCTION",
    "CITATION_QA_TEMPLATE",
    "CITATION_REFINE_TEMPLATE",
    "CitationFormatter",
]

CITATION_CHAT_TEMPLATE = f"""{CITATION_INSTRUCTION}

Sources:
---------------------
{{context_str}}
---------------------
"""
"""For a chat engine's ``context_template`` or ``context_prompt``."""

CITATION_QA_TEMPLATE = PromptTemplate(
    CITATION_CHAT_TEMPLATE + "\nQuestion: {query_str}\nAnswer: ",
    prompt_type=PromptType.QUESTION_ANSWER,
)
"""For ``text_qa_template``, together with a :class:`CitationFormatter`."""

CITATION_REFINE_TEMPLATE = PromptTemplate(
    f"""{CITATION_INSTRUCTION}

Question: {{query_str}}
The answer so far: {{existing_answer}}

More sources:
---------------------
{{context_msg}}
---------------------

If they help, improve the answer, and keep the keys that it cites; otherwise repeat it.
Answer: """,
    prompt_type=PromptType.REFINE,
)
"""For ``refine_template``."""


class CitationFormatter(BaseNodePostprocessor):
    """Puts a key before each node's metadata and text, so that an answer can cite it.

    Use it as the last of the ``node_postprocessors`` of a query engine, chat engine or tool. A
    :class:`CitationLearner` reads the keys from the prompt. Documents that contain ``[2]``, or ask
    to be cited, cannot forge a key (see :mod:`hebbgraph.citations`).

    Parameters
    ----------
    style : {"numbered", "id"}
        Keys are numbers, or the nodes' ids.
    prefix : {"auto", "always"}
        Whether letters, derived from all sources together, precede the numbers. ``"auto"``: if a
        text contains what looks like a key, and in chat engines, whose keys start over at each
        turn, so that a key copied from an earlier answer names nothing in this turn. Use
        ``"always"`` where one prompt holds several retrievals, as an agent's does.
    max_characters : int, optional
        Longer texts are cut.
    own_line : bool
        Start with a line break. Tools need it, since an agent may write a word before their
        output, such as ReAct's ``Observation:``.

    Examples
    --------
    >>> from llama_index.core.schema import TextNode
    >>> node = TextNode(text="Built by Ida Moss.", metadata={"title": "Petrel"})
    >>> nodes = CitationFormatter().postprocess_nodes([NodeWithScore(node=node, score=1.0)])
    >>> print(nodes[0].text)
    [1] Petrel
    Built by Ida Moss.
    """

    style: Literal["numbered", "id"] = Field(default="numbered", description="Form of keys.")
    prefix: Literal["auto", "always"] = Field(default="auto", description="Letters in keys.")
    max_characters: int | None = Field(default=None, description="Longer texts are cut.")
    own_line: bool = Field(default=False, description="Start with a line break.")

    @classmethod
    def class_name(cls) -> str:
        """Class name."""
        return "HebbgraphCitationFormatter"

    def postprocess_nodes(
        self,
        nodes: list[NodeWithScore],
        query_bundle: QueryBundle | None = None,
        query_str: str | None = None,
    ) -> list[NodeWithScore]:
        """Put a key before each node's text."""
        with _noting_chat():
            return super().postprocess_nodes(nodes, query_bundle, query_str)

    async def apostprocess_nodes(
        self,
        nodes: list[NodeWithScore],
        query_bundle: QueryBundle | None = None,
        query_str: str | None = None,
    ) -> list[NodeWithScore]:
        """Async twin of :meth:`postprocess_nodes`."""
        with _noting_chat():
            return await super().apostprocess_nodes(nodes, query_bundle, query_str)

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        formatter = Formatter(
            style=self.style,
            prefix="always" if _in_chat.get() else self.prefix,
            max_characters=self.max_characters,
        )
        cut = formatter.render([_source(result.node) for result in nodes]).sources
        sources = [
            _with_metadata(source, result.node) for result, source in zip(nodes, cut, strict=True)
        ]
        # Rendered again with the metadata, which could forge a key too.
        rendered = replace(formatter, max_characters=None).render(sources)
        keys: dict[str, str] = {}
        for key, id_ in rendered.keys.items():
            keys.setdefault(id_, key)
        formatted = []
        for result, source in zip(nodes, rendered.sources, strict=True):
            node = result.node.model_copy()
            header = f"[{keys[source.id]}] {source.title}".rstrip()
            start = "\n" if self.own_line else ""
            node.set_content(f"{start}{header}\n{source.text}")
            node.excluded_llm_metadata_keys = list(node.metadata)
            formatted.append(NodeWithScore(node=node, score=result.score))
        return formatted

    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return self._postprocess_nodes(nodes, query_bundle)


#: Span ids begin with ``Class.method-``.
_CHAT_SPAN = re.compile(r"\.a?(?:stream_)?chat-")
_in_chat: ContextVar[bool] = ContextVar("hebbgraph_in_chat", default=False)


@contextmanager
def _noting_chat() -> Iterator[None]:
    """Note whether a chat engine calls, before the formatter opens a span of its own.

    A query engine within a chat engine does not count: its prompt holds no earlier answer.
    """
    token = _in_chat.set(_CHAT_SPAN.search(active_span_id.get() or "") is not None)
    try:
        yield
    finally:
        _in_chat.reset(token)


def _source(node: BaseNode) -> Source:
    title = node.metadata.get(TITLE_KEY)
    return Source(
        id=node.node_id,
        text=node.get_content(metadata_mode=MetadataMode.NONE),
        title=title if isinstance(title, str) else "",
    )


def _with_metadata(source: Source, node: BaseNode) -> Source:
    """Put the metadata for the model before the text; a str title is in the header already."""
    copy = node.model_copy()
    if source.title:
        copy.excluded_llm_metadata_keys = [*copy.excluded_llm_metadata_keys, TITLE_KEY]
    metadata = copy.get_metadata_str(MetadataMode.LLM).strip()
    return replace(source, text=f"{metadata}\n\n{source.text}") if metadata else source
