"""What flowed where while activation spread, and the strongest way to a chunk."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple, Self, TypeAlias

import numpy as np

from hebbgraph.recall.grouping import best, distinct, sum_by
from hebbgraph.typing import FloatArray, IntArray

__all__ = ["Flows", "Layer", "Path", "PathNode", "strongest_path"]

_NO_INTS = np.empty(0, np.int64)
_NO_FLOATS = np.empty(0, np.float64)

Edges: TypeAlias = tuple[IntArray, IntArray, FloatArray]
"""Sources, targets, and the mass that flowed from one to the other."""

_NO_EDGES: Edges = (_NO_INTS, _NO_INTS, _NO_FLOATS)


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


class _Ways:
    """Edges by target, found by bisection."""

    def __init__(self, edges: Edges) -> None:
        self._targets: list[int] = []
        if len(edges[1]):
            sources, targets, mass = edges
            order = np.lexsort((sources, -mass, targets))
            self._targets = targets[order].tolist()
            self._mass: list[float] = mass[order].tolist()
            self._sources: list[int] = sources[order].tolist()

    def into(self, target: int) -> list[tuple[float, int]]:
        """Return (mass, source) of the edges into a node, strongest first."""
        first = bisect_left(self._targets, target)
        last = bisect_right(self._targets, target, first)
        if first == last:
            return []
        return list(zip(self._mass[first:last], self._sources[first:last], strict=True))


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
    flows : (tags, chunks, mass)
        What passed from tags to chunks.
    leaps : (chunks, chunks, mass)
        What passed over learned chunk → chunk edges.
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
    flows: Edges
    leaps: Edges = _NO_EDGES
    hops: Edges = _NO_EDGES
    sources: Edges = _NO_EDGES
    seeds: IntArray = field(default_factory=lambda: _NO_INTS)
    seed_trusted: FloatArray = field(default_factory=lambda: _NO_FLOATS)
    seed_plain: FloatArray = field(default_factory=lambda: _NO_FLOATS)

    @cached_property
    def arrived(self) -> dict[int, float]:
        """The mass that arrived on each chunk."""
        return dict(zip(self.receivers.tolist(), (self.trusted + self.plain).tolist(), strict=True))

    @cached_property
    def into_chunks(self) -> _Ways:
        """What flowed into each chunk from tags."""
        return _Ways(self.flows)

    @cached_property
    def leapt(self) -> _Ways:
        """What flowed into each chunk over learned edges from chunks."""
        return _Ways(self.leaps)

    @cached_property
    def hopped(self) -> _Ways:
        """What flowed into each tag over learned edges from tags."""
        return _Ways(self.hops)

    @cached_property
    def into_tags(self) -> _Ways:
        """What flowed into each tag from chunks."""
        return _Ways(self.sources)

    @classmethod
    def gather(
        cls,
        parts: Sequence[Flows],
        *,
        leaps: Edges | None = None,
        hops: Edges | None = None,
    ) -> Self:
        """Sum what arrives by receiver; what leaps counts as trusted."""
        flows = parts[0]
        if len(parts) > 1:
            flows = Flows(*(np.concatenate(column) for column in zip(*parts, strict=True)))
        mass = flows.trusted + flows.plain
        alive = mass > 0
        tags, chunks, mass = flows.tags[alive], flows.chunks[alive], mass[alive]
        trusted, plain, credit = flows.trusted[alive], flows.plain[alive], flows.credit[alive]
        targets = chunks
        if leaps is not None:
            targets = np.concatenate([chunks, leaps[1]])
            trusted = np.concatenate([trusted, leaps[2]])
            credit = np.concatenate([credit, leaps[2]])
        receivers, position = distinct(targets)
        n = len(receivers)
        return cls(
            receivers=receivers,
            trusted=sum_by(position, trusted, n),
            plain=sum_by(position[: len(chunks)], plain, n),
            credit=sum_by(position, credit, n),
            flows=(tags, chunks, mass),
            leaps=leaps or _NO_EDGES,
            hops=hops or _NO_EDGES,
        )

    def came_from(self, chunks: IntArray, tags: IntArray, mass: FloatArray) -> None:
        """Note what the chunks of the layer before gave to the tags."""
        self.sources = (chunks, tags, mass)

    def start(self, parts: Sequence[tuple[IntArray, FloatArray, FloatArray]]) -> None:
        """Let mass start here: (chunks, trusted, plain), repeated chunks add up."""
        seeds, position = distinct(np.concatenate([chunks for chunks, _, _ in parts]))
        n = len(seeds)
        self.seeds = seeds
        self.seed_trusted = sum_by(position, np.concatenate([mass for _, mass, _ in parts]), n)
        self.seed_plain = sum_by(position, np.concatenate([mass for _, _, mass in parts]), n)

    def strongest(self, limit: int) -> tuple[IntArray, FloatArray, FloatArray]:
        """Return the chunks with most mass, seeds included: chunks, trusted, plain."""
        chunks, trusted, plain = self.receivers, self.trusted, self.plain
        if len(self.seeds):
            both = np.concatenate([chunks, self.seeds])
            chunks, position = distinct(both)
            trusted = sum_by(position, np.concatenate([trusted, self.seed_trusted]), len(chunks))
            plain = sum_by(position, np.concatenate([plain, self.seed_plain]), len(chunks))
        at = best(trusted + plain, limit)
        return chunks[at], trusted[at], plain[at]


def strongest_path(layers: Sequence[Layer], chunk: int, *, direct: float, arrived: float) -> Path:
    """Return the strongest way from the query to a chunk.

    It is the chunk alone if direct evidence outweighs what arrived; else, from the step
    in which most arrived, each time the strongest predecessor that is not yet on the way.

    Examples
    --------
    >>> one = np.array([1.0])
    >>> layer = Layer.gather([Flows(np.array([7]), np.array([3]), one, 0 * one, one)])
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
    end = PathNode("chunk", chunk, _arrived_on(layer, chunk))
    ways = [(mass, "tag", tag) for mass, tag in layer.into_chunks.into(chunk)]
    ways += [(mass, "chunk", source) for mass, source in layer.leapt.into(chunk)]
    if ways and ways[-1][1] == "chunk":  # else they are in order
        ways.sort(key=lambda way: (-way[0], way[1], way[2]))
    for mass, kind, node in ways:
        before = (
            _trace_tag(layers, depth, node, seen)
            if kind == "tag"
            else _trace_chunk(layers, depth - 1, node, seen)
        )
        if before is not None:
            return (*before, end._replace(weight=mass))
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
        hops = [] if hopped else layer.hopped.into(tag)
        if not hops:
            return (PathNode("tag", tag, 0.0),)
        mass, source = hops[0]
        return (PathNode("tag", source, 0.0), PathNode("tag", tag, mass))
    ways = [(mass, "chunk", node) for mass, node in layer.into_tags.into(tag)]
    if not hopped:
        ways += [(mass, "tag", node) for mass, node in layer.hopped.into(tag)]
    if ways and ways[-1][1] == "tag":  # else they are in order
        ways.sort(key=lambda way: (-way[0], way[1], way[2]))
    for mass, kind, node in ways:
        before = (
            _trace_chunk(layers, depth - 1, node, seen)
            if kind == "chunk"
            else _trace_tag(layers, depth, node, seen, hopped=True)
        )
        if before is not None:
            return (*before, PathNode("tag", tag, mass))
    return None
