"""Over your own vector index: it searches for seeds and stores the texts, the graph ranks."""

from __future__ import annotations

from llama_index.core import VectorStoreIndex
from llama_index.core.chat_engine import ContextChatEngine
from offline import ScriptedLLM, WordEmbedding, documents

from llama_index.retrievers.hebbgraph import (
    CitationFormatter,
    CitationLearner,
    HebbianNodeParser,
    HebbianRetriever,
)
from llama_index.retrievers.hebbgraph.prompts import CITATION_CHAT_TEMPLATE

llm = ScriptedLLM()
embed_model = WordEmbedding()  # or any LlamaIndex model

vectors = VectorStoreIndex(HebbianNodeParser()(documents()), embed_model=embed_model)
retriever = HebbianRetriever.from_vector_store_index(
    vectors,
    keep_text=False,  # texts stay in the docstore
    similarity_top_k=12,
)
chat = ContextChatEngine.from_defaults(
    retriever,
    llm=llm,
    node_postprocessors=[CitationFormatter()],
    context_template=CITATION_CHAT_TEMPLATE,
)


def rank(question: str, title: str) -> int:
    titles = [result.node.metadata["title"] for result in retriever.retrieve(question)]
    return titles.index(title) + 1


def main() -> None:
    question = "Who made what they play for church music?"
    print("Before, the chapel's rank is", rank(question, "Tessel Bay"))
    with CitationLearner():
        print("Q:", question)
        print("A:", chat.chat(question))
    print("After, the chapel's rank is", rank(question, "Tessel Bay"))


if __name__ == "__main__":
    main()
