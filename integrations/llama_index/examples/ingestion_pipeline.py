"""An ingestion pipeline that stores into the graph: added, changed and deleted documents."""

from __future__ import annotations

from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
from llama_index.core.storage.docstore import SimpleDocumentStore
from offline import documents

from llama_index.retrievers.hebbgraph import (
    HebbianNodeParser,
    HebbianRetriever,
    HebbianVectorStore,
    TagExtractor,
)
from llama_index.retrievers.hebbgraph.tags import SkipEmbedding

store = HebbianVectorStore.open(":memory:")  # a directory stores it
pipeline = IngestionPipeline(
    transformations=[
        HebbianNodeParser(),
        TagExtractor(),  # TagExtractor(llm=...) asks a model for tags
        SkipEmbedding(),  # or an embedding model; then open the store with embed_model=... too
    ],
    vector_store=store,
    docstore=SimpleDocumentStore(),
    docstore_strategy=DocstoreStrategy.UPSERTS_AND_DELETE,
)


def main() -> None:
    pipeline.run(documents=documents())
    print("First run:", store.index.stats().chunks, "chunks")

    pipeline.run(documents=documents())
    print("Again, nothing changed:", store.index.stats().chunks, "chunks")

    changed = documents()[:-2]
    changed[0].set_content("# Petrel\n\nThe Petrel was sold to Otto Brandt of Harrow Quay.")
    pipeline.run(documents=changed)
    print("One changed, two gone:", store.index.stats().chunks, "chunks")

    retriever = HebbianRetriever(store.index, similarity_top_k=2)
    for result in retriever.retrieve("What is shipped from the home of the Petrel's new owner?"):
        print(f"  {result.score:.2f}  {result.text}")


if __name__ == "__main__":
    main()
