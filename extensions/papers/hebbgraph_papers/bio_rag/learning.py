"""Bio-RAG's learning: paths to relevant documents gain weight, all other edges decay [1]_.

References
----------
.. [1] Phago Research Group (2026), Bio-RAG, section 2.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hebbgraph_papers.bio_rag.network import NumberedGraph
from hebbgraph_papers.bio_rag.search import GraphSearch, Ranked

__all__ = ["Learning", "learn_round", "reinforced"]

_DEPTH = 10
_HIGHEST_GRADE = 3.0


@dataclass(frozen=True, slots=True)
class Learning:
    """How the loop learns; the paper gives no numbers.

    Parameters
    ----------
    learning_rate : float, in (0, 1]
        The paper's η.
    decay : float, in [0, 1)
        The paper's λ, per round, for edges that no path of the round used.
    decay_growth : float, at least 1
        Factor by which ``decay`` grows each round.
    w_max : float
        The largest weight; infinite in the paper.
    inhibition : float, in [0, 1]
        Negative relevance of a document that was shown and is not relevant; 0 in the
        paper. Weights stay at 0 or above.
    prune_after : int, optional
        Cut edges that no successful path has used, after so many rounds.
    stream : sequence of int, optional
        The queries of a round, by number, repeats allowed; by default each once.
    """

    learning_rate: float = 0.1
    decay: float = 0.01
    decay_growth: float = 1.0
    w_max: float = np.inf
    inhibition: float = 0.0
    prune_after: int | None = None
    stream: Sequence[int] | None = None


def reinforced(
    weight: NDArray[np.float64],
    relevance: NDArray[np.float64],
    length: NDArray[np.float64],
    *,
    learning_rate: float,
    w_max: float = 1.0,
) -> NDArray[np.float64]:
    """Return ``w + learning_rate * relevance / path length``, clipped to [0, w_max].

    The paper's reinforcement is unbounded. Clipping and negative relevance are ours.

    Parameters
    ----------
    weight : ndarray of float64, shape (n_edges,), in [0, w_max]
    relevance : ndarray of float64, shape (n_edges,), in [-1, 1]
        The paper's Δ.
    length : ndarray of float64, shape (n_edges,), at least 1
        The number of edges on the path.
    learning_rate : float, in (0, 1]
    w_max : float

    Examples
    --------
    >>> one = np.ones(1)
    >>> reinforced(0.5 * one, one, 2 * one, learning_rate=0.1)
    array([0.55])
    """
    return np.clip(weight + learning_rate * relevance / length, 0.0, w_max)


def learn_round(
    search: GraphSearch,
    lessons: Iterable[tuple[Mapping[int, int], Ranked]],
    learning: Learning,
    *,
    number: int = 0,
    used: set[int] | None = None,
) -> set[int]:
    """Learn from one round of answers; modifies the weights of the network.

    Parameters
    ----------
    search : GraphSearch
    lessons : iterable of (mapping of int to int, Ranked)
        For each query, the grades of documents by number, and the search result.
    learning : Learning
    number : int
        The round, from 0; decay may grow with it.
    used : set of int, optional
        Edges that successful paths have used so far; those of this round are added.

    Returns
    -------
    set of int
        The edges that gained.
    """
    graph = search.network.graph
    gained = _reinforce(graph, lessons, learning)
    so_far = gained if used is None else used
    so_far |= gained
    _decay(graph, gained, 1 - (1 - learning.decay) ** (learning.decay_growth**number))
    if learning.prune_after == number + 1:
        _cut_unused(search, so_far)
    return gained


def _reinforce(
    graph: NumberedGraph, lessons: Iterable[tuple[Mapping[int, int], Ranked]], learning: Learning
) -> set[int]:
    """Reinforce the paths of one round; return the edges that gained."""
    gained: set[int] = set()
    for grades, ranked in lessons:
        for document in ranked.documents[:_DEPTH].tolist():
            relevance = grades.get(document, 0) / _HIGHEST_GRADE or -learning.inhibition
            path = ranked.path(document) if relevance else []
            edges = np.array([graph.edge(*ends) for ends in pairwise(path)], np.int64)
            if not len(edges):
                continue
            graph.weights[edges] = reinforced(
                graph.weights[edges],
                np.full(len(edges), relevance),
                np.full(len(edges), float(len(edges))),
                learning_rate=learning.learning_rate,
                w_max=learning.w_max,
            )
            if relevance > 0:
                gained.update(edges.tolist())
    return gained


def _decay(graph: NumberedGraph, gained: set[int], decay: float) -> None:
    idle = np.ones(len(graph), np.bool_)
    idle[list(gained)] = False
    graph.weights[idle] *= 1 - decay


def _cut_unused(search: GraphSearch, used: set[int]) -> None:
    """Cut edges between terms that no successful path has used."""
    keep = ~search.network.between_terms
    keep[list(used)] = True
    search.network = search.network.kept(keep)
