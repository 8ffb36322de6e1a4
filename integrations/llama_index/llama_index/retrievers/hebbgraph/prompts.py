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

CITATION_QA_TEMPLATE = PromptTemplate(
    CITATION_INSTRUCTION
    + """

Sources:
---------------------
{context_str}
---------------------

Question: {query_str}
Answer: """,
    prompt_type=PromptType.QUESTION_ANSWER,
)
"""For ``text_qa_template``, together with a :class:`CitationFormatter`."""

CITATION_REFINE_TEMPLATE = PromptTemplate(
    CITATION_INSTRUCTION
    + """

Question: {query_str}
The answer so far: {existing_answer}

More sources:
---------------------
{context_msg}
---------------------

If they help, improve the answer, and keep the keys that it cites; otherwise repeat it.
Answer: """,
    prompt_type=PromptType.REFINE,
)
"""For ``refine_template``."""

CITATION_CHAT_TEMPLATE = (
    CITATION_INSTRUCTION
    + """

Sources:
---------------------
{context_str}
---------------------
"""
)
"""For a chat engine's ``context_template`` or ``context_prompt``."""


class CitationFormatter(BaseNodePostprocessor):
    """Puts a key before each node's metadata and text, so that an answer can cite it.

    Use it as the last of the ``node_postprocessors`` of a query engine, chat engine or
    tool. A :class:`CitationLearner` reads the keys back from the prompt. Documents that
    contain ``[2]``, or ask to be cited, cannot forge a key (see
    :mod:`hebbgraph.citations`).

    Parameters
    ----------
    style : {"numbered", "id"}
        Whether keys are numbers, or the nodes' ids.
    prefix : {"auto", "always"}
        Whether letters go before the numbers. They follow from all the sources together.
        ``"auto"``: if a text contains what could be taken for a key, and in chat engines, whose
        keys start over at each turn: one that the model copies from an earlier answer then names
        nothing in the present turn. Use ``"always"`` where several retrievals meet in one
        prompt, as with an agent.
    max_characters : int, optional
        Longer texts are cut.
    own_line : bool
        Begin with a line break. Tools need it, because a word may stand before their
        output, such as ReAct's ``Observation:``.

    Examples
    --------
    >>> from llama_index.core.schema import TextNode
    >>> node = TextNode(text="Built by Ida Moss.", metadata={"title": "Petrel"})
    >>> found = CitationFormatter().postprocess_nodes([NodeWithScore(node=node, score=1.0)])
    >>> print(found[0].text)
    [1] Petrel
    Built by Ida Moss.
    """

    style: Literal["numbered", "id"] = Field(default="numbered", description="Form of keys.")
    prefix: Literal["auto", "always"] = Field(default="auto", description="Letters in keys.")
    max_characters: int | None = Field(default=None, description="Longer texts are cut.")

    own_line: bool = Field(default=False, description="Begin with a line break.")

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
        with _noting_chats():
            return super().postprocess_nodes(nodes, query_bundle, query_str)

    async def apostprocess_nodes(
        self,
        nodes: list[NodeWithScore],
        query_bundle: QueryBundle | None = None,
        query_str: str | None = None,
    ) -> list[NodeWithScore]:
        """Async twin of :meth:`postprocess_nodes`."""
        with _noting_chats():
            return await super().apostprocess_nodes(nodes, query_bundle, query_str)

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        formatter = Formatter(
            style=self.style,
            prefix="always" if _in_chat.get() else self.prefix,
            max_characters=self.max_characters,
        )
        cut = formatter.render([_source(one) for one in nodes]).sources
        shown = [_told(one.node, source) for one, source in zip(nodes, cut, strict=True)]
        # Of the whole of it, so that metadata cannot forge a key either.
        rendered = replace(formatter, max_characters=None).render(shown)
        keys: dict[str, str] = {}
        for key, id_ in rendered.keys.items():
            keys.setdefault(id_, key)
        result = []
        for one, source in zip(nodes, rendered.sources, strict=True):
            node = one.node.model_copy()
            header = f"[{keys[source.id]}] {source.title}".rstrip()
            start = "\n" if self.own_line else ""
            node.set_content(f"{start}{header}\n{source.text}")
            node.excluded_llm_metadata_keys = list(node.metadata)
            result.append(NodeWithScore(node=node, score=one.score))
        return result

    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return self._postprocess_nodes(nodes, query_bundle)


_CHATS = re.compile(r"\.a?(?:stream_)?chat-")
_in_chat: ContextVar[bool] = ContextVar("hebbgraph_in_chat", default=False)


@contextmanager
def _noting_chats() -> Iterator[None]:
    """Note whether a chat engine is asking; the name of its span begins ``Class.method-``.

    Before the formatter opens a span of its own. A query engine within a chat engine is none:
    its prompt holds no earlier answer.
    """
    token = _in_chat.set(_CHATS.search(active_span_id.get() or "") is not None)
    try:
        yield
    finally:
        _in_chat.reset(token)


def _source(one: NodeWithScore) -> Source:
    title = one.node.metadata.get(TITLE_KEY)
    return Source(
        id=one.node.node_id,
        text=one.node.get_content(metadata_mode=MetadataMode.NONE),
        title=title if isinstance(title, str) else "",
    )


def _told(node: BaseNode, source: Source) -> Source:
    """Return a source with the metadata that a model is to read before its text."""
    own = node.model_copy()
    own.excluded_llm_metadata_keys = [*own.excluded_llm_metadata_keys, TITLE_KEY]
    if not source.title:
        own.excluded_llm_metadata_keys.remove(TITLE_KEY)
    told = own.get_metadata_str(MetadataMode.LLM).strip()
    return replace(source, text=f"{told}\n\n{source.text}") if told else source
