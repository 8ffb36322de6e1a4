"""What a trained neural layer adds to recalls that spread."""

from __future__ import annotations

from dataclasses import replace

from hebbgraph.derived.parts import Derived
from hebbgraph.formulas.adjacency import PlasticEdges
from hebbgraph.formulas.learned_edges import GateOf, LearnedEdges
from hebbgraph.formulas.relevance import NeuralRecall
from hebbgraph.graph.neural_layer import LayerInGraph
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.vectors.table import VectorTable

__all__ = ["layer_of", "propagated_vectors", "with_neural_edges"]

#: Of a chunk, the strongest neural edges that spreading follows: further ones carry little.
_FAN_OUT = 16


def layer_of(derived: Derived, graph: TagGraph) -> LayerInGraph | None:
    """Return the trained layer in the numbers of a graph; None if no layer applies."""
    return derived.neural.in_graph(graph, derived.embedding, derived.feedback, fan_out=_FAN_OUT)


def propagated_vectors(
    derived: Derived, graph: TagGraph, settings: NeuralRecall
) -> VectorTable | None:
    """Return the propagated vectors, if settings ask for them and they exist."""
    own = derived.vectors
    layer = layer_of(derived, graph) if settings.propagated and own else None
    return None if layer is None or own is None else derived.neural.table(layer, own)


def with_neural_edges(
    derived: Derived,
    graph: TagGraph,
    settings: NeuralRecall,
    plastic: PlasticEdges | None,
    evidence: GateOf,
) -> PlasticEdges | None:
    """Add neural edges to the learned ones, if settings ask for them.

    Like learned pairs, they are gated by the direct evidence of their target.
    """
    layer = layer_of(derived, graph) if settings.edge_gain else None
    if layer is None or not len(layer.edges):
        return plastic
    neural = LearnedEdges([layer.edges], gain=settings.edge_gain, gate=evidence)
    if plastic is None:
        return PlasticEdges(chunk_to_chunk=neural)
    both = LearnedEdges([plastic.chunk_to_chunk, neural])
    return replace(plastic, chunk_to_chunk=both)
