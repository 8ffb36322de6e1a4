"""The contract that both adapters' retrievers keep."""

from __future__ import annotations

from typing import Any

from fakes import WordEmbedding
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.instrumentation.dispatcher import instrument_tags
from llama_index.core.schema import TextNode

from hebbgraph.testing.retrievers import Found, Over, RetrieverContract
from llama_index.retrievers.hebbgraph import HebbianRetriever


class TestRetriever(RetrieverContract):
    retriever_class = HebbianRetriever

    def document(self, id: str, title: str, text: str) -> TextNode:
        return TextNode(id_=id, text=text, metadata={"title": title})

    def ask(self, retriever: Any, question: str) -> list[Found]:
        return [Found(node, node.text, node.metadata) for node in retriever.retrieve(question)]

    def ask_in(self, retriever: Any, namespace: str, question: str) -> list[Found]:
        with instrument_tags({"hebbgraph_namespace": namespace}):
            return self.ask(retriever, question)

    def over_a_store(self, documents: list[Any]) -> Over:
        index = VectorStoreIndex(
            documents, embed_model=WordEmbedding(), storage_context=StorageContext.from_defaults()
        )

        def put(node: Any) -> None:
            index.delete_nodes([node.node_id], delete_from_docstore=True)
            index.insert_nodes([node])

        def remove(id_: str) -> None:
            index.delete_nodes([id_], delete_from_docstore=True)

        retriever = HebbianRetriever.from_vector_store_index(index, nodes=documents)
        return Over(retriever, put, remove)
