"""The trained neural layer as recalls read it: edges and vectors in arrays, without torch.

A layer refers to chunks by their database row. Rows are never reused, and a replaced chunk
gets a new one, so deleted and changed chunks are masked by row.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from hebbgraph.arrays import sum_by, unique_inverse
from hebbgraph.formulas.adjacency import EdgeSet
from hebbgraph.graph.tag_graph import TagGraph
from numpy.typing import NDArray

__all__ = ["LayerInGraph", "LayerStamp", "NeuralLayer", "strongest_edges"]

#: Spreading follows this many neural edges of a chunk, the strongest; others carry little.
_FAN_OUT = 16


@dataclass(frozen=True, kw_only=True)
class LayerStamp:
    """What a layer was trained on.

    Attributes
    ----------
    generation : int
        Generation of the database.
    embedder : str
        Name of the embedding model.
    epoch : int
        Increases when another embedding model takes over.
    feedback_used : int
        Number of feedbacks in the training data.
    feedback_removed : int
        Number of removals in the log at the time. After more removals, the layer may contain
        something that was to be forgotten, and is not used.
    mark : int or None
        Distinguishes the generation from the same number in another history of the database.
        None for layers of earlier versions; their rows and ids must match instead.
    """

    generation: int
    embedder: str
    epoch: int
    feedback_used: int = 0
    feedback_removed: int = 0
    mark: int | None = None


@dataclass(frozen=True)
class NeuralLayer:
    """Edges and propagated vectors of one namespace.

    Attributes
    ----------
    stamp : LayerStamp
    rows : ndarray of int64, shape (n,), ascending
        Rows of the chunks in the database.
    id_prefixes : ndarray of uint64, shape (n,)
        Prefixes of the chunk ids, to detect another database.
    vectors : ndarray of float16, shape (n, dimension), unit length
    clusters : ndarray of int32, shape (n,)
    sources, targets : ndarray of int32, shape (n_edges,)
        Positions in ``rows``.
    weights : ndarray of float32, shape (n_edges,), in [0, 1]
    report : dict
        Training report, as JSON.
    """

    stamp: LayerStamp
    rows: NDArray[np.int64]
    id_prefixes: NDArray[np.uint64]
    vectors: NDArray[np.float16]
    clusters: NDArray[np.int32]
    sources: NDArray[np.int32]
    targets: NDArray[np.int32]
    weights: NDArray[np.float32]
    report: dict[str, Any]

    def in_graph(self, graph: TagGraph) -> LayerInGraph:
        """Map the layer to the slots of a graph, masking chunks that no longer exist.

        The caller holds the lock on the graph.
        """
        slots = np.full(len(self.rows), -1, dtype=np.int64)
        if graph.n_slots and len(self.rows):
            at = np.minimum(np.searchsorted(graph.rows, self.rows), graph.n_slots - 1)
            exists = (graph.rows[at] == self.rows) & graph.alive[at]
            exists &= graph.id_prefixes[at] == self.id_prefixes
            slots[exists] = at[exists]
        return LayerInGraph(self, graph, graph.generation, slots)


@dataclass(frozen=True)
class LayerInGraph:
    """A layer mapped to the slots of one graph at one generation.

    Attributes
    ----------
    layer : NeuralLayer
    graph : TagGraph
    generation : int
    slots : ndarray of int64, shape (n,)
        Slot of each chunk of the layer; -1 if it was deleted or changed.
    """

    layer: NeuralLayer
    graph: TagGraph
    generation: int
    slots: NDArray[np.int64]

    def fits(self, layer: NeuralLayer, graph: TagGraph) -> bool:
        """Return whether this is still the current mapping of ``layer`` to ``graph``."""
        same = self.layer is layer and self.graph is graph
        return same and self.generation == graph.generation

    def counts(self) -> dict[str, int]:
        """Return the number of live chunks and edges, and the generation of training."""
        live = self.slots >= 0
        edges = live[self.layer.sources] & live[self.layer.targets]
        return {
            "chunks": int(np.count_nonzero(live)),
            "edges": int(np.count_nonzero(edges)),
            "generation": self.layer.stamp.generation,
        }

    @cached_property
    def edges(self) -> EdgeSet:
        """The edges that recalls follow: the strongest of each chunk, summing to at most 1."""
        sources, targets = self.slots[self.layer.sources], self.slots[self.layer.targets]
        live = (sources >= 0) & (targets >= 0)
        return strongest_edges(
            EdgeSet(sources[live], targets[live], self.layer.weights[live].astype(np.float64)),
            _FAN_OUT,
        )

    @cached_property
    def matrix(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Slots, ascending, and propagated vectors of the live chunks."""
        live = np.flatnonzero(self.slots >= 0)
        live = live[np.argsort(self.slots[live], kind="stable")]
        return self.slots[live], self.layer.vectors[live].astype(np.float32)


def strongest_edges(edges: EdgeSet, fan_out: int) -> EdgeSet:
    """Keep the strongest edges of each source, and scale their sum down to at most 1.

    Parameters
    ----------
    edges : EdgeSet
        Edges in any order.
    fan_out : int
        Number of edges to keep per source; ties go to the smaller target.

    Examples
    --------
    >>> sources, targets = np.array([7, 2, 7, 7]), np.array([1, 3, 4, 5])
    >>> edges = strongest_edges(EdgeSet(sources, targets, np.array([0.5, 0.2, 0.9, 0.9])), 2)
    >>> edges.sources.tolist(), edges.targets.tolist(), edges.weights.tolist()
    ([2, 7, 7], [3, 4, 5], [0.2, 0.5, 0.5])
    """
    order = np.lexsort((edges.targets, -edges.weights, edges.sources))
    sources = edges.sources[order]
    starts = np.searchsorted(sources, sources)
    keep = np.arange(len(sources)) - starts < fan_out
    order, sources = order[keep], sources[keep]
    weights = edges.weights[order]
    distinct, position = unique_inverse(sources)
    total = sum_by(position, weights, len(distinct))[position]
    return EdgeSet(sources, edges.targets[order], weights / np.maximum(total, 1.0))
