"""A user's program, as type checkers see it; see ``test_typing.py``."""

from __future__ import annotations

from pathlib import Path

from hebbgraph import AddReport, Explanation, IndexPool
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.runnables import Runnable, RunnablePassthrough
from langchain_core.vectorstores import VectorStore

from langchain_hebbgraph import (
    CitationLearner,
    CitingMiddleware,
    HebbianRetriever,
    HebbianStore,
    citation_prompt,
    create_citing_retriever_tool,
    format_documents,
)


def build(folder: Path, documents: list[Document], model: Embeddings) -> HebbianRetriever:
    return HebbianRetriever.from_documents(
        documents,
        model,
        location=folder / "memory.hebb",
        k=5,
        include_path=True,
    )


def keep_up_to_date(retriever: HebbianRetriever, documents: list[Document]) -> AddReport:
    retriever.delete(document_id="old.md")
    return retriever.refresh(documents, delete_missing=True)


def ask(retriever: HebbianRetriever, question: str) -> tuple[list[Document], Explanation]:
    found = retriever.invoke(question, k=3, filter={"year": {"$gte": 2020}})
    return found, retriever.why(found[0])


def over(store: VectorStore) -> HebbianRetriever:
    return HebbianRetriever.from_vectorstore(store, search_type="mmr", include_path=True)


def learn(retriever: HebbianRetriever, llm: BaseChatModel) -> dict[str, int]:
    chain: Runnable[str, str] = (
        {"context": retriever | format_documents, "question": RunnablePassthrough()}
        | citation_prompt()
        | llm
        | StrOutputParser()
    )
    learner = CitationLearner(retriever, learn_on="approval")
    with learner.session({"user_id": "ida"}) as run_id:
        chain.invoke("Who built the Petrel?")
    learner.feedback(run_id, good=True)
    return learner.counts


def serve(folder: Path, tenant: str) -> tuple[CitingMiddleware, HebbianStore]:
    pool = IndexPool(folder, max_open=8)
    retriever = HebbianRetriever.from_pool(pool, namespace=tenant, score_threshold=0.2)
    create_citing_retriever_tool(retriever, "search_library")
    return CitingMiddleware(retriever), HebbianStore.open(":memory:", fields=["text"])
