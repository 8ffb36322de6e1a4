"""Bio-RAG's recall as published: from labels that hold a word of the query, in width."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hebbgraph_papers.bio_rag.formulas import (
    BreadthFirstParameters,
    Expansion,
    Labels,
    Reached,
    blend,
    expand,
    gather,
    hybrid_score,
    path_to,
)
from hebbgraph_papers.bio_rag.network import TermNetwork, words_of

__all__ = ["Found", "GraphSearch", "SimilarityTo"]

SimilarityTo = Callable[[str], NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class Found:
    """A ranking and the paths behind it."""

    documents: NDArray[np.int64]
    scores: NDArray[np.float64]
    expansions: Sequence[Expansion]
    reached: Reached

    def path(self, document: int) -> list[int]:
        """Return the nodes from a seed to a document on the strongest path."""
        at = int(np.searchsorted(self.reached.targets, document))
        expansion = self.expansions[self.reached.expansion[at]]
        return path_to(expansion, int(self.reached.position[at]))


@dataclass(frozen=True, slots=True)
class _Prepared:
    """What of a query does not depend on the weights."""

    seeds: tuple[int, ...]
    overlap: NDArray[np.float64]
    similarity: NDArray[np.float64]


class GraphSearch:
    """Bio-RAG's recall over a network of documents and terms.

    Parameters
    ----------
    network : TermNetwork
        Its weights are changed by :func:`~hebbgraph_papers.bio_rag.learning.learn_round`.
    similarity : callable
        From a query to the similarity of each document, in [0, 1].
    parameters : BreadthFirstParameters, optional
    """

    def __init__(
        self,
        network: TermNetwork,
        similarity: SimilarityTo,
        parameters: BreadthFirstParameters | None = None,
    ) -> None:
        self.network = network
        self.parameters = parameters or BreadthFirstParameters()
        self._similarity = similarity
        self._labels = Labels(network.labels)
        self._prepared: dict[str, _Prepared] = {}

    def search(self, query: str) -> Found:
        """Rank the documents that the graph reaches; ties by number."""
        ready = self._prepared.get(query) or self._prepare(query)
        p, first = self.parameters, self.network.n_documents
        expansions = [
            expand(
                self.network.graph.neighbours,
                seed,
                min_weight=p.min_weight,
                max_nodes=p.max_nodes,
            )
            for seed in ready.seeds
        ]
        reached = gather(expansions, lambda nodes: nodes < first, combine=p.combine)
        overlap, similarity = ready.overlap[reached.targets], ready.similarity[reached.targets]
        graph = hybrid_score(reached.totals, overlap, alpha=p.alpha, beta=p.beta)
        scores = np.asarray(blend(similarity, graph, mu=p.mu), np.float64)
        order = np.lexsort((reached.targets, -scores.round(9)))
        return Found(reached.targets[order], scores[order], expansions, reached)

    def _prepare(self, query: str) -> _Prepared:
        words = list(dict.fromkeys(words_of(query)))
        first = self.network.n_documents
        seeds: dict[int, None] = {}
        for word in words:
            for label in self._labels.containing(word):
                seeds.setdefault(first + int(label))
        overlap = [len(held.intersection(words)) for held in self.network.holdings]
        ready = _Prepared(
            tuple(seeds),
            np.array(overlap, np.float64) / max(len(words), 1),
            np.asarray(self._similarity(query), np.float64),
        )
        self._prepared[query] = ready
        return ready
