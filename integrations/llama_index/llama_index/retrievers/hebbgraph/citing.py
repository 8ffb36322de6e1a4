"""Prompts that make a model cite: a postprocessor, templates, and a tool for agents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.llms.types import TextBlock
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.prompts import PromptTemplate
from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, QueryBundle
from llama_index.core.tools import RetrieverTool, ToolMetadata, ToolOutput

from hebbgraph.citations import CITATION_INSTRUCTION, Passage, number_passages
from hebbgraph.errors import ParameterError
from hebbgraph.text.query import usable_question
from llama_index.retrievers.hebbgraph.nodes import text_of

__all__ = [
    "CHAT_TEMPLATE",
    "CITATION_TEMPLATE",
    "QA_TEMPLATES",
    "CitationFormatter",
    "citing",
    "citing_tool",
]


def _joined(context_str: str | list[str] = "", **_: Any) -> str:
    """Return passages as one text; ``simple_summarize`` passes a list."""
    return context_str if isinstance(context_str, str) else "\n\n".join(context_str)


#: A chat engine adds the question itself.
CHAT_TEMPLATE = f"{CITATION_INSTRUCTION}\n\nPassages:\n\n{{context_str}}\n"
CITATION_TEMPLATE = PromptTemplate(
    CHAT_TEMPLATE + "\nQuestion: {query_str}\nAnswer: ", function_mappings={"context_str": _joined}
)
"""For the ``text_qa_template`` of an engine, with a CitationFormatter."""

QA_TEMPLATES = {
    "text_qa_template": CITATION_TEMPLATE,
    "summary_template": CITATION_TEMPLATE,
    "refine_template": PromptTemplate(
        f"{CITATION_INSTRUCTION}\n\nQuestion: {{query_str}}\n"
        "The answer so far: {existing_answer}\n\nMore passages:\n\n{context_msg}\n\nIf they help, "
        "improve the answer, and keep the keys that it cites; otherwise repeat it.\nAnswer: "
    ),
}

_NOTHING = "No passage was found. Call this tool again, with a question in other words."


class CitationFormatter(BaseNodePostprocessor):
    """Put a key before each node's text, which no answer could copy from one of the texts.

    Use it as the last of the ``node_postprocessors``. A :class:`CitationLearner` reads the keys
    from the prompt.

    Parameters
    ----------
    apart : bool
        Whether keys of several searches differ, which one prompt of a chat or agent may hold.

    Examples
    --------
    >>> from llama_index.core.schema import TextNode
    >>> node = TextNode(text="Built by Ida Moss.", metadata={"title": "Petrel"})
    >>> nodes = CitationFormatter().postprocess_nodes([NodeWithScore(node=node, score=1.0)])
    >>> print(nodes[0].text)
    [1] Petrel
    Built by Ida Moss.
    """

    apart: bool = False

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        numbered = number_passages([_passage(result.node) for result in nodes], apart=self.apart)
        formatted = []
        for result, block in zip(nodes, numbered.blocks, strict=True):
            node = result.node.model_copy()
            node.set_content(block)
            node.excluded_llm_metadata_keys = list(node.metadata)  # they are in the block
            formatted.append(NodeWithScore(node=node, score=result.score))
        return formatted


def _passage(node: BaseNode) -> Passage:
    """Return a node's text below the metadata that the model may read, a line each."""
    title, bare = node.metadata.get("title"), node.model_copy()
    if isinstance(title, str):
        bare.excluded_llm_metadata_keys = [*bare.excluded_llm_metadata_keys, "title"]
    lines = bare.get_metadata_str(MetadataMode.LLM).split("\n")
    metadata = "\n".join(filter(None, (" ".join(line.split()) for line in lines)))
    text = "\n\n".join(filter(None, (metadata, text_of(node))))
    return Passage(node.node_id, text, title if isinstance(title, str) else "")


def citing(options: dict[str, Any], templates: dict[str, Any], *, apart: bool) -> dict[str, Any]:
    """Return the options of an engine whose answers cite."""
    formatter = CitationFormatter(apart=apart)
    steps = [*(options.get("node_postprocessors") or ()), formatter]
    return {**templates, **options, "node_postprocessors": steps}


def citing_tool(
    retriever: BaseRetriever,
    *,
    name: str = "search",
    description: str = "Finds passages that help to answer a question.",
    node_postprocessors: Sequence[BaseNodePostprocessor] = (),
) -> RetrieverTool:
    """Make a tool of a retriever, whose results an agent can cite, and a learner learns from.

    Keys differ between calls, so an answer may cite several. The description is followed by the
    request for citations; postprocessors run before the :class:`CitationFormatter`.

    Examples
    --------
    >>> from llama_index.core.schema import TextNode
    >>> from llama_index.retrievers.hebbgraph import HebbianRetriever
    >>> retriever = HebbianRetriever.from_nodes([TextNode(id_="owls", text="Owls hunt voles.")])
    >>> print(citing_tool(retriever)(input="voles").content.strip())
    [9921]
    Owls hunt voles.
    """
    if not isinstance(retriever, BaseRetriever):
        kind = type(retriever).__name__
        raise ParameterError(f"retriever is a BaseRetriever, got {kind}; see index.as_retriever()")
    metadata = ToolMetadata(name=name, description=f"{description} {CITATION_INSTRUCTION}")
    return _CitingTool(retriever, metadata, [*node_postprocessors, CitationFormatter(apart=True)])


class _CitingTool(RetrieverTool):
    """Searches the question itself; its base class would search for "input is ..."."""

    def call(self, *args: Any, **kwargs: Any) -> ToolOutput:
        """Search, and number what is found."""
        return _readable(super().call(_question(args, kwargs)))

    async def acall(self, *args: Any, **kwargs: Any) -> ToolOutput:
        """Async twin of :meth:`call`."""
        return _readable(await super().acall(_question(args, kwargs)))


def _readable(output: ToolOutput) -> ToolOutput:
    # An agent may write a word before this, such as ReAct's "Observation:".
    text = f"\n{output.content}" if output.raw_output else _NOTHING
    return output.model_copy(update={"blocks": [TextBlock(text=text)]})


def _question(args: Sequence[Any], kwargs: dict[str, Any]) -> str:
    """Return the model's ``input``, or whatever else it passes; some models wrap it in a dict."""
    value = kwargs["input"] if "input" in kwargs else [*args, *kwargs.values()]
    value = [*value.values()] if isinstance(value, dict) else value
    text = " ".join(map(str, value if isinstance(value, list) else [value]))
    return usable_question(text)[0].strip()
