"""Beside the vector store that you have: it finds seeds, hebbgraph follows links and learns."""

from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_hebbgraph import HebbianRetriever

documents = [
    Document("Built by Ida Moss.", id="petrel", metadata={"title": "The Petrel", "year": 1889}),
    Document("She grew up in Tessel Bay.", id="moss", metadata={"title": "Ida Moss", "year": 1901}),
    Document("It has an organ.", id="tessel", metadata={"title": "Tessel Bay", "year": 1911}),
    Document("It was boiled on the shore.", id="salt", metadata={"title": "Salt", "year": 1911}),
]
store = InMemoryVectorStore(DeterministicFakeEmbedding(size=32))  # yours: Chroma, FAISS, Qdrant …
store.add_documents(documents)

retriever = HebbianRetriever(
    path=":memory:", vectorstore=store, k=3
)  # copies texts, embeds nothing
question = "Where did the builder of the Petrel grow up?"
found = [document.id for document in retriever.invoke(question)]
print("over the name of Ida Moss:", found)
assert found[:2] == ["petrel", "moss"]

# Filters hold for the store's results and for the graph.
late = retriever.invoke(question, filter={"year": {"$gt": 1900}})
print("after 1900:", [document.id for document in late])
assert "petrel" not in [document.id for document in late]

# What changes in the store is followed.
store.delete(["salt"])
store.add_documents([Document("The organ was made by Casimir Dove.", id="dove")])
retriever.refresh()
changed = retriever.invoke("Who made the organ in Tessel Bay?")
print("after a change:", [document.id for document in changed])
assert "dove" in [document.id for document in changed]
retriever.close()
