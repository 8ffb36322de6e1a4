"""A callable as a filter: called for chunks in rank order, and for all that pass activation on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from hebbgraph.formulas.paths import Path, PathNode
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.recall.hits import unranked
from hebbgraph.recall.strategies import Ranking, Request, Strategy
from hebbgraph.records import Chunk
from hebbgraph.store.truth import Truth

__all__ = ["FilteredStrategy"]

Predicate: TypeAlias = Callable[[Chunk], bool]

#: Rank at most this often while chunks that passed activation on are refused.
_MAX_ROUNDS = 8
#: Chunks fetched at once, in rank order.
_PAGE = 32


class FilteredStrategy:
    """A strategy whose chunks must pass a callable.

    Parameters
    ----------
    strategy : Strategy
    truth : Truth
    predicate : callable
        Maps a Chunk to bool; called at most once per chunk and ranking.
    """

    pads = False  # rank() pads

    def __init__(self, strategy: Strategy, truth: Truth, predicate: Predicate) -> None:
        self.name = strategy.name
        self._strategy = strategy
        self._truth = truth
        self._predicate = predicate

    def rank(self, request: Request) -> Ranking:
        """Rank, calling the predicate for chunks in rank order until k pass.

        The predicate is also called for every chunk that passed activation on. If it refuses
        one, that chunk is excluded and the strategy ranks again. Only a chunk below rank k, for
        which the predicate is never called, may still have received a share.
        """
        graph, k, allowed = request.graph, request.k, request.allowed
        verdicts = _Verdicts(self._truth, graph, self._predicate)
        for _ in range(_MAX_ROUNDS):
            ranking = self._strategy.rank(replace(request, allowed=allowed, k=graph.n_slots))
            passed: list[int] = []
            ranked = ranking.slots.tolist()
            for position, slot in enumerate(ranked):
                if verdicts.passes(slot, ranked[position : position + _PAGE]):
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
                self._truth, graph, allowed, set(passed), k - len(passed), passes=verdicts.passes
            )
        scores = dict(zip(ranking.slots.tolist(), ranking.scores.tolist(), strict=True))

        def path(slot: int) -> Path:
            if slot in scores:
                nodes = ranking.path(slot)
                if not any(node.id in verdicts.refused for node in nodes if node.kind == "chunk"):
                    return nodes
            return (PathNode("chunk", slot, 0.0),)

        return ranking.reordered(((slot, scores.get(slot, 0.0)) for slot in passed), path=path)


class _Verdicts:
    """Remembers what a predicate returned for the chunks of one graph."""

    def __init__(self, truth: Truth, graph: TagGraph, predicate: Predicate) -> None:
        self._truth = truth
        self._graph = graph
        self._predicate = predicate
        self._chunks: dict[int, Chunk | None] = {}
        self._passed: set[int] = set()
        self.refused: dict[int, None] = {}

    def passes(self, slot: int, ahead: Sequence[int] = ()) -> bool:
        """Return whether a chunk passes; the chunks ``ahead`` are fetched with it."""
        if slot in self._passed or slot in self.refused:
            return slot in self._passed
        if slot not in self._chunks:
            rows = {
                near: int(self._graph.rows[near])
                for near in (slot, *ahead)
                if near not in self._chunks
            }
            fetched = self._truth.fetch(rows.values())
            self._chunks.update((near, fetched.get(row)) for near, row in rows.items())
        chunk = self._chunks[slot]
        if chunk is not None and self._predicate(chunk):
            self._passed.add(slot)
            return True
        self.refused[slot] = None
        return False
