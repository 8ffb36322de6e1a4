"""The plastic overlay: what recalls see of raw learned weights.

Formulas that act whenever edges are read, and write nothing back: actors are capped and
put together, weak and surplus edges passed over, and what leaves a node or reaches a
chunk is kept within bounds (homeostasis). Where nothing was learned there is no edge, so
an empty overlay changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hebbgraph.graph.arrays import GrowableArray, concatenated_ranges
from hebbgraph.recall.grouping import among, best, distinct
from hebbgraph.recall.view import EdgeSet, FewEdges, PlasticEdges, Row, edge_arrays
from hebbgraph.typing import BoolArray, FloatArray, IntArray

__all__ = [
    "LearnedEdges",
    "PooledEdges",
    "RowPool",
    "Rows",
    "actor_scales",
    "as_activation",
    "bounded_rows",
    "expectation",
    "pooled",
    "target_scale",
    "unless_same",
]

_NO_INTS = np.empty(0, np.int64)
_NO_FLOATS = np.empty(0, np.float64)
#: Up to so many tags are looked up one by one.
_FEW = 6


def actor_scales(events: FloatArray, *, at_least: float, share: float) -> NDArray[np.float64]:
    """Return by how much the influence of each actor is scaled down.

    ``min(1, max(at_least, share * events of all others) / events)``. The first actor is
    the application itself and is not scaled.

    Parameters
    ----------
    events : ndarray of float, shape (n_actors,)
        How many feedbacks each gave.
    at_least : float
    share : float, in [0, 1]

    Examples
    --------
    >>> actor_scales(np.array([300.0, 15.0, 60.0]), at_least=20, share=0.1).tolist()
    [1.0, 1.0, 0.525]
    """
    allowed = np.maximum(at_least, share * (events.sum() - events))
    scales = np.minimum(1.0, allowed / np.maximum(events, 1.0))
    scales[0] = 1.0
    return np.asarray(scales, dtype=np.float64)


def target_scale(credit: FloatArray, *, in_credit: float) -> NDArray[np.float64]:
    """Return by how much edges into chunks that are cited all the time are scaled down.

    ``min(1, √(in_credit / credit))``: that a chunk is cited says less the more often it
    is, and no chunk grows into an attractor.

    Examples
    --------
    >>> target_scale(np.array([1.0, 10.0, 40.0]), in_credit=10).tolist()
    [1.0, 1.0, 0.5]
    """
    scales = np.sqrt(in_credit / np.maximum(credit, in_credit))
    return np.asarray(scales, dtype=np.float64)


def pooled(target: IntArray, weight: FloatArray) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Put together what several actors, or several sources, learned about the same target.

    Like independent causes: ``1 - Π(1 - w)`` over positive weights, minus the same over
    the absolute values of negative ones. With the soft bound of
    :func:`hebbgraph.learning.rules.hebb` and no decay, positive weights come out as if one
    actor had taken all the lessons.

    Parameters
    ----------
    target : ndarray of int, shape (n,)
    weight : ndarray of float, shape (n,), in [-1, 1]

    Returns
    -------
    target : ndarray of int64, shape (m,), ascending and different
    weight : ndarray of float64, shape (m,), in [-1, 1]

    Examples
    --------
    >>> pooled(np.array([7, 3, 7]), np.array([0.5, -0.2, 0.5]))
    (array([3, 7]), array([-0.2 ,  0.75]))
    """
    different, position = distinct(target)
    together = np.empty(len(different))
    together[position] = weight  # one that is alone comes out as it is
    if len(different) < len(target):
        several = (np.bincount(position) > 1)[position]
        position, weight = position[several], weight[several]
        kept_up, kept_down = np.ones(len(different)), np.ones(len(different))
        np.multiply.at(kept_up, position, 1.0 - np.maximum(weight, 0.0))
        np.multiply.at(kept_down, position, 1.0 + np.minimum(weight, 0.0))
        together[position] = (kept_down - kept_up)[position]
    return different.astype(np.int64), together


class Rows(NamedTuple):
    """What leaves some nodes: numbers of the present graph, and weights.

    ``owner`` ascends; it says from which of the nodes that were asked for each edge comes.
    """

    owner: NDArray[np.int64]
    targets: NDArray[np.int64]
    weights: NDArray[np.float64]


def bounded_rows(
    rows: Rows,
    n: int,
    *,
    min_weight: float,
    fan_out: int | IntArray,
    out_strength: float,
) -> Rows:
    """Prune, bound and normalise what leaves each of ``n`` nodes.

    Weights below ``min_weight`` are passed over, of the others of one node the ``fan_out``
    largest kept (of equals those that come first; one number, or one for each node), and
    scaled down to the sum ``out_strength`` if they exceed it.

    Examples
    --------
    >>> weights = np.array([0.9, 0.01, 0.6, 0.5, 0.3])
    >>> rows = Rows(np.array([0, 0, 0, 0, 1]), np.arange(5), weights)
    >>> found = bounded_rows(rows, 2, min_weight=0.02, fan_out=2, out_strength=1.0)
    >>> [column.round(3).tolist() for column in found]
    [[0, 0, 1], [0, 2, 4], [0.6, 0.4, 0.3]]
    """
    keep = (rows.weights >= max(min_weight, 1e-12)).nonzero()[0]
    counts = np.bincount(rows.owner[keep], minlength=n)
    if (counts > fan_out).any():
        owner = rows.owner[keep]
        order = np.lexsort((-rows.weights[keep], owner))  # stable
        rank = np.arange(len(order)) - (counts.cumsum() - counts)[owner[order]]
        keep = keep[np.sort(order[rank < np.broadcast_to(fan_out, n)[owner[order]]])]
    owner, weights = rows.owner[keep], rows.weights[keep]
    total = np.bincount(owner, weights=weights, minlength=n)
    weights = weights * (out_strength / np.maximum(total, out_strength))[owner]
    return Rows(owner, rows.targets[keep], weights)


def expectation(weighted: FloatArray, likeness: float, *, prior: float) -> NDArray[np.float64]:
    """Return how far past queries lead one to expect each chunk: a kernel estimate.

    ``Σ likeness · weight / (prior + Σ likeness)`` [1]_, as Nadaraya and Watson would
    estimate the chance of being cited, with a prior of nothing.

    Parameters
    ----------
    weighted : ndarray of float, shape (n_chunks,)
        ``Σ likeness · weight`` over past queries, weights in [0, 1].
    likeness : float
        The sum of how much each past query is like the present one.
    prior : float, positive

    References
    ----------
    .. [1] Nadaraya (1964), On estimating regression.

    Examples
    --------
    >>> expectation(np.array([0.7, 0.2]), 0.7, prior=0.3).tolist()
    [0.7, 0.2]
    """
    return np.asarray(weighted / (prior + likeness), dtype=np.float64)


def unless_same(factor: float, same: float) -> float:
    """Return what a doubt leaves of a past query: ``same + (1 - same) * factor``.

    A past query either asks the same as the present one, and then what it led to answers
    it, or is about something near, and then a factor in [0, 1] says how far it counts.

    Parameters
    ----------
    factor : float, in [0, 1]
    same : float, in [0, 1]
        The chance that both ask the same.

    Examples
    --------
    >>> [round(unless_same(0.2, same), 3) for same in (0.0, 0.5, 1.0)]
    [0.2, 0.6, 1.0]
    """
    return same + (1.0 - same) * factor


def as_activation(chance: FloatArray, *, gain: float, at_most: float) -> NDArray[np.float64]:
    """Return the activation that stands for a chance: ``gain`` times its odds.

    Spreading reads activation x as x / (x + κ), so odds times κ read as the chance
    itself.

    Examples
    --------
    >>> as_activation(np.array([0.0, 0.5, 1.0]), gain=0.2, at_most=0.6).round(3).tolist()
    [0.0, 0.2, 0.6]
    """
    odds = chance / np.maximum(1.0 - chance, 1e-9)
    return np.asarray(np.minimum(gain * odds, at_most), dtype=np.float64)


GateOf: TypeAlias = Callable[[IntArray], FloatArray]


class RowPool:
    """Rows of learned edges by source, each replaced when it has changed.

    Parameters
    ----------
    size : int
        Sources are numbers below it; negative ones count from the end, as in any array.

    Examples
    --------
    >>> pool = RowPool(3)
    >>> pool.put(np.array([1]), np.array([1, 1]), np.array([4, 8]), np.array([0.5, 0.25]))
    >>> owner, targets, weights = pool.of(np.array([0, 1, 2]))
    >>> owner.tolist(), targets.tolist(), weights.tolist()
    ([1, 1], [4, 8], [0.5, 0.25])
    >>> pool.row(1)
    [(4, 0.5), (8, 0.25)]
    """

    def __init__(self, size: int) -> None:
        #: Where the row of each source starts, and how long it is.
        self._start = np.zeros(size, np.int32)
        self._count = np.zeros(size, np.int32)
        self._targets = GrowableArray(np.int64)
        self._weights = GrowableArray(np.float64)

    def __len__(self) -> int:
        """Return at least as many as there are edges: replaced rows count until all are."""
        return len(self._targets)

    def grow(self, size: int) -> None:
        """Let there be more sources; none of them may be negative."""
        more = np.zeros(max(size - len(self._start), 0), np.int32)
        self._start = np.concatenate((self._start, more))
        self._count = np.concatenate((self._count, more))

    def clear(self) -> None:
        """Drop all rows."""
        self._count.fill(0)
        self._targets = GrowableArray(np.int64)
        self._weights = GrowableArray(np.float64)

    def put(
        self, changed: IntArray, sources: IntArray, targets: IntArray, weights: FloatArray
    ) -> None:
        """Replace the rows of some sources.

        Parameters
        ----------
        changed : ndarray of int
            Their numbers; they lose what they had.
        sources, targets, weights : ndarray, shape (n_edges,)
            What leaves them now, in any order; within one row it is kept.
        """
        self._count[changed] = 0
        order = sources.argsort(kind="stable")
        sources = sources[order]
        first = np.flatnonzero(np.concatenate(([True], sources[1:] != sources[:-1])))
        first = first[: len(sources)]
        self._start[sources[first]] = first + len(self._targets)
        self._count[sources[first]] = np.diff(first, append=len(sources))
        self._targets.extend(targets[order])
        self._weights.extend(weights[order])

    def row(self, source: int) -> Row:
        """Return (target, weight) of the edges that leave one source."""
        start = int(self._start[source])
        here = slice(start, start + int(self._count[source]))
        targets, weights = self._targets.view[here].tolist(), self._weights.view[here].tolist()
        return list(zip(targets, weights, strict=True))

    def of(self, sources: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
        """Return (position in ``sources``, target, weight) of the edges that leave them."""
        counts = self._count[sources]
        at = concatenated_ranges(self._start[sources], counts)
        if not len(at):
            return _NO_INTS, _NO_INTS, _NO_FLOATS
        owner = np.arange(len(sources)).repeat(counts)
        return owner, self._targets.view[at], self._weights.view[at]


class LearnedEdges(EdgeSet):
    """Rows of several pools, as spreading reads them.

    Parameters
    ----------
    pools : sequence of RowPool or EdgeSet
    gain : float
        What weights are multiplied with.
    gate : callable, optional
        From targets to another factor, such as the direct evidence for them.

    Examples
    --------
    >>> pool = RowPool(2)
    >>> pool.put(np.array([1]), np.array([1]), np.array([4]), np.array([0.5]))
    >>> edges = LearnedEdges([pool], gain=2.0)
    >>> [column.tolist() for column in edges.of(np.array([0, 1]))]
    [[1], [4], [1.0]]
    """

    _pools: Sequence[RowPool | EdgeSet]
    _gain: float
    _gate: GateOf | None
    _n: int

    def __init__(
        self,
        pools: Sequence[RowPool | EdgeSet],
        *,
        gain: float = 1.0,
        gate: GateOf | None = None,
    ) -> None:
        super().__init__(_NO_INTS, _NO_INTS, _NO_FLOATS)
        object.__setattr__(self, "_pools", pools)
        object.__setattr__(self, "_gain", gain)
        object.__setattr__(self, "_gate", gate)
        object.__setattr__(self, "_n", sum(map(len, pools)))

    def __len__(self) -> int:
        return self._n

    def of(self, sources: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
        """Return (position in ``sources``, target, weight) of the edges that leave them."""
        parts = [found for pool in self._pools if len((found := pool.of(sources))[0])]
        if not parts:
            return _NO_INTS, _NO_INTS, _NO_FLOATS
        owner, targets, weights = parts[0]
        if len(parts) > 1:
            owner, targets, weights = map(np.concatenate, zip(*parts, strict=True))
        if self._gate is not None:
            weights = weights * self._gate(targets)
        return owner, targets, self._gain * weights


@dataclass(frozen=True, kw_only=True, eq=False)
class PooledEdges(PlasticEdges):
    """Learned edges into chunks from one pool, asked once a step; and the others.

    What passes is the mass of the source times a gain, the weight, and how well the target
    answers the question by itself.

    Parameters
    ----------
    hops : FewEdges
        From cues to tags.
    pool : RowPool
        Of tags, at their numbers; of tags as cues, at number + ``shift``; of chunks, from
        the end: at ``~chunk``.
    shift : int
        How many tags there are.
    cues : ndarray of int
        The tags that the query names.
    tag_gain, chunk_gain : float
    gate : callable
        From targets to direct evidence.
    limit : int
        So many edges of the pool are followed in one step, those over which most passes, and
        those over which as much passes as over the last of them.
    n_steps : int
        In so many steps, the cues' own included, the pool is asked; hops are followed in
        that one alone, and other edges in all.

    Examples
    --------
    >>> pool = RowPool(5)
    >>> sources, weights = np.array([1, 1, -1]), np.array([0.5, 0.25, 0.5])
    >>> pool.put(np.array([1, -1]), sources, np.array([3, 4, 3]), weights)
    >>> edges = PooledEdges(
    ...     hops=FewEdges({}),
    ...     pool=pool,
    ...     shift=2,
    ...     cues=np.array([0]),
    ...     tag_gain=1.0,
    ...     chunk_gain=0.5,
    ...     gate=lambda chunks: np.where(chunks == 3, 1.0, 0.1),
    ...     least=0.01,
    ... )
    >>> ones = np.ones(1)
    >>> passed = edges.into_chunks(np.array([1]), ones, np.array([0]), ones, 1)
    >>> [column.tolist() for column in passed]
    [[1, 1, -1], [3, 4, 3], [0.5, 0.025, 0.25]]
    """

    hops: FewEdges
    pool: RowPool
    shift: int
    cues: IntArray
    tag_gain: float
    chunk_gain: float
    gate: GateOf
    limit: int = 1 << 30
    n_steps: int = 1 << 30

    def has_learned(self, cues: IntArray) -> BoolArray:
        """Tell from which cues a learned edge is followed."""
        found = [
            self.n_steps > 0 and (cue in self.hops.rows or bool(self.pool.row(cue + self.shift)))
            for cue in cues.tolist()
        ]
        return np.array(found, np.bool_)

    def between_tags(self, tags: IntArray, depth: int) -> tuple[IntArray, IntArray, FloatArray]:
        """Return (position in ``tags``, target, weight) of the edges to tags."""
        if depth > 0 or not self.n_steps:
            return self.tag_to_tag.of(tags)
        learned = self.hops.of(tags)
        return _joined(learned, self.tag_to_tag.of(tags)) if len(self.tag_to_tag) else learned

    def into_chunks(
        self,
        tags: IntArray,
        on_tags: FloatArray,
        chunks: IntArray,
        on_chunks: FloatArray,
        depth: int,
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """Pass mass on to chunks; see :meth:`PlasticEdges.into_chunks`."""
        passed: tuple[IntArray, IntArray, FloatArray] = (_NO_INTS, _NO_INTS, _NO_FLOATS)
        if depth < self.n_steps:
            few = len(tags) <= _FEW and not len(chunks)
            edges = self._of_few(tags) if few else self._of_many(tags, chunks)
            passed = self._passed(np.concatenate((tags, ~chunks)), on_tags, on_chunks, edges)
        if not (len(self.tag_to_chunk) or len(self.chunk_to_chunk)):
            return passed
        return _joined(passed, super().into_chunks(tags, on_tags, chunks, on_chunks, depth))

    def _of_few(self, tags: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
        """What :meth:`_of_many` does, one by one: of a few tags, that is done sooner."""
        cues = self.cues.tolist()
        return edge_arrays(
            [
                (at, target, weight)
                for at, tag in enumerate(tags.tolist())
                for target, weight in self.pool.row(tag + self.shift if tag in cues else tag)
            ]
        )

    def _of_many(self, tags: IntArray, chunks: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
        """Return (position in tags and then chunks, target, weight) of the edges of the pool."""
        shifted = tags + self.shift * among(tags, self.cues)
        return self.pool.of(np.concatenate((shifted, ~chunks)))

    def _passed(
        self,
        sources: IntArray,
        on_tags: FloatArray,
        on_chunks: FloatArray,
        edges: tuple[IntArray, IntArray, FloatArray],
    ) -> tuple[IntArray, IntArray, FloatArray]:
        owner, targets, weights = edges
        if not len(owner):
            return edges
        mass = np.concatenate((on_tags * self.tag_gain, on_chunks * self.chunk_gain))
        amount = mass[owner] * weights * self.gate(targets)
        kept = (amount > self.least).nonzero()[0]
        if len(kept) > self.limit:
            kept = kept[best(amount[kept], self.limit)]
        return sources[owner[kept]], targets[kept], amount[kept]


def _joined(
    some: tuple[IntArray, IntArray, FloatArray], others: tuple[IntArray, IntArray, FloatArray]
) -> tuple[IntArray, IntArray, FloatArray]:
    return (
        np.concatenate((some[0], others[0])),
        np.concatenate((some[1], others[1])),
        np.concatenate((some[2], others[2])),
    )
