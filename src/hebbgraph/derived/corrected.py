"""The graph as corrections to tags have it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from hebbgraph.graph.corrections import CorrectedGraph
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.records import TagCorrection
from hebbgraph.store.truth import Truth

__all__ = ["CorrectedView"]


class CorrectedView:
    """Reads a graph through the corrections in force; what it made is kept until either changes.

    Parameters
    ----------
    truth : Truth
    held : callable
        Returns the lock to take while others may read.
    """

    def __init__(self, truth: Truth, held: Callable[[], AbstractContextManager[object]]) -> None:
        self._truth = truth
        self._held = held
        #: As of the last refresh: the same tuple as long as nothing changes.
        self.corrections: tuple[TagCorrection, ...] = ()
        self._rows: dict[str, int] = {}
        self._made: tuple[TagGraph, int, CorrectedGraph] | None = None

    def refresh(self) -> None:
        """Read the corrections, and in which rows the chunks are that they name."""
        corrections = self._truth.corrections.all()
        rows = self._truth.rows_of({id_ for one in corrections for id_ in one.chunks})
        with self._held():
            if corrections != self.corrections:
                self.corrections = corrections
            self._rows, self._made = rows, None

    def of(self, graph: TagGraph) -> TagGraph:
        """Return a graph read through the corrections; itself if there are none."""
        if not self.corrections:
            return graph
        with self._held():
            if self._made is None or self._made[:2] != (graph, graph.generation):
                corrected = CorrectedGraph(graph, self.corrections, self._rows)
                self._made = graph, graph.generation, corrected
            return self._made[2]
