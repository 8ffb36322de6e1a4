"""hebbgraph for LangChain: retrieval that learns from the citations in answers."""

from langchain_hebbgraph.retriever import HebbianRetriever
from langchain_hebbgraph.transformers import HebbianTextSplitter, TagTransformer
from langchain_hebbgraph.vectorstore import HebbianVectorStore

__all__ = ["HebbianRetriever", "HebbianTextSplitter", "HebbianVectorStore", "TagTransformer"]
