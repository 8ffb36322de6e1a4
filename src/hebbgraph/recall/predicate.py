"""A callable as a filter: called for chunks in rank order, and for all that pass activation on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from hebbgraph.arrays import BoolArray
from hebbgraph.formulas.paths import Path, PathNode
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.recall.strategies import Ranking, Request, Strategy
from hebbgraph.records import Chunk
from hebbgraph.store.truth import Truth

__all__ = ["AskedFilter", "unranked"]

#: The strategy ranks at most this often, if chunks that passed activation on are refused.
_MAX_ROUNDS = 8
#: With more chunks that pass the filter, the database sorts the ids.
_FEW_SURVIVORS = 5_000
#: Chunks fetched at once, in rank order.
_PAGE = 32


class AskedFilter:
    """A callable and its verdicts during one recall.

    Parameters
    ----------
    truth : Truth
    graph : TagGraph
    predicate : callable
        Maps a Chunk to bool; called at most once per chunk.
    """

    def __init__(self, truth: Truth, graph: TagGraph, predicate: Callable[[Chunk], bool]) -> None:
        self._truth = truth
        self._graph = graph
        self._predicate = predicate
        self._verdicts: dict[int, bool] = {}
        self._chunks: dict[int, Chunk | None] = {}

    def rank(self, strategy: Strategy, request: Request) -> Ranking:
        """Rank, calling the predicate for chunks in rank order until k pass.

        It is also called for every chunk that passed activation on. If it refuses one, that
        chunk is excluded and the strategy ranks again. Only a chunk below rank k, for which it
        is never called, may still have received a share.
        """
        graph, k, allowed = self._graph, request.k, request.allowed
        for _ in range(_MAX_ROUNDS):
            ranking = strategy.rank(replace(request, allowed=allowed, k=graph.n_slots))
            passed: list[int] = []
            ranked = ranking.slots.tolist()
            for at, slot in enumerate(ranked):
                if self._passes(slot, ranked[at : at + _PAGE]):
                    passed.append(slot)
                if len(passed) == k:
                    break
            passed_on = set(ranking.passed_on())
            for slot in passed_on:
                self._passes(slot)
            refused = [
                slot for slot, verdict in self._verdicts.items() if not verdict and allowed[slot]
            ]
            allowed = allowed.copy()
            allowed[refused] = False
            if passed_on.isdisjoint(refused):
                break
        if strategy.pads and len(passed) < k:
            passed += unranked(
                self._truth, graph, allowed, passed, k - len(passed), passes=self._passes
            )
        score = dict(zip(ranking.slots.tolist(), ranking.scores.tolist(), strict=True))
        known = ranking.path

        def path(slot: int) -> Path:
            if slot in score:
                nodes = known(slot)
                if all(self._verdicts.get(node.id, True) for node in nodes if node.kind == "chunk"):
                    return nodes
            return (PathNode("chunk", slot, 0.0),)

        scores = np.array([score.get(slot, 0.0) for slot in passed], dtype=np.float64)
        return replace(ranking, slots=np.array(passed, dtype=np.int64), scores=scores, path=path)

    def _passes(self, slot: int, ahead: Sequence[int] = ()) -> bool:
        if slot not in self._verdicts:
            if slot not in self._chunks:
                unknown = [one for one in (slot, *ahead) if one not in self._chunks]
                rows = {one: int(self._graph.rows[one]) for one in unknown}
                held = self._truth.fetch(rows.values())
                self._chunks.update((one, held.get(row)) for one, row in rows.items())
            chunk = self._chunks[slot]
            self._verdicts[slot] = chunk is not None and bool(self._predicate(chunk))
        return self._verdicts[slot]


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
