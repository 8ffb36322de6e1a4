"""What a question brings back: memory added to the scores of search."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from hebbgraph.arrays import BoolArray, FloatArray, IntArray, flatnonzero, top_n
from hebbgraph.formulas.activation import Activation
from hebbgraph.formulas.association import (
    keep_order,
    lead,
    scale_by_confidence,
    share_beside_answer,
    squeeze,
)
from hebbgraph.formulas.paths import PathNode
from hebbgraph.formulas.trust import Trust
from hebbgraph.learning.associations import Associations, MemoryQuery, find_seeds
from hebbgraph.learning.exams import greatest_likeness, memory_evidence, share_taught
from hebbgraph.learning.lessons import Lessons
from hebbgraph.learning.slots import Slots
from hebbgraph.records import PathStep

__all__ = ["Recollection"]

#: How many chunks that search did not find memory brings, at most.
_MOST_BROUGHT = 64
#: The part of the room behind a title that other chunks leave.
_BEHIND = 1e-6


@dataclass(frozen=True, eq=False)
class Recollection:
    """What a question brings back of what was taught.

    Parameters
    ----------
    lessons : Lessons
    associations : Associations
    trust : Trust
    slots : Slots
    query : MemoryQuery
        The question.
    gains : ndarray of float
        What each kind of memory adds; 0 for families that take no part.
    exact : (nodes, belief)
        What was cited for the very question.
    led_to : dict of slot to node
        Chunks that memory leads to rather than search; noted by :meth:`added`.
    """

    lessons: Lessons
    associations: Associations
    trust: Trust
    slots: Slots
    query: MemoryQuery
    gains: FloatArray
    exact: tuple[IntArray, FloatArray]
    led_to: dict[int, int] = field(default_factory=dict)

    def contributions(self, plain: Activation) -> tuple[IntArray, FloatArray]:
        """Return the nodes that the question touches, and what each kind of memory adds."""
        nodes, evidence = self._evidence(plain, self.slots.nodes_at(plain.chunks))
        return nodes, self._beside_answer(evidence) * self.gains

    def _evidence(self, plain: Activation, near: IntArray) -> tuple[IntArray, FloatArray]:
        """Return what memory says; ``near`` are the nodes of the chunks found, or -1."""
        memory = self.associations
        best, mass = find_seeds(plain.scores)
        seeds, near = near[best], near[near >= 0]
        pairs = memory.pairs_from(seeds[seeds >= 0])
        return memory_evidence(
            memory.match_cues(self.query),
            memory.match_vector(self.query),
            pairs.completed(mass[seeds >= 0], memory.n),
            self.lessons.rejects[: memory.n],
            np.concatenate((near, self.exact[0])),
        )

    def _beside_answer(self, evidence: FloatArray) -> FloatArray:
        """Return what memory says beside an answer to the very question, if there is one."""
        answered = min(float(self.exact[1].max(initial=0.0)), 1.0)
        if answered <= 0.0:
            return evidence
        beside = evidence.copy()
        by_cues = beside[:, :4]  # words and vectors: each alone, and times repetition
        share = share_beside_answer(by_cues[:, [0, 0, 2, 2]].clip(0.0, 1.0), answered)
        beside[:, :4] = np.where(by_cues > 0, by_cues * share, by_cues)
        return beside

    def added(
        self, plain: Activation, allowed: BoolArray, confidence: float, titled: IntArray
    ) -> Activation:
        """Add what memory brings to the scores, and the chunks that only memory brings.

        ``plain`` has the scores without memory, as shares of the confidence without memory.
        ``allowed`` is what the filter lets pass. ``titled`` are chunks whose whole title the
        question is: what other questions taught moves nothing before them, and they pay no
        handicap.
        """
        taught = self._taught(plain, allowed)
        nothing = not (taught.gain.any() or taught.exact.any() or self.trust.handicap)
        slots = np.concatenate((plain.chunks, taught.brought))
        if nothing or not len(slots):
            return plain
        zeros = np.zeros(len(taught.brought))
        static = confidence * np.concatenate((plain.scores, zeros))
        exact = np.zeros(len(slots))
        exact[taught.position] = taught.exact
        is_titled = np.isin(slots, titled)
        change = self._change(taught, static, confidence, ~is_titled)
        remembered = min(max(change.max(initial=0.0), exact.max(initial=0.0)), 1.0)
        most = 1.0 - (1.0 - confidence) * (1.0 - remembered)
        if not most:
            return plain
        if is_titled.any():
            change[~is_titled] *= _room_behind(static, change, is_titled)
        scores = lead(static + change, exact, static)
        is_led = scores[taught.position] > 2.0 * static[taught.position]
        nodes = taught.nodes[is_led]
        self.led_to.update(zip(self.slots.of_node[nodes].tolist(), nodes.tolist(), strict=True))
        absolute, best = squeeze(scores, most), float(static.max())
        kept = min(float(absolute.max()) / best, 1.0) if best > 0 else 1.0
        order = slots.argsort(kind="stable")
        return replace(
            plain,
            chunks=slots[order],
            scores=absolute[order] / (most * kept),
            direct=np.concatenate((plain.direct, zeros))[order],
            arrived=np.concatenate((plain.arrived, zeros))[order],
            remembered=float(remembered),
            kept=kept,
            gained=(scores - static)[order],
            unlearned=plain,
        )

    def _taught(self, plain: Activation, allowed: BoolArray) -> _Taught:
        """Return the taught chunks among those that search found, then those memory brings."""
        near = self.slots.nodes_at(plain.chunks)
        nodes, evidence = self._evidence(plain, near)
        gain = self._beside_answer(evidence) @ self.gains
        slots = self.slots.of_node[nodes]
        exact = np.zeros(len(nodes))
        exact[nodes.searchsorted(self.exact[0])] = self.exact[1]
        found = flatnonzero(near >= 0)
        at = nodes.searchsorted(near[found])
        is_brought = (gain > 0) | (exact > 0)
        is_brought[at] = False
        brought = flatnonzero(is_brought & (slots >= 0))
        brought = brought[allowed[slots[brought]]]
        brought = brought[top_n(gain[brought] + exact[brought], _MOST_BROUGHT)]
        ranked = np.concatenate((at, brought))
        n = len(plain.chunks)
        return _Taught(
            nodes[ranked],
            np.concatenate((found, np.arange(n, n + len(brought)))),
            gain[ranked],
            exact[ranked],
            slots[brought],
            greatest_likeness(evidence),
        )

    def _change(
        self, taught: _Taught, static: FloatArray, confidence: float, pays: BoolArray
    ) -> FloatArray:
        """Return how much memory changes each score: gain less the handicap of chunks that pay."""
        position = taught.position
        gain, handicap = scale_by_confidence(
            confidence,
            taught.greatest_likeness,
            taught.gain,
            self.trust.handicap
            * share_taught(self.associations.taught[taught.nodes])
            * pays[position],
        )
        change = np.zeros(len(static))
        change[position] = gain - handicap
        # This is the order. Within it, what memory alone is sure of scores in full.
        order = (-static - change).argsort(kind="stable")
        change[position] += taught.gain - gain
        return keep_order(static + change, order) - static

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


class _Taught(NamedTuple):
    """Taught chunks: their nodes, positions among all chunks, gains and exact citations.

    ``brought`` are the slots of those that search did not find, which come after its chunks.
    """

    nodes: IntArray
    position: IntArray
    gain: FloatArray
    exact: FloatArray
    brought: IntArray
    greatest_likeness: float


def _room_behind(static: FloatArray, change: FloatArray, is_titled: BoolArray) -> float:
    """Return the factor with which no change lifts a chunk above the best titled one.

    A title that was rejected holds back nothing that was ahead of it then.
    """
    best = float((static + change)[is_titled].max())
    overtakes = (static < min(best, static[is_titled].max())) & (static + change > best)
    room = ((best - static[overtakes]) / change[overtakes]).min(initial=1.0)
    return max(float(room) - _BEHIND, 0.0)
