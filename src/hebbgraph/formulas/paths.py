"""The flows of each spreading step, and the strongest path to a chunk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Self, TypeAlias

import numpy as np

from hebbgraph.arrays import FloatArray, IntArray, place_in, sum_by, top_n

_NO_INTS = np.empty(0, np.int64)
_NO_FLOATS = np.empty(0, np.float64)

_EdgeFlow: TypeAlias = tuple[IntArray, IntArray, FloatArray]
"""Sources and targets of edges, and the mass that flowed over each."""

_NO_EDGES: _EdgeFlow = (_NO_INTS, _NO_INTS, _NO_FLOATS)


class PathNode(NamedTuple):
    """One node on the path from a cue or seed; ``weight`` is the mass that arrived on it."""

    kind: Literal["tag", "chunk"]
    id: int
    weight: float


Path: TypeAlias = tuple[PathNode, ...]


class Flows(NamedTuple):
    """Flows from tags to chunks: ``trusted`` plus ``plain`` mass; the score counts ``credit``."""

    tags: IntArray
    chunks: IntArray
    trusted: FloatArray
    plain: FloatArray
    credit: FloatArray


def _into(edges: _EdgeFlow, target: int) -> list[tuple[float, int]]:
    """Return (mass, source) of the flows into a node, the strongest first."""
    sources, targets, mass = edges
    at = np.flatnonzero(targets == target)
    at = at[np.lexsort((sources[at], -mass[at]))]
    return list(zip(mass[at].tolist(), sources[at].tolist(), strict=True))


@dataclass
class Layer:
    """The chunks that one step reached, and the flows that led there.

    ``receivers`` ascend, with the mass that arrived on each; ``passed`` flowed from tags to them,
    ``sources`` from chunks of the previous layer to these tags (empty if the tags are cues). Mass
    starts on ``seeds``, which ascend.
    """

    receivers: IntArray
    trusted: FloatArray
    plain: FloatArray
    credit: FloatArray
    passed: _EdgeFlow
    sources: _EdgeFlow = _NO_EDGES
    seeds: IntArray = field(default_factory=lambda: _NO_INTS)
    seed_trusted: FloatArray = field(default_factory=lambda: _NO_FLOATS)
    seed_plain: FloatArray = field(default_factory=lambda: _NO_FLOATS)

    def arrived(self, chunk: int) -> float:
        return _mass_on(chunk, self.receivers, self.trusted, self.plain)

    def started(self, chunk: int) -> float:
        return _mass_on(chunk, self.seeds, self.seed_trusted, self.seed_plain)

    @classmethod
    def empty(cls) -> Self:
        return cls(_NO_INTS, _NO_FLOATS, _NO_FLOATS, _NO_FLOATS, _NO_EDGES)

    @classmethod
    def gather(cls, reached: IntArray, position: IntArray, flows: Flows) -> Self:
        """Sum the flows by receiver: ``reached[position]`` are their chunks, distinct ascending."""
        n, at = len(reached), position
        mass = flows.trusted + flows.plain
        flowing = mass > 0
        if not flowing.all():  # edges without mass are dropped
            flows = Flows._make(column[flowing] for column in flows)
            mass, at = mass[flowing], at[flowing]
        trusted = sum_by(at, flows.trusted, n)
        plain = sum_by(at, flows.plain, n)
        credit = sum_by(at, flows.credit, n)
        at = np.flatnonzero(trusted + plain > 0)
        passed = flows.tags, flows.chunks, mass
        return cls(reached[at], trusted[at], plain[at], credit[at], passed)

    def start(self, chunks: IntArray, trusted: FloatArray, plain: FloatArray) -> None:
        """Let mass start on distinct chunks in this layer."""
        order = chunks.argsort()
        self.seeds = chunks[order]
        self.seed_trusted, self.seed_plain = trusted[order], plain[order]

    def strongest(self, limit: int) -> tuple[IntArray, FloatArray, FloatArray]:
        """Return (chunks, trusted, plain) of the chunks with most mass, seeds included."""
        chunks, trusted, plain = self.receivers, self.trusted, self.plain
        if len(self.seeds):
            chunks, position = np.unique(np.concatenate([chunks, self.seeds]), return_inverse=True)
            trusted = sum_by(position, np.concatenate([trusted, self.seed_trusted]), len(chunks))
            plain = sum_by(position, np.concatenate([plain, self.seed_plain]), len(chunks))
        at = top_n(trusted + plain, limit)
        return chunks[at], trusted[at], plain[at]


def strongest_path(layers: Sequence[Layer], chunk: int, *, direct: float, arrived: float) -> Path:
    """Return the strongest path from the query to a chunk.

    If direct evidence outweighs arrived activation, the path is the chunk alone. Otherwise it is
    traced back from where most mass arrived, always to the strongest predecessor not yet on it.
    """
    amounts = [layer.arrived(chunk) for layer in layers] if arrived > direct else []
    for depth in sorted(range(len(amounts)), key=lambda i: (-amounts[i], i)):
        if amounts[depth] > 0 and (path := _trace(layers, depth, chunk, (chunk,))) is not None:
            return path
    return (PathNode("chunk", chunk, direct),)


def _mass_on(chunk: int, chunks: IntArray, trusted: FloatArray, plain: FloatArray) -> float:
    at = place_in(chunks, chunk)
    return 0.0 if at is None else float(trusted[at] + plain[at])


def _trace(layers: Sequence[Layer], depth: int, chunk: int, seen: tuple[int, ...]) -> Path | None:
    """Return the strongest path by which ``chunk`` received mass in step ``depth``.

    ``seen`` are the chunks on the path behind it, and itself.
    """
    for passed, tag in _into(layers[depth].passed, chunk):
        here = PathNode("chunk", chunk, passed)
        if depth == 0:
            return (PathNode("tag", tag, 0.0), here)
        for flowed, source in _into(layers[depth].sources, tag):
            if source in seen:
                continue
            # Prefer the cue whose title the chunk is to the seed.
            before = _trace(layers, depth - 1, source, (*seen, source))
            if before is None and (started := layers[depth - 1].started(source)) > 0:
                before = (PathNode("chunk", source, started),)
            if before is not None:
                return (*before, PathNode("tag", tag, flowed), here)
    return None
