"""hebbgraph for LangChain: retrieval that learns from the citations in answers."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from langchain_hebbgraph.conversion import to_chunk, to_document
from langchain_hebbgraph.langsmith import LangSmithFeedback
from langchain_hebbgraph.learner import CitationLearner
from langchain_hebbgraph.prompts import (
    CITATION_INSTRUCTION,
    CitedAnswer,
    Formatter,
    citation_prompt,
    cite_documents,
    create_citing_retriever_tool,
    format_documents,
    search_result_blocks,
)
from langchain_hebbgraph.retriever import HebbianRetriever
from langchain_hebbgraph.texts import texts_of
from langchain_hebbgraph.transformers import HebbianTextSplitter, TagTransformer
from langchain_hebbgraph.vectorstore import HebbianVectorStore

if TYPE_CHECKING:
    from langchain_hebbgraph.middleware import CitingMiddleware
    from langchain_hebbgraph.store import HebbianStore

__all__ = [
    "CITATION_INSTRUCTION",
    "CitationLearner",
    "CitedAnswer",
    "CitingMiddleware",
    "Formatter",
    "HebbianRetriever",
    "HebbianStore",
    "HebbianTextSplitter",
    "HebbianVectorStore",
    "LangSmithFeedback",
    "TagTransformer",
    "citation_prompt",
    "cite_documents",
    "create_citing_retriever_tool",
    "format_documents",
    "search_result_blocks",
    "texts_of",
    "to_chunk",
    "to_document",
]

#: What needs more than langchain-core, imported when it is first asked for.
_LAZY = {
    "CitingMiddleware": "langchain_hebbgraph.middleware",
    "HebbianStore": "langchain_hebbgraph.store",
}


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)
