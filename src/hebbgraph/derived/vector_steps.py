"""One step of the vectors: extended, or loaded again where that fails."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

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

    def advance(
        self, table: VectorTable | None, graph: TagGraph, state: EmbeddingState, commit: Commit
    ) -> VectorTable:
        """Return the table of a graph's chunks: this one extended, or a new one."""
        if table is None or table.state != state or not self._extended(table, graph, commit):
            return self._loaded(graph, state, commit)
        return table

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
