"""NAKG's recall as a strategy: relevance in three parts over propagated vectors."""

from __future__ import annotations

import numpy as np
from hebbgraph.errors import NotFoundError, ParameterError
from hebbgraph.formulas.paths import Path, PathNode
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.namespace import Namespace
from hebbgraph.recall.masks import PassingChunks
from hebbgraph.recall.search import lexical_search
from hebbgraph.recall.strategies import Ranking, Request
from hebbgraph.text import lexical_terms, tokenize
from hebbgraph.text.query import function_words
from numpy.typing import NDArray

from hebbgraph_papers.nakg.index_layer import require_training
from hebbgraph_papers.nakg.layer import LayerInGraph
from hebbgraph_papers.nakg.layer_file import LayerFile
from hebbgraph_papers.nakg.relevance import (
    NeuralRecall,
    rank_decay,
    relevance,
    separate_scores,
    term_presence,
    word_order,
)

__all__ = ["Neural"]


class Neural:
    """The strategy of :mod:`hebbgraph_papers.nakg.relevance`.

    Candidates are the chunks nearest to the question by propagated vectors and the best
    of lexical search. Chunks added since training take part with their own vectors.

    Parameters
    ----------
    namespace : Namespace
        ``index.parts``.
    parameters : NeuralRecall, optional
    """

    name = "neural"
    pads = False

    def __init__(self, namespace: Namespace, parameters: NeuralRecall | None = None) -> None:
        self._parameters = parameters or NeuralRecall()
        self._layers = LayerFile.of(namespace)
        self._language = namespace.settings.language
        self._truth = namespace.truth
        self._derived = namespace.derived

    def rank(self, request: Request) -> Ranking:
        """Return the candidates by relevance.

        Raises
        ------
        MissingExtraError
            If there is no layer, and the packages for training are missing.
        NotFoundError
            If there is no valid layer.
        ParameterError
            If the question has no vector.
        """
        graph, question = request.graph, request.question
        layer = self._layers.in_graph(self._derived, graph)
        if layer is None:
            require_training('strategy "neural"')
            raise NotFoundError(
                "there is no neural layer for this index as it is; train one with "
                "hebbgraph_papers.nakg.train(index), or recall with another strategy"
            )
        vectors, vector = self._derived.vectors, question.vector
        if vectors is None or vector is None:
            raise ParameterError(
                "strategy 'neural' compares vectors; open the index with the embedder that it "
                "was built with"
            )
        if len(vector) != vectors.state.dimension:
            raise ParameterError(
                f"the index holds vectors of {vectors.state.dimension} numbers, "
                f"the question's has {len(vector)}"
            )
        table = self._layers.table(layer, vectors)
        by_meaning = self._nearest(layer, request)
        passing = PassingChunks(request.allowed)
        by_terms, _ = lexical_search(self._derived, graph, question.terms, passing)
        slots = np.union1d(by_meaning, by_terms[: self._parameters.candidates]).astype(np.int64)
        semantic = table.cosines(vector, graph.rows[slots])
        scores = self._scores(graph, question.query, slots, semantic)
        order = np.lexsort((slots, -scores))

        def path(slot: int) -> Path:
            return (PathNode("chunk", slot, float(scores[slots == slot][0])),)

        return Ranking(slots[order], scores[order], path)

    def _nearest(self, layer: LayerInGraph, request: Request) -> NDArray[np.int64]:
        vectors, vector = self._derived.vectors, request.question.vector
        assert vectors is not None
        assert vector is not None
        graph, table = request.graph, self._layers.table(layer, vectors)
        if not len(table.rows) or not graph.n_slots:
            return np.empty(0, dtype=np.int64)
        slots = np.minimum(np.searchsorted(graph.rows, table.rows), graph.n_slots - 1)
        allowed = (graph.rows[slots] == table.rows) & request.allowed[slots]
        positions = table.nearest(vector, self._parameters.candidates, allowed).positions
        return np.asarray(slots[positions], dtype=np.int64)

    def _scores(
        self,
        graph: TagGraph,
        query: str,
        slots: NDArray[np.int64],
        semantic: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        ignored = function_words(self._language)

        def terms_of(tokens: list[str]) -> list[str]:
            content = [token for token in tokens if token not in ignored]
            return lexical_terms(content, self._language)

        tokens = tokenize(query)
        query_terms = terms_of(tokens) or lexical_terms(tokens, self._language)
        distinct = list(dict.fromkeys(query_terms))
        rows = graph.rows[slots]
        terms, order = np.zeros(len(slots)), np.zeros(len(slots))
        for row, title, text in self._truth.texts(rows.tolist()):
            chunk_terms = terms_of([*tokenize(title), *tokenize(text)])
            at = int(np.searchsorted(rows, row))
            terms[at] = term_presence(distinct, chunk_terms)
            order[at] = word_order(query_terms, chunk_terms)
        relevant = relevance(terms, order, semantic, self._parameters)
        return rank_decay(separate_scores(relevant))
