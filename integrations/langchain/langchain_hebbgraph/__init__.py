"""hebbgraph for LangChain: retrieval that learns from the citations in answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_hebbgraph.learner import CitationLearner
from langchain_hebbgraph.prompts import (
    citation_prompt,
    create_citing_retriever_tool,
    format_documents,
)
from langchain_hebbgraph.retriever import HebbianRetriever
from langchain_hebbgraph.transformers import HebbianTextSplitter, TagTransformer
from langchain_hebbgraph.vectorstore import HebbianVectorStore

if TYPE_CHECKING:
    from langchain_hebbgraph.middleware import CitingMiddleware as CitingMiddleware

__all__ = [
    "CitationLearner",
    "HebbianRetriever",
    "HebbianTextSplitter",
    "HebbianVectorStore",
    "TagTransformer",
    "citation_prompt",
    "create_citing_retriever_tool",
    "format_documents",
]


def __getattr__(name: str) -> Any:
    if name == "CitingMiddleware":  # needs the extra, so it is not in __all__
        from langchain_hebbgraph.middleware import CitingMiddleware

        return CitingMiddleware
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
