"""Bio-RAG's search: breadth-first from nodes whose label contains a word of the query.

From each seed, the search follows edges of at least a minimum weight, the strongest of a node
first, until it has visited 200 nodes. A document that it reaches scores ``alpha * (sum of weights
on the path) + beta * (term overlap)``, and finally ``(1 - mu) * similarity + mu * score`` [1]_,
sections 2.2 and 2.4.

The paper gives two numbers, 200 nodes and ``mu = 0.5``. It says neither which path counts if
several seeds reach a document (here the strongest), nor how sums of weights, which grow with the
path, come to the scale of a cosine (here the highest score of a query is scaled to 1).

References
----------
.. [1] Phago Research Group (2026), Bio-RAG: Self-Reinforcing Knowledge Graph Retrieval
   Through Hebbian Learning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import BoolArray, FloatArray, IntArray

__all__ = ["SEEDS_PER_WORD", "Found", "Neighbors", "Parameters", "Visit", "search", "visit"]

Neighbors: TypeAlias = Callable[[IntArray], tuple[IntArray, IntArray, FloatArray]]
"""Maps nodes to (position in them, neighbor, weight) of their edges."""

#: Seeds of each word: the shortest labels that contain it. The paper takes all labels; its graph
#: has 2,027 nodes, a vocabulary too many.
SEEDS_PER_WORD = 8
_BLOCK_GROWTH = 4


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The constants of Bio-RAG's search.

    Parameters
    ----------
    max_nodes : int, at least 1
        Nodes visited from one seed, besides the seed. Paper: 200.
    mu : float, in [0, 1]
        The share of the graph in the final score. Paper: 0.5.
    alpha, beta : float, at least 0
        Weights of the path and of the term overlap. Not in the paper.
    min_weight : float, at least 0
        Weaker edges are not followed. Not in the paper.
    """

    max_nodes: int = 200
    mu: float = 0.5
    alpha: float = 0.5
    beta: float = 0.5
    min_weight: float = 0.05


class Visit(NamedTuple):
    """The nodes visited from one seed, in order; arrays of shape (n,), the seed first.

    ``parents`` are positions of predecessors (-1 for the seed), ``weights`` those of the edges from
    there, ``totals`` the sums of weights from the seed.
    """

    nodes: NDArray[np.int64]
    parents: NDArray[np.int64]
    weights: NDArray[np.float64]
    totals: NDArray[np.float64]

    def path(self, position: int) -> list[tuple[int, float]]:
        """Return the nodes from the seed to a position, and the weights of the edges to them."""
        found: list[tuple[int, float]] = []
        while position >= 0:
            found.append((int(self.nodes[position]), float(self.weights[position])))
            position = int(self.parents[position])
        return found[::-1]


@dataclass(frozen=True)
class Found:
    """The documents that a search reached, best first; arrays of shape (n,)."""

    documents: NDArray[np.int64]
    scores: NDArray[np.float64]
    ends: dict[int, tuple[Visit, int]]

    def path(self, document: int) -> list[tuple[int, float]]:
        """Return nodes and weights on the strongest path to a document."""
        visited, position = self.ends[document]
        return visited.path(position)


def visit(neighbors: Neighbors, seed: int, *, max_nodes: int, min_weight: float) -> Visit:
    """Search breadth-first from one node; equal edges of a node go to the smaller neighbor first.

    Examples
    --------
    >>> edges = {0: {1: 0.5, 2: 0.9, 4: 0.01}, 1: {3: 0.8}, 2: {}, 3: {}}
    >>> def neighbors(nodes):
    ...     rows = [(at, n, w) for at, node in enumerate(nodes) for n, w in edges[node].items()]
    ...     return tuple(map(np.array, zip(*rows))) if rows else (np.zeros(0, int),) * 3
    >>> found = visit(neighbors, 0, max_nodes=200, min_weight=0.05)
    >>> found.nodes.tolist(), found.totals.round(1).tolist()
    ([0, 2, 1, 3], [0.0, 0.9, 0.5, 1.3])
    """
    nodes, parents = np.array([seed], np.int64), np.array([-1], np.int64)
    weights, totals = np.zeros(1), np.zeros(1)
    passed, block = 0, 1  # nodes that the search has left, and how many leave at once
    while passed < len(nodes) <= max_nodes:
        front = nodes[passed : passed + block]
        owner, targets, strength = neighbors(front)
        keep = (strength >= min_weight) & ~np.isin(targets, nodes)
        owner, targets, strength = owner[keep], targets[keep], strength[keep]
        order = np.lexsort((targets, -strength, owner))
        owner, targets, strength = owner[order], targets[order], strength[order]
        _, at = np.unique(targets, return_index=True)  # the first edge to each target
        at = np.sort(at)[: max_nodes + 1 - len(nodes)]
        parent = owner[at] + passed
        nodes = np.concatenate((nodes, targets[at]))
        parents = np.concatenate((parents, parent))
        weights = np.concatenate((weights, strength[at]))
        totals = np.concatenate((totals, totals[parent] + strength[at]))
        passed += len(front)
        block *= _BLOCK_GROWTH  # the order is that of leaving node by node
    return Visit(nodes, parents, weights, totals)


def search(
    neighbors: Neighbors,
    seeds: Iterable[int],
    is_document: Callable[[IntArray], BoolArray],
    overlap: Callable[[IntArray], FloatArray],
    similarity: Callable[[IntArray], FloatArray],
    parameters: Parameters,
) -> Found:
    """Search from all seeds, and score the documents that are reached.

    Parameters
    ----------
    neighbors : callable
    seeds : iterable of int
    is_document : callable
        Returns which nodes are documents.
    overlap, similarity : callable
        Return the share of the query's terms that documents hold, and their similarity to it.
    parameters : Parameters
    """
    p = parameters
    ends: dict[int, tuple[Visit, int]] = {}
    totals: dict[int, float] = {}
    for seed in seeds:
        visited = visit(neighbors, seed, max_nodes=p.max_nodes, min_weight=p.min_weight)
        for at in np.flatnonzero(is_document(visited.nodes)).tolist():
            document, total = int(visited.nodes[at]), float(visited.totals[at])
            if total > totals.get(document, -1.0):
                totals[document], ends[document] = total, (visited, at)
    documents = np.array(sorted(totals), np.int64)
    path_totals = np.array([totals[document] for document in documents.tolist()])
    graph = p.alpha * path_totals + p.beta * overlap(documents)
    highest = float(graph.max(initial=0.0)) or 1.0
    scores = (1 - p.mu) * similarity(documents) + p.mu * graph / highest
    order = np.lexsort((documents, -scores.round(9)))
    return Found(documents[order], scores[order], ends)
