"""Bio-RAG's recall as published: breadth-first search over weighted edges.

Seeds are the nodes whose label contains a word of the query. From each seed, a
breadth-first search follows edges of at least a minimum weight, the strongest of a node
first, until it has visited 200 nodes. A document it reaches scores ``alpha * (sum of
weights on the path) + beta * (term overlap)``, and finally ``(1 - mu) * similarity + mu *
score`` [1]_, sections 2.2 and 2.4.

The paper gives two numbers, 200 nodes and ``mu = 0.5``. It leaves open ``alpha`` and
``beta``; the minimum weight; whether labels contain words or words contain labels; which
path counts when several seeds reach a document; and how the sum of weights, which grows
with path length, is brought to the scale of a cosine. Our choices are in
:class:`BreadthFirstParameters`.

References
----------
.. [1] Phago Research Group (2026), Bio-RAG: Self-Reinforcing Knowledge Graph Retrieval
   Through Hebbian Learning.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from hebbgraph.arrays import BoolArray, FloatArray, IntArray
from hebbgraph.errors import ParameterError
from hebbgraph.formulas.parameters import check_range, former_fields
from numpy.typing import NDArray

__all__ = [
    "SEEDS_PER_WORD",
    "BreadthFirstParameters",
    "Expansion",
    "Labels",
    "NeighboursOf",
    "Reached",
    "SearchResult",
    "blend",
    "expand",
    "gather",
    "hybrid_score",
    "path_to",
    "search",
]

NeighboursOf: TypeAlias = Callable[[NDArray[np.int64]], tuple[IntArray, IntArray, FloatArray]]
"""Maps nodes to (position in them, neighbour, weight) of their edges."""

#: Seeds per word of the query: the shortest labels that contain it. The paper takes all labels of
#: its roughly 2,000 nodes; a vocabulary has too many.
SEEDS_PER_WORD = 8
_BLOCK_GROWTH = 4


@former_fields("seeds_per_word", "shortest_word", "unit", "mention", "max_df")
@dataclass(frozen=True, slots=True)
class BreadthFirstParameters:
    """The constants of Bio-RAG, with the paper's values where it gives any.

    Parameters
    ----------
    max_nodes : int, at least 1
        Nodes visited from one seed, not counting the seed. Paper: 200.
    mu : float, in [0, 1]
        Share of the graph in the final score. Paper: 0.5.
    alpha, beta : float, at least 0
        Weights of the path and of the term overlap. Not in the paper.
    min_weight : float, at least 0
        Weaker edges are not followed. Not in the paper.
    combine : {"best", "sum"}
        Whether the strongest path or the sum over all seeds counts. Not in the paper.

    Raises
    ------
    ParameterError
        If a value lies outside its range.
    """

    max_nodes: int = 200
    mu: float = 0.5
    alpha: float = 0.5
    beta: float = 0.5
    min_weight: float = 0.05
    combine: Literal["best", "sum"] = "best"

    def __post_init__(self) -> None:
        check_range(self, ("mu",), 0, 1)
        check_range(self, ("alpha", "beta", "min_weight"), 0)
        check_range(self, ("max_nodes",), 1)
        if self.combine not in ("best", "sum"):
            raise ParameterError(f"combine must be 'best' or 'sum', got {self.combine!r}")


class Expansion(NamedTuple):
    """The nodes visited from one seed, in order; the seed comes first.

    Attributes
    ----------
    nodes : ndarray of int64, shape (n,)
    parents : ndarray of int64, shape (n,)
        Position in ``nodes`` of each node's predecessor; -1 for the seed.
    weights : ndarray of float64, shape (n,)
        Weight of the edge from the predecessor; 0 for the seed.
    totals : ndarray of float64, shape (n,)
        Sum of the weights on the path from the seed.
    """

    nodes: NDArray[np.int64]
    parents: NDArray[np.int64]
    weights: NDArray[np.float64]
    totals: NDArray[np.float64]


class Reached(NamedTuple):
    """Documents reached from any seed, ascending.

    Attributes
    ----------
    targets : ndarray of int64, shape (n,)
    totals : ndarray of float64, shape (n,)
        Sum of the weights on the strongest path, or on the paths from all seeds.
    expansion, position : ndarray of int64, shape (n,)
        End of the strongest path: number of the expansion, and position in it.
    """

    targets: NDArray[np.int64]
    totals: NDArray[np.float64]
    expansion: NDArray[np.int64]
    position: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Documents reached, ascending, with their final scores and the paths to them."""

    documents: NDArray[np.int64]
    scores: NDArray[np.float64]
    expansions: Sequence[Expansion]
    reached: Reached

    def end_of_path(self, document: int) -> tuple[Expansion, int]:
        """Return the expansion of the strongest path to a document, and the position of its end."""
        at = int(np.searchsorted(self.reached.targets, document))
        return self.expansions[self.reached.expansion[at]], int(self.reached.position[at])


class Labels:
    """Node labels, searchable for substrings.

    Parameters
    ----------
    labels : iterable of str

    Examples
    --------
    >>> labels = Labels(["Protein folding", "DNA", "protein", "glycoprotein"])
    >>> labels.containing("protein", limit=2).tolist()
    [2, 3]
    """

    def __init__(self, labels: Iterable[str]) -> None:
        folded = [label.casefold().replace("\n", " ") for label in labels]
        self._text = "\n".join(folded)
        self._lengths = [len(label) for label in folded]
        self._starts = [0, *accumulate(length + 1 for length in self._lengths)]

    def containing(self, word: str, *, limit: int = SEEDS_PER_WORD) -> NDArray[np.int64]:
        """Return up to ``limit`` labels that contain a word, the shortest first."""
        word = word.casefold()
        matches: list[int] = []
        at = self._text.find(word) if word else -1
        while at >= 0:
            label = bisect_right(self._starts, at) - 1
            matches.append(label)
            at = self._text.find(word, self._starts[label + 1])
        matches.sort(key=lambda label: (self._lengths[label], label))
        return np.array(matches[:limit], dtype=np.int64)


def expand(
    neighbours: NeighboursOf, seed: int, *, min_weight: float = 0.05, max_nodes: int = 200
) -> Expansion:
    """Search breadth-first from one node, following the strongest edges of a node first.

    Parameters
    ----------
    neighbours : callable
    seed : int
    min_weight : float
        Weaker edges are not followed.
    max_nodes : int
        Stop after this many nodes, not counting the seed.

    Returns
    -------
    Expansion
        Ties between the edges of a node go to the smaller neighbour.

    Examples
    --------
    >>> from hebbgraph.formulas.weighted_graph import WeightedGraph
    >>> graph = WeightedGraph(5, [0, 0, 1, 0], [1, 2, 3, 4], [0.5, 0.9, 0.8, 0.01])
    >>> expansion = expand(graph.neighbours, 0)
    >>> expansion.nodes.tolist(), expansion.totals.round(1).tolist()
    ([0, 2, 1, 3], [0.0, 0.9, 0.5, 1.3])
    """
    nodes = np.array([seed], dtype=np.int64)
    parents = np.array([-1], dtype=np.int64)
    weights, totals = np.zeros(1), np.zeros(1)
    passed, block = 0, 1  # nodes expanded so far; nodes to expand at once
    while passed < len(nodes) <= max_nodes:
        frontier = nodes[passed : passed + block]
        owner, targets, strength = neighbours(frontier)
        keep = (strength >= min_weight) & ~np.isin(targets, nodes)
        owner, targets, strength = owner[keep], targets[keep], strength[keep]
        order = np.lexsort((targets, -strength, owner))
        owner, targets, strength = owner[order], targets[order], strength[order]
        _, at = np.unique(targets, return_index=True)  # the first edge to each target
        at.sort()
        at = at[: max_nodes + 1 - len(nodes)]
        parent = owner[at] + passed
        nodes = np.concatenate((nodes, targets[at].astype(np.int64)))
        parents = np.concatenate((parents, parent.astype(np.int64)))
        weights = np.concatenate((weights, strength[at]))
        totals = np.concatenate((totals, totals[parent] + strength[at]))
        passed += len(frontier)
        block *= _BLOCK_GROWTH  # blocks keep the order of expanding node by node
    return Expansion(nodes, parents, weights, totals)


def gather(
    expansions: Sequence[Expansion],
    is_target: Callable[[NDArray[np.int64]], BoolArray],
    *,
    combine: Literal["best", "sum"] = "best",
) -> Reached:
    """Merge the documents reached from all seeds.

    Parameters
    ----------
    expansions : sequence of Expansion
    is_target : callable
        Returns which nodes are documents.
    combine : {"best", "sum"}
    """
    parts = []
    for number, expansion in enumerate(expansions):
        at = np.flatnonzero(is_target(expansion.nodes))
        parts.append((expansion.nodes[at], expansion.totals[at], np.full(len(at), number), at))
    if not parts:
        nothing = np.empty(0, np.int64)
        return Reached(nothing, np.empty(0), nothing, nothing)
    nodes, totals, numbers, at = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((numbers, -totals, nodes))
    targets, first, counts = np.unique(nodes[order], return_index=True, return_counts=True)
    strongest = order[first]
    best = totals[strongest]
    if combine == "sum":
        best = np.bincount(
            np.repeat(np.arange(len(targets)), counts), totals[order], minlength=len(targets)
        )
    return Reached(targets, best, numbers[strongest], at[strongest])


def path_to(expansion: Expansion, position: int) -> list[int]:
    """Return the nodes on the path from the seed to ``position``.

    Examples
    --------
    >>> from hebbgraph.formulas.weighted_graph import WeightedGraph
    >>> graph = WeightedGraph(4, [0, 1], [1, 3], [0.5, 0.8])
    >>> path_to(expand(graph.neighbours, 0), 2)
    [0, 1, 3]
    """
    path: list[int] = []
    while position >= 0:
        path.append(int(expansion.nodes[position]))
        position = int(expansion.parents[position])
    return path[::-1]


def hybrid_score(
    totals: FloatArray, overlap: FloatArray, *, alpha: float = 0.5, beta: float = 0.5
) -> FloatArray:
    """Return ``alpha * totals + beta * overlap``, scaled to a maximum of 1.

    The paper does not scale; but its sum of weights is unbounded, so ``mu`` could not
    balance it against a similarity of at most 1.

    Parameters
    ----------
    totals : ndarray of float, shape (n,)
        Sum of the weights on the path to each document.
    overlap : ndarray of float, shape (n,), in [0, 1]
        Share of the query's terms that each document holds.

    Examples
    --------
    >>> hybrid_score(np.array([1.0, 3.0]), np.array([1.0, 1.0])).tolist()
    [0.5, 1.0]
    """
    score: FloatArray = alpha * totals + beta * overlap
    highest = score.max(initial=0.0)
    return score / highest if highest > 0 else score


def blend(similarity: FloatArray, graph: FloatArray, *, mu: float = 0.5) -> FloatArray:
    """Return ``(1 - mu) * similarity + mu * graph``.

    Examples
    --------
    >>> blend(np.array([0.5, 0.2]), np.array([0.0, 1.0])).tolist()
    [0.25, 0.6]
    """
    mixed: FloatArray = (1 - mu) * similarity + mu * graph
    return mixed


def search(
    neighbours: NeighboursOf,
    seeds: Iterable[int],
    is_target: Callable[[NDArray[np.int64]], BoolArray],
    overlap_of: Callable[[NDArray[np.int64]], FloatArray],
    similarity_of: Callable[[NDArray[np.int64]], FloatArray],
    parameters: BreadthFirstParameters,
) -> SearchResult:
    """Search from all seeds, and score the documents that are reached.

    Parameters
    ----------
    neighbours : callable
    seeds : iterable of int
    is_target : callable
        Returns which nodes are documents.
    overlap_of, similarity_of : callable
        Return the share of the query's terms that documents hold, and their similarity to it.
    parameters : BreadthFirstParameters
    """
    p = parameters
    expansions = [
        expand(neighbours, seed, min_weight=p.min_weight, max_nodes=p.max_nodes) for seed in seeds
    ]
    reached = gather(expansions, is_target, combine=p.combine)
    targets = reached.targets
    graph = hybrid_score(reached.totals, overlap_of(targets), alpha=p.alpha, beta=p.beta)
    scores = np.asarray(blend(similarity_of(targets), graph, mu=p.mu), np.float64)
    return SearchResult(targets, scores, expansions, reached)
