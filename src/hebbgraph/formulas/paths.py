"""The flows of each spreading step, and the strongest path to a chunk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Self, TypeAlias

import numpy as np

from hebbgraph.arrays import FloatArray, IntArray, place_in, sum_rows_by, top_n

#: Rows of an array of mass. Some is trusted, the rest plain; the score counts credit.
TRUSTED, PLAIN, CREDIT = range(3)

_NO_INTS = np.empty(0, np.int64)

_EdgeFlow: TypeAlias = tuple[IntArray, IntArray, FloatArray]
"""Sources and targets of edges, and the mass that flowed over each."""

_NO_EDGES: _EdgeFlow = (_NO_INTS, _NO_INTS, np.empty(0))


class PathNode(NamedTuple):
    """One node on the path from a cue or seed; ``weight`` is the mass that arrived on it."""

    kind: Literal["tag", "chunk"]
    id: int
    weight: float


Path: TypeAlias = tuple[PathNode, ...]


def _into(edges: _EdgeFlow, target: int) -> list[tuple[float, int]]:
    """Return (mass, source) of the flows into a node, the strongest first."""
    sources, targets, mass = edges
    at = np.flatnonzero(targets == target)
    at = at[np.lexsort((sources[at], -mass[at]))]
    return list(zip(mass[at].tolist(), sources[at].tolist(), strict=True))


@dataclass
class Layer:
    """The chunks that one step reached, and the flows that led there.

    ``receivers`` ascend, with the ``mass`` that arrived on each, shape (3, n): TRUSTED, PLAIN and
    CREDIT. ``passed`` flowed from tags to them, ``sources`` from chunks of the previous layer to
    these tags (empty if the tags are cues). TRUSTED and PLAIN mass starts on ``seeds``, which
    ascend.
    """

    receivers: IntArray = field(default_factory=lambda: _NO_INTS)
    mass: FloatArray = field(default_factory=lambda: np.empty((3, 0)))
    passed: _EdgeFlow = _NO_EDGES
    sources: _EdgeFlow = _NO_EDGES
    seeds: IntArray = field(default_factory=lambda: _NO_INTS)
    seed_mass: FloatArray = field(default_factory=lambda: np.empty((2, 0)))

    def arrived(self, chunk: int) -> float:
        return _mass_on(chunk, self.receivers, self.mass)

    def started(self, chunk: int) -> float:
        return _mass_on(chunk, self.seeds, self.seed_mass)

    @classmethod
    def gather(
        cls, reached: IntArray, position: IntArray, tags: IntArray, mass: FloatArray
    ) -> Self:
        """Sum the mass, shape (3, n), that flows from tags to the chunks ``reached[position]``.

        Chunks that are ``reached`` are distinct and ascend; those that get no mass are left out.
        """
        flow = mass[TRUSTED] + mass[PLAIN]
        flowing = np.flatnonzero(flow > 0)
        if len(flowing) < len(flow):
            position, tags, flow = position[flowing], tags[flowing], flow[flowing]
            mass = mass[:, flowing]
        summed = sum_rows_by(position, mass, len(reached))
        at = np.flatnonzero(summed[TRUSTED] + summed[PLAIN] > 0)
        return cls(reached[at], summed[:, at], (tags, reached[position], flow))

    def start(self, chunks: IntArray, mass: FloatArray) -> None:
        """Let mass, shape (2, n), start on distinct chunks in this layer."""
        order = chunks.argsort()
        self.seeds, self.seed_mass = chunks[order], mass[:, order]

    def strongest(self, limit: int) -> tuple[IntArray, FloatArray]:
        """Return the chunks with most TRUSTED and PLAIN mass, seeds included, and this mass."""
        chunks, mass = self.receivers, self.mass[:CREDIT]
        if len(self.seeds):
            chunks, position = np.unique(np.concatenate([chunks, self.seeds]), return_inverse=True)
            both = np.concatenate([mass, self.seed_mass], axis=1)
            mass = sum_rows_by(position, both, len(chunks))
        at = top_n(mass[TRUSTED] + mass[PLAIN], limit)
        return chunks[at], mass[:, at]


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


def _mass_on(chunk: int, chunks: IntArray, mass: FloatArray) -> float:
    at = place_in(chunks, chunk)
    return 0.0 if at is None else float(mass[TRUSTED, at] + mass[PLAIN, at])


def _trace(layers: Sequence[Layer], depth: int, chunk: int, seen: tuple[int, ...]) -> Path | None:
    """Return the strongest path to a chunk in step ``depth``; it and those behind are ``seen``."""
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
