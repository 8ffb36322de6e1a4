"""hebbgraph for LlamaIndex: retrieval over a tag graph that learns from citations."""

from __future__ import annotations

from llama_index.retrievers.hebbgraph.base import HebbianRetriever
from llama_index.retrievers.hebbgraph.graph_index import HebbianGraphIndex
from llama_index.retrievers.hebbgraph.learner import CitationLearner
from llama_index.retrievers.hebbgraph.memory import HebbianMemoryBlock
from llama_index.retrievers.hebbgraph.parsing import HebbianNodeParser
from llama_index.retrievers.hebbgraph.prompts import CitationFormatter, citing_tool
from llama_index.retrievers.hebbgraph.requests import RecallBundle, RecallEvent
from llama_index.retrievers.hebbgraph.store import HebbianVectorStore
from llama_index.retrievers.hebbgraph.tags import TagExtractor

__all__ = [
    "CitationFormatter",
    "CitationLearner",
    "HebbianGraphIndex",
    "HebbianMemoryBlock",
    "HebbianNodeParser",
    "HebbianRetriever",
    "HebbianVectorStore",
    "RecallBundle",
    "RecallEvent",
    "TagExtractor",
    "citing_tool",
]
