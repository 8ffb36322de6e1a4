"""LangChain: its recursive splitter and ours, and a chain whose citations teach."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hebbgraph import Chunk
from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnablePassthrough
from langchain_hebbgraph import (
    CitationLearner,
    HebbianRetriever,
    HebbianTextSplitter,
    citation_prompt,
    format_documents,
)
from langchain_hebbgraph.conversion import to_chunk
from langchain_text_splitters import RecursiveCharacterTextSplitter

from hebbgraph_bench.frameworks.questions import Question, cite, corpus

__all__ = ["chunk", "cuts", "retriever"]


class _Reader(BaseChatModel):
    """A simulated model that cites the source with the answer."""

    @property
    def _llm_type(self) -> str:
        return "reader"

    def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> ChatResult:
        text = cite("\n".join(str(message.text) for message in messages))
        return ChatResult(generations=[ChatGeneration(message=AIMessage(text))])


def cuts() -> dict[str, list[Document]]:
    """Return the passages that each splitter makes, with ids."""
    pages = [Document(text, metadata={"source": name}) for name, text in corpus().items()]
    theirs = RecursiveCharacterTextSplitter(chunk_size=1000, chunk_overlap=200)
    splits = theirs.split_documents(pages)
    for number, split in enumerate(splits):
        split.id = str(number)
    return {
        "RecursiveCharacterTextSplitter": splits,
        "HebbianTextSplitter": HebbianTextSplitter().split_documents(pages),
    }


def chunk(passage: Document) -> Chunk:
    """Convert a passage for the other searches."""
    converted = to_chunk(passage)
    return Chunk(id=converted.id, text=converted.text, title=converted.title)


def retriever(
    passages: Sequence[Document], model: Any, k: int
) -> tuple[Callable[[str], list[str]], Callable[[Question], None]]:
    """Return a search function, and one that answers a question so its citations teach."""
    ours = HebbianRetriever.from_documents(passages, embedder=model, k=k)
    learner = CitationLearner(actor="reader")
    chain = (
        {"context": ours | format_documents, "question": RunnablePassthrough()}
        | citation_prompt()
        | _Reader()
    )

    def teach(question: Question) -> None:
        chain.invoke(question.asked, {"callbacks": [learner]})
        learner.flush()

    return lambda query: [one.page_content for one in ours.invoke(query)], teach
