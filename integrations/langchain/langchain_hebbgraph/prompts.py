"""Prompts that make models cite: documents with keys, an instruction, a retriever tool."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from hebbgraph.calling import Steps, astep, step, twins
from hebbgraph.citations import CITATION_INSTRUCTION, Formatter, Source
from hebbgraph.citations.formatter import source_block
from hebbgraph.text.query import usable_question
from langchain_core.callbacks import Callbacks
from langchain_core.documents import Document
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import Runnable
from langchain_core.tools import StructuredTool
from pydantic import BaseModel, Field

from langchain_hebbgraph.conversion import check_documents, stable_id, to_source
from langchain_hebbgraph.options import retriever_in

__all__ = [
    "CITATION_INSTRUCTION",
    "CitedAnswer",
    "Formatter",
    "citation_prompt",
    "cite_documents",
    "create_citing_retriever_tool",
    "format_documents",
    "search_result_blocks",
]

NOTHING_FOUND = "No source was found."
_EMPTY = "Nothing was searched, as the query is empty. Call this tool again with a question."


class CitedAnswer(BaseModel):
    """Answer the question from the sources, and cite them.

    For ``llm.with_structured_output(CitedAnswer)``.
    """

    answer: str = Field(description="The answer, based only on the sources.")
    citations: list[str] = Field(
        description="The keys, exactly as given, of the sources that support the answer."
    )


def format_documents(documents: Iterable[Document], formatter: Formatter | None = None) -> str:
    """Write documents into a prompt so that an answer can cite them.

    Ready for LCEL: ``retriever | format_documents``.

    Parameters
    ----------
    documents : iterable of Document
        Citations are traced to their ids.
    formatter : Formatter, optional
        Left out, numbered keys, with a prefix if a document contains such a number.

    Examples
    --------
    >>> print(format_documents([Document("Built by Ida Moss.", metadata={"title": "Petrel"})]))
    [1] Petrel
    Built by Ida Moss.
    """
    text = (formatter or Formatter()).render(map(to_source, check_documents(documents))).text
    return text or NOTHING_FOUND


def cite_documents(
    documents: Iterable[Document], formatter: Formatter | None = None
) -> list[Document]:
    """Return copies that begin with their keys, for chains that format documents themselves.

    One is ``create_stuff_documents_chain`` with its default ``document_prompt``.

    Examples
    --------
    >>> (found,) = cite_documents([Document("Built by Ida Moss.", metadata={"title": "Petrel"})])
    >>> print(found.page_content)
    [1] Petrel
    Built by Ida Moss.
    """
    documents = check_documents(documents)
    rendered = (formatter or Formatter()).render(
        Source(stable_id(document), document.page_content, to_source(document).title)
        for document in documents
    )
    blocks = map(source_block, rendered.keys, rendered.sources)
    return [
        document.model_copy(update={"page_content": block})
        for document, block in zip(documents, blocks, strict=True)
    ]


def citation_prompt(
    instruction: str = "", *, history: str | None = None, question: str = "question"
) -> ChatPromptTemplate:
    """Return a prompt with the variables ``context`` and ``question`` that asks for citations.

    Parameters
    ----------
    instruction : str
        Precedes :data:`CITATION_INSTRUCTION`.
    history : str, optional
        The name of a variable with earlier messages.
    question : str
        The name of the variable with the question: ``"input"`` for ``create_retrieval_chain``.
    """
    head = "\n\n".join(filter(None, [instruction, CITATION_INSTRUCTION]))
    messages: list[Any] = [("system", "{instruction}\n\n{context}")]
    if history is not None:
        messages.append(MessagesPlaceholder(history, optional=True))
    messages.append(("human", f"{{{question}}}"))
    return ChatPromptTemplate(messages).partial(instruction=head)


class _Query(BaseModel):
    query: str = Field(description="What to look for, as a question or in keywords.")


def create_citing_retriever_tool(
    retriever: Runnable[str, list[Document]],
    name: str = "search",
    description: str = "Search the knowledge base for passages that help to answer.",
    *,
    formatter: Formatter | None = None,
    instruct: bool = True,
) -> StructuredTool:
    """Make a tool of a retriever whose results an agent can cite.

    ``langchain_core.tools.create_retriever_tool`` shows the model neither ids nor keys. An empty
    or overlong query does not end the run: the result tells the model.

    Parameters
    ----------
    retriever : BaseRetriever
        Perhaps with ``with_config``, ``bind`` or ``configurable_fields``.
    name, description : str
        For the model.
    formatter : Formatter, optional
        Left out, keys differ between calls, so an answer may cite several.
    instruct : bool
        Whether to add :data:`CITATION_INSTRUCTION` to the description.

    Returns
    -------
    StructuredTool
        Its messages have the documents as their artifact.
    """
    retriever_in(retriever, "a tool")
    formatter = formatter or Formatter(prefix="always")

    def steps(query: str, callbacks: Callbacks) -> Steps[tuple[str, list[Document]]]:
        question, note = usable_question(query)
        if not question.strip():
            return _EMPTY, []
        documents = yield twins(retriever, "invoke", question, {"callbacks": callbacks})
        text = format_documents(documents, formatter)
        return text if note is None else f"{text}\n\nNote: {note}.", documents

    def search(query: str, callbacks: Callbacks = None) -> tuple[str, list[Document]]:
        return step(steps(query, callbacks))

    async def asearch(query: str, callbacks: Callbacks = None) -> tuple[str, list[Document]]:
        return await astep(steps(query, callbacks))

    return StructuredTool(
        name=name,
        description=f"{description} {CITATION_INSTRUCTION}" if instruct else description,
        func=search,
        coroutine=asearch,
        args_schema=_Query,
        response_format="content_and_artifact",
    )


def search_result_blocks(documents: Sequence[Document]) -> list[dict[str, Any]]:
    """Return content blocks for models that cite search results natively, such as Anthropic's."""
    return [
        {
            "type": "search_result",
            "source": document.id or "",
            "title": to_source(document).title or document.id or "",
            "content": [{"type": "text", "text": document.page_content}],
            "citations": {"enabled": True},
        }
        for document in documents
    ]
