"""The default strategy over a trained layer: its edges, its vectors, or both."""

from __future__ import annotations

from dataclasses import replace

from hebbgraph.arrays import BoolArray
from hebbgraph.errors import ParameterError
from hebbgraph.formulas.adjacency import GatedEdges, GateOf, PlasticEdges
from hebbgraph.formulas.evidence import Evidence
from hebbgraph.namespace import Namespace
from hebbgraph.recall.masks import Passing
from hebbgraph.recall.question import Question
from hebbgraph.recall.search import DirectSearch
from hebbgraph.recall.strategies import Ranking, Request
from hebbgraph.recall.strategies.spreading import Spreading
from hebbgraph.vectors.table import VectorTable

from hebbgraph_papers.nakg.layer_file import LayerFile

__all__ = ["NeuralSpreading"]


class NeuralSpreading(Spreading):
    """Spreading activation that reads what :func:`hebbgraph_papers.nakg.train` has learned.

    Without a layer that applies, it ranks as ``"spreading"`` does.

    Parameters
    ----------
    namespace : Namespace
        ``index.parts``.
    edge_gain : float, in [0, 1]
        Share of a chunk's activation that flows over its neural edges; 0 follows none.
    propagated : bool
        Whether dense search compares propagated vectors instead of the chunks' own.

    Raises
    ------
    ParameterError
        If ``edge_gain`` lies outside [0, 1].

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

    def __init__(
        self, namespace: Namespace, *, edge_gain: float = 0.0, propagated: bool = False
    ) -> None:
        if not 0.0 <= edge_gain <= 1.0:
            raise ParameterError(f"edge_gain must lie in [0, 1], got {edge_gain!r}")
        super().__init__(namespace)
        self.edge_gain = edge_gain
        self.propagated = propagated
        self._layers = LayerFile.of(namespace)
        self._search = _PropagatedSearch(namespace)

    def rank(self, request: Request) -> Ranking:
        """Return the most active chunks."""
        if not self.propagated:
            return super().rank(request)

        def search(question: Question, allowed: BoolArray) -> Evidence:
            return self._search.evidence(request.graph, question, Passing(allowed))

        return super().rank(replace(request, search=search))

    def edges(self, request: Request, evidence: GateOf) -> PlasticEdges | None:
        """Add the neural edges, gated by the direct evidence of their targets."""
        plastic = super().edges(request, evidence)
        layer = self._layers.in_graph(self._derived, request.graph) if self.edge_gain else None
        if layer is None or not len(layer.edges):
            return plastic
        neural = GatedEdges(layer.edges, self.edge_gain, evidence)
        return replace(plastic or PlasticEdges(), chunk_to_chunk=neural)


class _PropagatedSearch(DirectSearch):
    """Direct search that compares propagated vectors."""

    def __init__(self, namespace: Namespace) -> None:
        super().__init__(namespace.derived, namespace.settings.evidence, namespace.languages)
        self._layers = LayerFile.of(namespace)

    @property
    def vectors(self) -> VectorTable | None:
        """The vectors of the index, propagated where the layer knows the chunk."""
        own = super().vectors
        layer = self._layers.in_graph(self._derived, self._derived.graph)
        return own if layer is None or own is None else self._layers.table(layer, own)
