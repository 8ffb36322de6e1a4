"""Raw learned weights: a left fold of the feedback log.

Edges join named nodes (phrases, chunks with their text, past queries), so the fold knows neither
graph nor slots. Each actor's part of an edge is kept separately and pooled when read. Nothing is
ever subtracted: to take a feedback back, the log without it is folded again.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import GrowableArray
from hebbgraph.formulas.homeostasis import INHIBITION_FLOOR
from hebbgraph.formulas.plasticity import W_MAX, LearningRule, find_rule
from hebbgraph.learning.actors import Actors, Voice
from hebbgraph.learning.names import Names
from hebbgraph.learning.rows import Rows
from hebbgraph.learning.traces import Family, Node, Trace
from hebbgraph.settings import LearningSettings

__all__ = ["UNJUDGED_WITNESS", "EdgeEnds", "RawWeights", "clock"]

_PACKED = ("node_data", "node_offsets", "node_hashes", "node_numbers")
_COLUMNS = (
    "weight", "last", "target", "actor", "family", "source",
    "taught_edge", "taught_by", "taught_credit",
)  # fmt: skip
_ROWS = ("row_keys", "row_starts", "row_edges")

_NODE_BITS = 40
_NODE_MASK = (1 << _NODE_BITS) - 1
#: What it says of an actor to cite what others cited for the same question, and to pass it over.
_AGREES, _CONTRADICTS = 1.0, 1.5
#: Who is new since the readers' clock moved is believed in full, but counts half as a witness: for
#: or against others, and of the corpus.
_UNJUDGED, UNJUDGED_WITNESS = 1.0, 0.5


class EdgeEnds(NamedTuple):
    """Family, ends and actor of some edges; actors and nodes by number."""

    family: NDArray[np.int8]
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    actor: NDArray[np.int32]


def clock(n_events: int) -> int:
    """Return the event as of which weights are read: a step back of at most a sixteenth.

    Every feedback decays every weight a little. To keep rows valid for longer, readers see
    decay in steps that depend on the number of feedbacks alone: each one up to 32, then every
    second, fourth and so on. At ten thousand, a step is 3.5 % of a weight.

    >>> [clock(n) for n in (3, 31, 33, 1001)]
    [3, 31, 32, 992]
    """
    step = 1 << max((n_events // 16).bit_length() - 1, 0)
    return n_events - n_events % step


class RawWeights:
    """The weights that the feedback so far has led to.

    Parameters
    ----------
    settings : LearningSettings
        The rule and its constants.

    Attributes
    ----------
    n_events : int
        Number of feedbacks so far: the clock of decay.
    nodes : Names
        Names by number.

    Examples
    --------
    >>> weights = RawWeights(LearningSettings(learning_rate=0.5))
    >>> weights.fold([Trace(Family.CUE, "t:owl", "c:1:a", 1.0, 1)], None)
    >>> weights.weight(weights.edges_from([(Family.CUE, weights.number("t:owl"))])).tolist()
    [0.5]
    """

    def __init__(self, settings: LearningSettings) -> None:
        self._rule: LearningRule = find_rule(settings.rule)
        self._learning_rate = settings.learning_rate
        self._w_max = W_MAX
        self._w_min = -INHIBITION_FLOOR
        self._retention = 0.5 ** (1.0 / settings.half_life_events)
        self.n_events = 0
        self.nodes = Names()
        self.actors = Actors(settings)
        # Family, source and target in one number: tuples would take too much memory.
        self._edges: dict[int, int] = {}
        self._others: dict[tuple[int, int], int] = {}
        self._rows = Rows()
        self._weight = GrowableArray(np.float64)
        self._last = GrowableArray(np.int64)
        self._target = GrowableArray(np.int64)
        self._actor = GrowableArray(np.int32)
        self._family = GrowableArray(np.int8)
        self._source = GrowableArray(np.int64)
        self._credit = array("d")
        self._credited_at = array("q")
        # What readers go by; see clock.
        self._clock = 0
        self._seen_credit = np.empty(0)
        self._seen_scales = np.ones(1)
        self._taught_edge = GrowableArray(np.int64)
        self._taught_by = GrowableArray(np.int64)
        self._taught_credit = GrowableArray(np.float64)

    # -- folding --------------------------------------------------------------------

    def fold(
        self, traces: Iterable[Trace], voice: Voice, agrees: float = 0.0
    ) -> Collection[tuple[Family, int]] | None:
        """Learn from one more feedback.

        Parameters
        ----------
        traces : iterable of Trace
        voice : str, optional
            Whose word it is; see :data:`hebbgraph.learning.actors.Voice`.
        agrees : float
            How far it agrees with direct evidence, in log-odds.

        Returns
        -------
        collection of (Family, int), or None
            The nodes whose rows changed; None if the clock that readers go by moved on,
            and with it every row.
        """
        actor = self.actors.number(voice)
        now = self.n_events
        traces = list(traces)
        self.actors.heard(actor, self._agreement(traces, actor, agrees))
        signals, changed = self._signals(traces, actor)
        self.n_events += 1
        if signals:
            edges = np.fromiter(signals, dtype=np.int64, count=len(signals))
            both = np.array(list(signals.values()))
            weight, last = self._weight.view, self._last.view
            new = self._rule(
                weight[edges] * self._retention ** (now - last[edges]),
                both[:, 0],
                both[:, 1],
                learning_rate=self._learning_rate,
                w_max=self._w_max,
                w_min=self._w_min,
            )
            weight[edges] = np.clip(new, self._w_min, self._w_max)
            last[edges] = now
            self._taught_edge.extend(edges)
            self._taught_by.extend(np.full(len(edges), now))
            self._taught_credit.extend(both[:, 0])
        if (tick := clock(self.n_events)) == self._clock:
            return changed
        self._clock = tick
        self._seen_credit = self._decayed_credit()
        self._seen_scales = self.actors.scales()
        return None

    def _agreement(self, traces: Iterable[Trace], actor: int, agrees: float) -> float:
        """Return how far a lesson agrees with direct evidence and with earlier lessons.

        Those on the same question count, others' as far as they are believed. Whoever repeats
        himself says nothing new, while passing over what one has cited oneself says something.
        """
        cited: set[int] = set()
        passed: set[int] = set()
        question = -1
        for family, source, target, credit, _ in traces:
            if family is Family.EPISODE:
                if question < 0 and (question := self._number(source)) < 0:
                    return agrees
                (cited if credit > 0 else passed).add(self._number(target))
        if question < 0:
            return agrees
        edges = self.edges_from([(Family.EPISODE, question)])
        columns = (self._target.view, self._actor.view, self._weight.view)
        own: set[int] = set()
        agree = against = 0.0
        for target, by, weight in zip(*(one[edges].tolist() for one in columns), strict=True):
            if weight <= 0:
                continue
            believed = self._scale(by, UNJUDGED_WITNESS)
            if by == actor:
                own.add(target)
            elif target in cited:
                agree = max(agree, believed)
            if target in passed:
                against = max(against, believed)
        if cited <= own and not against:
            return 0.0
        return agrees + _AGREES * agree - _CONTRADICTS * against

    def _signals(
        self, traces: Iterable[Trace], actor: int
    ) -> tuple[dict[int, tuple[float, int]], set[tuple[Family, int]]]:
        """Return credit and path length for each edge of a feedback; make new edges."""
        signals: dict[int, tuple[float, int]] = {}
        changed: set[tuple[Family, int]] = set()
        cited: dict[int, float] = {}
        fresh: list[tuple[Family, int, int]] = []
        first_new = len(self._weight)
        actors = self._actor.view
        for family, source, target, credit, length in traces:
            makes = credit > 0 or family is Family.EPISODE
            if makes:
                origin, end = self._intern(source), self._intern(target)
            else:
                origin, end = self._number(source), self._number(target)
                if origin < 0 or end < 0:
                    continue
            key = (family << _NODE_BITS | origin) << _NODE_BITS | end
            edge = self._first(key)
            if edge is not None and edge < first_new and actors[edge] != actor:
                first, edge = edge, self._of_actor(edge, key, actor)
                if edge is None:
                    edge = self._others[first, actor] = first_new + len(fresh)
                    fresh.append((family, origin, end))
            elif edge is None:
                if not makes:
                    continue
                edge = self._edges[key] = first_new + len(fresh)
                fresh.append((family, origin, end))
            held = signals.get(edge)
            if held is None or abs(credit) > abs(held[0]):
                signals[edge] = (credit, length)
            changed.add((family, origin))
            if credit > 0 and family is not Family.HOP:
                cited[end] = max(cited.get(end, 0.0), credit)
        if fresh:
            self._make(fresh, actor)
        self._give_credit(cited)
        return signals, changed

    def _make(self, fresh: list[tuple[Family, int, int]], actor: int) -> None:
        first = len(self._weight)
        n = len(fresh)
        self._weight.extend(np.zeros(n))
        self._last.extend(np.full(n, self.n_events))
        self._actor.extend(np.full(n, actor))
        self._family.extend([family for family, _, _ in fresh])
        self._source.extend([source for _, source, _ in fresh])
        self._target.extend([target for _, _, target in fresh])
        for edge, (family, source, _) in enumerate(fresh, start=first):
            self._rows.append(family << _NODE_BITS | source, edge)

    def _first(self, key: int) -> int | None:
        """Return the oldest edge of this family between these ends."""
        found = self._edges.get(key)
        if found is None and len(packed := self._between(key)):
            found = self._edges[key] = int(packed[0])
        return found

    def _of_actor(self, first: int, key: int, actor: int) -> int | None:
        """Return the edge of an actor beside the oldest one."""
        found = self._others.get((first, actor))
        if found is None and len(packed := self._between(key)):
            own = packed[self._actor.view[packed] == actor]
            if len(own):
                found = self._others[first, actor] = int(own[0])
        return found

    def _between(self, key: int) -> NDArray[np.int64]:
        """Return the edges of a snapshot that have this family and these ends."""
        packed = self._rows.packed(key >> _NODE_BITS)
        at: NDArray[np.int64] = packed[self._target.view[packed] == key & _NODE_MASK]
        return at

    def _give_credit(self, cited: Mapping[int, float]) -> None:
        credit, credited_at = self._credit, self._credited_at
        for node, amount in cited.items():
            gap = self.n_events - credited_at[node]
            credit[node] = credit[node] * self._retention**gap + amount
            credited_at[node] = self.n_events

    def _decayed_credit(self) -> NDArray[np.float64]:
        credit = np.array(self._credit, dtype=np.float64)
        age = self._clock - np.array(self._credited_at, dtype=np.int64)
        decayed: NDArray[np.float64] = credit * self._retention ** np.maximum(age, 0)
        return decayed

    def _intern(self, node: Node) -> int:
        number = self.nodes.add(node)
        if number == len(self._credit):
            self._credit.append(0.0)
            self._credited_at.append(0)
        return number

    def _number(self, node: Node) -> int:
        number = self.nodes.number(node)
        return -1 if number is None else number

    # -- reading --------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._weight)

    def number(self, node: Node) -> int | None:
        """Return the number of a node, or None."""
        return self.nodes.number(node)

    def edges_from(self, sources: Iterable[tuple[Family, int]]) -> NDArray[np.int64]:
        """Return the edges that leave these nodes, each with its family; one per actor."""
        rows = [self._rows.of(family << _NODE_BITS | source) for family, source in sources]
        return np.concatenate(rows) if rows else np.empty(0, np.int64)

    def ends(self, edges: NDArray[np.int64]) -> EdgeEnds:
        """Return family, ends and actor of edges."""
        return EdgeEnds(
            self._family.view[edges],
            self._source.view[edges],
            self._target.view[edges],
            self._actor.view[edges],
        )

    def weight(self, edges: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the weights of edges, decayed to now."""
        age = np.maximum(self._clock - 1 - self._last.view[edges], 0)
        decayed: NDArray[np.float64] = self._weight.view[edges] * self._retention**age
        return decayed

    def believed(self, edges: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the weights of edges, decayed to now, as far as their actors are believed."""
        actor, scales = self._actor.view[edges], self._seen_scales
        known = actor < len(scales)
        scale: NDArray[np.float64] = np.where(known, scales[np.where(known, actor, 0)], _UNJUDGED)
        return self.weight(edges) * scale

    def credits(self) -> NDArray[np.float64]:
        """Return the credit of each node, decayed to the readers' clock.

        Newer nodes are left out; they have none yet.
        """
        return self._seen_credit

    def scale_of(self, voice: Voice, *, unjudged: float = _UNJUDGED) -> float:
        """Return the factor on the weights of a voice, as of the readers' clock."""
        return self._scale(self.actors.numbers.get(voice, len(self._seen_scales)), unjudged)

    def _scale(self, actor: int, unjudged: float) -> float:
        return float(self._seen_scales[actor]) if actor < len(self._seen_scales) else unjudged

    def actor_scales(self) -> NDArray[np.float64]:
        """Return the factor on the weights of each actor, as of the readers' clock."""
        return self._seen_scales

    def all_edges(self) -> tuple[NDArray[np.int8], NDArray[np.int64], NDArray[np.int64]]:
        """Return family, source and target of every edge."""
        return self._family.view, self._source.view, self._target.view

    def teachers(
        self, edges: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Return (edge, event, credit decayed to now) for all feedback that shaped edges."""
        taught = self._taught_edge.view
        at = np.flatnonzero(np.isin(taught, edges))
        by, credit = self._taught_by.view[at], self._taught_credit.view[at]
        return taught[at], by, credit * self._retention ** (self.n_events - 1 - by)

    def taught(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return (edge, event) for every time that a feedback touched an edge."""
        return self._taught_edge.view, self._taught_by.view

    # -- as arrays ------------------------------------------------------------------

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all of it as arrays, of which :meth:`restored` makes the same weights."""
        nodes: dict[str, NDArray[Any]] = dict(zip(_PACKED, self.nodes.packed(), strict=True))
        edges = {name: getattr(self, f"_{name}").view for name in _COLUMNS}
        source = self._family.view.astype(np.int64) << _NODE_BITS | self._source.view
        rows = dict(zip(_ROWS, Rows.arrays(source), strict=True))
        return (
            nodes
            | edges
            | rows
            | {
                "credit": np.array(self._credit, dtype=np.float64),
                "credited_at": np.array(self._credited_at, dtype=np.int64),
                "seen_credit": self._seen_credit,
                "seen_scales": self._seen_scales,
                "clocks": np.array([self.n_events, self._clock], dtype=np.int64),
            }
        )

    @classmethod
    def restored(
        cls, settings: LearningSettings, arrays: Mapping[str, NDArray[Any]], actors: Actors
    ) -> RawWeights:
        """Make the weights that :meth:`arrays` came from; writable ones are written to."""
        made = cls(settings)
        made.actors = actors
        data, offsets, hashes, whose = (arrays[name] for name in _PACKED)
        made.nodes = Names((data, offsets, hashes, whose))
        for name in _COLUMNS:
            setattr(made, f"_{name}", GrowableArray(arrays[name].dtype, arrays[name]))
        made._rows = Rows(*(arrays[name] for name in _ROWS))
        made._credit = array("d", arrays["credit"].tobytes())
        made._credited_at = array("q", arrays["credited_at"].tobytes())
        made._seen_credit, made._seen_scales = arrays["seen_credit"], arrays["seen_scales"]
        made.n_events, made._clock = arrays["clocks"].tolist()
        return made
