"""What the retriever and the learner add, as ratios within one run: python tests/overhead.py.

Not a test: what other processes do at the time would decide it. What is added is the median of
paired differences in CPU time of the calling thread, the two sides alternating. That leaves out
two things: waiting for the disk, and what the next recall spends to take a new lesson in, which
falls on the plain side.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from fakes import CHUNKS, QUESTION, RuleLLM
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.llms.types import CompletionResponse
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from hebbgraph import HebbianIndex
from llama_index.retrievers.hebbgraph import CitationFormatter, CitationLearner, HebbianRetriever
from llama_index.retrievers.hebbgraph.prompts import CITATION_QA_TEMPLATE
from llama_index.retrievers.hebbgraph.writing import add_nodes


class Deaf(HebbianIndex):
    """Is taught and does nothing, so that only the listening is measured."""

    def reinforce(self, *args: Any, **kwargs: Any) -> Any:
        return None


class Thinking(RuleLLM):
    """Takes as long as a quick hosted model."""

    seconds: float = 0.5

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        time.sleep(self.seconds)
        return CompletionResponse(text=self.rule(prompt))


def timed(call: Callable[[], Any]) -> tuple[float, float]:
    """Wall and CPU time of a call, in milliseconds."""
    wall, cpu = time.perf_counter(), time.thread_time()
    call()
    return (time.perf_counter() - wall) * 1000, (time.thread_time() - cpu) * 1000


def paired(plain: Callable[[], Any], more: Callable[[], Any], times: int) -> tuple[float, float]:
    """Median wall time of the plain call, and of the CPU time that the other needs beside."""
    pairs = [(timed(plain), timed(more)) for _ in range(times + 3)][3:]
    return (
        statistics.median(one[0] for one, _ in pairs),
        statistics.median(other[1] - one[1] for one, other in pairs),
    )


class Empty(BaseRetriever):
    """What LlamaIndex itself adds to any retriever."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return []


def nodes() -> list[TextNode]:
    return [
        TextNode(id_=id_, text=f"{text} " * 8, metadata={"title": title})
        for id_, (title, text) in CHUNKS.items()
    ]


def main() -> None:
    for kind in (HebbianIndex, Deaf):
        index = kind.open(":memory:")
        add_nodes(index, nodes())
        retriever = HebbianRetriever(index, similarity_top_k=10)
        if kind is HebbianIndex:
            plain, added = paired(
                lambda index=index: index.recall(QUESTION, k=10),
                lambda retriever=retriever: retriever.retrieve(QUESTION),
                300,
            )
            empty = Empty()
            _, framework = paired(lambda: None, lambda: empty.retrieve(QUESTION), 300)  # noqa: B023
            print(f"LlamaIndex's own part of a retrieval: {framework:.2f} ms")
            print(f"retriever: recall {plain:.2f} ms, adds {added:.2f} ms ({added / plain:.1%})")
        engine = RetrieverQueryEngine.from_args(
            retriever,
            llm=Thinking(),
            node_postprocessors=[CitationFormatter()],
            text_qa_template=CITATION_QA_TEMPLATE,
        )
        for background in (False, True):
            learner = CitationLearner(background=background)

            def learning(learner: CitationLearner = learner) -> None:
                learner.install()
                engine.query(QUESTION)  # noqa: B023
                learner._stop()  # uninstall() would wait for the thread

            plain, added = paired(lambda: engine.query(QUESTION), learning, 25)  # noqa: B023
            print(
                f"learner ({kind.__name__}, background={background}): query {plain:.1f} ms, "
                f"adds {added:.2f} ms ({added / plain:.2%})"
            )
            learner.uninstall()


if __name__ == "__main__":
    main()
