"""hebbgraph for LangChain: retrieval that learns from the citations in answers."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hebbgraph import IndexPool

from langchain_hebbgraph.learner import CitationLearner
from langchain_hebbgraph.prompts import (
    citation_prompt,
    cite_documents,
    create_citing_retriever_tool,
    format_documents,
)
from langchain_hebbgraph.retriever import HebbianRetriever
from langchain_hebbgraph.transformers import HebbianTextSplitter, TagTransformer
from langchain_hebbgraph.vectorstore import HebbianVectorStore

if TYPE_CHECKING:
    from langchain_hebbgraph.middleware import CitingMiddleware
    from langchain_hebbgraph.store import HebbianStore

__all__ = [
    "CitationLearner",
    "CitingMiddleware",
    "HebbianRetriever",
    "HebbianStore",
    "HebbianTextSplitter",
    "HebbianVectorStore",
    "IndexPool",
    "TagTransformer",
    "citation_prompt",
    "cite_documents",
    "create_citing_retriever_tool",
    "format_documents",
]

#: Needs more than langchain-core, so it is imported on first use.
_LAZY = {
    "CitingMiddleware": "langchain_hebbgraph.middleware",
    "HebbianStore": "langchain_hebbgraph.store",
}


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
