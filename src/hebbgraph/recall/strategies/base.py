"""What a strategy is given, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, runtime_checkable

from hebbgraph.arrays import BoolArray, FloatArray, IntArray
from hebbgraph.formulas.evidence import Evidence
from hebbgraph.formulas.paths import Path, PathNode
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.recall.question import Question

__all__ = ["NO_CUE", "Ranking", "Request", "Strategy"]

#: A note of strategies that search directly where the query names no tag.
NO_CUE = "no tag of the index is named in the query; hits are by direct search"


def _chunk_alone(slot: int) -> Path:
    return (PathNode("chunk", slot, 0.0),)


@dataclass(frozen=True)
class Request:
    """A question to one graph, which stands still while it is answered.

    Chunks are known by their *slot*, a number in the graph.

    Parameters
    ----------
    graph : TagGraph
    question : Question
        The query, its terms, and its cues as tag numbers.
    allowed : ndarray of bool, shape (n_slots,)
        Chunks that take part: live ones that pass the filter. The others may neither
        receive nor pass activation.
    k : int
        How many chunks are wanted. A strategy may return more.
    search : callable
        Runs direct search among allowed chunks; read :attr:`evidence` instead.
    """

    graph: TagGraph
    question: Question
    allowed: BoolArray
    k: int
    search: Callable[[BoolArray], Evidence] = field(repr=False)

    @cached_property
    def evidence(self) -> Evidence:
        """Direct evidence by slot, lexical and dense; searched for when first read."""
        return self.search(self.allowed)


@dataclass(frozen=True)
class Ranking:
    """What a strategy found.

    Parameters
    ----------
    slots : ndarray of int64, shape (n,)
        Distinct chunks, best first, with all that tie with the k-th. The caller breaks
        ties by chunk id (scores that agree to nine decimals) and cuts to k.
    scores : ndarray of float64, shape (n,), at least 0
    path : callable, optional
        From a slot to the path that led there; called for hits only. Left out, a path is
        the chunk alone.
    passed_on : callable, optional
        Returns the slots that passed activation on. A callable filter is asked about
        them too; if it refuses one, the strategy ranks again without that chunk.
    notes : tuple of str
        What the user should know about this recall.
    """

    slots: IntArray
    scores: FloatArray
    path: Callable[[int], Path] = _chunk_alone
    passed_on: Callable[[], Iterable[int]] = frozenset
    notes: tuple[str, ...] = ()


@runtime_checkable
class Strategy(Protocol):
    """A way to rank chunks. Hand one to ``recall(strategy=...)``, or name a built-in.

    One object may serve many threads. See ``docs/extending.md`` for a strategy of your own.
    """

    @property
    def name(self) -> str:
        """What :attr:`Recall.strategy <hebbgraph.Recall.strategy>` says."""
        ...

    @property
    def pads(self) -> bool:
        """Whether chunks without a score fill up the hits to k, at score 0."""
        ...

    def rank(self, request: Request) -> Ranking:
        """Rank the allowed chunks for a question."""
        ...
