"""hebbgraph for LangChain: retrieval that learns from the citations in answers."""

from __future__ import annotations

from langchain_hebbgraph.conversion import to_chunk, to_document
from langchain_hebbgraph.learner import CitationLearner
from langchain_hebbgraph.prompts import (
    CITATION_INSTRUCTION,
    CitedAnswer,
    Formatter,
    citation_prompt,
    create_citing_retriever_tool,
    format_documents,
    search_result_blocks,
)
from langchain_hebbgraph.retriever import HebbianRetriever
from langchain_hebbgraph.texts import texts_of
from langchain_hebbgraph.transformers import HebbianTextSplitter, TagTransformer
from langchain_hebbgraph.vectorstore import HebbianVectorStore

__all__ = [
    "CITATION_INSTRUCTION",
    "CitationLearner",
    "CitedAnswer",
    "Formatter",
    "HebbianRetriever",
    "HebbianTextSplitter",
    "HebbianVectorStore",
    "TagTransformer",
    "citation_prompt",
    "create_citing_retriever_tool",
    "format_documents",
    "search_result_blocks",
    "texts_of",
    "to_chunk",
    "to_document",
]
