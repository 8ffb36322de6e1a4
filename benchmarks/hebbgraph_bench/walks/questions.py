"""What spreading is given for a question, taken down while an index answers it."""

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

__all__ = ["Question", "asked"]


class Question(NamedTuple):
    """What spreading was given for one question, what it found, and how long it took."""

    graph: TagGraph
    cues: IntArray
    evidence: Any
    parameters: SpreadingParameters
    found: Activation
    seconds: float


def asked(index: HebbianIndex, query: str, *, k: int = 5) -> tuple[Question, list[str]]:
    """Ask a question; return what spreading was given, and the ids of the hits."""
    with _captured() as questions:
        hits = index.recall(query, k=k).hits
    return questions[-1], [hit.chunk.id for hit in hits]


@contextmanager
def _captured() -> Iterator[list[Question]]:
    """Note every call of spreading while this is open."""
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
