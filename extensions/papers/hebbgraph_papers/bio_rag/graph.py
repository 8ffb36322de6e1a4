"""Bio-RAG's graph of documents and terms, densely wired, and ways to thin it out.

Nodes that co-occur are joined; an edge weighs 0.1 for each co-occurrence, up to 1 ("neurons
that fire together wire together"). Documents are joined by :func:`colony_weights`. The paper
reports 2,027 nodes and 255,888 edges of 30 digested documents; :func:`dense_graph` makes as many.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import BoolArray, FloatArray, IntArray
from hebbgraph.errors import ParameterError
from hebbgraph.text.query import function_words
from hebbgraph.text.tokens import tokenize

__all__ = ["TermGraph", "TfIdf", "colony_weights", "dense_graph", "document_edges", "words_of"]

#: Not in the paper: weights of similarity and of overlap, the factor for bridges between colonies,
#: and the similarity above which a bridge needs no shared term.
ALPHA, BETA, GAMMA, TAU = 0.5, 0.5, 0.5, 0.5
PAPER_NODES, PAPER_EDGES, PAPER_DIGESTED = 2_027, 255_888, 30
_UNIT, _CEILING, _SHORTEST, _LATENT = 0.1, 1.0, 3, 48
Edges = Mapping[tuple[int, int], float]
"""Weights by the numbers of two documents, the smaller first."""


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
    """The paper's lexical baseline: cosine of vectors ``tf * log(1 + N / df)``."""

    def __init__(self, texts: Sequence[str]) -> None:
        counts = [Counter(words_of(text)) for text in texts]
        df = Counter(term for words in counts for term in words)
        self.column = {term: at for at, term in enumerate(sorted(df))}
        self._idf = np.array([math.log1p(len(texts) / df[term]) for term in self.column])
        self.matrix = np.stack([self._vector(words) for words in counts])

    def _vector(self, words: Mapping[str, int]) -> NDArray[np.float64]:
        vector = np.zeros(len(self.column))
        for term, count in words.items():
            if term in self.column:
                vector[self.column[term]] = count
        vector *= self._idf
        unit: NDArray[np.float64] = vector / (np.linalg.norm(vector) or 1.0)
        return unit

    def scores(self, query: str) -> NDArray[np.float64]:
        """Return the cosine of each text to the query."""
        scores: NDArray[np.float64] = self.matrix @ self._vector(Counter(words_of(query)))
        return scores

    def term_vectors(self, terms: Sequence[str]) -> NDArray[np.float64]:
        """Return unit vectors of terms by latent semantic analysis, a row a term."""
        _, values, rows = np.linalg.svd(self.matrix, full_matrices=False)
        vectors: NDArray[np.float64] = (rows * values[:, None])[:_LATENT].T
        vectors = vectors[[self.column[term] for term in terms]]
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors / np.where(norms > 0, norms, 1.0)


def colony_weights(
    similarity: FloatArray, overlap: FloatArray, same: BoolArray
) -> NDArray[np.float64]:
    """Return the weights of edges between documents (section 2.1).

    ``w = ALPHA * similarity + BETA * overlap`` within a colony. Between colonies it is
    ``GAMMA * w`` if the documents share an entity or are more similar than ``TAU``, else 0.

    Parameters
    ----------
    similarity, overlap : ndarray of float, shape (n,), in [0, 1]
    same : ndarray of bool, shape (n,)
        Whether both documents are in one colony.

    Examples
    --------
    >>> same = np.array([True, False, False])
    >>> colony_weights(np.array([0.8, 0.8, 0.2]), np.array([0.2, 0.0, 0.0]), same).tolist()
    [0.5, 0.2, 0.0]
    """
    weight = ALPHA * similarity + BETA * overlap
    bridged = (overlap > 0) | (similarity > TAU)
    return np.where(same, weight, np.where(bridged, GAMMA * weight, 0.0))


def document_edges(tf_idf: TfIdf, *, seed: int = 0) -> dict[tuple[int, int], float]:
    """Return the edges between documents; Louvain finds the colonies, by similarity."""
    similarity = tf_idf.matrix @ tf_idf.matrix.T
    has_term = (tf_idf.matrix > 0).astype(np.float64)
    sizes = np.maximum(has_term.sum(axis=1), 1)
    overlap = has_term @ has_term.T / np.minimum(sizes[:, None], sizes)
    first, second = np.triu_indices(len(similarity), k=1)
    pairs = list(zip(first.tolist(), second.tolist(), strict=True))
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(len(similarity)))
    graph.add_weighted_edges_from((a, b, similarity[a, b]) for a, b in pairs)
    colonies = np.zeros(len(similarity), np.int64)
    for number, members in enumerate(nx.community.louvain_communities(graph, seed=seed)):
        colonies[list(members)] = number
    same = colonies[first] == colonies[second]
    weights = colony_weights(similarity[first, second], overlap[first, second], same)
    return {pair: w for pair, w in zip(pairs, weights.tolist(), strict=True) if w > 0}


@dataclass(frozen=True)
class TermGraph:
    """An undirected graph of documents (the first nodes) and terms.

    Attributes
    ----------
    n_documents : int
    labels : tuple of str
        Of the terms, in the order of their nodes.
    holdings : tuple of frozenset of str
        The content words of each document, digested or not.
    sources, targets : ndarray of int64, shape (n_edges,)
        The smaller and the larger end of each edge.
    weights : ndarray of float64, shape (n_edges,)
        Learning changes them in place.
    counts : ndarray of int64, shape (n_edges,)
        Co-occurrences of both ends.
    """

    n_documents: int
    labels: tuple[str, ...]
    holdings: tuple[frozenset[str], ...]
    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    weights: NDArray[np.float64]
    counts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.sources)

    @property
    def between_terms(self) -> BoolArray:
        """Which edges join two terms."""
        return self.sources >= self.n_documents

    @cached_property
    def _rows(self) -> tuple[IntArray, IntArray, IntArray]:
        """Starts of the nodes, and per end of an edge the other end and the edge's number."""
        ends = np.concatenate((self.sources, self.targets))
        others = np.concatenate((self.targets, self.sources))
        order = np.lexsort((others, ends))
        n = self.n_documents + len(self.labels)
        starts = np.searchsorted(ends[order], np.arange(n + 1))
        return starts, others[order], order % max(len(self), 1)

    def neighbors(self, nodes: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
        """Return (position in ``nodes``, neighbor, weight)."""
        starts, others, numbers = self._rows
        counts = starts[nodes + 1] - starts[nodes]
        owner = np.repeat(np.arange(len(nodes)), counts)
        at = np.arange(len(owner)) + (starts[nodes] - np.cumsum(counts) + counts)[owner]
        return owner, others[at], self.weights[numbers[at]]

    def edge(self, first: int, second: int) -> int:
        """Return the number of the edge between two nodes."""
        starts, others, numbers = self._rows
        edges = slice(starts[first], starts[first + 1])
        return int(numbers[edges][np.searchsorted(others[edges], second)])

    # -- other graphs of the same nodes -------------------------------------------------------

    def kept(self, keep: BoolArray) -> TermGraph:
        """Return the graph with some of its edges, and weights of its own."""
        return replace(
            self,
            sources=self.sources[keep],
            targets=self.targets[keep],
            weights=self.weights[keep],
            counts=self.counts[keep],
        )

    def strongest(self, n_edges: int, *, seed: int = 0) -> TermGraph:
        """Return the graph with its strongest edges; ties are drawn.

        Edges of documents come before those between terms, so that documents stay reachable.
        """
        drawn = np.random.default_rng(seed).permutation(len(self))
        order = np.lexsort((drawn, -self.counts, self.between_terms))
        keep = np.zeros(len(self), np.bool_)
        keep[order[:n_edges]] = True
        return self.kept(keep)

    def similar(self, vectors: FloatArray, *, above: float = 0.7) -> TermGraph:
        """Return the graph without edges between terms whose cosine is no higher than ``above``.

        ``vectors`` are of unit length, a row a term. All edges overlap, as section 5.4, 2 wants.
        """
        first = np.maximum(self.sources - self.n_documents, 0)
        second = np.maximum(self.targets - self.n_documents, 0)
        cosines = np.einsum("ij,ij->i", vectors[first], vectors[second])
        return self.kept(~self.between_terms | (cosines > above))

    def judged(self, judge: Callable[[str, str], bool], *, at_most: int = 5_000) -> TermGraph:
        """Return the graph without edges between terms that a judge rejects.

        The judge, in the paper a language model (section 5.4, 4), sees the strongest edges;
        weaker ones are dropped unseen.
        """
        few = self.strongest(at_most + int((~self.between_terms).sum()))
        keep = ~few.between_terms
        for edge in np.flatnonzero(few.between_terms).tolist():
            first, second = few.sources[edge], few.targets[edge]
            n = few.n_documents
            keep[edge] = judge(few.labels[first - n], few.labels[second - n])
        return few.kept(keep)


def dense_graph(
    texts: Sequence[str],
    *,
    digested: Sequence[int] | None = None,
    n_nodes: int = PAPER_NODES,
    between: Edges | None = None,
) -> TermGraph:
    """Join documents and terms that co-occur.

    Two terms count once for each digested document with both, and once more for each such
    paragraph; a document and a term count each occurrence.

    Parameters
    ----------
    texts : sequence of str
    digested : sequence of int, optional
        The documents to wire; by default all. (In the paper 30 of 40.)
    n_nodes : int
        Terms are those of most documents, up to so many nodes with the documents.
    between : mapping, optional
        Edges between documents: those of digested ones are taken.
    """
    wired = list(range(len(texts)) if digested is None else digested)
    if n_nodes <= len(texts):
        raise ParameterError(f"n_nodes must exceed the {len(texts)} documents, got {n_nodes}")
    paragraphs = [[words_of(part) for part in texts[at].split("\n")] for at in wired]
    bags = [Counter(word for words in parts for word in words) for parts in paragraphs]
    df, total = Counter[str](), Counter[str]()
    for bag in bags:
        df.update(bag.keys())
        total.update(bag)
    ranked = sorted(df, key=lambda term: (-df[term], -total[term], term))
    labels = sorted(ranked[: n_nodes - len(texts)])
    node = {term: at for at, term in enumerate(labels, len(texts))}
    rows = [
        (at, node[term], count)
        for at, bag in zip(wired, bags, strict=True)
        for term, count in bag.items()
        if term in node
    ]
    pairs = {ends: w for ends, w in (between or {}).items() if set(ends) <= set(wired)}
    joined = np.array([(*ends, 1) for ends in pairs], np.int64).reshape(-1, 3)
    held = np.array(rows, np.int64).reshape(-1, 3)
    columns = np.concatenate((_cooccurrences(paragraphs, node), held, joined))
    weights = np.minimum(_UNIT * columns[:, 2], _CEILING)
    weights[len(columns) - len(joined) :] = list(pairs.values())
    holdings = tuple(frozenset(words_of(text)) for text in texts)
    first, second, counts = columns.T
    return TermGraph(len(texts), tuple(labels), holdings, first, second, weights, counts)


def _cooccurrences(
    paragraphs: Sequence[Sequence[Sequence[str]]], node: Mapping[str, int]
) -> NDArray[np.int64]:
    """Return (smaller node, larger node, count) of terms, shape (n, 3)."""
    n, keys = max(node.values(), default=0) + 1, [np.empty(0, np.int64)]
    for parts in paragraphs:
        for words in ([word for part in parts for word in part], *parts):
            terms = np.unique(np.array([node[word] for word in words if word in node], np.int64))
            first, second = np.triu_indices(len(terms), k=1)
            keys.append(terms[first] * n + terms[second])
    distinct, counts = np.unique(np.concatenate(keys), return_counts=True)
    return np.stack((distinct // n, distinct % n, counts), axis=1)
