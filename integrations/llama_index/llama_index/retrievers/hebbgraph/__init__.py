"""hebbgraph for LlamaIndex: retrieval over a tag graph that learns from citations."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

from llama_index.retrievers.hebbgraph.base import HebbianRetriever
from llama_index.retrievers.hebbgraph.conversation import RecallBundle
from llama_index.retrievers.hebbgraph.graph_index import HebbianGraphIndex
from llama_index.retrievers.hebbgraph.learner import CitationLearner
from llama_index.retrievers.hebbgraph.memory import HebbianMemoryBlock
from llama_index.retrievers.hebbgraph.parsing import HebbianNodeParser
from llama_index.retrievers.hebbgraph.prompts import CitationFormatter
from llama_index.retrievers.hebbgraph.store import HebbianVectorStore
from llama_index.retrievers.hebbgraph.tags import TagExtractor
from llama_index.retrievers.hebbgraph.tool import citing_tool

__all__ = [
    "CitationFormatter",
    "CitationLearner",
    "HebbianGraphIndex",
    "HebbianMemoryBlock",
    "HebbianNodeParser",
    "HebbianRetriever",
    "HebbianVectorStore",
    "RecallBundle",
    "TagExtractor",
    "citing_tool",
]

#: Names that stood here, and the modules that they are in.
_MOVED = {
    "CITATION_CHAT_TEMPLATE": "prompts",
    "CITATION_INSTRUCTION": "prompts",
    "CITATION_QA_TEMPLATE": "prompts",
    "CITATION_REFINE_TEMPLATE": "prompts",
    "ConversationBundle": "conversation",
    "LlamaIndexEmbedder": "embedding",
    "RecallEvent": "events",
    "SkipEmbedding": "tags",
    "export_property_graph": "exporting",
    "texts_of": "texts",
}


def __getattr__(name: str) -> Any:
    if name not in _MOVED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = f"{__name__}.{_MOVED[name]}"
    warnings.warn(
        f"write: from {module} import {name}; here the name goes away in the next version",
        DeprecationWarning,
        stacklevel=2,
    )
    return getattr(importlib.import_module(module), name)
