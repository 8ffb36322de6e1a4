"""Prompts that make models cite: documents under keys, an instruction, a retriever tool."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from langchain_core.callbacks import Callbacks
from langchain_core.documents import Document
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import Runnable
from langchain_core.tools import StructuredTool

from hebbgraph.citations import (
    CITATION_INSTRUCTION,
    NumberedPassages,
    Passage,
    number_passages,
)
from langchain_hebbgraph.documents import as_list, title_of

__all__ = ["citation_prompt", "create_citing_retriever_tool", "format_documents", "numbered"]

_NOTHING_FOUND = "No passage was found."


def format_documents(documents: Iterable[Document]) -> str:
    """Write documents into a prompt so that an answer can cite them: ``retriever | this``.

    Each begins with a key that occurs in none of the texts.

    Examples
    --------
    >>> print(format_documents([Document("Built by Ida Moss.", metadata={"title": "Petrel"})]))
    [1] Petrel
    Built by Ida Moss.
    """
    return numbered(documents).text or _NOTHING_FOUND


def numbered(documents: Iterable[Document], *, apart: bool = False) -> NumberedPassages:
    """Return documents under keys; ``apart`` makes those of several searches differ."""
    documents = as_list(documents, Document, "documents")
    passages = [Passage(d.id or "", d.page_content, title_of(d.metadata)) for d in documents]
    return number_passages(passages, apart=apart)


def citation_prompt(
    instruction: str = "", *, history: str | None = None, question: str = "question"
) -> ChatPromptTemplate:
    """Return a prompt with the variables ``context`` and ``question`` that asks for citations.

    Parameters
    ----------
    instruction : str
        Comes before the request for citations.
    history : str, optional
        The name of a variable with earlier messages.
    question : str
        The name of the variable with the question: ``"input"`` for ``create_retrieval_chain``.

    Examples
    --------
    >>> citation_prompt().input_variables
    ['context', 'question']
    """
    head = "\n\n".join(filter(None, [instruction, CITATION_INSTRUCTION]))
    messages: list[Any] = [("system", "{instruction}\n\n{context}")]
    if history is not None:
        messages.append(MessagesPlaceholder(history, optional=True))
    messages.append(("human", f"{{{question}}}"))
    return ChatPromptTemplate(messages).partial(instruction=head)


def create_citing_retriever_tool(
    retriever: Runnable[str, list[Document]],
    name: str = "search",
    description: str = "Search the knowledge base for passages that help to answer.",
) -> StructuredTool:
    """Make a tool of a retriever, whose results an agent can cite, and a learner learns from.

    LangChain's own ``create_retriever_tool`` shows the model neither ids nor keys. Keys differ
    between calls, so an answer may cite several; the documents are the artifact of the message.
    The description is followed by the request for citations.

    Examples
    --------
    >>> from langchain_hebbgraph import HebbianRetriever
    >>> with HebbianRetriever.from_texts(["Owls hunt voles."]) as retriever:
    ...     print(create_citing_retriever_tool(retriever).invoke({"query": "owls"}))
    [4781]
    Owls hunt voles.
    """

    def shown(documents: list[Document]) -> tuple[str, list[Document]]:
        return numbered(documents, apart=True).text or _NOTHING_FOUND, documents

    def search(query: str, callbacks: Callbacks = None) -> tuple[str, list[Document]]:
        """Look for something, named by a question or keywords."""
        return shown(retriever.invoke(query, {"callbacks": callbacks}))

    async def asearch(query: str, callbacks: Callbacks = None) -> tuple[str, list[Document]]:
        return shown(await retriever.ainvoke(query, {"callbacks": callbacks}))

    return StructuredTool.from_function(
        name=name,
        description=f"{description} {CITATION_INSTRUCTION}",
        func=search,
        coroutine=asearch,
        response_format="content_and_artifact",
    )
