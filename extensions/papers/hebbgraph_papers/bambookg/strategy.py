"""BambooKG's recall as a strategy of an index."""

from __future__ import annotations

import numpy as np
from hebbgraph.formulas.paths import Path, PathNode
from hebbgraph.namespace import Namespace
from hebbgraph.recall.strategies import Ranking, Request

from hebbgraph_papers.bambookg.formulas import FixedTagGraph, retrieved_edges, supporting_chunks

__all__ = ["Neighbourhood"]

_NOT_LEARNED = "not learned: the index knows none of the query's concepts"


class Neighbourhood:
    """The strategy of :mod:`hebbgraph_papers.bambookg.formulas`.

    Parameters
    ----------
    namespace : Namespace
        ``index.parts``.
    """

    name = "neighbourhood"
    pads = False

    def __init__(self, namespace: Namespace) -> None:
        self._parameters = namespace.settings.spreading()

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
