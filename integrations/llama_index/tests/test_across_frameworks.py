"""One index, two frameworks: taught through one, better through the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from llama_index.core.schema import TextNode
from test_end_to_end import cites
from test_learner import engine_of

from hebbgraph import HebbianIndex
from llama_index.retrievers.hebbgraph import CitationLearner, HebbianRetriever

langchain_hebbgraph = pytest.importorskip("langchain_hebbgraph")

ASKED = "What of the Petrel and Tessel Bay and Ostrand and the linnet?"
LATER = "Petrel, Tessel Bay, Ostrand: and the linnet?"


def test_taught_here_better_there(tmp_path: Path, nodes: list[TextNode]) -> None:
    with HebbianIndex.open(tmp_path / "index") as index:
        HebbianRetriever(index).add(nodes)
        there = langchain_hebbgraph.HebbianRetriever(index=index, k=12)
        before = [chunk.id for chunk in there.invoke(LATER)].index("linnet")
        retriever = HebbianRetriever(index, similarity_top_k=12)
        with CitationLearner():
            engine_of(retriever, llm=cites("linnet")).query(ASKED)
        assert [chunk.id for chunk in there.invoke(LATER)].index("linnet") < before


def test_taught_there_better_here(tmp_path: Path, nodes: list[TextNode]) -> None:
    from langchain_core.language_models import SimpleChatModel
    from langchain_core.runnables import RunnablePassthrough

    with HebbianIndex.open(tmp_path / "index") as index:
        HebbianRetriever(index).add(nodes)
        retriever = HebbianRetriever(index, similarity_top_k=12)
        before = [node.node_id for node in retriever.retrieve(LATER)].index("linnet")

        class Chat(SimpleChatModel):
            @property
            def _llm_type(self) -> str:
                return "rule"

            def _call(self, messages: Any, *args: Any, **kwargs: Any) -> str:
                text = "\n".join(str(message.content) for message in messages)
                return cites("linnet").rule(text)

        there = langchain_hebbgraph.HebbianRetriever(index=index, k=12)
        context = there | langchain_hebbgraph.format_documents
        prompt = langchain_hebbgraph.citation_prompt()
        chain = {"context": context, "question": RunnablePassthrough()} | prompt | Chat()
        learner = langchain_hebbgraph.CitationLearner()
        chain.invoke(ASKED, {"callbacks": [learner]})
        assert learner.flush(10)
        assert [node.node_id for node in retriever.retrieve(LATER)].index("linnet") < before
