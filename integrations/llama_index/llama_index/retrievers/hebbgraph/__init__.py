"""hebbgraph for LlamaIndex: retrieval that learns from the citations in answers."""

from __future__ import annotations

from llama_index.retrievers.hebbgraph.citing import (
    CITATION_TEMPLATE,
    CitationFormatter,
    citing_tool,
)
from llama_index.retrievers.hebbgraph.graph_index import HebbianGraphIndex
from llama_index.retrievers.hebbgraph.learner import CitationLearner
from llama_index.retrievers.hebbgraph.retriever import HebbianRetriever
from llama_index.retrievers.hebbgraph.store import HebbianVectorStore
from llama_index.retrievers.hebbgraph.transforms import HebbianNodeParser, TagExtractor

__all__ = [
    "CITATION_TEMPLATE",
    "CitationFormatter",
    "CitationLearner",
    "HebbianGraphIndex",
    "HebbianNodeParser",
    "HebbianRetriever",
    "HebbianVectorStore",
    "TagExtractor",
    "citing_tool",
]
