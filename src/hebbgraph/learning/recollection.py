"""What a question brings back, in the numbers of one graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import BoolArray, FloatArray, IntArray, flatnonzero, top_n
from hebbgraph.formulas.activation import Activation
from hebbgraph.formulas.association import as_far_as_sure, in_order, led, settled
from hebbgraph.formulas.paths import PathNode
from hebbgraph.formulas.trust import Trust
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.learning.associations import Asked, Associations, seeds_among
from hebbgraph.learning.exams import alike, brought_back, taught_share
from hebbgraph.learning.lessons import Lessons, named_by
from hebbgraph.records import PathStep

__all__ = ["Recollection", "Resolve", "Slots"]

Resolve: TypeAlias = Callable[[Iterable[str]], Mapping[str, tuple[int, str]]]
"""From chunk ids to the row and text hash of those that are there."""
_NONE = np.empty(0, np.int64)
#: Chunks that memory alone brings, at most.
_MOST_BROUGHT = 64
#: By so much less than all room is taken behind a title.
_BEHIND = 1e-6


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
        self._node_at = np.full(graph.n_slots, -1, np.int64)

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
        live = flatnonzero(slots >= 0)
        self._node_at[slots[live]] = first + live

    def nodes_at(self, slots: IntArray) -> NDArray[np.int64]:
        """Return the node of each slot, -1 for none."""
        return self._node_at[slots]

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
    gains : ndarray of float
        What each kind adds; 0 for families that take no part.
    said : (nodes, belief)
        What was cited for the very question.
    """

    lessons: Lessons
    associations: Associations
    trust: Trust
    slots: Slots
    asked: Asked
    gains: FloatArray
    said: tuple[IntArray, FloatArray]
    #: Of chunks that memory leads to rather than search, the node; noted as they are found.
    led_to: dict[int, int] = field(default_factory=dict)

    def brought(self, found: Activation) -> tuple[IntArray, FloatArray]:
        """Return the chunks that the question touches, and what memory adds to each by kind."""
        nodes, brought = self._brought(found)
        return nodes, brought * self.gains

    def _brought(self, found: Activation) -> tuple[IntArray, FloatArray]:
        memory = self.associations
        best, mass = seeds_among(found.scores)
        near = self.slots.nodes_at(found.chunks)
        seeds, near = near[best], near[near >= 0]
        pairs = memory.together(seeds[seeds >= 0], (_NONE, _NONE, np.empty(0)))
        return brought_back(
            memory.by_cues(self.asked),
            memory.by_vector(self.asked),
            pairs.completed(mass[seeds >= 0], memory.n),
            self.lessons.rejects[: memory.n],
            np.concatenate((near, self.said[0])),
        )

    def added(
        self, found: Activation, allowed: BoolArray, sure: float, titled: IntArray
    ) -> Activation:
        """Add what memory brings to the scores, and the chunks that it alone brings.

        Scores are shares of ``sure``, the confidence without memory, and of what memory adds to it.
        Behind ``titled``, chunks whose whole title the question is, stays what was there.
        """
        nodes, brought = self._brought(found)
        gain, slots = brought @ self.gains, self.slots.of_node[nodes]
        said = np.zeros(len(nodes))
        said[nodes.searchsorted(self.said[0])] = self.said[1]
        near = self.slots.nodes_at(found.chunks)
        taught = flatnonzero(near >= 0)
        at = nodes.searchsorted(near[taught])
        is_other = (gain > 0) | (said > 0)
        is_other[at] = False
        others = flatnonzero(is_other & (slots >= 0))
        others = others[allowed[slots[others]]]
        others = others[top_n(gain[others] + said[others], _MOST_BROUGHT)]
        ranked = np.concatenate((at, others))
        nodes, gain, said = nodes[ranked], gain[ranked], said[ranked]
        chunks = np.concatenate((found.chunks, slots[others]))
        n, more = len(found.chunks), np.zeros(len(others))
        plain = sure * np.concatenate((found.scores, more))
        places = np.concatenate((taught, np.arange(n, len(plain))))
        change, known = np.zeros((2, len(plain)))
        known[places] = said
        pays = self.trust.handicap * taught_share(self.associations.taught[nodes])
        added, pays = as_far_as_sure(sure, alike(brought), gain, pays)
        change[places] = added - pays
        # In this order; but what memory alone is sure of scores as high as that.
        order = (-plain - change).argsort(kind="stable")
        change[places] += gain - added
        change = in_order(plain + change, order) - plain
        remembered = min(float(max(change.max(initial=0.0), said.max(initial=0.0))), 1.0)
        most = 1.0 - (1.0 - sure) * (1.0 - remembered)
        if not (gain.any() or said.any() or self.trust.handicap) or not len(chunks) or not most:
            return found
        is_titled = np.isin(chunks, titled)
        if is_titled.any():
            best = float((plain + change)[is_titled].max())
            # A title that was rejected holds nothing back that was ahead of it then.
            ahead = (plain < min(best, plain[is_titled].max())) & (plain + change > best)
            room = ((best - plain[ahead]) / change[ahead]).min(initial=1.0)
            change[~is_titled] *= max(room - _BEHIND, 0.0)
        scores = led(plain + change, known, plain)
        steps = nodes[scores[places] > 2.0 * plain[places]]
        self.led_to.update(zip(self.slots.of_node[steps].tolist(), steps.tolist(), strict=True))
        order = chunks.argsort(kind="stable")
        return replace(
            found,
            chunks=chunks[order],
            scores=settled(scores[order], most) / most,
            direct=np.concatenate((found.direct, more))[order],
            arrived=np.concatenate((found.arrived, more))[order],
            remembered=remembered,
            gained=(scores - plain)[order],
            unlearned=found,
        )

    def episode_step(self, node: PathNode) -> list[PathStep]:
        """Return the path step for the lesson that led to a chunk, if memory did."""
        taught = self.led_to.get(node.id)
        if taught is None:
            return []
        lesson = int(self.associations.latest[taught])
        if lesson < 0:
            return []
        event = self.lessons.event(lesson)
        return [PathStep(kind="episode", value=event.recall_id, weight=node.weight)]
