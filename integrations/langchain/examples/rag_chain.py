"""A RAG chain that learns from the citations in its own answers.

Run it: ``python rag_chain.py``. It needs neither network nor API key.
"""

from __future__ import annotations

from langchain_core.output_parsers import StrOutputParser
from langchain_core.runnables import RunnablePassthrough
from scripted import ScriptedChat, documents

from langchain_hebbgraph import (
    CitationLearner,
    HebbianRetriever,
    citation_prompt,
    format_documents,
)

# With a real model: llm = init_chat_model("anthropic:claude-sonnet-4-5")
llm = ScriptedChat()

# On disk: location="memory.hebb". With embeddings: embedding=OpenAIEmbeddings()
retriever = HebbianRetriever.from_documents(documents(), k=10)
learner = CitationLearner()

chain = (
    {"context": retriever | format_documents, "question": RunnablePassthrough()}
    | citation_prompt()
    | llm
    | StrOutputParser()
)


def rank(question: str, title: str) -> int:
    """Return the rank of a passage."""
    titles = [document.metadata["title"] for document in retriever.invoke(question, k=12)]
    return titles.index(title) + 1


def main() -> None:
    question = "Who drew the plans of the lighthouse?"
    reworded = "lighthouse plans: by whom?"
    for text in (question, reworded):
        print(f"before: {text!r} finds the ledger at rank {rank(text, 'Ledger of 1871')}")

    config = {"callbacks": [learner], "metadata": {"user_id": "ann"}}
    print("answer:", chain.invoke(question, config))
    learner.flush()  # learning happens in the background

    for text in (question, reworded):
        print(f"after:  {text!r} finds the ledger at rank {rank(text, 'Ledger of 1871')}")


if __name__ == "__main__":
    main()
