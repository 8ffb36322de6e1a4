"""hebbgraph for LlamaIndex: retrieval over a tag graph that learns from citations."""

from llama_index.retrievers.hebbgraph.base import HebbianRetriever
from llama_index.retrievers.hebbgraph.conversation import ConversationBundle, RecallBundle
from llama_index.retrievers.hebbgraph.embedding import LlamaIndexEmbedder
from llama_index.retrievers.hebbgraph.events import RecallEvent
from llama_index.retrievers.hebbgraph.exporting import export_property_graph
from llama_index.retrievers.hebbgraph.graph_index import HebbianGraphIndex
from llama_index.retrievers.hebbgraph.learner import CitationLearner
from llama_index.retrievers.hebbgraph.memory import HebbianMemoryBlock
from llama_index.retrievers.hebbgraph.parsing import HebbianNodeParser
from llama_index.retrievers.hebbgraph.prompts import (
    CITATION_CHAT_TEMPLATE,
    CITATION_INSTRUCTION,
    CITATION_QA_TEMPLATE,
    CITATION_REFINE_TEMPLATE,
    CitationFormatter,
)
from llama_index.retrievers.hebbgraph.store import HebbianVectorStore
from llama_index.retrievers.hebbgraph.tags import SkipEmbedding, TagExtractor
from llama_index.retrievers.hebbgraph.texts import texts_of
from llama_index.retrievers.hebbgraph.tool import citing_tool

__all__ = [
    "CITATION_CHAT_TEMPLATE",
    "CITATION_INSTRUCTION",
    "CITATION_QA_TEMPLATE",
    "CITATION_REFINE_TEMPLATE",
    "CitationFormatter",
    "CitationLearner",
    "ConversationBundle",
    "HebbianGraphIndex",
    "HebbianMemoryBlock",
    "HebbianNodeParser",
    "HebbianRetriever",
    "HebbianVectorStore",
    "LlamaIndexEmbedder",
    "RecallBundle",
    "RecallEvent",
    "SkipEmbedding",
    "TagExtractor",
    "citing_tool",
    "export_property_graph",
    "texts_of",
]
