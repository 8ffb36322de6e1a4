"""What flowed where while activation spread, and the strongest way to a chunk."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple, Self, TypeAlias

import numpy as np

from hebbgraph.arrays import FloatArray, IntArray, sum_by, top_n, unique_inverse

__all__ = ["EdgeFlow", "Flows", "Layer", "Path", "PathNode", "strongest_path"]

_NO_INTS = np.empty(0, np.int64)
_NO_FLOATS = np.empty(0, np.float64)

EdgeFlow: TypeAlias = tuple[IntArray, IntArray, FloatArray]
"""Sources, targets, and the mass that flowed from one to the other."""

_NO_EDGES: EdgeFlow = (_NO_INTS, _NO_INTS, _NO_FLOATS)


class PathNode(NamedTuple):
    """One node on the way from the query; ``weight`` is the mass that arrived on it.

    A way starts behind the query: its first node is a cue, or a seed.
    """

    kind: Literal["tag", "chunk"]
    id: int
    weight: float


Path: TypeAlias = tuple[PathNode, ...]


class Flows(NamedTuple):
    """What passes from tags to chunks; all arrays have shape (n_edges,).

    ``trusted`` and ``plain`` sum to the mass; ``credit`` is what counts for the score.
    """

    tags: IntArray
    chunks: IntArray
    trusted: FloatArray
    plain: FloatArray
    credit: FloatArray


class _Inflow:
    """Edges by target, found by bisection."""

    def __init__(self, edges: EdgeFlow) -> None:
        self._targets: list[int] = []
        if len(edges[1]):
            sources, targets, mass = edges
            order = targets.argsort(kind="stable")
            self._targets = targets[order].tolist()
            self._against = -mass[order]
            self._sources = sources[order]

    def into(self, target: int) -> list[tuple[float, int]]:
        """Return (-mass, source) of the edges into a node: the strongest comes first."""
        first = bisect_left(self._targets, target)
        last = bisect_right(self._targets, target, first)
        if first == last:
            return []
        here = slice(first, last)
        return sorted(zip(self._against[here].tolist(), self._sources[here].tolist(), strict=True))


@dataclass
class Layer:
    """The chunks that one step reached, and the flows that reached them.

    Parameters
    ----------
    receivers : ndarray of int64, shape (n,), ascending
    trusted, plain : ndarray of float64, shape (n,)
        The mass that arrived on each in this step.
    credit : ndarray of float64, shape (n,)
        How much of it counts for the score.
    passed : (tags, chunks, mass)
        What passed from tags to chunks over the edges of the graph.
    learned : (sources, chunks, mass)
        What passed to chunks over learned edges. A source is a tag, or, where it is
        negative, ``~source`` is a chunk.
    hops : (tags, tags, mass)
        What passed over learned tag → tag edges.
    sources : (chunks, tags, mass)
        What passed from the chunks of the layer before to the tags; empty if the tags
        are the query's cues.
    seeds : ndarray of int64, ascending
        Chunks from which mass started in this layer, with ``seed_trusted``, ``seed_plain``.
    """

    receivers: IntArray
    trusted: FloatArray
    plain: FloatArray
    credit: FloatArray
    passed: EdgeFlow
    learned: EdgeFlow = _NO_EDGES
    hops: EdgeFlow = _NO_EDGES
    sources: EdgeFlow = _NO_EDGES
    seeds: IntArray = field(default_factory=lambda: _NO_INTS)
    seed_trusted: FloatArray = field(default_factory=lambda: _NO_FLOATS)
    seed_plain: FloatArray = field(default_factory=lambda: _NO_FLOATS)

    @cached_property
    def arrived(self) -> dict[int, float]:
        """The mass that arrived on each chunk."""
        return dict(zip(self.receivers.tolist(), (self.trusted + self.plain).tolist(), strict=True))

    @cached_property
    def flows(self) -> EdgeFlow:
        """What passed from tags to chunks, over learned edges too."""
        sources, chunks, mass = self.learned
        taught = sources >= 0
        return (
            np.concatenate((self.passed[0], sources[taught])),
            np.concatenate((self.passed[1], chunks[taught])),
            np.concatenate((self.passed[2], mass[taught])),
        )

    @cached_property
    def leaps(self) -> EdgeFlow:
        """What passed from chunks to chunks, over learned edges."""
        sources, chunks, mass = self.learned
        leapt = sources < 0
        return ~sources[leapt], chunks[leapt], mass[leapt]

    @cached_property
    def chunk_inflow(self) -> _Inflow:
        """What flowed into each chunk from tags, over the edges of the graph."""
        return _Inflow(self.passed)

    @cached_property
    def learned_inflow(self) -> _Inflow:
        """What flowed into each chunk over learned edges; sources as in ``learned``."""
        return _Inflow(self.learned)

    @cached_property
    def hop_inflow(self) -> _Inflow:
        """What flowed into each tag over learned edges from tags."""
        return _Inflow(self.hops)

    @cached_property
    def tag_inflow(self) -> _Inflow:
        """What flowed into each tag from chunks."""
        return _Inflow(self.sources)

    @classmethod
    def gather(
        cls,
        reached: IntArray,
        position: IntArray,
        flows: Flows,
        learned: EdgeFlow | None = None,
        *,
        hops: EdgeFlow | None = None,
        min_mass: float = 0.0,
    ) -> Self:
        """Sum what arrives by receiver.

        Parameters
        ----------
        reached : ndarray of int
            The different chunks of ``flows`` and ``learned``, ascending.
        position : ndarray of int
            Where among them each chunk of ``flows`` is, and then each of ``learned``.
        flows : Flows
            Over the edges of the graph; those of a mass up to ``min_mass`` are left out.
        learned : (sources, chunks, mass), optional
            Over learned edges; it counts as trusted.
        hops : (tags, tags, mass), optional
            Over learned edges to tags, for :func:`strongest_path`.
        min_mass : float, at least 0
        """
        n, n_flows = len(reached), len(flows.chunks)
        mass = flows.trusted + flows.plain
        alive = (mass > min_mass).nonzero()[0]
        at = position[:n_flows][alive]
        trusted = sum_by(at, flows.trusted[alive], n)
        plain = sum_by(at, flows.plain[alive], n)
        credit = sum_by(at, flows.credit[alive], n)
        if learned is not None:
            arrived = sum_by(position[n_flows:], learned[2], n)
            trusted += arrived
            credit += arrived
        some = (trusted + plain).nonzero()[0]
        return cls(
            receivers=reached[some],
            trusted=trusted[some],
            plain=plain[some],
            credit=credit[some],
            passed=(flows.tags[alive], flows.chunks[alive], mass[alive]),
            learned=learned or _NO_EDGES,
            hops=hops or _NO_EDGES,
        )

    def set_sources(self, chunks: IntArray, tags: IntArray, mass: FloatArray) -> None:
        """Note what the chunks of the layer before gave to the tags."""
        self.sources = (chunks, tags, mass)

    def start(self, parts: Sequence[tuple[IntArray, FloatArray, FloatArray]]) -> None:
        """Let mass start here: (chunks, trusted, plain), repeated chunks add up."""
        seeds, position = unique_inverse(np.concatenate([chunks for chunks, _, _ in parts]))
        n = len(seeds)
        self.seeds = seeds
        self.seed_trusted = sum_by(position, np.concatenate([mass for _, mass, _ in parts]), n)
        self.seed_plain = sum_by(position, np.concatenate([mass for _, _, mass in parts]), n)

    def strongest(self, limit: int) -> tuple[IntArray, FloatArray, FloatArray]:
        """Return the chunks with most mass, seeds included: chunks, trusted, plain."""
        chunks, trusted, plain = self.receivers, self.trusted, self.plain
        if len(self.seeds):
            both = np.concatenate([chunks, self.seeds])
            chunks, position = unique_inverse(both)
            trusted = sum_by(position, np.concatenate([trusted, self.seed_trusted]), len(chunks))
            plain = sum_by(position, np.concatenate([plain, self.seed_plain]), len(chunks))
        at = top_n(trusted + plain, limit)
        return chunks[at], trusted[at], plain[at]


def strongest_path(layers: Sequence[Layer], chunk: int, *, direct: float, arrived: float) -> Path:
    """Return the strongest way from the query to a chunk.

    It is the chunk alone if direct evidence outweighs what arrived; else, from the step
    in which most arrived, each time the strongest predecessor that is not yet on the way.

    Examples
    --------
    >>> one = np.array([1.0])
    >>> flows = Flows(np.array([7]), np.array([3]), one, 0 * one, one)
    >>> layer = Layer.gather(np.array([3]), np.array([0]), flows)
    >>> [(node.kind, node.id) for node in strongest_path([layer], 3, direct=0.0, arrived=0.9)]
    [('tag', 7), ('chunk', 3)]
    """
    if direct >= arrived:
        return (PathNode("chunk", chunk, direct),)
    amounts = [_arrived_on(layer, chunk) for layer in layers]
    for depth in sorted(range(len(layers)), key=lambda i: (-amounts[i], i)):
        if amounts[depth] <= 0:
            break
        path = _trace(layers, depth, chunk, (chunk,))
        if path is not None:
            return path
    return (PathNode("chunk", chunk, direct),)


def _arrived_on(layer: Layer, chunk: int) -> float:
    return layer.arrived.get(chunk, 0.0)


def _seeded_on(layer: Layer, chunk: int) -> float:
    at = int(np.searchsorted(layer.seeds, chunk))
    if at == len(layer.seeds) or layer.seeds[at] != chunk:
        return 0.0
    return float(layer.seed_trusted[at] + layer.seed_plain[at])


def _trace(layers: Sequence[Layer], depth: int, chunk: int, seen: tuple[int, ...]) -> Path | None:
    """Return the strongest way on which ``chunk`` received mass in step ``depth``."""
    layer = layers[depth]
    ways = [(against, "tag", tag) for against, tag in layer.chunk_inflow.into(chunk)]
    if more := layer.learned_inflow.into(chunk):
        ways += [
            (against, "tag", source) if source >= 0 else (against, "chunk", ~source)
            for against, source in more
        ]
        ways.sort()
    for against, kind, node in ways:
        before = (
            _trace_tag(layers, depth, node, seen)
            if kind == "tag"
            else _trace_chunk(layers, depth - 1, node, seen)
        )
        if before is not None:
            return (*before, PathNode("chunk", chunk, -against))
    return None


def _trace_chunk(
    layers: Sequence[Layer], depth: int, chunk: int, seen: tuple[int, ...]
) -> Path | None:
    """Return the strongest way to a chunk that passed mass on after step ``depth``."""
    if chunk in seen or depth < 0:
        return None
    if _arrived_on(layers[depth], chunk) > 0:  # of a seed that a cue entitles, name the cue
        path = _trace(layers, depth, chunk, (*seen, chunk))
        if path is not None:
            return path
    seeded = _seeded_on(layers[depth], chunk)
    return (PathNode("chunk", chunk, seeded),) if seeded > 0 else None


def _trace_tag(
    layers: Sequence[Layer], depth: int, tag: int, seen: tuple[int, ...], hopped: bool = False
) -> Path | None:
    """Return the strongest way to a tag of step ``depth``."""
    layer = layers[depth]
    if depth == 0:
        hops = [] if hopped else layer.hop_inflow.into(tag)
        if not hops:
            return (PathNode("tag", tag, 0.0),)
        against, source = hops[0]
        return (PathNode("tag", source, 0.0), PathNode("tag", tag, -against))
    ways = [(against, "chunk", node) for against, node in layer.tag_inflow.into(tag)]
    if not hopped and (more := layer.hop_inflow.into(tag)):
        ways = sorted([*ways, *((against, "tag", node) for against, node in more)])
    for against, kind, node in ways:
        before = (
            _trace_chunk(layers, depth - 1, node, seen)
            if kind == "chunk"
            else _trace_tag(layers, depth, node, seen, hopped=True)
        )
        if before is not None:
            return (*before, PathNode("tag", tag, -against))
    return None
