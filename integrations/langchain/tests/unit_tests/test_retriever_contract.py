"""The contract that both adapters' retrievers keep."""

from __future__ import annotations

from typing import Any

from hebbgraph.testing.retrievers import Found, Over, RetrieverContract
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_hebbgraph import HebbianRetriever


class TestRetriever(RetrieverContract):
    retriever_class = HebbianRetriever

    def document(self, id: str, title: str, text: str) -> Document:
        return Document(text, id=id, metadata={"title": title})

    def ask(self, retriever: Any, question: str, config: Any = None) -> list[Found]:
        found = retriever.invoke(question, config)
        return [Found(one, one.page_content, one.metadata) for one in found]

    def ask_in(self, retriever: Any, namespace: str, question: str) -> list[Found]:
        config = {"configurable": {"hebbgraph_namespace": namespace}}
        return self.ask(retriever, question, config)

    def over_a_store(self, documents: list[Any]) -> Over:
        store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
        store.add_documents(documents)
        retriever = HebbianRetriever.from_vectorstore(store, documents=documents)
        return Over(
            retriever, lambda one: store.add_documents([one]), lambda id_: store.delete([id_])
        )
