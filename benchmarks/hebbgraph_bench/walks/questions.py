"""Record the inputs of spreading while an index answers a question."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any, NamedTuple

from hebbgraph.arrays import IntArray
from hebbgraph.formulas.activation import Activation, SpreadingParameters
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.hebbian_index import HebbianIndex
from hebbgraph.recall.strategies import spreading

__all__ = ["Question", "ask_recorded"]


class Question(NamedTuple):
    """The inputs of spreading for one question, its result, and its time."""

    graph: TagGraph
    cues: IntArray
    evidence: Any
    parameters: SpreadingParameters
    found: Activation
    seconds: float


def ask_recorded(index: HebbianIndex, query: str, *, k: int = 5) -> tuple[Question, list[str]]:
    """Ask a question; return the inputs of spreading, and the ids of the hits."""
    with _captured() as questions:
        hits = index.recall(query, k=k).hits
    return questions[-1], [hit.chunk.id for hit in hits]


@contextmanager
def _captured() -> Iterator[list[Question]]:
    """Record every call of spreading inside the block."""
    module: Any = spreading
    inner = module.spread
    questions: list[Question] = []

    def outer(view: TagGraph, cues: IntArray, evidence: Any, **options: Any) -> Activation:
        began = perf_counter()
        activation: Activation = inner(view, cues, evidence, **options)
        seconds = perf_counter() - began
        parameters = options.get("parameters") or SpreadingParameters()
        questions.append(Question(view, cues, evidence, parameters, activation, seconds))
        return activation

    module.spread = outer
    try:
        yield questions
    finally:
        module.spread = inner
