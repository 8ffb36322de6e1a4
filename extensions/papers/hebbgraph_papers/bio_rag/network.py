"""Bio-RAG's graph of documents and terms, densely wired, and ways to make it sparse.

Nodes that co-occur are joined; the weight of an edge grows by ``unit`` with each co-occurrence up
to ``ceiling`` ("neurons that fire together wire together", section 2.1). Documents are joined by
:func:`hebbgraph.formulas.communities.colony_weights`. The paper reports 2,027 nodes and 255,888
edges for 30 digested documents; :func:`dense_network` takes as many.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from hebbgraph.arrays import BoolArray, FloatArray, IntArray
from hebbgraph.errors import ParameterError
from hebbgraph.formulas.weighted_graph import WeightedGraph
from hebbgraph.records import Chunk
from hebbgraph.text import tokenize
from hebbgraph.text.query import function_words
from numpy.typing import NDArray

__all__ = [
    "PAPER_DIGESTED",
    "PAPER_EDGES",
    "PAPER_NODES",
    "EdgeJudge",
    "NumberedGraph",
    "TermNetwork",
    "TfIdf",
    "dense_network",
    "words_of",
]

PAPER_NODES, PAPER_EDGES, PAPER_DIGESTED = 2_027, 255_888, 30
_SHORTEST = 3
_LATENT = 48


def words_of(text: str) -> list[str]:
    """Return the content words of a text: letters only, three at least, in lower case.

    Examples
    --------
    >>> words_of("In 1958 the two strands of DNA were weighed.")
    ['two', 'strands', 'dna', 'weighed']
    """
    ignored = function_words("english")
    return [
        token
        for token in tokenize(text)
        if len(token) >= _SHORTEST and token.isalpha() and token not in ignored
    ]


class TfIdf:
    """The paper's lexical baseline: cosine of vectors ``tf * log(1 + N / df)``.

    Parameters
    ----------
    texts : sequence of str
    """

    def __init__(self, texts: Sequence[str]) -> None:
        counts = [Counter(words_of(text)) for text in texts]
        df = Counter(term for words in counts for term in words)
        self.terms = sorted(df)
        self._column = {term: at for at, term in enumerate(self.terms)}
        self._idf = np.array([math.log1p(len(texts) / df[term]) for term in self.terms])
        self.matrix: NDArray[np.float64] = np.zeros((len(texts), len(self.terms)))
        for row, words in enumerate(counts):
            for term, count in words.items():
                self.matrix[row, self._column[term]] = count
        self.matrix *= self._idf
        norms = np.linalg.norm(self.matrix, axis=1, keepdims=True)
        self.matrix /= np.where(norms > 0, norms, 1.0)

    def scores(self, query: str) -> NDArray[np.float64]:
        """Return the cosine of every text to the query."""
        vector = np.zeros(len(self.terms))
        for term, count in Counter(words_of(query)).items():
            if term in self._column:
                vector[self._column[term]] = count * self._idf[self._column[term]]
        norm = np.linalg.norm(vector)
        scores: NDArray[np.float64] = self.matrix @ (vector / norm if norm else vector)
        return scores

    def term_vectors(self) -> NDArray[np.float64]:
        """Return unit vectors of the terms in a latent space (LSA), a row a term."""
        _, values, rows = np.linalg.svd(self.matrix, full_matrices=False)
        vectors: NDArray[np.float64] = (rows * values[:, None])[:_LATENT].T
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors / np.where(norms > 0, norms, 1.0)


class NumberedGraph(WeightedGraph):
    """A weighted graph whose edges keep the numbers of their input order.

    Examples
    --------
    >>> graph = NumberedGraph(4, [0, 0, 2], [1, 2, 3], [0.5, 1.0, 0.2])
    >>> graph.edge(2, 0)
    1
    """

    @property
    def mean_degree(self) -> float:
        """Mean number of edges per node."""
        return 2 * len(self) / self.n_nodes if self.n_nodes else 0.0

    def edge(self, source: int, target: int) -> int:
        """Return the number of an edge.

        Raises
        ------
        ParameterError
            If there is no such edge.
        """
        edges = slice(self._indptr[source], self._indptr[source + 1])
        at = int(np.searchsorted(self._others[edges], target))
        if at == edges.stop - edges.start or self._others[edges][at] != target:
            raise ParameterError(f"no edge joins {source} and {target}")
        return int(self._numbers[edges][at])

    def subgraph(self, keep: BoolArray) -> NumberedGraph:
        """Return a graph of all nodes and the edges in ``keep``."""
        return NumberedGraph(
            self.n_nodes, self.sources[keep], self.targets[keep], self.weights[keep]
        )

    def copy(self) -> NumberedGraph:
        """Return a copy that can be modified independently."""
        return self.subgraph(np.ones(len(self), np.bool_))


@dataclass(frozen=True)
class TermNetwork:
    """A graph of documents (the first nodes) and terms.

    Attributes
    ----------
    graph : NumberedGraph
    n_documents : int
    labels : tuple of str
        Of the terms, in the order of their nodes.
    holdings : tuple of frozenset of str
        The content words of each document, digested or not.
    counts : ndarray of int64, shape (n_edges,)
        The number of co-occurrences of the two ends of each edge.
    """

    graph: NumberedGraph
    n_documents: int
    labels: tuple[str, ...]
    holdings: tuple[frozenset[str], ...]
    counts: NDArray[np.int64]

    @property
    def density(self) -> float:
        """Share of all possible edges that exist."""
        n = self.graph.n_nodes
        return 2 * len(self.graph) / (n * (n - 1)) if n > 1 else 0.0

    @property
    def between_terms(self) -> BoolArray:
        """Which edges join two terms."""
        return self.graph.sources >= self.n_documents

    def kept(self, keep: BoolArray) -> TermNetwork:
        """Return the network with some of its edges."""
        return replace(self, graph=self.graph.subgraph(keep), counts=self.counts[keep])

    def at(self, weight: float) -> TermNetwork:
        """Return the network with this weight on all edges."""
        same = self.kept(np.ones(len(self.graph), np.bool_))
        same.graph.weights[:] = weight
        return same

    def strongest(self, n_edges: int, *, seed: int = 0) -> TermNetwork:
        """Return the network with its ``n_edges`` strongest edges.

        Ties are drawn with ``seed``. Edges of documents come before those between terms, so that
        documents stay reachable.
        """
        shuffled = np.random.default_rng(seed).permutation(len(self.graph))
        order = np.lexsort((shuffled, -self.counts, self.between_terms))
        keep = np.zeros(len(self.graph), np.bool_)
        keep[order[:n_edges]] = True
        return self.kept(keep)

    def thinned(self, n_edges: int, *, seed: int = 0) -> TermNetwork:
        """Return the network without some edges between terms, drawn at random."""
        rng = np.random.default_rng(seed)
        keep = ~self.between_terms
        others = np.flatnonzero(self.between_terms)
        wanted = max(n_edges - int(keep.sum()), 0)
        keep[rng.permutation(others)[:wanted]] = True
        return self.kept(keep)

    def similar(self, vectors: FloatArray, *, above: float = 0.7) -> TermNetwork:
        """Return the network without the edges between dissimilar terms.

        The paper's sparse initialisation: a cosine above 0.7 *and* an overlap, which each
        edge of this network has by construction (section 5.4, 2).

        Parameters
        ----------
        vectors : ndarray of float, shape (n_terms, n_dimensions)
            Unit vectors of the terms.
        """
        sources = np.maximum(self.graph.sources - self.n_documents, 0)
        targets = np.maximum(self.graph.targets - self.n_documents, 0)
        cosine = np.einsum("ij,ij->i", vectors[sources], vectors[targets])
        return self.kept(~self.between_terms | (cosine > above))

    def judged(self, judge: EdgeJudge, *, batch: int = 50, at_most: int = 5_000) -> TermNetwork:
        """Return the network without edges between terms that a judge rejects.

        The paper's LLM-guided pruning (section 5.4, 4). The judge sees the strongest ``at_most``
        edges; weaker ones are dropped unseen.
        """
        small = self.strongest(at_most + int((~self.between_terms).sum()))
        at = np.flatnonzero(small.between_terms)
        keep = ~small.between_terms
        pairs = [
            (
                self.labels[small.graph.sources[edge] - self.n_documents],
                self.labels[small.graph.targets[edge] - self.n_documents],
            )
            for edge in at.tolist()
        ]
        for start in range(0, len(pairs), batch):
            page = pairs[start : start + batch]
            verdicts = list(judge(page))
            if len(verdicts) != len(page):
                raise ParameterError(
                    f"a judge gives one verdict a pair: {len(verdicts)} for {len(page)} pairs"
                )
            keep[at[start : start + batch]] = verdicts
        return small.kept(keep)


class EdgeJudge(Protocol):
    """Decides for pairs of terms whether they belong together."""

    def __call__(self, pairs: Sequence[tuple[str, str]], /) -> Sequence[bool]:
        """Return a verdict a pair."""
        ...


def dense_network(
    chunks: Sequence[Chunk],
    *,
    digested: Sequence[int] | None = None,
    n_nodes: int | None = PAPER_NODES,
    n_edges: int | None = PAPER_EDGES,
    unit: float = 0.1,
    ceiling: float = 1.0,
    pairs: Mapping[tuple[int, int], float] | None = None,
    seed: int = 0,
) -> TermNetwork:
    """Join documents and terms that co-occur.

    Two terms count once for each digested document with both, and once more for each such
    paragraph; a document and a term count each occurrence.

    Parameters
    ----------
    chunks : sequence of Chunk
        Documents.
    digested : sequence of int, optional
        The documents to wire; by default all. (In the paper 30 of 40.)
    n_nodes : int, optional
        Use the terms of most documents, up to so many nodes; None uses all.
    n_edges : int, optional
        Keep the strongest edges; None keeps all.
    unit, ceiling : float, positive
        Weight of one co-occurrence, and the highest to begin with.
    pairs : mapping of (document, document) to float, optional
        Weights of edges between documents.
    seed : int
        Breaks ties between edges.
    """
    wired = range(len(chunks)) if digested is None else digested
    texts = [f"{chunk.title}\n{chunk.text}" for chunk in chunks]
    paragraphs = [[words_of(part) for part in texts[at].split("\n")] for at in wired]
    bags = [Counter(word for words in parts for word in words) for parts in paragraphs]
    df = Counter(term for bag in bags for term in bag)
    total = Counter[str]()
    for bag in bags:
        total.update(bag)
    ranked = sorted(df, key=lambda term: (-df[term], -total[term], term))
    limit = None if n_nodes is None else max(n_nodes - len(chunks), 0)
    labels = sorted(ranked[:limit])
    number = {term: at for at, term in enumerate(labels)}
    first = len(chunks)
    keys, counts = _cooccurrence(paragraphs, number)
    smaller, larger = (end.astype(np.int64) + first for end in np.divmod(keys, len(labels)))
    occurrences = [
        (document, first + number[term], count)
        for document, bag in zip(wired, bags, strict=True)
        for term, count in bag.items()
        if term in number
    ]
    documents, terms, times = np.array(occurrences, np.int64).reshape(-1, 3).T
    joined = np.array([(*ends, 1) for ends in pairs or ()], np.int64).reshape(-1, 3).T
    all_counts = np.concatenate((counts, times, joined[2]))
    weights = np.concatenate(
        (
            np.minimum(unit * np.concatenate((counts, times)), ceiling),
            np.array(list((pairs or {}).values()), np.float64),
        )
    )
    network = TermNetwork(
        NumberedGraph(
            first + len(labels),
            np.concatenate((smaller, documents, joined[0])),
            np.concatenate((larger, terms, joined[1])),
            weights,
        ),
        first,
        tuple(labels),
        tuple(frozenset(words_of(text)) for text in texts),
        all_counts,
    )
    return network if n_edges is None else network.strongest(n_edges, seed=seed)


def _cooccurrence(
    paragraphs: Sequence[Sequence[Sequence[str]]], number: Mapping[str, int]
) -> tuple[IntArray, NDArray[np.int64]]:
    """Keys (smaller term times the number of terms, plus the larger) and counts."""
    n = max(len(number), 1)
    keys: list[NDArray[np.int64]] = []
    for parts in paragraphs:
        document = [word for words in parts for word in words]
        for words in (document, *parts):
            terms = np.unique([number[word] for word in words if word in number]).astype(np.int64)
            left, right = np.triu_indices(len(terms), k=1)
            keys.append(terms[left] * n + terms[right])
    if not keys:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    distinct, counts = np.unique(np.concatenate(keys), return_counts=True)
    return distinct, counts.astype(np.int64)
