"""Follow-ups, a reranker in the index, and LangChain's own after it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hebbgraph import HebbianIndex, ParameterError, RerankSettings, Settings
from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import ConfigurableField, RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_hebbgraph import HebbianRetriever, HebbianVectorStore

DOCUMENTS = [
    Document("Mooring in Tessel Bay: in summer the port asks nine crowns.", id="port-summer"),
    Document("Mooring in Tessel Bay: in winter the port asks four crowns.", id="port-winter"),
    Document("The ski lift on Gannet Fell runs in winter, if there is snow.", id="ski-winter"),
    Document("Rye bread rises slowly; leave the dough in a warm place.", id="bread"),
]
MOORING = "What does mooring in the port of Tessel Bay cost in summer?"
LIFT = "When does the ski lift on Gannet Fell run?"
FOLLOW_UP = "And in winter?"


@pytest.fixture
def retriever() -> Iterator[HebbianRetriever]:
    made = HebbianRetriever.from_documents(DOCUMENTS, k=2)
    yield made
    made.index.close()


def best(documents: Sequence[Document]) -> str | None:
    return documents[0].id


async def test_a_follow_up_with_texts_or_messages(retriever: HebbianRetriever) -> None:
    assert best(retriever.invoke(FOLLOW_UP, history=[MOORING])) == "port-winter"
    assert best(await retriever.ainvoke(FOLLOW_UP, history=[LIFT])) == "ski-winter"
    messages = [HumanMessage(MOORING), AIMessage(LIFT), HumanMessage(FOLLOW_UP)]
    assert best(retriever.invoke(FOLLOW_UP, history=messages)) == "port-winter"
    with pytest.raises(ParameterError, match="history is a sequence of str"):
        retriever.invoke(FOLLOW_UP, history=MOORING)
    with pytest.raises(ParameterError, match="turn 1 of history"):
        retriever.invoke(FOLLOW_UP, history=[3])


def test_in_a_chain_and_as_a_configurable_field(retriever: HebbianRetriever) -> None:
    chain: Any = RunnableLambda(
        lambda asked: retriever.invoke(asked["question"], history=asked["history"])
    )
    assert best(chain.invoke({"question": FOLLOW_UP, "history": [MOORING]})) == "port-winter"
    configurable = retriever.configurable_fields(history=ConfigurableField(id="history"))
    found = configurable.invoke(FOLLOW_UP, {"configurable": {"history": [LIFT]}})
    assert best(found) == "ski-winter"


def test_in_the_vector_store_too(retriever: HebbianRetriever) -> None:
    store = HebbianVectorStore(index=retriever.index)
    assert best(store.similarity_search(FOLLOW_UP, k=2, history=[MOORING])) == "port-winter"
    found = store.as_retriever(search_kwargs={"k": 2}).invoke(FOLLOW_UP, history=[LIFT])
    assert best(found) == "ski-winter"


async def test_a_store_beneath_is_asked_in_full() -> None:
    asked: list[str] = []

    class Store(InMemoryVectorStore):
        def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
            asked.append(query)
            return [DOCUMENTS[1], DOCUMENTS[2]]

        async def asimilarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
            return self.similarity_search(query, k)

    store = Store(DeterministicFakeEmbedding(size=4))
    retriever = HebbianRetriever.from_vectorstore(store, documents=DOCUMENTS)
    retriever.invoke(FOLLOW_UP, history=[MOORING])
    await retriever.ainvoke(FOLLOW_UP, history=[MOORING])
    retriever.invoke(FOLLOW_UP)
    assert asked == [f"{MOORING}\n{FOLLOW_UP}"] * 2 + [FOLLOW_UP]
    retriever.index.close()


class Backwards(BaseDocumentCompressor):
    """Stands for a reranker of LangChain."""

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        return list(documents)[::-1]


async def test_a_reranker_in_the_index_and_one_of_langchain_s() -> None:
    def by_length(question: str, texts: list[str]) -> list[float]:
        return [-float(len(text)) for text in texts]

    settings = Settings(rerank=RerankSettings(weight=1.0))
    with HebbianIndex.open(":memory:", reranker=by_length, settings=settings) as index:
        index.add([{"id": one.id, "text": one.page_content} for one in DOCUMENTS])
        retriever = HebbianRetriever.from_index(index, k=3)
        found = retriever.invoke(LIFT + " " + MOORING)
        lengths = [len(one.page_content) for one in found]
        assert lengths == sorted(lengths)
        assert await retriever.ainvoke(LIFT + " " + MOORING) == found
        chain = retriever | RunnableLambda(lambda some: Backwards().compress_documents(some, ""))
        assert chain.invoke(LIFT + " " + MOORING) == found[::-1]
