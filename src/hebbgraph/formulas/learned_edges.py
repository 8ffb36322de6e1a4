"""Learned edges as spreading follows them: rows by source, and the mass they carry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from hebbgraph.arrays import (
    BoolArray,
    FloatArray,
    GrowableArray,
    IntArray,
    is_in,
    top_n,
    unique_inverse,
)
from hebbgraph.formulas.adjacency import EdgeRow, EdgeSet, PlasticEdges, edge_arrays

__all__ = ["EdgePool", "GateOf", "GatedEdges", "PooledEdges", "cue_agreement"]

_NO_INTS = np.empty(0, np.int64)
_NO_FLOATS = np.empty(0, np.float64)
#: Up to this many tags, a loop is faster than arrays.
_FEW = 6

GateOf: TypeAlias = Callable[[IntArray], FloatArray]


class EdgePool:
    """Learned edges by source; the row of a source can be replaced.

    Parameters
    ----------
    size : int
        Sources lie below this; negative ones count from the end, as in arrays.
    read : callable, optional
        Is asked to put the rows of sources that are wanted and were not put yet, each once.

    Examples
    --------
    >>> pool = EdgePool(3)
    >>> pool.put(np.array([1]), np.array([1, 1]), np.array([4, 8]), np.array([0.5, 0.25]))
    >>> owner, targets, weights = pool.of(np.array([0, 1, 2]))
    >>> owner.tolist(), targets.tolist(), weights.tolist()
    ([1, 1], [4, 8], [0.5, 0.25])
    >>> pool.row(1)
    [(4, 0.5), (8, 0.25)]
    """

    def __init__(self, size: int, read: Callable[[IntArray], None] | None = None) -> None:
        self._read = read
        self._empty(size)

    def _empty(self, size: int) -> None:
        # Zeros that nobody touches take no memory, and few of millions of sources have edges.
        self._known = np.zeros(size, np.bool_) if self._read else np.ones(size, np.bool_)
        #: Whether all of them are, which saves looking.
        self._all_known = self._read is None
        self._is_new = True
        #: Start and length of each source's row.
        self._start = np.zeros(size, np.int32)
        self._count = np.zeros(size, np.int32)
        self._targets = GrowableArray(np.int64)
        self._weights = GrowableArray(np.float64)

    def __len__(self) -> int:
        """Return an upper bound on the number of edges; replaced rows count until cleared."""
        return len(self._targets)

    def grow(self, size: int) -> None:
        """Make room for more sources; only valid if no source is negative."""
        if size <= len(self._start):
            return
        more = np.zeros(size - len(self._start), np.int32)
        self._start = np.concatenate((self._start, more))
        self._count = np.concatenate((self._count, more))
        self._known = np.concatenate((self._known, np.full(len(more), self._read is None)))
        self._all_known = self._all_known and self._read is None

    def outdate(self, sources: IntArray) -> None:
        """Ask for some rows again when they are wanted."""
        self._is_new = False
        self._known[sources] = False
        self._all_known = self._all_known and not len(sources)

    def ask_no_more(self) -> None:
        """Take it that all rows were put: none is asked for until it is outdated."""
        self._is_new = False
        self._known.fill(True)
        self._all_known = True

    def clear(self) -> None:
        """Drop all rows."""
        if not self._is_new:
            self._empty(len(self._start))

    def put(
        self, changed: IntArray, sources: IntArray, targets: IntArray, weights: FloatArray
    ) -> None:
        """Replace the rows of some sources.

        Parameters
        ----------
        changed : ndarray of int
            Sources whose rows are replaced.
        sources, targets, weights : ndarray, shape (n_edges,)
            Their new edges, in any order; each row keeps its order.
        """
        self._is_new = False
        self._count[changed] = 0
        self._known[changed] = True
        order = sources.argsort(kind="stable")
        sources = sources[order]
        first = np.flatnonzero(np.concatenate(([True], sources[1:] != sources[:-1])))
        first = first[: len(sources)]
        self._start[sources[first]] = first + len(self._targets)
        self._count[sources[first]] = np.diff(first, append=len(sources))
        self._targets.extend(targets[order])
        self._weights.extend(weights[order])

    def row(self, source: int) -> EdgeRow:
        """Return (target, weight) of the edges leaving one source."""
        if not self._all_known and not self._known[source]:
            self._ask(np.array([source]))
        start = int(self._start[source])
        here = slice(start, start + int(self._count[source]))
        targets, weights = self._targets.view[here].tolist(), self._weights.view[here].tolist()
        return list(zip(targets, weights, strict=True))

    def of(self, sources: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
        """Return (position in ``sources``, target, weight) of their outgoing edges."""
        if not self._all_known and not (known := self._known[sources]).all():
            self._ask(sources[~known])
        counts = self._count[sources]
        owner = np.arange(len(sources)).repeat(counts)
        if not len(owner):
            return _NO_INTS, _NO_INTS, _NO_FLOATS
        at = (self._start[sources] - counts.cumsum() + counts)[owner] + np.arange(len(owner))
        return owner, self._targets.view[at], self._weights.view[at]

    def _ask(self, sources: IntArray) -> None:
        self._is_new = False
        self._known[sources] = True  # with nothing put, they have no edges
        if self._read is not None:
            self._read(sources)


@dataclass(frozen=True)
class GatedEdges:
    """Edges whose weights are scaled when read: by a factor, and by a gate on their targets.

    Examples
    --------
    >>> edges = EdgeSet(np.array([1, 1]), np.array([4, 5]), np.array([0.5, 0.5]))
    >>> gated = GatedEdges(edges, 2.0, lambda targets: np.where(targets == 4, 1.0, 0.1))
    >>> [column.tolist() for column in gated.of(np.array([0, 1]))]
    [[1, 1], [4, 5], [1.0, 0.1]]
    """

    edges: EdgeSet
    gain: float
    gate: GateOf

    def __len__(self) -> int:
        return len(self.edges)

    def of(self, sources: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
        """Return (position in ``sources``, target, weight) of their outgoing edges."""
        owner, targets, weights = self.edges.of(sources)
        return owner, targets, self.gain * weights * self.gate(targets)


@dataclass(frozen=True, kw_only=True, eq=False)
class PooledEdges(PlasticEdges):
    """Learned edges into chunks from one pool, looked up once per step, and other edges.

    An edge of the pool carries the mass of its source times gain, weight, and the direct
    evidence of its target. If the source is a cue, also times :func:`cue_agreement`.

    Parameters
    ----------
    hops : dict of tag to EdgeRow
        Edges from cues to tags.
    pool : EdgePool
        Edges of tag ``t`` are at ``t``, those of ``t`` as a cue at ``t + shift``, those of
        chunk ``c`` at ``~c``, counted from the end.
    shift : int
        Number of tags.
    cues : ndarray of int
        Tags that the query names.
    tag_gain, chunk_gain : float
    gate : callable
        Maps targets to direct evidence.
    limit : int
        Number of pool edges followed per step: those that carry most mass, ties included.
    n_steps : int
        Number of steps in which the pool is used, that of the cues included. Hops are
        followed from the cues only, other edges in every step.

    Examples
    --------
    >>> pool = EdgePool(5)
    >>> sources, weights = np.array([1, 1, -1]), np.array([0.5, 0.25, 0.5])
    >>> pool.put(np.array([1, -1]), sources, np.array([3, 4, 3]), weights)
    >>> edges = PooledEdges(
    ...     hops={},
    ...     pool=pool,
    ...     shift=2,
    ...     cues=np.array([0]),
    ...     tag_gain=1.0,
    ...     chunk_gain=0.5,
    ...     gate=lambda chunks: np.where(chunks == 3, 1.0, 0.1),
    ...     min_mass=0.01,
    ... )
    >>> ones = np.ones(1)
    >>> passed = edges.into_chunks(np.array([1]), ones, np.array([0]), ones, 1)
    >>> [column.tolist() for column in passed]
    [[1, 1, -1], [3, 4, 3], [0.5, 0.025, 0.25]]
    """

    hops: Mapping[int, EdgeRow]
    pool: EdgePool
    shift: int
    cues: IntArray
    tag_gain: float
    chunk_gain: float
    gate: GateOf
    limit: int = 1 << 30
    n_steps: int = 1 << 30

    def has_learned(self, cues: IntArray) -> BoolArray:
        """Return which cues have learned edges that are followed."""
        found = [
            self.n_steps > 0 and (cue in self.hops or bool(self.pool.row(cue + self.shift)))
            for cue in cues.tolist()
        ]
        return np.array(found, np.bool_)

    def between_tags(self, tags: IntArray, depth: int) -> tuple[IntArray, IntArray, FloatArray]:
        """Return (position in ``tags``, target, weight) of the edges from tags to tags.

        Learned ones count by how many of the cues lead to the same tag, as those to chunks do.
        """
        if depth > 0 or not self.n_steps:
            return self.tag_to_tag.of(tags)
        edges = [
            (at, target, weight)
            for at, tag in enumerate(tags.tolist())
            for target, weight in self.hops.get(tag, ())
        ]
        leading = _agreed(edges, [1.0] * len(tags))
        learned = edge_arrays(
            [(at, target, weight * leading[target]) for at, target, weight in edges]
        )
        return _joined(learned, self.tag_to_tag.of(tags)) if len(self.tag_to_tag) else learned

    def into_chunks(
        self,
        tags: IntArray,
        on_tags: FloatArray,
        chunks: IntArray,
        on_chunks: FloatArray,
        depth: int,
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """Pass mass to chunks; see :meth:`PlasticEdges.into_chunks`."""
        passed: tuple[IntArray, IntArray, FloatArray] = (_NO_INTS, _NO_INTS, _NO_FLOATS)
        if depth < self.n_steps:
            if len(tags) <= _FEW and not len(chunks):
                passed = self._passed_by_few(tags.tolist(), on_tags.tolist())
            else:
                passed = self._passed_by_many(tags, on_tags, chunks, on_chunks)
        if not (len(self.tag_to_chunk) or len(self.chunk_to_chunk)):
            return passed
        return _joined(passed, super().into_chunks(tags, on_tags, chunks, on_chunks, depth))

    def _passed_by_few(
        self, tags: Sequence[int], mass: Sequence[float]
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """Return what :meth:`_passed_by_many` does; faster for a few tags."""
        cues = set(self.cues.tolist())
        edges = [
            (at, target, weight)
            for at, tag in enumerate(tags)
            for target, weight in self.pool.row(tag + self.shift if tag in cues else tag)
        ]
        if not edges:
            return _NO_INTS, _NO_INTS, _NO_FLOATS
        evidence = self.gate(np.array([target for _, target, _ in edges])).tolist()
        is_cue = [tag in cues for tag in tags]
        agreed = _agreed(
            [edge for edge in edges if is_cue[edge[0]]],
            [own if known else 0.0 for own, known in zip(mass, is_cue, strict=True)],
        )
        passed = []
        for (at, target, weight), gate in zip(edges, evidence, strict=True):
            amount = mass[at] * self.tag_gain * weight * gate
            if is_cue[at]:
                amount *= agreed[target]
            if amount > self.min_mass:
                passed.append((tags[at], target, amount))
        sources, targets, amounts = edge_arrays(passed)
        if len(passed) > self.limit:
            kept = top_n(amounts, self.limit)
            return sources[kept], targets[kept], amounts[kept]
        return sources, targets, amounts

    def _passed_by_many(
        self, tags: IntArray, on_tags: FloatArray, chunks: IntArray, on_chunks: FloatArray
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """Return (source, target, mass) of what the pool's edges pass on from tags and chunks."""
        is_cue = is_in(tags, self.cues)
        leaping = ~chunks
        owner, targets, weights = self.pool.of(
            np.concatenate((tags + self.shift * is_cue, leaping))
        )
        if not len(owner):
            return _NO_INTS, _NO_INTS, _NO_FLOATS
        mass = np.concatenate((on_tags * self.tag_gain, on_chunks * self.chunk_gain))
        amount = mass[owner] * weights * self.gate(targets)
        if is_cue.any():
            known = (owner < len(tags)).nonzero()[0]
            known = known[is_cue[owner[known]]]
            amount[known] *= cue_agreement(owner[known], targets[known], on_tags * is_cue)
        kept = (amount > self.min_mass).nonzero()[0]
        if len(kept) > self.limit:
            kept = kept[top_n(amount[kept], self.limit)]
        return np.concatenate((tags, leaping))[owner[kept]], targets[kept], amount[kept]


def _agreed(edges: Sequence[tuple[int, int, float]], mass: Sequence[float]) -> dict[int, float]:
    """Return :func:`cue_agreement` by target; faster for a few edges."""
    leading: dict[int, set[int]] = {}
    for at, target, _ in edges:
        leading.setdefault(target, set()).add(at)
    total = sum(mass)
    if total <= 0.0:
        return dict.fromkeys(leading, 1.0)
    return {
        target: (sum(mass[at] for at in sorted(sources)) / total) ** 2
        for target, sources in leading.items()
    }


def cue_agreement(owner: IntArray, targets: IntArray, mass: FloatArray) -> FloatArray:
    """Return how far the cues of a question agree that an edge's target is wanted.

    One name that two questions share says little if all other names differ. So learned edges
    from cues count by the share of the cues' mass from which one leads to the same target,
    squared.

    Parameters
    ----------
    owner, targets : ndarray of int, shape (n,)
        The edges: position in ``mass``, and target.
    mass : ndarray of float, shape (m,)
        The mass on each cue.

    Returns
    -------
    ndarray of float64, shape (n,), in [0, 1]

    Examples
    --------
    >>> owner, targets = np.array([0, 1, 1]), np.array([7, 7, 9])
    >>> cue_agreement(owner, targets, np.array([0.6, 0.2])).tolist()
    [1.0, 1.0, 0.0625]
    """
    total = mass.sum()
    if not len(owner) or total <= 0.0:
        return np.ones(len(owner))
    different, at = unique_inverse(targets)
    # Two edges may lead from one cue to the same target.
    pairs, _ = unique_inverse(at * len(mass) + owner)
    agreed = np.bincount(
        pairs // len(mass), weights=mass[pairs % len(mass)], minlength=len(different)
    )
    share: FloatArray = (agreed / total)[at]
    return share * share


def _joined(
    some: tuple[IntArray, IntArray, FloatArray], others: tuple[IntArray, IntArray, FloatArray]
) -> tuple[IntArray, IntArray, FloatArray]:
    return (
        np.concatenate((some[0], others[0])),
        np.concatenate((some[1], others[1])),
        np.concatenate((some[2], others[2])),
    )
