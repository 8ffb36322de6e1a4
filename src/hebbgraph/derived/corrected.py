"""The graph read through corrections to its tags."""

from __future__ import annotations

from hebbgraph.graph.corrections import CorrectedGraph
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.locks import LendableLock
from hebbgraph.records import TagCorrection
from hebbgraph.store.history import NEVER, Commit
from hebbgraph.store.truth import Truth

__all__ = ["CorrectedView"]


class CorrectedView:
    """Reads a graph through the present corrections, and caches the result.

    Parameters
    ----------
    truth : Truth
    lock : LendableLock
        Held while the view changes.
    """

    def __init__(self, truth: Truth, lock: LendableLock) -> None:
        self._truth = truth
        self._lock = lock
        #: As of the last refresh; the same tuple as long as nothing changes.
        self.corrections: tuple[TagCorrection, ...] = ()
        self._commit = NEVER
        self._rows: dict[str, int] = {}
        self._cached: tuple[TagGraph, int, CorrectedGraph] | None = None

    def refresh(self, commit: Commit) -> None:
        """Read the corrections as of a commit, and the rows of the chunks that they name."""
        if commit == self._commit:
            return
        corrections = self._truth.corrections.all()
        ids = {id_ for correction in corrections for id_ in correction.chunks}
        rows = self._truth.rows_of(ids)
        with self._lock.held():
            if corrections != self.corrections:
                self.corrections = corrections
            self._commit, self._rows, self._cached = commit, rows, None

    def view_of(self, graph: TagGraph) -> TagGraph:
        """Return a graph read through the corrections; the graph itself if there are none."""
        if not self.corrections:
            return graph
        with self._lock.held():
            if self._cached is None or self._cached[:2] != (graph, graph.generation):
                corrected = CorrectedGraph(graph, self.corrections, self._rows)
                self._cached = graph, graph.generation, corrected
            return self._cached[2]
