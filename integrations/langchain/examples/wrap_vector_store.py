"""A graph on top of your own vector store: nothing is embedded or stored twice.

Run it: ``python wrap_vector_store.py``. It needs neither network nor API key.
"""

from __future__ import annotations

from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.output_parsers import StrOutputParser
from langchain_core.runnables import RunnablePassthrough
from langchain_core.vectorstores import InMemoryVectorStore
from scripted import ScriptedChat, documents

from langchain_hebbgraph import (
    CitationLearner,
    HebbianRetriever,
    citation_prompt,
    format_documents,
)

# In place of your own store: Chroma, PGVector, Qdrant ... with real embeddings.
store = InMemoryVectorStore(DeterministicFakeEmbedding(size=64))
store.add_documents(documents())

# The store finds seeds; the graph spreads from them, ranks, and learns. Without
# documents=..., the graph grows by the documents that searches find. Texts stay in the store.
retriever = HebbianRetriever.from_vectorstore(store, documents=documents(), keep_text=False, k=5)

chain = (
    {"context": retriever | format_documents, "question": RunnablePassthrough()}
    | citation_prompt()
    | ScriptedChat()
    | StrOutputParser()
)


def main() -> None:
    question = "Where was the builder of the Petrel born?"
    plain = [document.metadata["title"] for document in store.similarity_search(question, k=5)]
    print("the store alone:", plain)
    print(
        "with the graph: ", [document.metadata["title"] for document in retriever.invoke(question)]
    )

    with_learner = {"callbacks": [learner := CitationLearner()]}
    for _ in range(2):
        print("answer:", chain.invoke(question, with_learner))
    learner.flush()
    print(
        "after learning: ", [document.metadata["title"] for document in retriever.invoke(question)]
    )


if __name__ == "__main__":
    main()
