"""What the retriever adds to a recall, and the learner to a chain, as ratios in one run."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from hebbgraph import HebbianIndex
from langchain_core.documents import Document
from langchain_core.runnables import RunnablePassthrough
from lc_helpers import ScriptedChat, citing

from langchain_hebbgraph import CitationLearner, HebbianRetriever, citation_prompt, format_documents
from langchain_hebbgraph.conversion import to_chunk

QUERY = "Who built the Petrel, and where was she born?"
#: What a model takes at the very least. The scripted one takes nothing, so it is added.
MODEL_SECONDS = 0.3


def alternating(
    one: Callable[[], Any], other: Callable[[], Any], rounds: int
) -> tuple[float, float]:
    """Processor seconds of two calls that take turns: the lower quartile of each.

    All threads of the process count, so what is put off to the background counts as well,
    and other processes do not.
    """
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for call, own in zip((one, other), times, strict=True):
            started = time.process_time()
            call()
            own.append(time.process_time() - started)
    plain, more = (statistics.quantiles(own, n=4)[0] for own in times)
    return plain, more


def test_the_retriever_adds_under_a_millisecond(
    documents: list[Document], record_property: Any
) -> None:
    with HebbianIndex.open(":memory:") as index:
        index.add([to_chunk(document) for document in documents])
        retriever = HebbianRetriever(index=index, k=5)
        plain, wrapped = alternating(
            lambda: index.recall(QUERY, k=5), lambda: retriever.invoke(QUERY), 200
        )
    record_property("retriever", f"+{(wrapped - plain) * 1e3:.2f} ms, x{wrapped / plain:.2f}")
    assert wrapped - plain < 1e-3


def test_the_learner_adds_under_two_percent(
    documents: list[Document], chat: Callable[..., ScriptedChat], record_property: Any
) -> None:
    with HebbianIndex.open(":memory:") as index:
        index.add([to_chunk(document) for document in documents])
        chain = (
            {
                "context": HebbianRetriever(index=index, k=5) | format_documents,
                "question": RunnablePassthrough(),
            }
            | citation_prompt()
            | chat(citing("petrel"))
        )
        learner = CitationLearner()

        def watched_chain() -> None:
            chain.invoke(QUERY, {"callbacks": [learner]})
            learner.flush()

        plain, watched = alternating(lambda: chain.invoke(QUERY), watched_chain, 60)
    ratio = 1 + (watched - plain) / (MODEL_SECONDS + plain)
    added = f"+{(watched - plain) * 1e3:.2f} ms, learning included"
    record_property("learner", f"{added}, x{ratio:.4f}")
    assert ratio < 1.02
