"""The default strategy over a trained layer: its edges, its vectors, or both."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hebbgraph.arrays import BoolArray
from hebbgraph.derived.parts import Derived
from hebbgraph.errors import ParameterError
from hebbgraph.formulas.evidence import Evidence
from hebbgraph.formulas.paths import Path, PathNode
from hebbgraph.namespace import Namespace
from hebbgraph.recall.masks import PassingChunks
from hebbgraph.recall.question import Question
from hebbgraph.recall.search import DirectSearch
from hebbgraph.recall.strategies import Ranking, Request
from hebbgraph.recall.strategies.spreading import Spreading
from hebbgraph.vectors.table import VectorTable

from hebbgraph_papers.nakg.layer import LayerInGraph
from hebbgraph_papers.nakg.layer_file import LayerFile

__all__ = ["NeuralSpreading"]

#: Neural edges are followed from this many of the best chunks.
_SOURCES = 16


class NeuralSpreading:
    """Spreading activation over a trained layer; without a valid layer, ``"spreading"``.

    Parameters
    ----------
    namespace : Namespace
        ``index.parts``.
    edge_gain : float, in [0, 1]
        Share of a chunk's activation that flows over its neural edges; 0 follows none.
    propagated : bool
        Whether dense search compares propagated vectors instead of the chunks' own.

    Examples
    --------
    >>> from hebbgraph import HebbianIndex
    >>> with HebbianIndex.open(":memory:") as index:
    ...     _ = index.add(["The Petrel is a schooner."])
    ...     recall = index.recall("petrel", strategy=NeuralSpreading(index.parts, edge_gain=0.1))
    >>> recall.strategy
    'neural_spreading'
    """

    name = "neural_spreading"
    pads = True

    def __init__(
        self, namespace: Namespace, *, edge_gain: float = 0.0, propagated: bool = False
    ) -> None:
        if not 0.0 <= edge_gain <= 1.0:
            raise ParameterError(f"edge_gain must lie in [0, 1], got {edge_gain!r}")
        self.edge_gain = edge_gain
        self.propagated = propagated
        self._spreading = Spreading(namespace)
        self._derived = namespace.derived
        self._layers = LayerFile.of(namespace)
        parts: Any = _PropagatedParts(namespace.derived, self._layers)
        self._search = DirectSearch(parts, namespace.settings.evidence, namespace.languages)

    def rank(self, request: Request) -> Ranking:
        """Return the most active chunks."""
        if self.propagated:

            def search(question: Question, allowed: BoolArray) -> Evidence:
                return self._search.evidence(request.graph, question, PassingChunks(allowed))

            request = replace(request, search=search)
        ranking = self._spreading.rank(request)
        layer = self._layers.in_graph(self._derived, request.graph) if self.edge_gain else None
        if layer is None or not len(layer.edges):
            return ranking
        return self._over_edges(request, ranking, layer)

    def _over_edges(self, request: Request, ranking: Ranking, layer: LayerInGraph) -> Ranking:
        """Pass activation from the best chunks over the neural edges, once.

        Direct evidence of the target gates what arrives, which joins its score as activation
        does (:mod:`hebbgraph.formulas.activation`).
        """
        best = ranking.pairs()[:_SOURCES]
        scores, total = dict(ranking.pairs()), sum(score for _, score in best) or 1.0
        owner, targets, weights = layer.edges.edges_from(np.array([slot for slot, _ in best]))
        gates = self.edge_gain * weights * request.evidence.values_of(targets)
        arrived: dict[int, float] = {}
        source_of: dict[int, int] = {}
        for at, slot, gate in zip(owner.tolist(), targets.tolist(), gates.tolist(), strict=True):
            if request.allowed[slot] and gate > 0:
                arrived[slot] = arrived.get(slot, 0.0) + best[at][1] / total * gate
                source_of.setdefault(slot, best[at][0])
        for slot, mass in arrived.items():
            activation = mass / (mass + self._spreading.parameters.half_saturation)
            if activation <= scores.get(slot, 0.0):
                del source_of[slot]
            scores[slot] = 1.0 - (1.0 - scores.get(slot, 0.0)) * (1.0 - activation)

        def path(slot: int) -> Path:
            if slot not in source_of:
                return ranking.path(slot)
            return (*ranking.path(source_of[slot]), PathNode("chunk", slot, scores[slot]))

        return ranking.reordered(
            sorted(scores.items(), key=lambda entry: -entry[1]),
            path=path,
            passed_on=lambda: {*ranking.passed_on(), *(slot for slot, _ in best)},
        )


class _PropagatedParts:
    """The derived parts of a namespace, with the propagated vectors of the layer."""

    def __init__(self, derived: Derived, layers: LayerFile) -> None:
        self._derived = derived
        self._layers = layers

    def __getattr__(self, name: str) -> object:
        return getattr(self._derived, name)

    @property
    def vectors(self) -> VectorTable | None:
        """The vectors that dense search compares."""
        vectors = self._derived.vectors
        layer = self._layers.in_graph(self._derived, self._derived.graph)
        return vectors if layer is None or vectors is None else self._layers.table(layer, vectors)
