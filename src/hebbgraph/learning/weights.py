"""Raw plastic weights: a left fold of the feedback log.

Edges lie between named nodes (phrases, chunks with their text, past queries), so the
fold knows neither graph nor slots. Each actor's part of an edge is kept apart, and put
together only when read. Nothing here forgets: to take a feedback back, the log without
it is folded anew.
"""

from __future__ import annotations

from array import array
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hebbgraph.graph.arrays import GrowableArray
from hebbgraph.learning.lessons import Family, Lesson, Node
from hebbgraph.learning.rules import LearningRule, find_rule
from hebbgraph.settings import LearningSettings

__all__ = ["EdgeRows", "RawWeights"]

_TRUSTED = 0
_NODE_BITS = 40


class EdgeRows(NamedTuple):
    """The edges that leave one node, each actor's part on its own.

    ``target`` and ``actor`` are numbers, ``weight`` is decayed to now, ``edge`` names
    the row for :meth:`RawWeights.teachers`.
    """

    target: NDArray[np.int64]
    actor: NDArray[np.int32]
    weight: NDArray[np.float64]
    edge: NDArray[np.int64]


class RawWeights:
    """The state that the lessons so far have led to.

    Parameters
    ----------
    settings : LearningSettings
        The rule and its constants.

    Attributes
    ----------
    n_events : int
        Lessons so far: the clock of decay.
    nodes : list of str
        Names by number.

    Examples
    --------
    >>> from hebbgraph.learning.lessons import Trace
    >>> weights = RawWeights(LearningSettings(learning_rate=0.5))
    >>> weights.fold(Lesson("f1", None, [Trace(Family.CUE, "t:owl", "c:1:a", 1.0, 1)], "e:1"))
    >>> weights.rows(Family.CUE, weights.number("t:owl")).weight.tolist()
    [0.5]
    """

    def __init__(self, settings: LearningSettings) -> None:
        self._rule: LearningRule = find_rule(settings.rule)
        self._learning_rate = settings.learning_rate
        self._w_max = settings.w_max
        self._w_min = -settings.inhibition_floor
        self._retention = 0.5 ** (1.0 / settings.half_life_events)
        self._rivalry = 1.0 - settings.competition
        self.n_events = 0
        self.nodes: list[Node] = []
        self._numbers: dict[Node, int] = {}
        self._actors: dict[str | None, int] = {None: _TRUSTED}
        self._actor_events = [0]
        # Family, source and target in one number: at so many edges, tuples would weigh.
        self._edges: dict[int, int] = {}
        self._others: dict[tuple[int, int], int] = {}
        self._by_source: dict[int, array[int]] = {}
        # How often each node was active, by family: the clock of competition.
        self._clock_of: dict[int, int] = {}
        self._clocks = GrowableArray(np.int64)
        self._clock = GrowableArray(np.int64)
        self._updated_at = GrowableArray(np.int64)
        self._weight = GrowableArray(np.float64)
        self._last = GrowableArray(np.int64)
        self._target = GrowableArray(np.int64)
        self._actor = GrowableArray(np.int32)
        self._family = GrowableArray(np.int8)
        self._source = GrowableArray(np.int64)
        self._credit = GrowableArray(np.float64)
        self._credited_at = GrowableArray(np.int64)
        self._taught_edge = array("q")
        self._taught_by = array("q")
        self._taught_credit = array("d")
        self._feedback: list[str] = []

    # -- folding --------------------------------------------------------------------

    def fold(self, lesson: Lesson) -> None:
        """Take one more lesson."""
        actor = self._actors.setdefault(lesson.actor, len(self._actor_events))
        if actor == len(self._actor_events):
            self._actor_events.append(0)
        now = self.n_events
        self.n_events += 1
        self._actor_events[actor] += 1
        self._feedback.append(lesson.feedback_id)
        signals: dict[int, tuple[float, int]] = {}
        active: set[int] = set()
        cited: dict[int, float] = {}
        for family, source, target, credit, length in lesson.traces:
            edge = self._edge(family, source, target, actor, make=credit > 0)
            if edge is None:
                continue
            if credit > 0:
                active.add(int(self._clock.view[edge]))
            held = signals.get(edge)
            if held is None or abs(credit) > abs(held[0]):
                signals[edge] = (credit, length)
            if credit > 0 and family is not Family.HOP:
                node = self._target.view[edge]
                cited[node] = max(cited.get(node, 0.0), credit)
        if not signals:
            return
        edges = np.fromiter(signals, dtype=np.int64, count=len(signals))
        both = np.array(list(signals.values()))
        weight, last = self._weight.view, self._last.view
        clocks, updated_at = self._clocks.view, self._updated_at.view
        clocks[list(active)] += 1
        # An edge that is cited now has not lost against itself.
        missed = clocks[self._clock.view[edges]] - updated_at[edges] - (both[:, 0] > 0)
        decayed = weight[edges] * self._retention ** (now - last[edges])
        decayed *= self._rivalry ** np.maximum(missed, 0)
        new = self._rule(
            decayed,
            both[:, 0],
            both[:, 1],
            learning_rate=self._learning_rate,
            w_max=self._w_max,
            w_min=self._w_min,
        )
        weight[edges] = np.clip(new, self._w_min, self._w_max)
        last[edges] = now
        updated_at[edges] = clocks[self._clock.view[edges]]
        self._taught_edge.extend(signals)
        self._taught_by.extend([now] * len(signals))
        self._taught_credit.extend(credit for credit, _ in signals.values())
        for node, credit in cited.items():
            gap = now - self._credited_at.view[node]
            self._credit.view[node] = self._credit.view[node] * self._retention**gap + credit
            self._credited_at.view[node] = now

    def _edge(
        self, family: Family, source: Node, target: Node, actor: int, *, make: bool
    ) -> int | None:
        if not make and (source not in self._numbers or target not in self._numbers):
            return None
        origin, end = self._intern(source), self._intern(target)
        key = (family << _NODE_BITS | origin) << _NODE_BITS | end
        first = self._edges.get(key)
        if first is None:
            if not make:
                return None
            edge = self._new_edge(family, origin, end, actor)
            self._edges[key] = edge
            return edge
        if self._actor.view[first] == actor:
            return first
        other = self._others.get((first, actor))
        if other is None:
            other = self._others[first, actor] = self._new_edge(family, origin, end, actor)
        return other

    def _new_edge(self, family: Family, source: int, target: int, actor: int) -> int:
        edge = len(self._weight)
        self._weight.extend([0.0])
        self._last.extend([self.n_events])
        self._target.extend([target])
        self._actor.extend([actor])
        self._family.extend([family])
        self._source.extend([source])
        here = family << _NODE_BITS | source
        self._by_source.setdefault(here, array("q")).append(edge)
        clock = self._clock_of.setdefault(here, len(self._clocks))
        if clock == len(self._clocks):
            self._clocks.extend([0])
        self._clock.extend([clock])
        self._updated_at.extend([self._clocks.view[clock]])
        return edge

    def _intern(self, node: Node) -> int:
        number = self._numbers.setdefault(node, len(self.nodes))
        if number == len(self.nodes):
            self.nodes.append(node)
            self._credit.extend([0.0])
            self._credited_at.extend([0])
        return number

    # -- reading --------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._weight)

    def number(self, node: Node) -> int | None:
        """Return the number of a node, or None."""
        return self._numbers.get(node)

    def rows(self, family: Family, source: int | None) -> EdgeRows:
        """Return the edges that leave a node, decayed to now."""
        held = None
        if source is not None:
            held = self._by_source.get(family << _NODE_BITS | source)
        edges = np.array(held if held is not None else [], dtype=np.int64)
        return EdgeRows(
            self._target.view[edges], self._actor.view[edges], self.weight(edges), edges
        )

    def weight(self, edges: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the weights of edges, decayed to now."""
        age = self.n_events - 1 - self._last.view[edges]
        missed = self._clocks.view[self._clock.view[edges]] - self._updated_at.view[edges]
        decayed: NDArray[np.float64] = (
            self._weight.view[edges] * self._retention**age * self._rivalry**missed
        )
        return decayed

    def credit(self, nodes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how much credit each node has had, decayed to now."""
        age = self.n_events - 1 - self._credited_at.view[nodes]
        decayed: NDArray[np.float64] = self._credit.view[nodes] * self._retention**age
        return decayed

    def actor_events(self) -> NDArray[np.float64]:
        """Return how many lessons came from each actor, the trusted one first."""
        return np.array(self._actor_events, dtype=np.float64)

    def all_edges(self) -> tuple[NDArray[np.int8], NDArray[np.int64], NDArray[np.int64]]:
        """Return family, source and target of every edge."""
        return self._family.view, self._source.view, self._target.view

    def teachers(self, edges: NDArray[np.int64]) -> list[tuple[int, str, float]]:
        """Return (edge, feedback id, credit, decayed to now) for all that shaped the edges."""
        taught = np.frombuffer(self._taught_edge, dtype=np.int64)
        at = np.flatnonzero(np.isin(taught, edges))
        by = np.array(self._taught_by)[at]
        credit = np.array(self._taught_credit)[at] * self._retention ** (
            self.n_events - 1 - by
        )
        return [
            (edge, self._feedback[event], amount)
            for edge, event, amount in zip(
                taught[at].tolist(), by.tolist(), credit.tolist(), strict=True
            )
        ]

    def dump(self) -> dict[tuple[str, str, str, str | None], float]:
        """Return every weight by (family, source, target, actor), for comparing."""
        actors = list(self._actors)
        edges = np.arange(len(self))
        return {
            (Family(family).name, self.nodes[source], self.nodes[target], actors[actor]): weight
            for family, source, target, actor, weight in zip(
                self._family.view.tolist(),
                self._source.view.tolist(),
                self._target.view.tolist(),
                self._actor.view.tolist(),
                self.weight(edges).tolist(),
                strict=True,
            )
        }
