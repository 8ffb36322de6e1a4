"""Spreading activation, learned edges included: the default."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hebbgraph.derived.parts import Derived
from hebbgraph.formulas.activation import Activation, SpreadingParameters, spread
from hebbgraph.formulas.adjacency import PlasticEdges
from hebbgraph.formulas.evidence import inhibit
from hebbgraph.formulas.learned_edges import GateOf
from hebbgraph.formulas.paths import Layer
from hebbgraph.formulas.relevance import NeuralRecall
from hebbgraph.graph.aliases import Aliases
from hebbgraph.recall.neural_edges import with_neural_edges
from hebbgraph.recall.strategies.base import UNKNOWN, Ranking, Request
from hebbgraph.settings import Settings
from hebbgraph.store.truth import Truth

__all__ = ["Spreading", "make"]

_NO_EMBEDDER = "dense search is off: the index has vectors, but was opened without the embedder"


class Spreading:
    """See :mod:`hebbgraph.formulas.activation`."""

    fills = True

    def __init__(
        self,
        parameters: SpreadingParameters,
        derived: Derived,
        neural: NeuralRecall,
        aliases: Aliases,
    ) -> None:
        self._aliases = aliases
        self._parameters = parameters
        self._neural = neural
        self._derived = derived

    def rank(self, request: Request) -> Ranking:
        """Return the most active chunks."""
        found = self.spread(request)
        slots, scores = found.top(request.k)
        question = request.question
        notes = []
        if not question.cues:
            notes.append(UNKNOWN)
        if question.vector is None and question.given is None and self._derived.has_embedding:
            notes.append(_NO_EMBEDDER)
        return Ranking(
            slots, scores, found.path, lambda: _passed_on(found.layers), notes=tuple(notes)
        )

    def spread(self, request: Request) -> Activation:
        """Spread activation, over learned edges too if the question brings any back."""
        cues = np.array(request.question.cues, dtype=np.int64)
        evidence, learned = request.evidence, request.question.learned
        # A tag that was only given entitles no chunk, so what it is lit with would be lost.
        known = request.graph.phrases.are_known(cues)
        if learned is None:
            return spread(
                request.graph,
                cues[known],
                evidence,
                parameters=self._parameters,
                allowed=request.allowed,
                plastic=self._plastic(request, None, evidence.of),
            )
        seen = learned.seen(evidence.approximate)
        learned = learned.recognised(seen)
        unwanted, factor = learned.inhibited()
        if len(unwanted):
            evidence = inhibit(evidence, unwanted, factor)
            seen = learned.seen(evidence.approximate)
        plastic = learned.edges(cues, evidence.approximate)
        if not known.all():  # unless it has learned
            known[~known] = plastic.has_learned(cues[~known])
        return spread(
            request.graph,
            cues[known],
            evidence,
            parameters=self._parameters,
            allowed=request.allowed,
            plastic=self._plastic(request, plastic, evidence.of),
            extra_seeds=learned.seeds(seen),
        )

    def _plastic(
        self, request: Request, plastic: PlasticEdges | None, evidence: GateOf
    ) -> PlasticEdges | None:
        aliases = self._aliases.edges(request.graph)
        if len(aliases):
            plastic = replace(plastic or PlasticEdges(), tag_to_tag=aliases)
        return with_neural_edges(self._derived, request.graph, self._neural, plastic, evidence)


def make(settings: Settings, truth: Truth, derived: Derived) -> Spreading:
    """Make the strategy."""
    aliases = Aliases(
        settings.aliases,
        weight=settings.alias_weight,
        language=settings.language,
        embed=derived.embed_phrases,
    )
    return Spreading(settings.recall, derived, settings.neural, aliases)


def _passed_on(layers: tuple[Layer, ...]) -> set[int]:
    return {
        node
        for layer in layers
        for nodes in (layer.seeds, layer.sources[0], layer.leaps[0])
        for node in nodes.tolist()
    }
