"""Colonies: communities of chunks, found by Louvain and maintained by local moves.

Chunks that share tags are joined by edges, and the Louvain method [1]_ partitions the graph:
nodes move until none gains, then colonies become nodes and move in turn. A node is visited again
only when a neighbour has left its colony (the fast local move of [3]_), so the cost grows
with the number of edges. When chunks come and go, only nodes near the change move: each joins
the neighbouring colony with the largest gain in modularity, or stays. This is Louvain's
first phase, started from the old partition (naive-dynamic in [2]_).

References
----------
.. [1] Blondel, Guillaume, Lambiotte and Lefebvre (2008), Fast unfolding of communities in
   large networks, J. Stat. Mech. P10008.
.. [2] Aynaud and Guillaume (2010), Static community detection algorithms for evolving
   networks, WiOpt.
.. [3] Traag, Waltman and van Eck (2019), From Louvain to Leiden, Sci. Rep. 9.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import BoolArray, FloatArray, IntArray
from hebbgraph.formulas.colony_parameters import ColonyParameters
from hebbgraph.formulas.weighted_graph import WeightedGraph

__all__ = [
    "ALPHA",
    "BETA",
    "GAMMA",
    "TAU",
    "ColonyParameters",
    "colony_weights",
    "find_colonies",
    "local_moving",
]

#: Bio-RAG's weights of similarity and of tag overlap, its factor on edges between colonies, and
#: the similarity above which such edges need no shared tag. The paper gives no numbers.
ALPHA, BETA, GAMMA, TAU = 0.5, 0.5, 0.5, 0.5
_MAX_VISITS = 20
_TINY = 1e-12


def colony_weights(
    similarity: FloatArray, overlap: FloatArray, same: BoolArray
) -> NDArray[np.float64]:
    """Return Bio-RAG's weights of edges between documents.

    ``w = ALPHA * similarity + BETA * overlap`` within a colony. Between colonies it is
    ``GAMMA * w`` if the documents share an entity or their similarity exceeds ``TAU``,
    else 0 [1]_, section 2.1.

    Parameters
    ----------
    similarity, overlap : ndarray of float, shape (n,), in [0, 1]
    same : ndarray of bool, shape (n,)
        Whether both ends are in the same colony.

    References
    ----------
    .. [1] Phago Research Group (2026), Bio-RAG.

    Examples
    --------
    >>> same = np.array([True, False, False])
    >>> colony_weights(np.array([0.8, 0.8, 0.2]), np.array([0.2, 0.0, 0.0]), same).tolist()
    [0.5, 0.2, 0.0]
    """
    weight = ALPHA * similarity + BETA * overlap
    bridged = (overlap > 0) | (similarity > TAU)
    return np.where(same, weight, np.where(bridged, GAMMA * weight, 0.0))


def find_colonies(
    n_nodes: int,
    sources: IntArray,
    targets: IntArray,
    weights: FloatArray,
    *,
    resolution: float = 1.0,
) -> NDArray[np.int64]:
    """Partition a graph into communities by the Louvain method.

    Parameters
    ----------
    n_nodes : int
    sources, targets : ndarray of int, shape (n_edges,)
    weights : ndarray of float, shape (n_edges,)
        Edges of weight 0 or less are ignored.
    resolution : float, positive
        Larger values make more, smaller colonies.

    Returns
    -------
    ndarray of int64, shape (n_nodes,)
        Colony of each node, numbered by its smallest node. An isolated node is a colony of its own.

    Examples
    --------
    >>> find_colonies(5, np.array([0, 2]), np.array([1, 3]), np.ones(2)).tolist()
    [0, 0, 2, 2, 4]
    """
    keep = weights > 0
    graph = WeightedGraph(n_nodes, sources[keep], targets[keep], weights[keep])
    inside: FloatArray = np.zeros(n_nodes)
    colony = np.arange(n_nodes, dtype=np.int64)
    rng = np.random.default_rng(0)
    while True:
        order = rng.permutation(graph.n_nodes).tolist()
        alone = np.arange(graph.n_nodes, dtype=np.int64)
        moved = local_moving(graph, alone, order, resolution=resolution, inside=inside)
        colonies, labels = np.unique(moved, return_inverse=True)
        if len(colonies) == graph.n_nodes:
            break
        colony = labels[colony]
        graph, inside = _merged(graph, labels, inside)
    _, first, labels = np.unique(colony, return_index=True, return_inverse=True)
    smallest: NDArray[np.int64] = first.astype(np.int64)[labels]
    return smallest


def _merged(
    graph: WeightedGraph, labels: NDArray[np.int64], inside: FloatArray
) -> tuple[WeightedGraph, NDArray[np.float64]]:
    """Return the graph of the colonies, and the weight of the edges inside each."""
    n = int(labels.max()) + 1
    source, target = labels[graph.sources], labels[graph.targets]
    within = source == target
    inner = np.bincount(labels, inside, n) + np.bincount(source[within], graph.weights[within], n)
    low, high = np.minimum(source, target)[~within], np.maximum(source, target)[~within]
    pairs, position = np.unique(low * n + high, return_inverse=True)
    summed = np.bincount(position, graph.weights[~within], len(pairs)).astype(np.float64)
    return WeightedGraph(n, pairs // n, pairs % n, summed), inner.astype(np.float64)


def local_moving(
    graph: WeightedGraph,
    colony: NDArray[np.int64],
    queue: Iterable[int],
    *,
    resolution: float = 1.0,
    inside: FloatArray | None = None,
) -> NDArray[np.int64]:
    """Move queued nodes to the neighbouring colony with the largest modularity gain.

    Louvain's local moving phase, started from a given partition. A node that moves
    queues its neighbours outside the new colony.

    Parameters
    ----------
    graph : WeightedGraph
    colony : ndarray of int64, shape (n_nodes,)
        The partition to start from; not modified.
    queue : iterable of int
        Nodes to visit first, in order.
    resolution : float, positive
    inside : ndarray of float, shape (n_nodes,), optional
        The weight of the edges inside each node, if nodes stand for colonies.

    Returns
    -------
    ndarray of int64, shape (n_nodes,)
        A partition whose modularity is at least that of ``colony``.

    Examples
    --------
    >>> pair = WeightedGraph(3, [0, 1], [1, 2], [1.0, 1.0])
    >>> local_moving(pair, np.array([0, 0, 2]), [2]).tolist()
    [0, 0, 0]
    """
    result = np.array(colony, dtype=np.int64)
    strengths = _strengths(graph)
    if inside is not None:
        strengths += 2.0 * inside
    total = float(strengths.sum())
    if not total:
        return result
    strength, labels = strengths.tolist(), result.tolist()
    total_of: dict[int, float] = {}
    for label, amount in zip(labels, strength, strict=True):
        total_of[label] = total_of.get(label, 0.0) + amount
    alone = max(labels, default=-1) + 1
    waiting = deque(dict.fromkeys(queue))
    queued = set(waiting)
    budget = _MAX_VISITS * max(len(waiting), 1)
    while waiting and budget:
        budget -= 1
        node = waiting.popleft()
        queued.discard(node)
        neighbours, weights = graph.row(node)
        links: dict[int, float] = {}
        for other, weight in zip(neighbours, weights, strict=True):
            label = labels[other]
            links[label] = links.get(label, 0.0) + weight
        here, share = labels[node], resolution * strength[node] / total
        total_of[here] -= strength[node]
        best, most = here, links.get(here, 0.0) - share * total_of[here]
        for label in sorted(links):
            gain = links[label] - share * total_of[label]
            if gain > most + _TINY:
                best, most = label, gain
        if most < -_TINY:  # a colony of its own is better
            best, alone = alone, alone + 1
            total_of[best] = 0.0
        total_of[best] += strength[node]
        if best != here:
            labels[node] = best
            for other in neighbours:
                if labels[other] != best and other not in queued:
                    waiting.append(other)
                    queued.add(other)
    return np.array(labels, dtype=np.int64)


def _strengths(graph: WeightedGraph) -> NDArray[np.float64]:
    both = np.concatenate((graph.sources, graph.targets))
    weights = np.concatenate((graph.weights, graph.weights))
    return np.bincount(both, weights, graph.n_nodes).astype(np.float64)
