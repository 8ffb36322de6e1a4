"""Homeostasis: from raw learned weights to the bounded weights that recalls see.

These formulas apply whenever learned edges are read, and write nothing back. They pool what
actors say, each as far as :mod:`hebbgraph.formulas.credibility` believes it, drop weak and
surplus edges, and bound what leaves a node and what reaches a chunk. Without learned edges they
have nothing to act on, so an empty overlay changes no score.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import FloatArray, IntArray, unique_inverse

__all__ = [
    "FAN_OUT",
    "INHIBITION_FLOOR",
    "IN_CREDIT",
    "MIN_WEIGHT",
    "OUT_STRENGTH",
    "OutgoingEdges",
    "bound_outgoing",
    "chance_to_activation",
    "citation_chance",
    "discount_unless_same",
    "pool_weights",
    "target_scales",
]

#: How far inhibition goes: a learned weight falls to minus this at most, and the direct evidence of
#: a chunk to one minus this share. A chunk that was once passed over must be able to come back.
INHIBITION_FLOOR = 0.5
#: Learned edges that are weaker are passed over.
MIN_WEIGHT = 0.02
#: The strongest learned edges of a node that take part in a recall.
FAN_OUT = 16
#: The weights that leave a node are scaled down to this sum.
OUT_STRENGTH = 1.0
#: A chunk with more credit than this is reached by learned edges that much more weakly.
IN_CREDIT = 10.0


def target_scales(credit: FloatArray, *, in_credit: float = IN_CREDIT) -> NDArray[np.float64]:
    """Return the factor that scales down edges into frequently cited chunks.

    ``min(1, √(in_credit / credit))``: the more often a chunk is cited, the less each
    citation says, and no chunk becomes an attractor.

    Examples
    --------
    >>> target_scales(np.array([1.0, 10.0, 40.0]), in_credit=10).tolist()
    [1.0, 1.0, 0.5]
    """
    scales = np.sqrt(in_credit / np.maximum(credit, in_credit))
    return np.asarray(scales, dtype=np.float64)


def pool_weights(
    target: IntArray, weight: FloatArray
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Pool the weights that several actors, or several sources, give to the same target.

    Weights combine like independent causes (noisy-or): ``1 - Π(1 - w)`` over positive
    weights, minus the same over absolute values of negative ones. With the soft bound of
    :func:`hebbgraph.formulas.plasticity.hebb` and no decay, positive weights come out as if
    one actor had given all the feedback.

    Parameters
    ----------
    target : ndarray of int, shape (n,)
    weight : ndarray of float, shape (n,), in [-1, 1]

    Returns
    -------
    target : ndarray of int64, shape (m,), strictly ascending
    weight : ndarray of float64, shape (m,), in [-1, 1]

    Examples
    --------
    >>> pool_weights(np.array([7, 3, 7]), np.array([0.5, -0.2, 0.5]))
    (array([3, 7]), array([-0.2 ,  0.75]))
    """
    different, position = unique_inverse(target)
    together = np.empty(len(different))
    together[position] = weight  # a single weight stays exactly as it is
    if len(different) < len(target):
        several = (np.bincount(position) > 1)[position]
        position, weight = position[several], weight[several]
        kept_up, kept_down = np.ones(len(different)), np.ones(len(different))
        np.multiply.at(kept_up, position, 1.0 - np.maximum(weight, 0.0))
        np.multiply.at(kept_down, position, 1.0 + np.minimum(weight, 0.0))
        together[position] = (kept_down - kept_up)[position]
    return different.astype(np.int64), together


class OutgoingEdges(NamedTuple):
    """Learned edges leaving some nodes, in the numbers of the current graph.

    ``owner`` is the position of each edge's source among the requested nodes; it ascends.
    """

    owner: NDArray[np.int64]
    targets: NDArray[np.int64]
    weights: NDArray[np.float64]


def bound_outgoing(
    rows: OutgoingEdges,
    n: int,
    *,
    min_weight: float,
    fan_out: int | IntArray,
    out_strength: float,
) -> OutgoingEdges:
    """Prune and normalise the edges leaving each of ``n`` nodes.

    Edges below ``min_weight`` are dropped. Each node keeps its ``fan_out`` strongest edges
    (one number, or one per node; ties go to the first), and their weights are scaled down
    if their sum exceeds ``out_strength``.

    Examples
    --------
    >>> weights = np.array([0.9, 0.01, 0.6, 0.5, 0.3])
    >>> rows = OutgoingEdges(np.array([0, 0, 0, 0, 1]), np.arange(5), weights)
    >>> found = bound_outgoing(rows, 2, min_weight=0.02, fan_out=2, out_strength=1.0)
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
    return OutgoingEdges(owner, rows.targets[keep], weights)


def citation_chance(weighted: FloatArray, likeness: float, *, prior: float) -> NDArray[np.float64]:
    """Estimate the chance that each chunk is cited, from similar past queries.

    ``Σ likeness · weight / (prior + Σ likeness)``: the Nadaraya–Watson kernel estimate
    [1]_, shrunk towards 0 by a prior.

    Parameters
    ----------
    weighted : ndarray of float, shape (n_chunks,)
        ``Σ likeness · weight`` over past queries, weights in [0, 1].
    likeness : float
        ``Σ likeness``: the summed similarity of past queries to the current one.
    prior : float, positive

    References
    ----------
    .. [1] Nadaraya (1964), On estimating regression.

    Examples
    --------
    >>> citation_chance(np.array([0.7, 0.2]), 0.7, prior=0.3).tolist()
    [0.7, 0.2]
    """
    return np.asarray(weighted / (prior + likeness), dtype=np.float64)


def discount_unless_same(factor: float, same: float) -> float:
    """Discount a past query unless it asks the same: ``same + (1 - same) * factor``.

    If a past query asks the same as the current one, its citations count in full; if it
    is merely related, they count by ``factor``.

    Parameters
    ----------
    factor : float, in [0, 1]
    same : float, in [0, 1]
        Probability that both queries ask the same.

    Examples
    --------
    >>> [round(discount_unless_same(0.2, same), 3) for same in (0.0, 0.5, 1.0)]
    [0.2, 0.6, 1.0]
    """
    return same + (1.0 - same) * factor


def chance_to_activation(chance: FloatArray, *, gain: float, at_most: float) -> NDArray[np.float64]:
    """Convert a probability to activation: ``gain`` times its odds, capped at ``at_most``.

    Scores use x / (x + κ) of activation x, so odds times κ yield the probability itself.

    Examples
    --------
    >>> chance_to_activation(np.array([0.0, 0.5, 1.0]), gain=0.2, at_most=0.6).round(3).tolist()
    [0.0, 0.2, 0.6]
    """
    odds = chance / np.maximum(1.0 - chance, 1e-9)
    return np.asarray(np.minimum(gain * odds, at_most), dtype=np.float64)
