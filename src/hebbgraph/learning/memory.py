"""What was learned, as a recall reads it: kept in step with the log and the graph.

Each process folds the log for itself. A recall costs one comparison of counters when
nothing is new; a new feedback costs its own fold, and the rows that recalls then meet.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hebbgraph.graph.plastic import (
    LearnedEdges,
    Row,
    actor_scales,
    bounded_row,
    pooled,
    target_scale,
)
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.learning.episodes import ActiveEpisode, Episodes, Question, episode_node
from hebbgraph.learning.feedback import text_hash
from hebbgraph.learning.lessons import Family, lesson_of, tag_node
from hebbgraph.learning.weights import EdgeRows, RawWeights
from hebbgraph.recall.paths import PathNode
from hebbgraph.recall.view import PlasticEdges
from hebbgraph.records import PathStep
from hebbgraph.settings import LearningSettings
from hebbgraph.storage.feedback import FeedbackLog
from hebbgraph.storage.truth import FeedbackState, Truth

__all__ = ["Memory", "Recollection"]

_NO_INTS = np.empty(0, np.int64)
XP = dict(ge=0.0, gc=0.0, gp=0.0, mc=1.0, mp=1.0, mt=1.0, pe=1.0, rel=0.0, spec=0.0)
_NO_FLOATS = np.empty(0, np.float64)


@dataclass(frozen=True)
class Recollection:
    """What a question brings back.

    Attributes
    ----------
    edges : PlasticEdges
    seeds : (slots, mass)
        Chunks that past queries like this one led to.
    inhibited : (slots, factor)
        Chunks that they did not want, and what is left of their direct evidence.
    episode_of : dict of slot to (node, mass)
        The past query that gave each seed most.
    active : tuple of ActiveEpisode
    """

    edges: PlasticEdges
    seeds: tuple[NDArray[np.int64], NDArray[np.float64]]
    inhibited: tuple[NDArray[np.int64], NDArray[np.float64]]
    episode_of: dict[int, tuple[str, float]] = field(default_factory=dict)
    active: tuple[ActiveEpisode, ...] = ()

    def seeds_given(self, evidence):
        s, m = self.seeds
        if XP["ge"] and len(s): m = m * evidence.of(s) ** XP["ge"]
        if XP.get("nw"):
            m = np.minimum(m, XP["pmax"]); m = XP["kap"] * m / (1 - m)
        return s, m

    def edges_given(self, evidence):
        def w(e, g, m):
            if not len(e): return e
            class E:
                def __len__(self): return len(e)
                def of(self, src):
                    o, t, x = e.of(src)
                    return o, t, m * x * evidence.of(t) ** g
            return E()
        e = self.edges
        return PlasticEdges(tag_to_chunk=w(e.tag_to_chunk, XP["gc"], XP["mc"]), chunk_to_chunk=w(e.chunk_to_chunk, XP["gp"], XP["mp"]), tag_to_tag=e.tag_to_tag)

    def episode_step(self, node: PathNode) -> list[PathStep]:
        """Return the past query in front of a chunk that starts a path, if it lit it."""
        held = self.episode_of.get(node.id)
        if held is None or held[1] < node.weight / 2:
            return []
        return [PathStep(kind="episode", value=held[0][2:], weight=held[1])]


class Memory:
    """The learned weights of one namespace.

    Parameters
    ----------
    log : FeedbackLog
    truth : Truth
        Says which chunks are there, and with which text.
    settings : LearningSettings
    """

    def __init__(self, log: FeedbackLog, truth: Truth, settings: LearningSettings) -> None:
        self._log = log
        self._truth = truth
        self._settings = settings
        self._lock = threading.RLock()
        self._hash_of_row: dict[int, str] = {}
        self._start_anew()

    def _start_anew(self) -> None:
        self._state = FeedbackState()
        self._seq = 0
        self.weights = RawWeights(self._settings)
        self.episodes = Episodes(self._settings)
        self._overlay: _Overlay | None = None

    # -- keeping in step ------------------------------------------------------------

    def refresh(self, state: FeedbackState) -> None:
        """Fold what is new; start anew if some feedback was taken away."""
        if state == self._state:
            return
        with self._lock:
            if state.removed != self._state.removed:
                self._start_anew()
            for seq, feedback in self._log.after(self._seq):
                node = episode_node(feedback)
                self.episodes.add(node, feedback)
                self.weights.fold(lesson_of(feedback, node, self._settings))
                self._seq = seq
            self._state = state
            if self._overlay is not None:
                self._overlay.outdate()

    # -- reading --------------------------------------------------------------------

    @property
    def has_learned(self) -> bool:
        """Whether there is any learned edge; without, recalls are the static ones."""
        return len(self.weights) > 0

    def recollect(
        self,
        graph: TagGraph,
        features: Mapping[str, float],
        vector: NDArray[np.float32] | None,
        embedder: str | None,
    ) -> Recollection | None:
        """Return what a question brings back; None if nothing was ever learned.

        Parameters
        ----------
        graph : TagGraph
            The caller holds the lock on it.
        features : mapping of str to float
            From :func:`hebbgraph.learning.episodes.question_features`.
        vector : ndarray of float32, optional
        embedder : str, optional
            The model of the vector.
        """
        with self._lock:
            if not self.has_learned:
                return None
            overlay = self._overlay_for(graph)
            active = self.episodes.active(Question(features, vector), embedder)
            return overlay.recollection(active)

    def _overlay_for(self, graph: TagGraph) -> _Overlay:
        held = self._overlay
        if held is None or not held.fits(graph):
            rows = held.rows if held is not None and held.graph is graph else {}
            held = self._overlay = _Overlay(
                graph, self.weights, self.episodes, self._settings, rows, self._resolve
            )
        held.bring_up_to_date()
        return held

    def _resolve(self, ids: Iterable[str]) -> dict[str, tuple[int, str]]:
        """Return the row and text hash of each chunk that is there."""
        rows = self._truth.rows_of(ids)
        unknown = sorted(row for row in rows.values() if row not in self._hash_of_row)
        for row, title, text in self._truth.texts(unknown):
            self._hash_of_row[row] = text_hash(title, text)
        return {
            id_: (row, self._hash_of_row[row])
            for id_, row in rows.items()
            if row in self._hash_of_row
        }


class _Overlay:
    """Raw weights in the numbers of one graph at one generation."""

    def __init__(self, graph, weights, episodes, settings, rows, resolve) -> None:  # type: ignore[no-untyped-def]
        self.graph = graph
        self._generation = graph.generation
        self._weights: RawWeights = weights
        self._episodes: Episodes = episodes
        self._settings: LearningSettings = settings
        self.rows: dict[str, tuple[int, str]] = rows
        self._resolve = resolve
        self._n_nodes = 0
        self._n_edges = 0
        self._number = _NO_INTS  # of each node: its tag or slot here, or -1
        self._node_of_slot: dict[int, int] = {}
        self._node_of_tag: dict[int, int] = {}
        self._rows: dict[tuple[str, int], Row] = {}
        self._has: dict[str, NDArray[np.bool_]] = {}
        self._fresh = False

    def fits(self, graph: TagGraph) -> bool:
        return self.graph is graph and self._generation == graph.generation

    def outdate(self) -> None:
        self._fresh = False

    def bring_up_to_date(self) -> None:
        if self._fresh:
            return
        self._rows.clear()
        self._number_nodes()
        self._mark_sources()
        events = self._weights.actor_events()
        self._actor_scale = actor_scales(
            events, at_least=self._settings.actor_events, share=self._settings.actor_share
        )
        self._scale_actors = bool((self._actor_scale < 1.0).any())
        self._fresh = True

    def _number_nodes(self) -> None:
        names = self._weights.nodes[self._n_nodes :]
        if not names:
            return
        numbers = np.full(len(names), -1, dtype=np.int64)
        chunks: dict[str, list[tuple[int, str]]] = {}
        for position, name in enumerate(names):
            if name[0] == "t":
                tag = self.graph.phrases.number(name[2:])
                if tag is not None:
                    numbers[position] = tag
                    self._node_of_tag[tag] = self._n_nodes + position
            elif name[0] == "c":
                chunks.setdefault(name[19:], []).append((position, name[2:18]))
        unknown = [id_ for id_ in chunks if id_ not in self.rows]
        self.rows.update(self._resolve(unknown))
        here = [(id_, *self.rows[id_]) for id_ in chunks if id_ in self.rows]
        known = self.graph.rows
        if here and len(known):
            rows = np.array([row for _, row, _ in here], dtype=np.int64)
            slots = np.minimum(np.searchsorted(known, rows), len(known) - 1)
            live = (known[slots] == rows) & self.graph.alive[slots]
            for (id_, _, held), slot, alive in zip(
                here, slots.tolist(), live.tolist(), strict=True
            ):
                for position, wanted in chunks[id_]:
                    if alive and wanted == held:
                        numbers[position] = slot
                        self._node_of_slot[slot] = self._n_nodes + position
        self._number = np.concatenate((self._number, numbers))
        self._n_nodes += len(names)

    def _mark_sources(self) -> None:
        families, sources, _ = self._weights.all_edges()
        self._n_edges = len(families)
        for name, wanted, size in (
            ("tag_to_chunk", (Family.CUE, Family.ARRIVAL), len(self.graph.phrases)),
            ("tag_to_tag", (Family.HOP,), len(self.graph.phrases)),
            ("chunk_to_chunk", (Family.PAIR,), self.graph.n_slots),
        ):
            has = np.zeros(size, np.bool_)
            numbers = self._number[sources[np.isin(families, wanted)]]
            has[numbers[numbers >= 0]] = True
            self._has[name] = has

    # -- rows -----------------------------------------------------------------------

    def edges(self) -> PlasticEdges:
        return PlasticEdges(
            tag_to_chunk=LearnedEdges(self._has["tag_to_chunk"], self._tag_to_chunk),
            chunk_to_chunk=LearnedEdges(self._has["chunk_to_chunk"], self._chunk_to_chunk),
            tag_to_tag=LearnedEdges(self._has["tag_to_tag"], self._tag_to_tag),
        )

    def _tag_to_chunk(self, tag: int) -> Row:
        node = self._node_of_tag.get(tag)
        return self._row("c", node, (Family.CUE, Family.ARRIVAL))

    def _tag_to_tag(self, tag: int) -> Row:
        return self._row("t", self._node_of_tag.get(tag), (Family.HOP,))

    def _chunk_to_chunk(self, slot: int) -> Row:
        return self._row("p", self._node_of_slot.get(slot), (Family.PAIR,))

    def _row(self, kind: str, node: int | None, families: tuple[Family, ...]) -> Row:
        key = (kind, -1 if node is None else node)
        row = self._rows.get(key)
        if row is None:
            targets, weights = self._net([self._weights.rows(one, node) for one in families])
            order = self.graph.phrases.order if kind == "t" else self.graph.id_prefixes
            row = self._rows[key] = bounded_row(
                targets,
                weights,
                order[targets],
                min_weight=self._settings.min_weight,
                fan_out=self._settings.fan_out,
                out_strength=self._settings.out_strength,
            )
        return row

    def _net(self, parts: list[EdgeRows]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Put edges of several actors and families together, in the numbers of the graph."""
        target = np.concatenate([part.target for part in parts])
        numbers = self._number[target]
        keep = numbers >= 0
        target, numbers = target[keep], numbers[keep]
        weight = np.concatenate([part.weight for part in parts])[keep]
        if self._scale_actors:
            actor = np.concatenate([part.actor for part in parts])[keep]
            weight = weight * self._actor_scale[actor]
        scale = target_scale(self._weights.credit(target), in_credit=self._settings.in_credit)
        return pooled(numbers, np.where(weight > 0, weight * scale, weight))

    # -- episodes -------------------------------------------------------------------

    def recollection(self, active: list[ActiveEpisode]) -> Recollection:
        share = self._settings.episode_share
        if XP["rel"] and active:
            top = active[0].activation
            active = [a for a in active if a.activation >= XP["rel"] * top]
        if XP["pe"] != 1: active = [a._replace(activation=a.activation ** XP["pe"]) for a in active]
        total = max(1.0, sum(episode.activation for episode in active))
        if XP.get("nw"): total = XP["nw"] + sum(episode.activation for episode in active); share = 1.0
        mass: dict[int, float] = {}
        unwanted: dict[int, float] = {}
        best: dict[int, tuple[str, float]] = {}
        for episode in active:
            weight = episode.activation / total
            rows = [
                self._weights.rows(Family.EPISODE, self._weights.number(node))
                for node in episode.nodes
            ]
            targets, weights = self._net(rows)
            positive = bounded_row(
                targets,
                weights,
                self.graph.id_prefixes[targets],
                min_weight=self._settings.min_weight,
                fan_out=self._settings.fan_out,
                out_strength=self._settings.out_strength,
            )
            for slot, amount in zip(
                positive.targets.tolist(), positive.weights.tolist(), strict=True
            ):
                amount *= share * weight
                mass[slot] = mass.get(slot, 0.0) + amount
                if amount > best.get(slot, ("", 0.0))[1]:
                    best[slot] = (episode.nodes[0], amount)
            for slot, amount in zip(targets.tolist(), weights.tolist(), strict=True):
                if amount < 0:
                    unwanted[slot] = unwanted.get(slot, 0.0) - amount * weight
        floor = self._settings.inhibition_floor
        return Recollection(
            edges=self.edges(),
            seeds=_arrays(mass),
            inhibited=_arrays({slot: 1.0 - min(v, floor) for slot, v in unwanted.items()}),
            episode_of=best,
            active=tuple(active),
        )


def _arrays(values: dict[int, float]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    slots = np.array(sorted(values), dtype=np.int64)
    return slots, np.array([values[slot] for slot in slots.tolist()], dtype=np.float64)


_ = tag_node
