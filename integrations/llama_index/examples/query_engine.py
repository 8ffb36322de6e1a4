"""A query engine that learns from the citations of its answers.

    pip install llama-index-retrievers-hebbgraph
    python query_engine.py

It downloads nothing and needs no key. For a real model, change the line that sets ``llm``.
"""

from __future__ import annotations

from llama_index.core.query_engine import RetrieverQueryEngine
from offline import ScriptedLLM, documents

from llama_index.retrievers.hebbgraph import CitationFormatter, CitationLearner, HebbianRetriever
from llama_index.retrievers.hebbgraph.prompts import CITATION_QA_TEMPLATE

llm = ScriptedLLM()  # from llama_index.llms.openai import OpenAI; llm = OpenAI("gpt-4.1-mini")

retriever = HebbianRetriever.from_documents(documents(), similarity_top_k=12)
engine = RetrieverQueryEngine.from_args(
    retriever,
    llm=llm,
    node_postprocessors=[CitationFormatter()],
    text_qa_template=CITATION_QA_TEMPLATE,
)


def rank(question: str, title: str) -> int:
    titles = [result.node.metadata["title"] for result in retriever.retrieve(question)]
    return titles.index(title) + 1


FIRST = "Why did the pots come out of the oven in the wrong colour?"
REWORDED = "My pots have the wrong colour. Why?"


def main() -> None:
    print(f"Before, the source with the answer has rank {rank(REWORDED, 'Tidewater glaze')}.")
    with CitationLearner():
        print("Q:", FIRST)
        print("A:", engine.query(FIRST))
    print(f"After, for a reworded question, it has rank {rank(REWORDED, 'Tidewater glaze')}.")


if __name__ == "__main__":
    main()
