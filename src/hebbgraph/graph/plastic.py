"""The plastic overlay: what recalls see of raw learned weights.

Formulas that act whenever edges are read, and write nothing back: actors are capped and
put together, weak and surplus edges passed over, and what leaves a node or reaches a
chunk is kept within bounds (homeostasis). Where nothing was learned there is no edge, so
an empty overlay changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hebbgraph.recall.view import EdgeSet
from hebbgraph.typing import BoolArray, FloatArray, IntArray

__all__ = [
    "LearnedEdges",
    "Row",
    "actor_scales",
    "bounded_row",
    "pooled",
    "target_scale",
]

_NO_INTS = np.empty(0, np.int64)
_NO_FLOATS = np.empty(0, np.float64)


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


def pooled(
    target: IntArray, weight: FloatArray
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
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
    different, position = np.unique(target, return_inverse=True)
    if len(different) == len(target):
        order = np.argsort(target, kind="stable")
        return different.astype(np.int64), np.asarray(weight[order], dtype=np.float64)
    kept_up, kept_down = np.ones(len(different)), np.ones(len(different))
    np.multiply.at(kept_up, position, 1.0 - np.maximum(weight, 0.0))
    np.multiply.at(kept_down, position, 1.0 + np.minimum(weight, 0.0))
    return different.astype(np.int64), kept_down - kept_up


class Row(NamedTuple):
    """What leaves one node: numbers of the present graph, and weights."""

    targets: NDArray[np.int64]
    weights: NDArray[np.float64]


NO_ROW = Row(_NO_INTS, _NO_FLOATS)


def bounded_row(
    targets: IntArray,
    weights: FloatArray,
    order: IntArray,
    *,
    min_weight: float,
    fan_out: int,
    out_strength: float,
) -> Row:
    """Prune, bound and normalise what leaves one node.

    Weights below ``min_weight`` are passed over, of the others the ``fan_out`` largest
    kept (equals by ``order``), and scaled down to the sum ``out_strength`` if they exceed
    it.

    Examples
    --------
    >>> weights = np.array([0.9, 0.01, 0.6, 0.5])
    >>> row = bounded_row(np.arange(4), weights, np.arange(4), min_weight=0.02, fan_out=2,
    ...                   out_strength=1.0)
    >>> row.targets.tolist(), row.weights.round(3).tolist()
    ([0, 2], [0.6, 0.4])
    """
    keep = np.flatnonzero(weights >= max(min_weight, 1e-12))
    if len(keep) > fan_out:
        keep = keep[np.lexsort((order[keep], -weights[keep]))[:fan_out]]
        keep = np.sort(keep)
    if not len(keep):
        return NO_ROW
    kept = np.asarray(weights[keep], dtype=np.float64)
    total = float(kept.sum())
    if total > out_strength:
        kept = kept * (out_strength / total)
    return Row(np.asarray(targets[keep], dtype=np.int64), kept)


RowOf: TypeAlias = Callable[[int], Row]


class LearnedEdges(EdgeSet):
    """Learned edges, read row by row when activation gets there.

    A log of ten thousand feedbacks makes a hundred thousand edges, of which a recall
    meets a handful; rows are made when met and kept until the next lesson.

    Parameters
    ----------
    has_row : ndarray of bool, indexed by source
        Which nodes have any; numbers beyond its end have none.
    row : callable
        Makes the row of a source.
    """

    def __init__(self, has_row: BoolArray, row: RowOf) -> None:
        super().__init__(_NO_INTS, _NO_INTS, _NO_FLOATS)
        object.__setattr__(self, "_has_row", has_row)
        object.__setattr__(self, "_row", row)
        object.__setattr__(self, "_size", int(np.count_nonzero(has_row)))

    _has_row: BoolArray
    _row: RowOf
    _size: int

    def __len__(self) -> int:
        return self._size

    def of(self, sources: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
        """Return (position in ``sources``, target, weight) of the edges that leave them."""
        inside = sources < len(self._has_row)
        met = np.zeros(len(sources), np.bool_)
        met[inside] = self._has_row[sources[inside]]
        positions = np.flatnonzero(met)
        rows = [self._row(source) for source in sources[positions].tolist()]
        if not rows:
            return _NO_INTS, _NO_INTS, _NO_FLOATS
        counts = [len(row.targets) for row in rows]
        return (
            np.repeat(positions, counts),
            np.concatenate([row.targets for row in rows]),
            np.concatenate([row.weights for row in rows]),
        )
