"""Raw weights in the numbers of one graph, and what a question brings back of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hebbgraph.graph.plastic import (
    GateOf,
    LearnedEdges,
    PooledEdges,
    RowPool,
    Rows,
    actor_scales,
    as_activation,
    bounded_rows,
    expectation,
    pooled,
    target_scale,
    unless_same,
)
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.learning.episodes import ActiveEpisode
from hebbgraph.learning.lessons import Family
from hebbgraph.learning.weights import RawWeights
from hebbgraph.recall.paths import PathNode
from hebbgraph.recall.view import FewEdges, PlasticEdges
from hebbgraph.records import PathStep
from hebbgraph.settings import LearningSettings
from hebbgraph.typing import IntArray

__all__ = ["Overlay", "Recollection", "Resolve"]

_NO_INTS = np.empty(0, np.int64)
_NO_ROWS = Rows(_NO_INTS, _NO_INTS, np.empty(0))
_ANY = 1 << 30
#: Activation reaches hundreds of tags, each of which may know ends of paths.
_PATH_FAN_OUT = 4
#: Learned edges that one step follows: the cost of a recall must not grow with the log.
_MAX_EDGES = 64
#: Mass up to this is not passed on: 0.08 % of the activation that is worth one half.
_LEAST = 3e-5

Resolve: TypeAlias = Callable[[Iterable[str]], Mapping[str, tuple[int, str]]]
"""From chunk ids to the row and text hash of those that are there."""


@dataclass(frozen=True)
class Recollection:
    """What a question brings back.

    Attributes
    ----------
    overlay : Overlay
    active : tuple of ActiveEpisode
        Past queries like the question.
    likeness : tuple of float, in [0, 1]
        How far each counts.
    opinions : tuple of dict of slot to float, in [-1, 1]
        What each thinks of chunks: a few numbers, which dictionaries hold faster than arrays.
    same : tuple of float, in [0, 1]
        The chance that a past query asks the same: its likeness, squared.
    """

    overlay: Overlay
    active: tuple[ActiveEpisode, ...]
    likeness: tuple[float, ...]
    opinions: tuple[Mapping[int, float], ...]
    same: tuple[float, ...]

    def _expected(self, sums: Mapping[int, float]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return chunks, ascending, and how far past queries lead one to expect each."""
        slots = sorted(sums)
        return np.array(slots, np.int64), expectation(
            np.array([sums[slot] for slot in slots]),
            sum(self.likeness),
            prior=self.overlay.settings.episode_prior,
        )

    def seen(self, evidence: GateOf) -> dict[int, float]:
        """Return the direct evidence for all chunks that past queries have an opinion on."""
        if not self.active:
            return {}
        slots = list({slot: None for row in self.opinions for slot in row})
        return dict(zip(slots, evidence(np.array(slots)).tolist(), strict=True))

    def recognised(self, seen: Mapping[int, float]) -> Recollection:
        """Return the past queries in proportion to how far direct evidence agrees with them.

        One that is like the question, but led to nothing that direct evidence sees too, is
        about something else. Where it sees one of its chunks, that one brings the others
        back (pattern completion, as in an autoassociative memory [1]_).

        References
        ----------
        .. [1] Hopfield (1982), Neural networks and physical systems with emergent
           collective computational abilities.
        """
        if not self.active:
            return self
        power = self.overlay.settings.episode_agreement
        likeness = []
        for like, row, same in zip(self.likeness, self.opinions, self.same, strict=True):
            wanted = [seen[slot] for slot, opinion in row.items() if opinion > 0]
            likeness.append(like * unless_same(max(wanted, default=0.0) ** power, same))
        return Recollection(self.overlay, self.active, tuple(likeness), self.opinions, self.same)

    def seeds(
        self, seen: Mapping[int, float]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]] | None:
        """Return chunks that past queries led to, and the activation that they get.

        A chunk gets it in proportion to the direct evidence for it, unless the question
        was asked before.
        """
        wanted: dict[int, float] = {}
        for row, like, same in zip(self.opinions, self.likeness, self.same, strict=True):
            for slot, opinion in row.items():
                if opinion > 0 and (gain := like * opinion * unless_same(seen[slot], same)) > 0:
                    wanted[slot] = wanted.get(slot, 0.0) + gain
        if not wanted:
            return None
        slots, chance = self._expected(wanted)
        settings = self.overlay.settings
        return slots, as_activation(
            chance, gain=settings.episode_gain, at_most=settings.episode_share
        )

    def inhibited(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return chunks that past queries did not want, and what is left of the evidence."""
        unwanted: dict[int, float] = {}
        for row, like in zip(self.opinions, self.likeness, strict=True):
            for slot, opinion in row.items():
                if opinion < 0 and like > 0:
                    unwanted[slot] = unwanted.get(slot, 0.0) - like * opinion
        if not unwanted:
            return _NO_INTS, np.empty(0)
        slots, dislike = self._expected(unwanted)
        return slots, 1.0 - np.minimum(dislike, self.overlay.settings.inhibition_floor)

    def edges(self, cues: IntArray, evidence: GateOf) -> PooledEdges:
        """Return the learned edges, those to chunks in proportion to direct evidence."""
        return self.overlay.edges(cues, evidence)

    def path_edges(self) -> PlasticEdges:
        """Return what was learned about the edges of cited paths, weights as they are."""
        return self.overlay.path_edges()

    @cached_property
    def _strongest(self) -> dict[int, tuple[ActiveEpisode, float]]:
        """For each chunk, the past query that lights it most, and how much."""
        strongest: dict[int, tuple[ActiveEpisode, float]] = {}
        for episode, row, like in zip(self.active, self.opinions, self.likeness, strict=True):
            for slot, opinion in row.items():
                amount = opinion * like
                if amount > 0 and (slot not in strongest or amount > strongest[slot][1]):
                    strongest[slot] = episode, amount
        return strongest

    def of(self, slot: int) -> list[tuple[ActiveEpisode, float]]:
        """Return the past queries that have an opinion on a chunk, times their likeness."""
        return [
            (episode, row[slot] * like)
            for episode, row, like in zip(self.active, self.opinions, self.likeness, strict=True)
            if row.get(slot)
        ]

    def episode_step(self, node: PathNode) -> list[PathStep]:
        """Return the past query in front of a chunk that starts a way, if it lit it."""
        if node.id not in self._strongest:
            return []
        episode, weight = self._strongest[node.id]
        return [PathStep(kind="episode", value=episode.nodes[0][2:], weight=weight)]


class Overlay:
    """Raw weights read through one graph at one generation.

    Parameters
    ----------
    graph : TagGraph
        Its owner holds the lock on it while this object reads.
    weights : RawWeights
    settings : LearningSettings
    rows : dict of chunk id to (row, text hash)
        What is known already; added to.
    resolve : callable
        Finds the others.
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
        self._n_marked = 0
        self._n_tags = len(graph.phrases)
        #: Of a tag, what any mass on it follows; at its number + n_tags, what a cue does;
        #: of a chunk, at ~slot: counted from the end.
        self._to_chunk = RowPool(self._rows_to_chunk, 2 * self._n_tags + graph.n_slots)
        self._hops = RowPool(partial(self.rows_of, Family.HOP), self._n_tags)
        #: Of a past query's node: what it thinks of which slots, unbounded.
        self._opinions: dict[int, dict[int, float]] = {}
        #: The same, bounded.
        self._bounded_opinions: dict[int, dict[int, float]] = {}
        self._changed: set[tuple[Family, int]] | None = None
        self._fresh = False
        self._actor_scale = np.ones(1)
        self._scale_actors = False
        self._target_scale = np.empty(0)

    def fits(self, graph: TagGraph) -> bool:
        """Tell whether the numbers are still those of this graph."""
        return self.graph is graph and self._generation == graph.generation

    def outdate(self, changed: Iterable[tuple[Family, int]] | None) -> None:
        """There was a lesson: these rows have changed, or (None) all of them."""
        if changed is None or (self._changed is None and not self._fresh):
            self._changed = None
        elif self._changed is None:
            self._changed = set(changed)
        else:
            self._changed.update(changed)
        self._fresh = False

    def bring_up_to_date(self) -> None:
        """Take in the nodes and edges of new lessons."""
        if self._fresh:
            return
        self._number_nodes()
        self._mark_sources()
        if self._changed is None:
            self._to_chunk.clear()
            self._hops.clear()
            self._opinions.clear()
            self._bounded_opinions.clear()
            self._target_scale = target_scale(
                self._weights.credits(), in_credit=self.settings.in_credit
            )
            self._actor_scale = actor_scales(
                self._weights.actor_events(),
                at_least=self.settings.actor_events,
                share=self.settings.actor_share,
            )
            self._scale_actors = bool((self._actor_scale < 1.0).any())
        else:
            for family, node in self._changed:
                if family is Family.EPISODE:
                    self._opinions.pop(node, None)
                    self._bounded_opinions.pop(node, None)
                for pool, sources in self._sources(family, np.array([node])):
                    pool.drop(sources)
        self._changed = None
        self._fresh = True

    # -- numbers --------------------------------------------------------------------

    def _number_nodes(self) -> None:
        first = len(self.number)
        names = self._weights.nodes[first:]
        numbers = np.full(len(names), -1, dtype=np.int64)
        chunks: dict[str, list[tuple[int, str]]] = {}
        for position, name in enumerate(names):
            if name[0] == "t":
                tag = self.graph.phrases.number(name[2:])
                if tag is not None:
                    numbers[position] = tag
                    self.node_of_tag[tag] = first + position
            elif name[0] == "c":
                chunks.setdefault(name[19:], []).append((position, name[2:18]))
        self.rows.update(self._resolve([id_ for id_ in chunks if id_ not in self.rows]))
        here = [(id_, *self.rows[id_]) for id_ in chunks if id_ in self.rows]
        known = self.graph.rows
        if here and len(known):
            rows = np.array([row for _, row, _ in here], dtype=np.int64)
            slots = np.minimum(np.searchsorted(known, rows), len(known) - 1)
            live = (known[slots] == rows) & self.graph.alive[slots]
            for (id_, _, held), slot, alive in zip(
                here, slots.tolist(), live.tolist(), strict=True
            ):
                if not alive:
                    del self.rows[id_]
                    continue
                for position, wanted in chunks[id_]:
                    if wanted == held:  # else the text has changed since
                        numbers[position] = slot
                        self.node_of_slot[slot] = first + position
        self.number = np.concatenate((self.number, numbers))

    def _mark_sources(self) -> None:
        families, sources, _ = self._weights.all_edges()
        families, sources = families[self._n_marked :], sources[self._n_marked :]
        self._n_marked += len(families)
        for family in Family:
            for pool, marked in self._sources(family, sources[families == family]):
                pool.mark(marked)

    def _sources(self, family: Family, nodes: IntArray) -> list[tuple[RowPool, IntArray]]:
        """Return where the rows of some nodes are kept."""
        if family is Family.EPISODE:
            return []
        numbers = self.number[nodes]
        numbers = numbers[numbers >= 0]
        if family is Family.CUE:
            return [(self._to_chunk, numbers + self._n_tags)]
        if family is Family.ARRIVAL:
            return [(self._to_chunk, numbers), (self._to_chunk, numbers + self._n_tags)]
        if family is Family.PAIR:
            return [(self._to_chunk, ~numbers)]
        return [(self._hops, numbers)]

    # -- rows -----------------------------------------------------------------------

    def edges(self, cues: IntArray, evidence: GateOf) -> PooledEdges:
        """Return the learned edges that spreading follows.

        What was learned about cues, and about tags that led on to others, counts for
        tags that the query names; what was learned about the end of a path, for any tag
        that activation reaches.
        """
        settings = self.settings
        gain = settings.path_gain
        hops = {
            cue: [(tag, gain * weight) for tag, weight in row]
            for cue in cues.tolist()
            if (row := self._hops.row(cue))
        }
        return PooledEdges(
            hops=FewEdges(hops),
            pool=self._to_chunk,
            shift=self._n_tags,
            cues=cues,
            tag_gain=settings.cue_gain,
            chunk_gain=settings.pair_gain,
            gate=evidence,
            limit=_MAX_EDGES,
            n_steps=settings.learned_steps,
            least=_LEAST,
        )

    def path_edges(self) -> PlasticEdges:
        """Return the learned edges of cited paths, from any node and ungated (Bio-RAG)."""
        return PlasticEdges(
            tag_to_chunk=LearnedEdges([self._to_chunk]),
            tag_to_tag=LearnedEdges([self._hops]),
        )

    def row(self, family: Family, number: int) -> Rows:
        """Return what leaves a tag or slot."""
        return self.rows_of(family, np.array([number]))

    def rows_of(self, family: Family, numbers: IntArray) -> Rows:
        """Return what leaves each of some tags or slots."""
        nodes = self.node_of_slot if family is Family.PAIR else self.node_of_tag
        on_path = family in (Family.HOP, Family.ARRIVAL)
        return bounded_rows(
            self._net(family, [nodes.get(number) for number in numbers.tolist()]),
            len(numbers),
            min_weight=self.settings.min_weight,
            fan_out=min(self.settings.fan_out, _PATH_FAN_OUT if on_path else _ANY),
            out_strength=self.settings.out_strength,
        )

    def _rows_to_chunk(self, numbers: IntArray) -> Rows:
        """Return what leaves some tags and chunks for chunks; of cues, both families."""
        n = self._n_tags
        # Numbers ascend: chunks, then tags, then cues.
        tags, cues = numbers.searchsorted([0, n]).tolist()
        paired = self.rows_of(Family.PAIR, ~numbers[:tags]) if tags else _NO_ROWS
        arrived = (
            self.rows_of(Family.ARRIVAL, numbers[tags:] % n) if tags < len(numbers) else _NO_ROWS
        )
        cued = self.rows_of(Family.CUE, numbers[cues:] - n) if cues < len(numbers) else _NO_ROWS
        owner = np.concatenate((cued.owner + cues, arrived.owner + tags, paired.owner))
        order = owner.argsort(kind="stable")
        targets = np.concatenate((cued.targets, arrived.targets, paired.targets))
        weights = np.concatenate((cued.weights, arrived.weights, paired.weights))
        return Rows(owner[order], targets[order], weights[order])

    def _net(self, family: Family, sources: Sequence[int | None]) -> Rows:
        """Put together what leaves some nodes.

        Parts of several actors are pooled. What was learned first comes first, in every
        process that reads the same log.
        """
        owner, rows = self._weights.rows_of(family, sources)
        number = self.number[rows.target]
        keep = number >= 0
        owner, target, weight = owner[keep], rows.target[keep], rows.weight[keep]
        if self._scale_actors:
            actor = rows.actor[keep]
            known = actor < len(self._actor_scale)
            weight = weight * np.where(known, self._actor_scale[np.where(known, actor, 0)], 1.0)
        # A node without a scale is new since, and was not cited often.
        known = target < len(self._target_scale)
        scale = np.ones(len(target))
        scale[known] = self._target_scale[target[known]]
        n_nodes = max(len(self.number), 1)
        key, weight = pooled(owner * n_nodes + target, np.where(weight > 0, weight * scale, weight))
        return Rows(key // n_nodes, self.number[key % n_nodes], weight)

    def number_of(self, node: str) -> int | None:
        """Return the number that raw weights give a node."""
        return self._weights.number(node)

    def has_edges(self, family: Family, node: int) -> bool:
        """Tell whether any edge of a family leaves a node."""
        return len(self._weights.rows(family, node).edge) > 0

    # -- past queries ---------------------------------------------------------------

    def recollection(self, active: Sequence[ActiveEpisode]) -> Recollection:
        """Return what the active past queries expect, together."""
        if not active:
            return self._nothing()
        rows = tuple(self._opinions_of(episode.nodes) for episode in active)
        if not any(rows):
            return self._nothing()
        likeness = tuple(episode.likeness for episode in active)
        same = tuple(like**2 for like in likeness)
        return Recollection(self, tuple(active), likeness, rows, same)

    def _opinions_of(self, names: Sequence[str]) -> dict[int, float]:
        """Return what near-duplicate past queries think of chunks, as if they were one."""
        numbers = [number for name in names if (number := self._weights.number(name)) is not None]
        missing = [number for number in numbers if number not in self._opinions]
        if missing:
            made = self._net(Family.EPISODE, missing)
            self._opinions.update((number, {}) for number in missing)
            for owner, slot, weight in zip(*(part.tolist() for part in made), strict=True):
                self._opinions[missing[owner]][slot] = weight
        if len(numbers) != 1:
            return self._bounded(_pooled_rows([self._opinions[number] for number in numbers]))
        (number,) = numbers
        if number not in self._bounded_opinions:
            self._bounded_opinions[number] = self._bounded(self._opinions[number])
        return self._bounded_opinions[number]

    def _bounded(self, row: Mapping[int, float]) -> dict[int, float]:
        least = self.settings.min_weight
        total = sum(weight for weight in row.values() if weight >= least)
        scale = self.settings.out_strength / max(total, self.settings.out_strength)
        return {
            slot: weight * scale if weight > 0 else weight
            for slot, weight in row.items()
            if abs(weight) >= least
        }

    def _nothing(self) -> Recollection:
        return Recollection(self, (), (), (), ())


def _pooled_rows(rows: Sequence[Mapping[int, float]]) -> dict[int, float]:
    if not rows:
        return {}
    targets = np.array([target for row in rows for target in row], dtype=np.int64)
    weights = np.array([weight for row in rows for weight in row.values()])
    return dict(zip(*(part.tolist() for part in pooled(targets, weights)), strict=True))
