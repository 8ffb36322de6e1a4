"""An undirected weighted graph in compressed rows; weights may change, edges may not."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import FloatArray, IntArray, row_positions
from hebbgraph.errors import ParameterError

__all__ = ["WeightedGraph"]


class WeightedGraph:
    """An undirected graph whose edges are numbered.

    Parameters
    ----------
    n_nodes : int
    sources, targets : array_like of int, shape (n_edges,)
        The two ends of each edge, in either order; no duplicates, no loops.
    weights : array_like of float, shape (n_edges,)

    Attributes
    ----------
    sources, targets : ndarray of int64, the smaller end first
    weights : ndarray of float64
        May be modified in place; the other arrays may not.

    Raises
    ------
    ParameterError
        For a loop, a duplicate edge, or an end outside ``[0, n_nodes)``.

    Examples
    --------
    >>> graph = WeightedGraph(4, [0, 0, 2], [1, 2, 3], [0.5, 1.0, 0.2])
    >>> owner, targets, weights = graph.neighbours(np.array([0, 3]))
    >>> owner.tolist(), targets.tolist(), weights.tolist()
    ([0, 0, 1], [1, 2, 2], [0.5, 1.0, 0.2])
    """

    def __init__(
        self,
        n_nodes: int,
        sources: IntArray | list[int],
        targets: IntArray | list[int],
        weights: FloatArray | list[float],
    ) -> None:
        first, second = np.asarray(sources, np.int64), np.asarray(targets, np.int64)
        self.n_nodes = n_nodes
        self.sources: NDArray[np.int64] = np.minimum(first, second)
        self.targets: NDArray[np.int64] = np.maximum(first, second)
        self.weights: NDArray[np.float64] = np.array(weights, np.float64)
        if (self.sources == self.targets).any():
            raise ParameterError("an edge must join two different nodes, got a loop")
        if len(first) and not 0 <= self.sources.min() <= self.targets.max() < n_nodes:
            raise ParameterError(f"the ends of edges must lie in [0, {n_nodes})")
        numbers = np.arange(len(first))
        ends = np.concatenate((self.sources, self.targets))
        others = np.concatenate((self.targets, self.sources))
        order = np.lexsort((others, ends))
        self._indptr = np.searchsorted(ends[order], np.arange(n_nodes + 1))
        self._others = others[order]
        self._numbers = np.concatenate((numbers, numbers))[order]
        same = (np.diff(ends[order]) == 0) & (np.diff(self._others) == 0)
        if same.any():
            raise ParameterError("an edge occurs twice; sum its weights first")

    def __len__(self) -> int:
        return len(self.weights)

    def row(self, node: int) -> tuple[list[int], list[float]]:
        """Return the neighbours of one node, ascending, and the weights of its edges."""
        at = slice(self._indptr[node], self._indptr[node + 1])
        return self._others[at].tolist(), self.weights[self._numbers[at]].tolist()

    def neighbours(self, nodes: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
        """Return (position in ``nodes``, neighbour, weight); neighbours ascend."""
        counts, at = row_positions(self._indptr, nodes)
        owner = np.repeat(np.arange(len(nodes)), counts)
        return owner, self._others[at], self.weights[self._numbers[at]]
