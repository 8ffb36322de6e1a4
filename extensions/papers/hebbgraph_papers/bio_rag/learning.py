"""One round of Bio-RAG's learning: reinforce the paths that led somewhere, let the rest decay.

The edges on the paths that led to relevant documents gain ``learning_rate * relevance / path
length`` and all others lose ``decay`` of their weight (section 2.3).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from hebbgraph_papers.bio_rag.network import NumberedGraph
from hebbgraph_papers.bio_rag.plasticity import LearningRule, bio_rag
from hebbgraph_papers.bio_rag.search import Found, GraphSearch

__all__ = ["Learning", "learn_round"]

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
        By which ``decay`` grows each round: a schedule that forgets faster and faster.
    w_max : float
        No weight grows beyond; infinite in the paper.
    inhibition : float, in [0, 1]
        Negative relevance of a document that was shown and is not relevant; 0 in the
        paper. Weights stay at 0 or above.
    prune_after : int, optional
        After so many rounds, edges that no successful path has used are cut.
    stream : sequence of int, optional
        Which queries a round asks, by number, repeats allowed; left out, each once.
    """

    learning_rate: float = 0.1
    decay: float = 0.01
    decay_growth: float = 1.0
    w_max: float = np.inf
    inhibition: float = 0.0
    prune_after: int | None = None
    stream: Sequence[int] | None = None
    rule: LearningRule = bio_rag


def learn_round(
    search: GraphSearch,
    lessons: Iterable[tuple[Mapping[int, int], Found]],
    learning: Learning,
    *,
    number: int = 0,
    used: set[int] | None = None,
) -> set[int]:
    """Learn from one round of answers; the weights of the network change.

    Parameters
    ----------
    search : GraphSearch
    lessons : iterable of (mapping of int to int, Found)
        For each query, the grades of documents by number, and what was found.
    learning : Learning
    number : int
        Of the round, from 0: decay may grow with it.
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
    graph: NumberedGraph, lessons: Iterable[tuple[Mapping[int, int], Found]], learning: Learning
) -> set[int]:
    """Apply the rule to the paths of one round; return the edges that gained."""
    gained: set[int] = set()
    for grades, found in lessons:
        for document in found.documents[:_DEPTH].tolist():
            credit = grades.get(document, 0) / _HIGHEST_GRADE or -learning.inhibition
            path = found.path(document) if credit else []
            edges = np.array([graph.edge(*ends) for ends in pairwise(path)], np.int64)
            if not len(edges):
                continue
            graph.weights[edges] = learning.rule(
                graph.weights[edges],
                np.full(len(edges), credit),
                np.full(len(edges), float(len(edges))),
                learning_rate=learning.learning_rate,
                w_max=learning.w_max,
                w_min=0.0,
            )
            if credit > 0:
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
