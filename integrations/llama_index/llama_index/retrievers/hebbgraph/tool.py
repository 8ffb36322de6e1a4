"""An agent's tool whose results can be cited."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle
from llama_index.core.tools import RetrieverTool, ToolOutput

from hebbgraph import HebbianIndex, ParameterError
from hebbgraph.arguments import check_names
from hebbgraph.calling import Steps, astep, step
from hebbgraph.records import storable
from hebbgraph.text.query import usable_question
from llama_index.retrievers.hebbgraph.prompts import CitationFormatter

__all__ = ["citing_tool"]

_EMPTY = "Nothing was searched, as the question is empty. Call this tool again with a question."
_NOTHING = "No source was found. Call this tool again with other words."


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
            bundle, source = QueryBundle(question), self.retriever
            nodes = yield partial(source.retrieve, bundle), partial(source.aretrieve, bundle)
            for processor in self._node_postprocessors:  # older versions have no method for it
                nodes = yield (
                    partial(processor.postprocess_nodes, nodes, bundle),
                    partial(processor.apostprocess_nodes, nodes, bundle),
                )
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
