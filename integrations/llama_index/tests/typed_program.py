"""A user's program, as type checkers see it; see ``test_typing.py``."""

from __future__ import annotations

from pathlib import Path

from llama_index.core import Document, VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.instrumentation.dispatcher import instrument_tags
from llama_index.core.llms import LLM
from llama_index.core.schema import NodeWithScore
from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters

from hebbgraph import AddReport, Explanation, IndexPool
from llama_index.retrievers.hebbgraph import (
    CitationLearner,
    HebbianGraphIndex,
    HebbianMemoryBlock,
    HebbianRetriever,
    RecallBundle,
    TagExtractor,
    citing_tool,
)


def build(folder: Path, documents: list[Document], model: BaseEmbedding) -> HebbianRetriever:
    return HebbianRetriever.from_documents(
        documents,
        location=folder / "memory.hebb",
        embed_model=model,
        similarity_top_k=5,
        include_path=True,
    )


def keep_up_to_date(retriever: HebbianRetriever, documents: list[Document]) -> AddReport:
    retriever.delete(document_id="old.md")
    report: AddReport = retriever.refresh(documents, delete_missing=True)
    return report


def ask(retriever: HebbianRetriever, question: str) -> tuple[list[NodeWithScore], Explanation]:
    year = MetadataFilter(key="year", value=2020)
    own = RecallBundle(question, similarity_top_k=3, filters=MetadataFilters(filters=[year]))
    found = retriever.retrieve(own)
    return found, retriever.why(found[0])


def over(vectors: VectorStoreIndex) -> HebbianRetriever:
    return HebbianRetriever.from_vector_store_index(vectors, similarity_top_k=5)


def learn(folder: Path, documents: list[Document], llm: LLM) -> dict[str, int]:
    with HebbianGraphIndex.from_documents(documents, location=folder) as index:
        engine = index.as_query_engine(llm, cite=True)
        with CitationLearner(index, learn_on="approval") as learner:
            with instrument_tags({"user_id": "ida"}):
                response = engine.query("Who built the Petrel?")
            learner.feedback(response, good=True)
        return learner.counts


def serve(folder: Path, tenant: str) -> HebbianRetriever:
    pool = IndexPool(folder, max_open=8)
    HebbianMemoryBlock(index=pool[tenant], similarity_top_k=2)
    citing_tool(HebbianRetriever.from_pool(pool), prefix="always")
    TagExtractor(max_tags=5)
    return HebbianRetriever.from_pool(pool, namespace=tenant)
