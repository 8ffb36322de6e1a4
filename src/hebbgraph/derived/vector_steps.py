"""One step of the vectors: extended, loaded again where that fails, and counted once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import numpy as np

from hebbgraph.derived.folder import Folder
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.protocols import VectorSearchFactory, VectorSearchName
from hebbgraph.store.embeddings import EmbeddingState
from hebbgraph.store.history import Commit
from hebbgraph.store.truth import Truth
from hebbgraph.vectors.file import VectorFile
from hebbgraph.vectors.table import VectorTable

__all__ = ["VectorSteps"]


class VectorSteps:
    """Bring a table of vectors forward.

    Parameters
    ----------
    truth : Truth
    folder : Folder
        Where vectors are filed; else they are held in memory.
    search : {"exact", "quantized", "ivf"} or callable
    held : callable
        Returns the lock to take while a table changes that others read.
    repaired : callable
        Receives what was found wrong and is rebuilt from the truth.
    """

    def __init__(
        self,
        truth: Truth,
        folder: Folder,
        *,
        search: VectorSearchName | VectorSearchFactory,
        held: Callable[[], AbstractContextManager[object]],
        repaired: Callable[[str], object],
    ) -> None:
        self._truth = truth
        self._folder = folder
        self._search = search
        self._held = held
        self._repaired = repaired
        self._is_counted = False

    def advance(
        self, table: VectorTable | None, graph: TagGraph, state: EmbeddingState, commit: Commit
    ) -> VectorTable:
        """Return the table of a graph's chunks: this one extended, or a new one."""
        if table is None or table.state != state or not self._extended(table, graph, commit):
            self._is_counted = False
            table = self._loaded(graph, state, commit)
        return self._counted(table, graph, commit)

    def _extended(self, table: VectorTable, graph: TagGraph, commit: Commit) -> bool:
        """Extend a table; False if it does not continue in its file."""
        if not len(graph.rows) or graph.rows[-1] <= table.last_row:
            return True
        with self._folder.locked():
            if not table.extend(self._truth, graph.rows, commit, held=self._held):
                return False
        if (search := table.rebuilt_search()) is not None:
            with self._held():
                table.use(search)
        return True

    def _loaded(self, graph: TagGraph, state: EmbeddingState, commit: Commit) -> VectorTable:
        knows = self._truth.history.knows
        if self._folder.directory is not None:
            with self._folder.locked():
                file = VectorFile(self._folder.directory, state, knows)
                if file.problem is not None:
                    self._repaired(f"the vectors' files were {file.problem}")
                table = VectorTable.load(self._truth, state, graph.rows, file, commit)
        else:
            table = VectorTable.load(self._truth, state, graph.rows[graph.alive])
        table.search_by(self._search, self._folder.shared, knows)
        return table

    def _counted(self, table: VectorTable, graph: TagGraph, commit: Commit) -> VectorTable:
        """Compare the number of vectors read from files with the truth; load again if it differs.

        Once; if another process commits in between, the next step does it.
        """
        if self._is_counted or self._folder.directory is None:
            return table
        expected = self._truth.embeddings.count_vectors(table.state.epoch, commit)
        if expected is None:
            return table
        self._is_counted = True
        live = graph.rows[graph.alive]
        held = int(np.count_nonzero(np.isin(live, table.rows, assume_unique=True)))
        if held == expected:
            return table
        self._repaired(f"{held} vectors were held, and {expected} expected")
        with self._folder.locked():
            VectorFile.discard(self._folder.directory)
        return self._loaded(graph, table.state, commit)
