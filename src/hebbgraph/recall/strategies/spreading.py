"""The default strategy: spreading activation, then what memory adds to it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hebbgraph.formulas.activation import Activation, spread
from hebbgraph.formulas.adjacency import EdgeSet
from hebbgraph.formulas.confidence import NOTHING_KNOWN
from hebbgraph.formulas.paths import Layer
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.namespace import Namespace
from hebbgraph.recall.naming import show_named, titled_by
from hebbgraph.recall.strategies import NO_CUE, Ranking, Request

__all__ = ["Spreading"]

_NO_EMBEDDER = "dense search is off: the index has vectors, but was opened without the embedder"
#: Least confidence if the question names the subject of a chunk, answered or not.
_NAMED = NOTHING_KNOWN + 0.05


class Spreading:
    """The strategy of :mod:`hebbgraph.formulas.activation`."""

    name = "spreading"
    pads = True

    def __init__(self, namespace: Namespace) -> None:
        settings = namespace.settings
        spreading = settings.spreading()
        self.parameters = replace(
            spreading, graph_weight=spreading.graph_weight * settings.evidence.graph
        )
        self._derived = namespace.derived
        self._aliases = namespace.aliases

    def rank(self, request: Request) -> Ranking:
        """Return the most active chunks."""
        activation = self.spread(request)
        slots, scores = activation.top(request.k)
        question = request.question
        confidence = self.confidence(request, activation)
        notes = []
        if not question.cues and len(slots) and not activation.remembered:
            notes.append(NO_CUE)
        if question.vector is None and question.seeds is None and self._derived.embedding:
            notes.append(_NO_EMBEDDER)
        return Ranking(
            slots,
            scores,
            activation.path,
            lambda: _passed_on(activation.layers),
            notes=tuple(notes),
            confidence=confidence,
            unlearned=activation.unlearned_score,
        )

    def confidence(self, request: Request, activation: Activation) -> float:
        """Return how sure it is that the corpus or a past question speaks of this question."""
        by_search = request.evidence.confidence
        if by_search is None:
            return 1.0
        named = _NAMED if activation.layers[0].credit.any() else 0.0
        known = 1.0 - (1.0 - by_search) * (1.0 - activation.remembered) * (1.0 - named)
        return known * activation.kept

    def spread(self, request: Request) -> Activation:
        """Spread activation, raise titles that the question names, then add what memory brings."""
        cues = np.array(request.question.cues, dtype=np.int64)
        weights, trust = request.question.cue_weights, request.question.cue_trust
        evidence, recollection = request.evidence, request.question.recollection
        by_search, share_held = evidence.confidence, evidence.share_held
        if by_search is None:  # words cannot match texts in another language
            by_search = share_held = 1.0
        # A tag that was only given to chunks is no title, so activation on it would be lost.
        known = request.graph.are_known(cues)
        activation = spread(
            request.graph,
            cues[known],
            evidence,
            parameters=self.parameters,
            allowed=request.allowed,
            aliases=self._alias_edges(request.graph),
            cue_weights=weights[known],
            cue_trust=trust[known],
            confidence=by_search,
            share_held=share_held,
        )
        activation = show_named(activation, request.graph, request.question, request.allowed)
        if recollection is None:
            return activation
        confidence = self.confidence(request, activation)
        titled = titled_by(request.graph, request.question)
        return recollection.added(activation, request.allowed, confidence, titled)

    def _alias_edges(self, graph: TagGraph) -> EdgeSet | None:
        edges = None if self._aliases is None else self._aliases.edges(graph)
        return edges if edges is not None and len(edges) else None


def _passed_on(layers: tuple[Layer, ...]) -> set[int]:
    return {
        node
        for layer in layers
        for nodes in (layer.seeds, layer.sources[0])
        for node in nodes.tolist()
    }
