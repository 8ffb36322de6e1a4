"""Beside the vector store that you have: it finds seeds, hebbgraph follows links and learns."""

from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_hebbgraph import HebbianRetriever

documents = [
    Document("The Petrel was built by Ida Moss.", id="petrel", metadata={"year": 1889}),
    Document("Ida Moss was born in Tessel Bay.", id="moss", metadata={"year": 1901}),
    Document("Tessel Bay has a chapel with an organ.", id="tessel", metadata={"year": 1911}),
    Document("Salt was boiled on the south shore.", id="salt", metadata={"year": 1911}),
]
store = InMemoryVectorStore(DeterministicFakeEmbedding(size=32))  # yours: Chroma, FAISS, Qdrant …
store.add_documents(documents)

retriever = HebbianRetriever(
    path=":memory:", vectorstore=store, k=3
)  # copies texts, embeds nothing
question = "Where was the builder of the Petrel born?"
print([document.id for document in retriever.invoke(question)])

# Filters hold for the store's results and for the graph.
late = retriever.invoke(question, filter={"year": {"$gt": 1900}})
print("after 1900:", [document.id for document in late])
assert "petrel" not in [document.id for document in late]

# What changes in the store is followed.
store.delete(["salt"])
store.add_documents([Document("The organ was made by Casimir Dove.", id="dove")])
retriever.refresh()
found = retriever.invoke("Who made the organ in Tessel Bay?")
print("after a change:", [document.id for document in found])
assert "dove" in [document.id for document in found]
retriever.close()
