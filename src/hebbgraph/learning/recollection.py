"""What a question brings back, in the numbers of one graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import BoolArray, FloatArray, IntArray, flatnonzero, top_n
from hebbgraph.formulas.activation import Activation
from hebbgraph.formulas.association import settled
from hebbgraph.formulas.paths import PathNode
from hebbgraph.formulas.trust import KINDS, Trust
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.learning.associations import Asked, Associations, seeds_among
from hebbgraph.learning.exams import brought_back, taught_share
from hebbgraph.learning.lessons import Lessons, named_by
from hebbgraph.records import PathStep

__all__ = ["Recollection", "Resolve", "Slots"]

Resolve: TypeAlias = Callable[[Iterable[str]], Mapping[str, tuple[int, str]]]
"""From chunk ids to the row and text hash of those that are there."""
_NONE = np.empty(0, np.int64)
#: Chunks that memory alone brings, at most.
_MOST_BROUGHT = 64


class Slots:
    """The slot of each taught chunk in one graph at one generation.

    Parameters
    ----------
    graph : TagGraph
        The caller holds its lock while this object reads.
    lessons : Lessons
    rows : dict of chunk id to (row, text hash)
        A cache, added to.
    resolve : callable
        Looks up the rest.
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
        #: Of each node its slot, or -1: the chunk is gone, its text is another, or it is rejected.
        self.of_node = np.empty(0, np.int64)
        #: Of each node of a rejection, and of the chunk that it rejects.
        self.against = np.empty(0, np.int64), np.empty(0, np.int64)
        self._order = self._sorted = np.empty(0, np.int64)

    def fits(self, graph: TagGraph, lessons: Lessons) -> bool:
        """Return whether the numbers are still those of this graph."""
        same = self._graph is graph and self._generation == graph.generation
        return same and self._lessons is lessons

    def bring_up_to_date(self) -> None:
        """Look up chunks that are new in the lessons."""
        names, first = self._lessons.names, len(self.of_node)
        if first == len(names):
            return
        slots = np.full(len(names) - first, -1, np.int64)
        wanted: dict[str, list[tuple[int, str]]] = {}
        for at, name in enumerate(names[first:]):
            if name[0] == "c":
                id_, text_hash = named_by(name)
                wanted.setdefault(id_, []).append((at, text_hash))
        for id_, slot in self._slots_of(list(wanted)).items():
            for at, text_hash in wanted[id_]:
                if text_hash == self.rows[id_][1]:  # else the text has changed since
                    slots[at] = slot
        self.of_node = np.concatenate((self.of_node, slots))
        self._order = np.argsort(self.of_node, kind="stable")
        self._sorted = self.of_node[self._order]

    def nodes_at(self, slots: IntArray) -> NDArray[np.int64]:
        """Return the node of each slot, -1 for none."""
        if not len(self._sorted):
            return np.full(len(slots), -1, np.int64)
        at = np.minimum(self._sorted.searchsorted(slots), len(self._sorted) - 1)
        return np.where(self._sorted[at] == slots, self._order[at], -1)

    def _slots_of(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the slots of those chunks that exist."""
        self.rows.update(self._resolve([id_ for id_ in ids if id_ not in self.rows]))
        slots = self._live_slots(ids)
        # A chunk that was put again lies in another row than the one that is known.
        if moved := [id_ for id_ in ids if id_ in self.rows and id_ not in slots]:
            for id_ in moved:
                del self.rows[id_]
            self.rows.update(self._resolve(moved))
            slots |= self._live_slots(moved)
        for id_ in moved:
            if id_ not in slots:
                self.rows.pop(id_, None)
        return slots

    def _live_slots(self, ids: Sequence[str]) -> dict[str, int]:
        known_ids = [id_ for id_ in ids if id_ in self.rows]
        known = self._graph.rows
        if not known_ids or not len(known):
            return {}
        rows = np.array([self.rows[id_][0] for id_ in known_ids], dtype=np.int64)
        slots = np.minimum(np.searchsorted(known, rows), len(known) - 1)
        live = (known[slots] == rows) & self._graph.alive[slots]
        found = zip(known_ids, slots.tolist(), live.tolist(), strict=True)
        return {id_: slot for id_, slot, is_live in found if is_live}


@dataclass(frozen=True, eq=False)
class Recollection:
    """What a question brings back of what was taught.

    Parameters
    ----------
    lessons : Lessons
    associations : Associations
    trust : Trust
    slots : Slots
    asked : Asked
    families : frozenset of str
        What takes part: ``words``, ``vectors``, ``pairs``.
    """

    lessons: Lessons
    associations: Associations
    trust: Trust
    slots: Slots
    asked: Asked
    families: frozenset[str] = frozenset(("words", "vectors", "pairs"))
    #: Of chunks that memory leads to rather than search, the node; noted as they are found.
    led_to: dict[int, int] = field(default_factory=dict)

    def brought(self, found: Activation) -> FloatArray:
        """Return what memory adds to each taught chunk by kind, shape (n, n_kinds)."""
        memory = self.associations
        best, mass = seeds_among(found.scores)
        nodes = self.slots.nodes_at(found.chunks[best])
        known = nodes >= 0
        pairs = memory.together(nodes[known], (_NONE, _NONE, np.empty(0)))
        brought = brought_back(
            memory.by_cues(self.asked),
            memory.by_vector(self.asked),
            pairs.completed(mass[known], memory.n),
            self.lessons.against,
        )
        gains = [
            gain if kind.split()[-1] in self.families else 0.0
            for kind, gain in zip(KINDS, self.trust.gains, strict=True)
        ]
        weighed: FloatArray = brought * np.array(gains)
        return weighed

    def added(self, found: Activation, allowed: BoolArray) -> Activation:
        """Add what memory brings to the scores, and the chunks that it alone brings."""
        gain = self.brought(found).sum(1)
        slots = self.slots.of_node[: len(gain)]
        live = slots >= 0
        live[live] = allowed[slots[live]]
        nodes = flatnonzero(live)
        if not gain[nodes].any() and not self.trust.handicap:
            return found
        nodes = self._worth_ranking(nodes, gain, found)
        here, gain = slots[nodes], gain[nodes]
        taught = taught_share(self.associations.taught[nodes])
        chunks = np.union1d(found.chunks, here)
        plain, direct, arrived = np.zeros((3, len(chunks)))
        at = chunks.searchsorted(found.chunks)
        plain[at], direct[at], arrived[at] = found.scores, found.direct, found.arrived
        scores, places = plain.copy(), chunks.searchsorted(here)
        scores[places] += gain - self.trust.handicap * taught
        led = gain > plain[places]
        self.led_to.update(zip(here[led].tolist(), nodes[led].tolist(), strict=True))
        return replace(
            found,
            chunks=chunks,
            scores=settled(scores),
            direct=direct,
            arrived=arrived,
            remembered=min(float(gain.max(initial=0.0)), 1.0),
            unlearned=found,
        )

    def _worth_ranking(
        self, nodes: IntArray, gain: FloatArray, found: Activation
    ) -> NDArray[np.int64]:
        """Return the taught chunks that search found too, and the best of the others."""
        slots = self.slots.of_node[nodes]
        at = np.minimum(found.chunks.searchsorted(slots), max(len(found.chunks) - 1, 0))
        is_found = found.chunks[at] == slots if len(found.chunks) else np.zeros(len(nodes), bool)
        others = nodes[~is_found & (gain[nodes] > 0)]
        others = others[top_n(gain[others], _MOST_BROUGHT)]
        return np.sort(np.concatenate((nodes[is_found], others)))

    def episode_step(self, node: PathNode) -> list[PathStep]:
        """Return the path step for the lesson that led to a chunk, if memory did."""
        taught = self.led_to.get(node.id)
        if taught is None:
            return []
        lessons = self.lessons
        links = flatnonzero((lessons.link_node == taught) & (lessons.link_credit > 0))
        if not len(links):
            return []
        event = lessons.event(int(lessons.link_lesson[links[-1]]))
        return [PathStep(kind="episode", value=event.recall_id, weight=node.weight)]
