"""Prompts that make a model cite: a node postprocessor, templates, and a tool for agents."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.instrumentation.span import active_span_id
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.prompts import PromptTemplate
from llama_index.core.prompts.prompt_type import PromptType
from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, QueryBundle
from llama_index.core.tools import RetrieverTool, ToolOutput
from pydantic import Field

from hebbgraph import HebbianIndex, ParameterError
from hebbgraph.arguments import check_names
from hebbgraph.calling import Steps, astep, step, twins
from hebbgraph.citations import CITATION_INSTRUCTION, Formatter, Source
from hebbgraph.citations.formatter import source_block
from hebbgraph.records import storable
from hebbgraph.text.query import usable_question
from llama_index.retrievers.hebbgraph.nodes import TITLE_KEY

__all__ = [
    "CITATION_CHAT_TEMPLATE",
    "CITATION_INSTRUCTION",
    "CITATION_QA_TEMPLATE",
    "CITATION_REFINE_TEMPLATE",
    "CitationFormatter",
    "citing_tool",
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

#: The span of a chat engine; span ids begin with ``Class.method-``.
_CHAT_SPAN = re.compile(r"\.a?(?:stream_)?chat-")
_EMPTY = "Nothing was searched, as the question is empty. Call this tool again with a question."
_NOTHING = "No source was found. Call this tool again with other words."


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
        # A query engine within a chat engine does not count: its prompt holds no earlier answer.
        in_chat = _CHAT_SPAN.search(active_span_id.get() or "") is not None
        formatter = Formatter(
            style=self.style,
            prefix="always" if in_chat else self.prefix,
            max_characters=self.max_characters,
        )
        cut = formatter.render([_source(result.node) for result in nodes]).sources
        sources = [
            _with_metadata(source, result.node) for result, source in zip(nodes, cut, strict=True)
        ]
        # Rendered again with the metadata, which could forge a key too.
        rendered = replace(formatter, max_characters=None).render(sources)
        keys = {id_: key for key, id_ in reversed([*rendered.keys.items()])}
        start = "\n" if self.own_line else ""
        formatted = []
        for result, source in zip(nodes, rendered.sources, strict=True):
            node = result.node.model_copy()
            node.set_content(start + source_block(keys[source.id], source))
            node.excluded_llm_metadata_keys = list(node.metadata)
            formatted.append(NodeWithScore(node=node, score=result.score))
        return formatted

    async def apostprocess_nodes(self, *args: Any, **kwargs: Any) -> list[NodeWithScore]:
        """Async twin of :meth:`postprocess_nodes`."""
        return self.postprocess_nodes(*args, **kwargs)

    # LlamaIndex opens a span for this one, in which the engine's would be out of sight.
    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return self.postprocess_nodes(nodes)


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


def citing_tool(
    retriever: BaseRetriever,
    *,
    name: str = "search",
    description: str = "Finds sources for a question.",
    node_postprocessors: Sequence[BaseNodePostprocessor] = (),
    **formatting: Any,
) -> RetrieverTool:
    """Make a tool of a retriever, whose results an agent can cite.

    Put ``CITATION_INSTRUCTION`` into the agent's ``system_prompt``. The model's question is
    searched word for word; for an empty one, the tool asks for a question.

    Parameters
    ----------
    retriever : BaseRetriever
        Searches for sources.
    name, description : str
        As the model sees them.
    node_postprocessors : sequence of BaseNodePostprocessor
        Run before the :class:`CitationFormatter`.
    **formatting
        Arguments of the :class:`CitationFormatter`; by default ``prefix="always"`` and
        ``own_line=True``.

    Examples
    --------
    >>> from llama_index.core.schema import TextNode
    >>> from llama_index.retrievers.hebbgraph import HebbianRetriever
    >>> nodes = [TextNode(text="The Petrel was built by Ida Moss.")]
    >>> tool = citing_tool(HebbianRetriever.from_nodes(nodes))
    >>> tool(input=" ").content
    'Nothing was searched, as the question is empty. Call this tool again with a question.'
    """
    if not isinstance(retriever, BaseRetriever):
        hint = "; write HebbianRetriever(index)" if isinstance(retriever, HebbianIndex) else ""
        raise ParameterError(f"a tool needs a retriever, got {type(retriever).__name__}{hint}")
    check_names(formatting, CitationFormatter.model_fields, of="citing_tool")
    formatter = CitationFormatter(**{"prefix": "always", "own_line": True, **formatting})
    return _CitingTool.from_defaults(
        retriever,
        name=name,
        description=description,
        node_postprocessors=[*node_postprocessors, formatter],
    )


class _CitingTool(RetrieverTool):
    """Searches the question itself; its base class would search "input is ..."."""

    def call(self, *args: Any, **kwargs: Any) -> ToolOutput:
        """Search and format the sources."""
        return step(self._steps(_question(args, kwargs)))

    async def acall(self, *args: Any, **kwargs: Any) -> ToolOutput:
        """Async twin of :meth:`call`."""
        return await astep(self._steps(_question(args, kwargs)))

    def _steps(self, question: str) -> Steps[ToolOutput]:
        nodes: list[NodeWithScore] = []
        if question:
            bundle = QueryBundle(question)
            nodes = yield twins(self.retriever, "retrieve", bundle)
            for processor in self._node_postprocessors:  # older versions have no method for it
                nodes = yield twins(processor, "postprocess_nodes", nodes, bundle)
        parts = [node.node.get_content(MetadataMode.LLM) for node in nodes]
        if not parts:
            parts = [_NOTHING if question else _EMPTY]
        if (note := usable_question(question)[1]) is not None:
            parts.append(f"Note: {note}.")
        return ToolOutput(
            content="\n\n".join(parts),
            tool_name=self.metadata.get_name(),
            raw_input={"input": question},
            raw_output=list(nodes),
        )


def _question(args: Sequence[Any], kwargs: dict[str, Any]) -> str:
    """Return the model's ``input``, or the values of whatever else it passes."""
    value = kwargs["input"] if "input" in kwargs else (*args, *kwargs.values())
    return storable(" ".join(_words(value))).strip()


def _words(value: Any) -> Iterator[str]:
    """Yield the texts in a value; some models wrap their question in a dict or list."""
    if isinstance(value, Mapping):
        value = tuple(value.values())
    if isinstance(value, list | tuple):
        for part in value:
            yield from _words(part)
    elif value is not None:
        yield str(value)
