"""Which chunk of the graph each taught chunk is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import IntArray, flatnonzero
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.learning.lessons import Lessons, chunk_of

__all__ = ["Resolve", "Slots"]

Resolve: TypeAlias = Callable[[Iterable[str]], Mapping[str, tuple[int, str]]]
"""From chunk ids to the row and text hash of those that exist."""


class Slots:
    """The slot of each node in one graph at one generation.

    ``rows`` is a cache of the row and text hash of each chunk, added to; ``resolve`` looks up the
    others. The caller has locked the graph while this object reads. ``of_node`` is -1 if the
    chunk is gone or has another text, and for rejections.
    """

    def __init__(
        self,
        graph: TagGraph,
        lessons: Lessons,
        rows: dict[str, tuple[int, str]],
        resolve: Resolve,
    ) -> None:
        self._graph, self._generation = graph, graph.generation
        self._lessons, self._resolve = lessons, resolve
        self.rows = rows
        self.of_node = np.empty(0, np.int64)
        self._node_at = np.full(graph.n_slots, -1, np.int64)

    def fits(self, graph: TagGraph, lessons: Lessons) -> bool:
        """Return whether the slots are still those of this graph."""
        same_graph = self._graph is graph and self._generation == graph.generation
        return same_graph and self._lessons is lessons

    def bring_up_to_date(self) -> None:
        """Look up nodes that are new in the lessons."""
        nodes, first = self._lessons.nodes, len(self.of_node)
        if first == len(nodes):
            return
        slots = np.full(len(nodes) - first, -1, np.int64)
        wanted: dict[str, list[tuple[int, str]]] = {}
        for at, node in enumerate(nodes[first:]):
            if node[0] == "c":
                id_, text_hash = chunk_of(node)
                wanted.setdefault(id_, []).append((at, text_hash))
        for id_, slot in self._slots_of(list(wanted)).items():
            for at, text_hash in wanted[id_]:
                if text_hash == self.rows[id_][1]:  # otherwise the text has changed since
                    slots[at] = slot
        self.of_node = np.concatenate((self.of_node, slots))
        live = flatnonzero(slots >= 0)
        self._node_at[slots[live]] = first + live

    def nodes_at(self, slots: IntArray) -> NDArray[np.int64]:
        """Return the node of each slot, -1 for none."""
        return self._node_at[slots]

    def _slots_of(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the slots of those chunks that exist."""
        slots = self._live_slots(ids)
        # New chunks, and chunks that were replaced, which lie in another row than the cached one.
        unknown = [id_ for id_ in ids if id_ not in slots]
        for id_ in unknown:
            self.rows.pop(id_, None)
        self.rows.update(self._resolve(unknown))
        return slots | self._live_slots(unknown)

    def _live_slots(self, ids: Sequence[str]) -> dict[str, int]:
        cached = [id_ for id_ in ids if id_ in self.rows]
        graph_rows = self._graph.rows
        if not cached or not len(graph_rows):
            return {}
        rows = np.array([self.rows[id_][0] for id_ in cached], dtype=np.int64)
        slots = np.minimum(np.searchsorted(graph_rows, rows), len(graph_rows) - 1)
        live = (graph_rows[slots] == rows) & self._graph.alive[slots]
        return {
            id_: slot
            for id_, slot, is_live in zip(cached, slots.tolist(), live.tolist(), strict=True)
            if is_live
        }
