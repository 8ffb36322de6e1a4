"""LlamaIndex: its sentence splitter and ours, and a query engine whose citations teach."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hebbgraph import Chunk, HebbianIndex
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.llms.callbacks import llm_completion_callback
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import BaseNode, Document
from llama_index.retrievers.hebbgraph import (
    CitationFormatter,
    CitationLearner,
    HebbianNodeParser,
    HebbianRetriever,
)
from llama_index.retrievers.hebbgraph.nodes import node_to_chunk
from llama_index.retrievers.hebbgraph.prompts import CITATION_QA_TEMPLATE

from hebbgraph_bench.frameworks.questions import Question, cite, corpus

__all__ = ["chunk", "cuts", "retriever"]


class _Reader(CustomLLM):
    """A simulated model that cites the source with the answer."""

    asked: str = ""

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(context_window=100_000)

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text=cite(f"{prompt}\n{self.asked}"))

    @llm_completion_callback()
    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        raise NotImplementedError("the reader answers at once")


def cuts() -> dict[str, list[BaseNode]]:
    """Return the nodes that each splitter makes."""
    pages = [Document(text=text, id_=name) for name, text in corpus().items()]
    return {
        "SentenceSplitter": SentenceSplitter().get_nodes_from_documents(pages),
        "HebbianNodeParser": HebbianNodeParser().get_nodes_from_documents(pages),
    }


def chunk(passage: BaseNode) -> Chunk:
    """Convert a node for the other searches."""
    converted = node_to_chunk(passage)
    return Chunk(id=converted.id, text=converted.text, title=converted.title)


def retriever(
    passages: Sequence[BaseNode], model: Any, k: int
) -> tuple[Callable[[str], list[str]], Callable[[Question], None]]:
    """Return a search function, and one that answers a question so its citations teach."""
    index = HebbianIndex.open(":memory:", embedder=model)
    ours = HebbianRetriever(index, similarity_top_k=k)
    ours.add(passages)
    learner = CitationLearner(index, actor="reader")
    reader = _Reader()
    engine = RetrieverQueryEngine.from_args(
        ours,
        llm=reader,
        text_qa_template=CITATION_QA_TEMPLATE,
        node_postprocessors=[CitationFormatter()],
    )

    def teach(question: Question) -> None:
        reader.asked = question.asked
        with learner:
            engine.query(question.asked)

    return lambda query: [one.text for one in ours.retrieve(query)], teach
