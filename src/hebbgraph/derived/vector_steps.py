"""One step of the vectors."""

from __future__ import annotations

import numpy as np

from hebbgraph.derived.folder import Folder
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.locks import LendableLock
from hebbgraph.protocols import VectorSearchFactory, VectorSearchName
from hebbgraph.store.embeddings import EmbeddingState
from hebbgraph.store.history import Commit
from hebbgraph.store.truth import Truth
from hebbgraph.vectors.file import VectorFile
from hebbgraph.vectors.table import VectorTable

__all__ = ["VectorSteps"]


class VectorSteps:
    """Bring a table of vectors forward, or load a new one.

    Parameters
    ----------
    truth : Truth
    folder : Folder
        Where the vectors are filed; without a directory they are kept in memory.
    lock : LendableLock
        Held while a table changes that others read.
    search : {"exact", "quantized", "ivf"} or callable
    """

    def __init__(
        self,
        truth: Truth,
        folder: Folder,
        lock: LendableLock,
        search: VectorSearchName | VectorSearchFactory,
    ) -> None:
        self._truth = truth
        self._folder = folder
        self._lock = lock
        self._search = search
        self._is_counted = False

    def advance(
        self, table: VectorTable | None, graph: TagGraph, state: EmbeddingState, commit: Commit
    ) -> VectorTable:
        """Return the vectors of a graph's chunks: this table extended, or a new one."""
        if table is None or table.state != state or not self._extend(table, graph, commit):
            self._is_counted = False
            table = self._load(graph, state, commit)
        return self._count(table, graph, commit)

    def _extend(self, table: VectorTable, graph: TagGraph, commit: Commit) -> bool:
        """Extend a table; False if its file was replaced."""
        if not len(graph.rows) or graph.rows[-1] <= table.last_row:
            return True
        with self._folder.locked():
            if not table.extend(self._truth, graph.rows, commit, held=self._lock.held):
                return False
        if (search := table.rebuilt_search()) is not None:
            with self._lock.held():
                table.use(search)
        return True

    def _load(self, graph: TagGraph, state: EmbeddingState, commit: Commit) -> VectorTable:
        knows = self._truth.history.knows
        if self._folder.directory is not None:
            with self._folder.locked():
                file = VectorFile(self._folder.directory, state, knows)
                if file.problem is not None:
                    self._folder.note_repair(f"the vectors' files were {file.problem}")
                table = VectorTable.load(self._truth, state, graph.rows, file, commit)
        else:
            table = VectorTable.load(self._truth, state, graph.rows[graph.alive])
        table.search_by(self._search, self._folder.shared, knows)
        return table

    def _count(self, table: VectorTable, graph: TagGraph, commit: Commit) -> VectorTable:
        """Compare the number of vectors read from files with the truth's, once per loaded table.

        If they differ, load the vectors again. If another process commits meanwhile, the next
        step compares.
        """
        if self._is_counted or self._folder.directory is None:
            return table
        expected = self._truth.embeddings.count_vectors(table.state.epoch, commit)
        if expected is None:
            return table
        self._is_counted = True
        live = graph.rows[graph.alive]
        count = int(np.count_nonzero(np.isin(live, table.rows, assume_unique=True)))
        if count == expected:
            return table
        self._folder.note_repair(f"{count} vectors were held, and {expected} expected")
        with self._folder.locked():
            VectorFile.discard(self._folder.directory)
        return self._load(graph, table.state, commit)
