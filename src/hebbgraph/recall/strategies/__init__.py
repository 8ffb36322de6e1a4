"""Strategies: what they get (``Request``), what they return (``Ranking``), and their names.

Another distribution offers a strategy as an entry point in the group ``hebbgraph.strategies``: a
class whose argument is a :class:`~hebbgraph.namespace.Namespace`, imported on first use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib.metadata import entry_points
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from hebbgraph.arrays import BoolArray, FloatArray, IntArray
from hebbgraph.errors import ParameterError
from hebbgraph.extras import load_plugin
from hebbgraph.formulas.evidence import Evidence
from hebbgraph.formulas.paths import Path, PathNode
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.namespace import Namespace
from hebbgraph.recall.question import Question
from hebbgraph.records import Stale

__all__ = [
    "NONE_PASSES",
    "NONE_VALID",
    "NO_CUE",
    "NO_KNOWLEDGE",
    "CheckedStrategy",
    "Ranking",
    "Request",
    "Strategy",
    "StrategyName",
    "check_strategy",
    "named_strategy",
    "strategy_names",
]

#: A note of a recall whose confidence is low.
NO_KNOWLEDGE = "nothing known: the index seems to hold nothing about this question"
#: Notes of recalls whose filter leaves out every chunk.
NONE_PASSES = "no chunk passes the filter"
NONE_VALID = "no chunk was valid at the time of as_of"
#: A note of strategies that search directly where the query names no tag.
NO_CUE = "no tag of the index is named in the query; paths start from what direct search finds"


def _chunk_alone(slot: int) -> Path:
    """Return the path of a chunk that was not reached over the graph."""
    return (PathNode("chunk", slot, 0.0),)


@dataclass(frozen=True)
class Request:
    """A question to one graph, which is locked while it is answered.

    A chunk is identified by its *slot*, a number in the graph.

    Parameters
    ----------
    graph : TagGraph
    question : Question
        The query, its terms, and its cues as tag numbers.
    allowed : ndarray of bool, shape (n_slots,)
        Live chunks that pass the filter. All others may neither receive nor pass activation.
    k : int
        How many chunks are wanted. A strategy may return more.
    search : callable
        Runs direct search among allowed chunks; read :attr:`evidence` instead.
    """

    graph: TagGraph
    question: Question
    allowed: BoolArray
    k: int
    search: Callable[[Question, BoolArray], Evidence] = field(repr=False)

    @cached_property
    def evidence(self) -> Evidence:
        """Direct evidence by slot, lexical and dense; the search runs on first use."""
        return self.search(self.question, self.allowed)


@dataclass(frozen=True)
class Ranking:
    """Chunks in order, as a strategy ranked them.

    Parameters
    ----------
    slots : ndarray of int64, shape (n,)
        Distinct chunks, best first, including all that tie with the k-th. The caller breaks
        ties by chunk id (scores that agree to nine decimals) and cuts to k.
    scores : ndarray of float64, shape (n,), at least 0
        Multiplied by ``confidence`` to give the scores of hits.
    path : callable, optional
        Maps a slot to the path that led there; called for hits only. By default, a path is
        the chunk alone.
    passed_on : callable, optional
        Returns the slots that passed activation on. A callable filter is called for them too; if
        it refuses one, the strategy ranks again without that chunk.
    notes : tuple of str
        For :attr:`Recall.notes`.
    confidence : float, in [0, 1], optional
        How sure it is that the corpus answers the question. Without it, scores stay unchanged.
    unlearned : callable, optional
        Returns the score of a slot without what was learned; lessons record it.
    last : ndarray of bool, shape (n_slots,), optional
        Chunks that fill up the hits only after all others.
    stale : callable, optional
        Returns the :class:`~hebbgraph.Stale` marks of the stale ones among some slots.
    """

    slots: IntArray
    scores: FloatArray
    path: Callable[[int], Path] = _chunk_alone
    passed_on: Callable[[], Iterable[int]] = frozenset
    notes: tuple[str, ...] = ()
    confidence: float | None = None
    unlearned: Callable[[int], float] | None = None
    last: BoolArray | None = None
    stale: Callable[[Iterable[int]], Mapping[int, Stale]] | None = None

    def reordered(self, ranked: Iterable[tuple[int, float]], **changes: Any) -> Ranking:
        """Return a copy with these slots and scores, best first."""
        slots, scores = zip(*ranked, strict=True) if (ranked := list(ranked)) else ((), ())
        return replace(
            self, slots=np.array(slots, np.int64), scores=np.array(scores, np.float64), **changes
        )

    def pairs(self) -> list[tuple[int, float]]:
        """Return slots and scores, best first."""
        return list(zip(self.slots.tolist(), self.scores.tolist(), strict=True))


@runtime_checkable
class Strategy(Protocol):
    """A way to rank chunks, for ``recall(strategy=...)``.

    One object may serve many threads. See ``docs/extending.md`` for a strategy of your own.
    """

    @property
    def name(self) -> str:
        """The value of :attr:`Recall.strategy <hebbgraph.Recall.strategy>`."""
        ...

    @property
    def pads(self) -> bool:
        """Whether chunks without a score fill up the hits to k, at score 0."""
        ...

    def rank(self, request: Request) -> Ranking:
        """Rank the allowed chunks for a question."""
        ...


StrategyName: TypeAlias = str
"""``"spreading"``, or the name of a strategy that another distribution registered."""

_GROUP = "hebbgraph.strategies"
_DEFAULT = "spreading"
#: Strategies of hebbgraph's other distributions, and the extra that installs each.
_EXTRAS = {"neighbourhood": "papers", "breadth_first": "papers", "neural": "papers"}


@cache
def _registered() -> frozenset[str]:
    """Return the names that other distributions registered; the lookup takes 60 ms."""
    return frozenset(entry_points(group=_GROUP).names)


def strategy_names() -> list[str]:
    """Return the names of all strategies, including those of distributions not installed."""
    return sorted({_DEFAULT, *_EXTRAS, *_registered()})


def check_strategy(strategy: StrategyName | Strategy) -> None:
    """Check that this is a strategy or the name of one.

    Raises
    ------
    MissingExtraError
        If its distribution is not installed.
    ParameterError
        If it is neither.
    """
    if isinstance(strategy, str):
        if strategy == _DEFAULT or strategy in _registered():
            return
        if strategy in _EXTRAS:
            _load(strategy)
    elif isinstance(strategy, Strategy) and not isinstance(strategy, type):
        return
    if isinstance(strategy, type):
        raise ParameterError(
            f"strategy must be an object, got the class {strategy.__name__}; "
            f"pass {strategy.__name__}()"
        )
    raise ParameterError(
        f"strategy is one of {', '.join(strategy_names())}, or an object with name, pads and "
        f"rank(request); got {strategy!r}"
    )


class CheckedStrategy:
    """The caller's own strategy; its rankings are checked before anything relies on them."""

    def __init__(self, strategy: Strategy) -> None:
        check_strategy(strategy)
        self._strategy = strategy
        self.name, self.pads = strategy.name, strategy.pads

    def rank(self, request: Request) -> Ranking:
        """Rank; raise ParameterError for an invalid ranking."""
        ranking = self._strategy.rank(request)
        if not isinstance(ranking, Ranking):
            raise ParameterError(
                f"strategy {self.name!r} must return a Ranking, got {type(ranking).__name__}"
            )
        slots, scores = np.asarray(ranking.slots), np.asarray(ranking.scores, np.float64)
        if not len(slots):
            slots = slots.astype(np.int64)
        if slots.dtype.kind not in "iu" or slots.ndim != 1 or slots.shape != scores.shape:
            raise ParameterError(
                f"strategy {self.name!r} must return slots, which are integers, with a score "
                f"each; got {slots.dtype} of shape {slots.shape} and scores of {scores.shape}"
            )
        inside = (slots >= 0) & (slots < len(request.allowed))
        if not (inside.all() and request.allowed[slots].all()) or len(np.unique(slots)) < len(
            slots
        ):
            raise ParameterError(
                f"strategy {self.name!r} must return each slot once, and only those in "
                "request.allowed"
            )
        if not (np.isfinite(scores).all() and (scores >= 0.0).all()):
            raise ParameterError(f"strategy {self.name!r} must return finite scores of at least 0")
        return replace(ranking, slots=slots, scores=scores)


def named_strategy(name: StrategyName, namespace: Namespace) -> Strategy:
    """Create the strategy with this name.

    Raises
    ------
    MissingExtraError, ParameterError
        As :func:`check_strategy` does.
    """
    check_strategy(name)
    if name == _DEFAULT:
        from hebbgraph.recall.strategies.spreading import Spreading

        return Spreading(namespace)
    strategy: Strategy = _load(name)(namespace)
    return strategy


def _load(name: str) -> Any:
    extra = _EXTRAS.get(name, "papers")
    return load_plugin(_GROUP, name, extra=extra, purpose=f"strategy {name!r}")
