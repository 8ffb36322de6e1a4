"""BambooKG's recall as a strategy."""

from __future__ import annotations

import numpy as np

from hebbgraph.derived.parts import Derived
from hebbgraph.formulas.activation import SpreadingParameters
from hebbgraph.formulas.neighbourhood import FixedTagGraph, retrieved_edges, supporting_chunks
from hebbgraph.formulas.paths import Path, PathNode
from hebbgraph.recall.strategies.base import Ranking, Request
from hebbgraph.settings import Settings
from hebbgraph.store.truth import Truth

__all__ = ["Neighbourhood", "make"]

_NOT_LEARNED = "not learned: the index knows none of the query's concepts"


class Neighbourhood:
    """See :mod:`hebbgraph.formulas.neighbourhood`."""

    fills = False

    def __init__(self, parameters: SpreadingParameters) -> None:
        self._parameters = parameters

    def rank(self, request: Request) -> Ranking:
        """Return the chunks that support the retrieved edges, by how many."""
        graph, cues = request.graph, request.question.cues
        cut = self._parameters.hub_cut(graph.n_chunks)
        fixed = FixedTagGraph(graph, request.allowed, graph.phrases.order, hub_cut=cut)
        edges = retrieved_edges(fixed, np.array(cues, dtype=np.int64))
        context = supporting_chunks(fixed, edges)
        order = np.argsort(-context.n_edges, kind="stable")
        edge_of = dict(zip(context.chunks.tolist(), context.edge.tolist(), strict=True))
        first_edge_to: dict[int, int] = {}
        for source, target in edges.tolist():
            first_edge_to.setdefault(target, source)

        def path(slot: int) -> Path:
            source, target = edges[edge_of[slot]].tolist()
            tags = [source, target]
            if source not in cues:
                tags.insert(0, first_edge_to[source])
            nodes = [PathNode("tag", tag, 0.0) for tag in tags]
            return (*nodes, PathNode("chunk", slot, 1.0))

        scores = context.n_edges[order].astype(np.float64)
        notes = () if cues else (_NOT_LEARNED,)
        return Ranking(context.chunks[order], scores, path, notes=notes)


def make(settings: Settings, truth: Truth, derived: Derived) -> Neighbourhood:
    """Make the strategy."""
    return Neighbourhood(settings.recall)
