"""Bio-RAG's learning: paths to relevant documents gain weight, all other edges decay (section 2.3).

``w + eta * relevance / (edges on the path)`` on a path to a relevant document, and ``(1 - lambda) *
w`` on every edge that no such path used in a round. The paper gives neither ``eta`` nor ``lambda``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hebbgraph_papers.bio_rag.graph import TermGraph, words_of
from hebbgraph_papers.bio_rag.search import SEEDS_PER_WORD, Found, Parameters, search

__all__ = ["Learning", "TermSearch", "learn_round"]

_DEPTH, _HIGHEST_GRADE = 10, 3.0


@dataclass(frozen=True, kw_only=True)
class Learning:
    """How a round of queries changes weights.

    Parameters
    ----------
    eta : float, in (0, 1]
        The learning rate.
    decay : float, in [0, 1)
        The paper's lambda: of edges that no successful path of the round used.
    decay_growth : float, at least 1
        The factor by which ``decay`` grows each round.
    w_max : float
        The highest weight; infinite in the paper.
    inhibition : float, in [0, 1]
        Negative relevance of a document that was shown and is not relevant; 0 in the paper, which
        proposes it. No weight falls below 0.
    prune_after : int, optional
        After so many rounds, edges between terms that no successful path has used are cut.
    """

    eta: float = 0.1
    decay: float = 0.01
    decay_growth: float = 1.0
    w_max: float = np.inf
    inhibition: float = 0.0
    prune_after: int | None = None


class TermSearch:
    """Bio-RAG's search over its own graph.

    Parameters
    ----------
    graph : TermGraph
        Replaced by another when edges are cut.
    similarity : callable
        Maps a query to the similarity of each document, in [0, 1].
    parameters : Parameters, optional
    """

    def __init__(
        self,
        graph: TermGraph,
        similarity: Callable[[str], NDArray[np.float64]],
        parameters: Parameters | None = None,
    ) -> None:
        self.graph = graph
        self.parameters = parameters or Parameters()
        self._similarity = similarity
        self._read: dict[str, tuple[list[int], NDArray[np.float64], NDArray[np.float64]]] = {}

    def search(self, query: str) -> Found:
        """Rank the documents that the graph reaches; ties by number."""
        if query not in self._read:
            words = list(dict.fromkeys(words_of(query)))
            held = [len(terms.intersection(words)) for terms in self.graph.holdings]
            seeds = [seed for word in words for seed in self._seeds(word)]
            overlap = np.array(held) / max(len(words), 1)
            self._read[query] = list(dict.fromkeys(seeds)), overlap, self._similarity(query)
        seeds, overlap, similarity = self._read[query]
        return search(
            self.graph.neighbors,
            seeds,
            lambda nodes: nodes < self.graph.n_documents,
            overlap.__getitem__,
            similarity.__getitem__,
            self.parameters,
        )

    def _seeds(self, word: str) -> list[int]:
        """Return the nodes of the shortest labels that contain a word."""
        labels = enumerate(self.graph.labels, self.graph.n_documents)
        found = sorted((len(label), node) for node, label in labels if word in label)
        return [node for _, node in found[:SEEDS_PER_WORD]]


def learn_round(
    searched: TermSearch,
    answers: Iterable[tuple[Mapping[int, int], Found]],
    learning: Learning,
    *,
    number: int,
    used: set[int],
) -> None:
    """Learn from one round of answers: changes the weights of the graph in place.

    Parameters
    ----------
    searched : TermSearch
    answers : iterable of (grades of documents by number, what was found)
    learning : Learning
    number : int
        The round, from 0.
    used : set of int
        Edges that successful paths have used so far; those of this round are added.
    """
    graph, weights = searched.graph, searched.graph.weights
    gained: set[int] = set()
    for grades, found in answers:
        for document in found.documents[:_DEPTH].tolist():
            relevance = grades.get(document, 0) / _HIGHEST_GRADE or -learning.inhibition
            nodes = [node for node, _ in found.path(document)]
            edges = [graph.edge(*ends) for ends in pairwise(nodes)] if relevance else []
            if edges:
                change = learning.eta * relevance / len(edges)
                weights[edges] = np.clip(weights[edges] + change, 0.0, learning.w_max)
            if relevance > 0:
                gained.update(edges)
    idle = np.ones(len(graph), np.bool_)
    idle[list(gained)] = False
    weights[idle] *= (1 - learning.decay) ** (learning.decay_growth**number)
    used |= gained
    if learning.prune_after == number + 1:
        keep = ~graph.between_terms
        keep[list(used)] = True
        searched.graph = graph.kept(keep)
