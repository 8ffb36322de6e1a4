"""What a strategy is given, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from hebbgraph.arrays import BoolArray, FloatArray, IntArray
from hebbgraph.formulas.evidence import Evidence
from hebbgraph.formulas.paths import Path
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.recall.question import Question

__all__ = ["UNKNOWN", "Ranking", "Request", "Strategy"]

#: A note for strategies that search directly where the query names no tag.
UNKNOWN = "no tag of the index is named in the query; hits are by direct search"


@dataclass(frozen=True)
class Request:
    """A question to one graph; the lock on derived parts is held while it is answered.

    Parameters
    ----------
    graph : TagGraph
    question : Question
    allowed : ndarray of bool, shape (n_slots,)
        Chunks that take part: live ones that pass the filter. Others may neither
        receive nor pass activation.
    k : int
        How many chunks are wanted; more may be returned.
    search : callable
        Searches directly among allowed chunks; read :attr:`evidence` instead.
    """

    graph: TagGraph
    question: Question
    allowed: BoolArray
    k: int
    search: Callable[[BoolArray], Evidence] = field(repr=False)

    @cached_property
    def evidence(self) -> Evidence:
        """Direct evidence by slot, searched for when first read."""
        return self.search(self.allowed)


@dataclass(frozen=True)
class Ranking:
    """What a strategy found.

    Parameters
    ----------
    slots : ndarray of int64, shape (n,)
        Different chunks, best first. Those that tie with the k-th are all there: the
        caller breaks ties, to nine decimals, by chunk id, and cuts to k.
    scores : ndarray of float64, shape (n,), at least 0
    path : callable
        From one of ``slots`` to the way that led there; asked about hits alone.
    passed_on : callable
        Returns the slots that passed activation on. A callable filter is asked about
        them, and if it turns one down, the strategy ranks again without it.
    notes : tuple of str
        What the user should know about this recall.
    """

    slots: IntArray
    scores: FloatArray
    path: Callable[[int], Path]
    passed_on: Callable[[], Iterable[int]] = frozenset
    notes: tuple[str, ...] = ()


class Strategy(Protocol):
    """A way to rank chunks; one object for each open index, used by many threads."""

    @property
    def fills(self) -> bool:
        """Whether chunks that nothing speaks for make up the k that are wanted."""
        ...

    def rank(self, request: Request) -> Ranking:
        """Return the chunks that answer a question."""
        ...
