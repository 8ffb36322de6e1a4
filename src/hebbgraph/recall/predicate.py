"""A callable as a filter: called for chunks in rank order, and for all that pass activation on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TypeAlias

import numpy as np

from hebbgraph.arrays import BoolArray
from hebbgraph.formulas.paths import Path, PathNode
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.recall.strategies import Ranking, Request, Strategy
from hebbgraph.records import Chunk
from hebbgraph.store.truth import Truth

__all__ = ["FilteredStrategy", "unranked"]

Predicate: TypeAlias = Callable[[Chunk], bool]

#: The strategy ranks at most this often, if chunks that passed activation on are refused.
_MAX_ROUNDS = 8
#: With more chunks that pass the filter, the database sorts the ids.
_FEW_SURVIVORS = 5_000
#: Chunks fetched at once, in rank order.
_PAGE = 32


class FilteredStrategy:
    """A strategy whose chunks a callable has to let pass.

    Parameters
    ----------
    strategy : Strategy
    truth : Truth
    predicate : callable
        Maps a Chunk to bool; called at most once per chunk and ranking.
    """

    pads = False  # it fills up by itself

    def __init__(self, strategy: Strategy, truth: Truth, predicate: Predicate) -> None:
        self.name = strategy.name
        self._strategy = strategy
        self._truth = truth
        self._predicate = predicate

    def rank(self, request: Request) -> Ranking:
        """Rank, calling the predicate for chunks in rank order until k pass.

        It is also called for every chunk that passed activation on. If it refuses one, that
        chunk is excluded and the strategy ranks again. Only a chunk below rank k, for which it
        is never called, may still have received a share.
        """
        graph, k, allowed = request.graph, request.k, request.allowed
        verdicts = _Verdicts(self._truth, graph, self._predicate)
        for _ in range(_MAX_ROUNDS):
            ranking = self._strategy.rank(replace(request, allowed=allowed, k=graph.n_slots))
            passed: list[int] = []
            ranked = ranking.slots.tolist()
            for at, slot in enumerate(ranked):
                if verdicts.passes(slot, ranked[at : at + _PAGE]):
                    passed.append(slot)
                if len(passed) == k:
                    break
            passed_on = set(ranking.passed_on())
            for slot in passed_on:
                verdicts.passes(slot)
            refused = [slot for slot in verdicts.refused if allowed[slot]]
            allowed = allowed.copy()
            allowed[refused] = False
            if passed_on.isdisjoint(refused):
                break
        if self._strategy.pads and len(passed) < k:
            passed += unranked(
                self._truth, graph, allowed, passed, k - len(passed), passes=verdicts.passes
            )
        score = dict(zip(ranking.slots.tolist(), ranking.scores.tolist(), strict=True))
        known = ranking.path

        def path(slot: int) -> Path:
            if slot in score:
                nodes = known(slot)
                if not any(node.id in verdicts.refused for node in nodes if node.kind == "chunk"):
                    return nodes
            return (PathNode("chunk", slot, 0.0),)

        scores = np.array([score.get(slot, 0.0) for slot in passed], dtype=np.float64)
        return replace(ranking, slots=np.array(passed, dtype=np.int64), scores=scores, path=path)


class _Verdicts:
    """What a predicate said of the chunks of one graph."""

    def __init__(self, truth: Truth, graph: TagGraph, predicate: Predicate) -> None:
        self._truth = truth
        self._graph = graph
        self._predicate = predicate
        self._chunks: dict[int, Chunk | None] = {}
        self._passed: set[int] = set()
        self.refused: dict[int, None] = {}

    def passes(self, slot: int, ahead: Sequence[int] = ()) -> bool:
        """Ask about a chunk, once; ``ahead`` are fetched with it."""
        if slot in self._passed or slot in self.refused:
            return slot in self._passed
        if slot not in self._chunks:
            unknown = [near for near in (slot, *ahead) if near not in self._chunks]
            rows = {near: int(self._graph.rows[near]) for near in unknown}
            fetched = self._truth.fetch(rows.values())
            self._chunks.update((near, fetched.get(row)) for near, row in rows.items())
        chunk = self._chunks[slot]
        if chunk is not None and self._predicate(chunk):
            self._passed.add(slot)
            return True
        self.refused[slot] = None
        return False


def unranked(
    truth: Truth,
    graph: TagGraph,
    allowed: BoolArray,
    taken: Collection[int],
    n: int,
    *,
    passes: Callable[[int], bool] = lambda _: True,
) -> list[int]:
    """Return n more slots, which the strategy did not rank, in the order of their ids.

    Parameters
    ----------
    truth : Truth
    graph : TagGraph
    allowed : ndarray of bool, shape (n_slots,)
    taken : collection of int
        Slots to leave out.
    n : int
    passes : callable, optional
        Called for each slot in turn.
    """
    taken = set(taken)
    fitting = (
        slot for slot in _in_order(truth, graph, allowed) if slot not in taken and passes(slot)
    )
    return list(islice(fitting, n))


def _in_order(truth: Truth, graph: TagGraph, allowed: BoolArray) -> Iterator[int]:
    """Yield the allowed slots in the order of their ids."""
    survivors = np.flatnonzero(allowed)
    if len(survivors) <= _FEW_SURVIVORS:
        ids = truth.ids(graph.rows[survivors].tolist())
        by_row = sorted(ids.items(), key=lambda item: item[1])
        rows: Iterable[int] = (row for row, _ in by_row)
    else:
        rows = truth.rows_by_id()
    for row in rows:
        for slot in graph.slots_of(np.array([row])).tolist():
            if allowed[slot]:
                yield slot
