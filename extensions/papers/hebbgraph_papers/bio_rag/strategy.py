"""Bio-RAG's recall as a strategy: breadth-first search over the tags and chunks of an index.

The edge between two tags weighs 0.1 for each chunk that holds both, up to 1; a chunk's edge to its
own title weighs 1, to its other tags 0.5. The paper gives neither number. This strategy ignores
what an index has learned; the paper's learning is in :mod:`hebbgraph_papers.bio_rag.learning`.
"""

from __future__ import annotations

import threading

import numpy as np
from hebbgraph.arrays import BoolArray, FloatArray, IntArray
from hebbgraph.formulas.paths import Path, PathNode
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.namespace import Namespace
from hebbgraph.recall.strategies import Ranking, Request
from hebbgraph.text import tokenize
from hebbgraph.text.query import function_words
from numpy.typing import NDArray

from hebbgraph_papers.bio_rag.formulas import (
    BreadthFirstParameters,
    Labels,
    path_to,
    search,
)

__all__ = ["BreadthFirst", "TagChunkGraph"]

_NO_SEED = "no label of the index contains a word of the query: nothing was searched"
_MAX_TERMS = 16
#: Weight that each shared chunk adds to the edge between two tags.
_UNIT = 0.1
#: Weight of the edge between a chunk and a tag that is not its title.
_MENTION = 0.5
#: Ignore tags of more chunks: unlike an index, the paper's graph is small.
_MAX_DF = 200
#: Shorter words select no seeds, as too many labels contain them.
_SHORTEST_WORD = 3


class TagChunkGraph:
    """The graph of tags and chunks as breadth-first search walks it.

    Tags keep their numbers; chunks follow, at their slot plus ``first_chunk``.

    Parameters
    ----------
    graph : TagGraph
    allowed : ndarray of bool, shape (n_slots,)
        Chunks to search.
    """

    def __init__(self, graph: TagGraph, allowed: BoolArray) -> None:
        self.first_chunk = len(graph.phrases)
        self._graph = graph
        self._allowed = allowed

    def neighbours(self, nodes: NDArray[np.int64]) -> tuple[IntArray, IntArray, FloatArray]:
        """Return (position in ``nodes``, neighbour, weight)."""
        is_tag = nodes < self.first_chunk
        at_tags, at_chunks = np.flatnonzero(is_tag), np.flatnonzero(~is_tag)
        tags, chunks = nodes[at_tags], nodes[at_chunks] - self.first_chunk
        parts = [self._of_chunks(at_chunks, chunks)]
        parts += self._of_tags(at_tags, tags)
        owner, target, weight = (np.concatenate(column) for column in zip(*parts, strict=True))
        n_nodes = self.first_chunk + self._graph.n_slots
        keys, position = np.unique(owner * n_nodes + target, return_inverse=True)
        summed = np.bincount(position, weight, len(keys)).astype(np.float64)
        return keys // n_nodes, keys % n_nodes, summed

    def _takes_part(self, tags: IntArray) -> BoolArray:
        df = self._graph.df(tags)
        mask: BoolArray = (df > 0) & (df <= _MAX_DF)
        return mask

    def _of_chunks(
        self, at: IntArray, chunks: IntArray
    ) -> tuple[IntArray, IntArray, NDArray[np.float64]]:
        owner, tags, is_title = self._graph.tags_of(chunks)
        keep = self._takes_part(tags)
        owner, tags, is_title = owner[keep], tags[keep], is_title[keep]
        return at[owner], tags.astype(np.int64), np.where(is_title, 1.0, _MENTION)

    def _of_tags(
        self, at: IntArray, tags: IntArray
    ) -> list[tuple[IntArray, IntArray, NDArray[np.float64]]]:
        known = np.flatnonzero(self._takes_part(tags))
        owner, chunks, is_title = self._graph.chunks_of(tags[known])
        keep = self._allowed[chunks]
        tag, chunks, is_title = tags[known[owner[keep]]], chunks[keep], is_title[keep]
        owner = at[known[owner[keep]]]
        to_chunks = (
            owner,
            chunks.astype(np.int64) + self.first_chunk,
            np.where(is_title, 1.0, _MENTION),
        )
        place, others, _ = self._graph.tags_of(chunks)
        keep = self._takes_part(others) & (others != tag[place])
        owner, others = owner[place[keep]], others[keep].astype(np.int64)
        pairs, counts = np.unique(owner * self.first_chunk + others, return_counts=True)
        owner, others = pairs // self.first_chunk, pairs % self.first_chunk
        weights = np.minimum(_UNIT * counts, 1.0)
        return [to_chunks, (owner, others, weights)]


class BreadthFirst:
    """The strategy of :mod:`hebbgraph_papers.bio_rag.formulas`.

    Parameters
    ----------
    namespace : Namespace
        ``index.parts``.
    parameters : BreadthFirstParameters, optional
    """

    name = "breadth_first"
    pads = False

    def __init__(
        self, namespace: Namespace, parameters: BreadthFirstParameters | None = None
    ) -> None:
        self._parameters = parameters or BreadthFirstParameters()
        self._derived = namespace.derived
        self._language = namespace.settings.language
        self._labels: tuple[TagGraph, int, Labels] | None = None
        self._labelling = threading.Lock()

    def rank(self, request: Request) -> Ranking:
        """Return the chunks that the search reaches, by the paper's final score."""
        graph = request.graph
        seeds = self._seeds(graph, request.question.query)
        nodes = TagChunkGraph(graph, request.allowed)
        first, terms = nodes.first_chunk, list(request.question.terms)
        result = search(
            nodes.neighbours,
            seeds,
            lambda reached: reached >= first,
            lambda chunks: self._overlap(graph, terms, chunks - first),
            lambda chunks: request.evidence.values_of(chunks - first),
            self._parameters,
        )
        slots = result.documents - first

        def path(slot: int) -> Path:
            expansion, end = result.end_of_path(slot + first)
            weight = dict(zip(expansion.nodes.tolist(), expansion.weights.tolist(), strict=True))
            return tuple(
                PathNode("tag", node, weight[node])
                if node < first
                else PathNode("chunk", node - first, weight[node])
                for node in path_to(expansion, end)
            )

        order = np.argsort(-result.scores, kind="stable")
        return Ranking(
            slots[order],
            result.scores[order],
            path,
            lambda: slots.tolist(),
            notes=() if seeds else (_NO_SEED,),
        )

    def _seeds(self, graph: TagGraph, query: str) -> list[int]:
        """Return the tags whose label contains a word of the query, in the order of the words."""
        ignored = function_words(self._language)
        tokens = tokenize(query)
        words = [token for token in tokens if token not in ignored] or tokens
        labels = self._labels_of(graph)
        seeds: dict[int, None] = {}
        for word in dict.fromkeys(words[:_MAX_TERMS]):
            if len(word) >= _SHORTEST_WORD:
                seeds.update(dict.fromkeys(labels.containing(word).tolist()))
        numbers = np.array(list(seeds), dtype=np.int64)
        return numbers[graph.df(numbers) > 0].tolist() if len(numbers) else []

    def _labels_of(self, graph: TagGraph) -> Labels:
        with self._labelling:
            cached = self._labels
            if cached is None or cached[0] is not graph or cached[1] != graph.generation:
                # Includes labels that no live chunk holds; _seeds drops them.
                cached = (graph, graph.generation, Labels(graph.phrases.keys))
                self._labels = cached
            return cached[2]

    def _overlap(
        self, graph: TagGraph, terms: list[str], slots: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the share of the query's terms that each chunk holds."""
        counts, terms = np.zeros(len(slots)), terms[:_MAX_TERMS]
        if not len(slots) or not terms:
            return counts
        rows = graph.rows[slots]
        order = np.argsort(rows)
        for term in terms:
            matches, _ = self._derived.lexical.search([term], len(rows), only=rows.tolist())
            counts[order[np.searchsorted(rows[order], matches)]] += 1.0
        overlap: NDArray[np.float64] = counts / len(terms)
        return overlap
