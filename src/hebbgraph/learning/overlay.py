"""Raw weights in the numbers of one graph, and what a question brings back of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import IntArray
from hebbgraph.formulas.adjacency import PlasticEdges
from hebbgraph.formulas.homeostasis import (
    FAN_OUT,
    IN_CREDIT,
    INHIBITION_FLOOR,
    MIN_WEIGHT,
    OUT_STRENGTH,
    OutgoingEdges,
    bound_outgoing,
    chance_to_activation,
    citation_chance,
    discount_unless_same,
    pool_weights,
    target_scales,
)
from hebbgraph.formulas.learned_edges import EdgePool, GateOf, PooledEdges
from hebbgraph.formulas.paths import PathNode
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.learning.episodes import ActiveEpisodes
from hebbgraph.learning.traces import Family
from hebbgraph.learning.weights import RawWeights
from hebbgraph.records import PathStep
from hebbgraph.settings import LearningSettings

__all__ = ["Opinion", "Overlay", "Recollection", "Resolve"]

_NO_INTS, _NO_FLOATS = np.empty(0, np.int64), np.empty(0)
_ANY = 1 << 30
_ON_PATH = (Family.HOP, Family.ARRIVAL)
#: A past query counts by its likeness times the best direct evidence for any of the chunks that it
#: led to, to this power: one that led to nothing that search sees too is about something else.
_AGREEMENT = 8.0
#: How much past queries must be like this one, together, to be half believed.
_EPISODE_PRIOR = 0.3
#: Activation of a chunk that similar past queries led to as often as not, and the most that they
#: give; what starts elsewhere is 1.
_EPISODE_GAIN, _EPISODE_SHARE = 0.2, 0.6
#: Kept smaller: activation reaches hundreds of tags, each of which may have such edges.
_PATH_FAN_OUT = 4
#: Learned edges followed per step, so that the cost of a recall does not grow with the log.
_MAX_EDGES = 64
#: With this many questions asked, all rows are read, unless there are more edges than that.
_ALL_AFTER, _MANY = 4, 400_000
#: Smaller flows are dropped: 0.08 % of the activation that counts one half.
_LEAST = 3e-5

_Ints: TypeAlias = NDArray[np.int64]
Resolve: TypeAlias = Callable[[Iterable[str]], Mapping[str, tuple[int, str]]]
"""From chunk ids to the row and text hash of those that are there."""


class Opinion(NamedTuple):
    """How much a past query, by its position, wants a chunk: in [-1, 1]."""

    past: int
    slot: int
    wants: float


@dataclass(frozen=True)
class Recollection:
    """What a question brings back: similar past queries, and the chunks they led to.

    There are a few dozen opinions, for which lists are faster than arrays.

    Attributes
    ----------
    overlay : Overlay
    active : ActiveEpisodes
        Past queries that are like the question.
    likeness : list of float, in [0, 1]
        The weight of each.
    same : list of float, in [0, 1]
        Probability that a past query asks the same: its likeness, squared.
    opinions : list of Opinion
        What they think of chunks; those of one past query stand together.
    """

    overlay: Overlay
    active: ActiveEpisodes
    likeness: Sequence[float]
    same: Sequence[float]
    opinions: Sequence[Opinion]

    def _expected(self, sums: Mapping[int, float]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return chunks, ascending, and the chance that each is cited."""
        slots = sorted(sums)
        return np.array(slots, np.int64), citation_chance(
            np.array([sums[slot] for slot in slots]),
            sum(self.likeness),
            prior=_EPISODE_PRIOR,
        )

    def seen(self, evidence: GateOf) -> list[float]:
        """Return the direct evidence for the chunk of each opinion."""
        if not self.opinions:
            return []
        found: list[float] = evidence(np.array([one.slot for one in self.opinions])).tolist()
        return found

    def recognised(self, seen: Sequence[float]) -> Recollection:
        """Weight past queries by how far direct evidence agrees with them.

        If direct evidence sees none of the chunks that a past query led to, it was about something
        else. If it sees one, that chunk brings back the others (pattern completion, as in an
        autoassociative memory [1]_).

        References
        ----------
        .. [1] Hopfield (1982), Neural networks and physical systems with emergent collective
               computational abilities.
        """
        if not self.opinions:
            return self
        best = [0.0] * len(self.likeness)
        for (past, _, wants), known in zip(self.opinions, seen, strict=True):
            if wants > 0 and known > best[past]:
                best[past] = known
        likeness = [
            like * discount_unless_same(known**_AGREEMENT, same)
            for like, known, same in zip(self.likeness, best, self.same, strict=True)
        ]
        return Recollection(self.overlay, self.active, likeness, self.same, self.opinions)

    def seeds(self, seen: Sequence[float]) -> tuple[NDArray[np.int64], NDArray[np.float64]] | None:
        """Return the chunks that past queries led to, and their initial activation.

        It is proportional to the direct evidence for the chunk, unless the question was asked
        before.
        """
        likeness, same = self.likeness, self.same
        wanted: dict[int, float] = {}
        for (past, slot, wants), known in zip(self.opinions, seen, strict=True):
            if wants > 0:
                gain = likeness[past] * wants * discount_unless_same(known, same[past])
                if gain > 0:
                    wanted[slot] = wanted.get(slot, 0.0) + gain
        if not wanted:
            return None
        slots, chance = self._expected(wanted)
        return slots, chance_to_activation(chance, gain=_EPISODE_GAIN, at_most=_EPISODE_SHARE)

    def inhibited(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the chunks that past queries did not want, and the share of evidence they keep."""
        likeness = self.likeness
        unwanted: dict[int, float] = {}
        for past, slot, wants in self.opinions:
            if wants < 0 and likeness[past] > 0:
                unwanted[slot] = unwanted.get(slot, 0.0) - likeness[past] * wants
        if not unwanted:
            return _NO_INTS, _NO_FLOATS
        slots, dislike = self._expected(unwanted)
        return slots, 1.0 - np.minimum(dislike, INHIBITION_FLOOR)

    def nodes_of(self, past: int) -> list[int]:
        """Return the nodes of a past query: its own, and its near-duplicates'."""
        found: list[int] = self.active.nodes[self.active.owner == past].tolist()
        return found

    @cached_property
    def _own_nodes(self) -> list[int]:
        """The node of each past query without its near-duplicates."""
        firsts = self.active.owner.searchsorted(np.arange(len(self.active)))
        own: list[int] = self.active.nodes[firsts].tolist()
        return own

    @cached_property
    def _strongest(self) -> dict[int, tuple[int, float]]:
        """For each chunk, the past query that activates it most, and how much."""
        strongest: dict[int, tuple[int, float]] = {}
        for past, slot, wants in self.opinions:
            amount = wants * self.likeness[past]
            if amount > 0 and (slot not in strongest or amount > strongest[slot][1]):
                strongest[slot] = past, amount
        return strongest

    def of(self, slot: int) -> list[tuple[int, float]]:
        """Return the past queries with an opinion on a chunk, and that times their likeness."""
        return [
            (past, wants * self.likeness[past]) for past, at, wants in self.opinions if at == slot
        ]

    def episode_step(self, node: PathNode) -> list[PathStep]:
        """Return the path step for the past query that activated a chunk, if one did."""
        if node.id not in self._strongest:
            return []
        past, weight = self._strongest[node.id]
        name = self.overlay.name_of(self._own_nodes[past])
        return [PathStep(kind="episode", value=name[2:], weight=weight)]


class _Net(NamedTuple):
    """Edges in the numbers of the graph, ordered by family and source."""

    family: NDArray[np.int64]
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    weight: NDArray[np.float64]


class Overlay:
    """Raw weights read through one graph at one generation.

    Parameters
    ----------
    graph : TagGraph
        The caller holds its lock while this object reads.
    weights : RawWeights
    settings : LearningSettings
    rows : dict of chunk id to (row, text hash)
        A cache, added to.
    resolve : callable
        Looks up the rest.
    """

    def __init__(
        self,
        graph: TagGraph,
        weights: RawWeights,
        settings: LearningSettings,
        rows: dict[str, tuple[int, str]],
        resolve: Resolve,
    ) -> None:
        self.graph = graph
        self.settings = settings
        self.rows = rows
        self._generation = graph.generation
        self._weights = weights
        self._resolve = resolve
        #: Of each node: its tag or slot in this graph, or -1 when there is none.
        self.number = _NO_INTS
        self.node_of_tag: dict[int, int] = {}
        self.node_of_slot: dict[int, int] = {}
        self._n_tags = len(graph.phrases)
        #: Of a tag, what any mass on it follows; at its number + n_tags, what a cue does;
        #: of a chunk, at ~slot: counted from the end.
        self._to_chunk = EdgePool(2 * self._n_tags + graph.n_slots, self._read_into_chunks)
        self._hops = EdgePool(self._n_tags, self._read_hops)
        #: Of a past query, by its node: what it thinks of which slots.
        self._opinions = EdgePool(0, self._read_opinions)
        self._pools = (self._to_chunk, self._hops, self._opinions)
        #: How many questions were asked since all rows were dropped.
        self._asked = 0
        #: Whether every row was read, and none has changed since.
        self._is_read = False
        #: Rows to be read again; None means all of them.
        self._changed: set[tuple[Family, int]] | None = None
        self._target_scale = np.empty(0)

    def fits(self, graph: TagGraph) -> bool:
        """Return whether the numbers are still those of this graph."""
        return self.graph is graph and self._generation == graph.generation

    def outdate(self, changed: Iterable[tuple[Family, int]] | None) -> None:
        """Note which rows a feedback has changed; None means all of them."""
        if changed is None:
            self._changed = None
        elif self._changed is not None:
            self._changed.update(changed)

    def bring_up_to_date(self) -> None:
        """Read the nodes and edges of new feedback."""
        if self._changed is not None and not self._changed:
            self._asked += 1
            if self._asked == _ALL_AFTER and len(self._weights) <= _MANY:
                self._read_all()
            return
        self._number_nodes()
        self._opinions.grow(len(self.number))
        if self._changed is None:
            self._asked, self._is_read = 0, False
            for pool in self._pools:
                pool.clear()
            self._target_scale = target_scales(self._weights.credits(), in_credit=IN_CREDIT)
        else:
            self._drop(self._changed)
        self._changed = set()

    def _drop(self, changed: Iterable[tuple[Family, int]]) -> None:
        """Have some rows read again when they are wanted."""
        self._is_read = False
        families, nodes = np.array(sorted(changed), np.int64).reshape(-1, 2).T
        self._opinions.outdate(nodes[families == Family.EPISODE])
        numbers = self.number[nodes]
        families, numbers = families[numbers >= 0], numbers[numbers >= 0]
        self._to_chunk.outdate(self._into_chunks(families, numbers)[0])
        self._hops.outdate(numbers[families == Family.HOP])

    def _read_all(self) -> None:
        """Read every row: in the long run that costs less than each when it is wanted."""
        if self._is_read:
            return
        for pool in self._pools:
            pool.clear()
        self._put(_NO_INTS, _NO_INTS, np.arange(len(self._weights)))
        for pool in self._pools:
            pool.ask_no_more()
        self._is_read = True

    def _read_into_chunks(self, sources: IntArray) -> None:
        wanted: set[tuple[Family, int]] = set()
        for source in sources.tolist():
            if source < 0:
                if (node := self.node_of_slot.get(~source)) is not None:
                    wanted.add((Family.PAIR, node))
            elif (node := self.node_of_tag.get(source % self._n_tags)) is not None:
                wanted |= {(Family.CUE, node), (Family.ARRIVAL, node)}
        self._read_rows(wanted)

    def _read_hops(self, tags: IntArray) -> None:
        nodes = map(self.node_of_tag.get, tags.tolist())
        self._read_rows({(Family.HOP, node) for node in nodes if node is not None})

    def _read_opinions(self, nodes: IntArray) -> None:
        self._read_rows({(Family.EPISODE, node) for node in nodes.tolist()})

    def _read_rows(self, wanted: Iterable[tuple[Family, int]]) -> None:
        if rows := sorted(wanted):
            families, nodes = np.array(rows, np.int64).T
            self._put(families, nodes, self._weights.edges_from(rows))

    # -- numbers --------------------------------------------------------------------

    def _number_nodes(self) -> None:
        first = len(self.number)
        names = self._weights.nodes
        numbers = np.full(len(names) - first, -1, dtype=np.int64)
        tags = {names[at][2:]: at - first for at in names.beginning_with("t", first)}
        chunks: dict[str, list[tuple[int, str]]] = {}
        for at in names.beginning_with("c", first):
            name = names[at]
            chunks.setdefault(name[19:], []).append((at - first, name[2:18]))
        for key, tag in self.graph.phrases.numbers(list(tags)).items():
            if tag < self._n_tags:  # else of a batch that is not yet in the graph
                numbers[tags[key]] = tag
                self.node_of_tag[tag] = first + tags[key]
        for id_, slot in self._slots_of(list(chunks)).items():
            for position, text_hash in chunks[id_]:
                if text_hash == self.rows[id_][1]:  # else the text has changed since
                    numbers[position] = slot
                    self.node_of_slot[slot] = first + position
        self.number = np.concatenate((self.number, numbers))

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
        held = [id_ for id_ in ids if id_ in self.rows]
        known = self.graph.rows
        if not held or not len(known):
            return {}
        rows = np.array([self.rows[id_][0] for id_ in held], dtype=np.int64)
        slots = np.minimum(np.searchsorted(known, rows), len(known) - 1)
        live = (known[slots] == rows) & self.graph.alive[slots]
        found = zip(held, slots.tolist(), live.tolist(), strict=True)
        return {id_: slot for id_, slot, is_live in found if is_live}

    # -- rows -----------------------------------------------------------------------

    def edges(self, cues: IntArray, evidence: GateOf) -> PooledEdges:
        """Return the learned edges that spreading follows.

        What was learned about cues, and about tags that lead to other tags, applies to tags
        that the query names; what was learned about the end of a path, to any tag reached.
        """
        settings = self.settings
        hops = {cue: row for cue in cues.tolist() if (row := self._hops.row(cue))}
        return PooledEdges(
            hops=hops,
            pool=self._to_chunk,
            shift=self._n_tags,
            cues=cues,
            tag_gain=settings.cue_gain,
            chunk_gain=settings.pair_gain,
            gate=evidence,
            limit=_MAX_EDGES,
            n_steps=settings.learned_steps,
            min_mass=_LEAST,
        )

    def path_edges(self) -> PlasticEdges:
        """Return the learned edges of cited paths, from any node and ungated (Bio-RAG)."""
        self._read_all()
        return PlasticEdges(tag_to_chunk=self._to_chunk, tag_to_tag=self._hops)

    def row(self, family: Family, node: int) -> dict[int, float]:
        """Return the edges that leave a node, as targets (tags or slots) and weights."""
        _, _, number, weight = self._bounded(self._net(self._weights.edges_from([(family, node)])))
        return dict(zip(number.tolist(), weight.tolist(), strict=True))

    def _put(self, families: _Ints, nodes: _Ints, edges: _Ints) -> None:
        """Replace the rows of some nodes, given all their edges."""
        net = self._net(edges)
        asked = net.family == Family.EPISODE
        past = _Net(*(column[asked] for column in net))
        self._opinions.put(nodes[families == Family.EPISODE], past.source, past.target, past.weight)
        rows = self._bounded(_Net(*(column[~asked] for column in net)))
        numbers = self.number[nodes]
        families, numbers = families[numbers >= 0], numbers[numbers >= 0]
        changed, _ = self._into_chunks(families, numbers)
        sources, at = self._into_chunks(rows.family, rows.source)
        self._to_chunk.put(changed, sources, rows.target[at], rows.weight[at])
        hop = rows.family == Family.HOP
        self._hops.put(
            numbers[families == Family.HOP], rows.source[hop], rows.target[hop], rows.weight[hop]
        )

    def _into_chunks(self, families: _Ints, numbers: _Ints) -> tuple[_Ints, _Ints]:
        """Return where rows into chunks are kept, and the position of each."""
        cue = (families == Family.CUE).nonzero()[0]
        arrival = (families == Family.ARRIVAL).nonzero()[0]
        pair = (families == Family.PAIR).nonzero()[0]
        n = self._n_tags
        at = np.concatenate((cue, arrival, arrival, pair))
        places = (numbers[cue] + n, numbers[arrival] + n, numbers[arrival], ~numbers[pair])
        return np.concatenate(places), at

    def _net(self, edges: _Ints) -> _Net:
        """Pool what several actors learned about the same ends.

        Edges with an end that is not in the graph are left out. The oldest edges come first,
        so every process that reads the same log gets the same order.
        """
        family, source, target, _ = self._weights.ends(edges)
        known = (self.number[source] >= 0) | (family == Family.EPISODE)
        edges = edges[known & (self.number[target] >= 0)]
        family, source, target, _ = self._weights.ends(edges)
        weight = self._weights.believed(edges)
        # A node without a scale is new since, and was not cited often.
        known = (target < len(self._target_scale)) & (weight > 0)
        weight[known] *= self._target_scale[target[known]]
        n = max(len(self.number), 1)
        key, weight = pool_weights((family.astype(np.int64) * n + source) * n + target, weight)
        owner = key // n
        return _Net(owner // n, owner % n, self.number[key % n], weight)

    def _bounded(self, net: _Net) -> _Net:
        """Prune, bound and normalise what leaves each node; sources become numbers of the graph."""
        first = np.ones(len(net.source), np.bool_)
        first[1:] = (net.source[1:] != net.source[:-1]) | (net.family[1:] != net.family[:-1])
        on_path = np.isin(net.family[first], _ON_PATH)
        rows = bound_outgoing(
            OutgoingEdges(first.cumsum() - 1, np.arange(len(first)), net.weight),
            len(on_path),
            min_weight=MIN_WEIGHT,
            fan_out=np.minimum(FAN_OUT, np.where(on_path, _PATH_FAN_OUT, _ANY)),
            out_strength=OUT_STRENGTH,
        )
        at = rows.targets
        return _Net(net.family[at], self.number[net.source[at]], net.target[at], rows.weights)

    def name_of(self, node: int) -> str:
        """Return the name of a node of the raw weights."""
        return self._weights.nodes[node]

    # -- past queries ---------------------------------------------------------------

    def recollection(self, active: ActiveEpisodes) -> Recollection:
        """Return what the active past queries expect, together."""
        n = len(active)
        at, slots, weights = self._opinions.of(active.nodes)
        owner = active.owner[at]
        if len(active.nodes) > n:  # near-duplicates count as one
            wide = self.graph.n_slots
            key, weights = pool_weights(owner * wide + slots, weights)
            owner, slots = key // wide, key % wide
        rows = list(zip(owner.tolist(), slots.tolist(), weights.tolist(), strict=True))
        total = [0.0] * n
        for past, _, weight in rows:
            if weight >= MIN_WEIGHT:
                total[past] += weight
        scale = [OUT_STRENGTH / max(one, OUT_STRENGTH) for one in total]
        opinions = [
            Opinion(past, slot, weight * scale[past] if weight > 0 else weight)
            for past, slot, weight in rows
            if abs(weight) >= MIN_WEIGHT
        ]
        likeness = active.likeness.tolist()
        return Recollection(self, active, likeness, [like**2 for like in likeness], opinions)
