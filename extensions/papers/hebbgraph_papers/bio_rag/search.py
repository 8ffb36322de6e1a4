"""Bio-RAG's recall as published, over its own graph of documents and terms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hebbgraph_papers.bio_rag.formulas import (
    BreadthFirstParameters,
    Labels,
    SearchResult,
    path_to,
    search,
)
from hebbgraph_papers.bio_rag.network import TermNetwork, words_of

__all__ = ["GraphSearch", "Ranked", "SimilarityTo"]

SimilarityTo = Callable[[str], NDArray[np.float64]]


class Ranked(SearchResult):
    """Documents, best first."""

    def path(self, document: int) -> list[int]:
        """Return the nodes from a seed to a document on the strongest path."""
        return path_to(*self.end_of_path(document))


@dataclass(frozen=True, slots=True)
class _Query:
    """The part of a search that does not depend on the weights."""

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
        Maps a query to the similarity of each document, in [0, 1].
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
        self._queries: dict[str, _Query] = {}

    def search(self, text: str) -> Ranked:
        """Rank the documents that the graph reaches; ties by number."""
        query, first = self._query(text), self.network.n_documents
        result = search(
            self.network.graph.neighbours,
            query.seeds,
            lambda nodes: nodes < first,
            query.overlap.__getitem__,
            query.similarity.__getitem__,
            self.parameters,
        )
        order = np.lexsort((result.documents, -result.scores.round(9)))
        documents, scores = result.documents[order], result.scores[order]
        return Ranked(documents, scores, result.expansions, result.reached)

    def _query(self, text: str) -> _Query:
        if text not in self._queries:
            words = list(dict.fromkeys(words_of(text)))
            first = self.network.n_documents
            seeds = [first + int(at) for word in words for at in self._labels.containing(word)]
            overlap = [len(terms.intersection(words)) for terms in self.network.holdings]
            self._queries[text] = _Query(
                tuple(dict.fromkeys(seeds)),
                np.array(overlap, np.float64) / max(len(words), 1),
                np.asarray(self._similarity(text), np.float64),
            )
        return self._queries[text]
