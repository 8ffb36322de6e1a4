"""The verbs that write chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from hebbgraph.errors import ParameterError
from hebbgraph.filters import rows_passing
from hebbgraph.index.session import OpenNamespace, listed
from hebbgraph.protocols import Progress
from hebbgraph.records import AddReport, Chunk, DeleteReport
from hebbgraph.store.chunks import rows_of
from hebbgraph.store.database import Session
from hebbgraph.upkeep import rebuild


class WritingVerbs(OpenNamespace):
    """``add``, ``refresh``, ``delete``, ``rebuild``."""

    def add(
        self,
        chunks: Iterable[Chunk | dict[str, Any] | str],
        *,
        workers: int | None = None,
        show_progress: Progress | bool | None = None,
    ) -> AddReport:
        """Add chunks; an existing id is replaced, an unchanged chunk is skipped.

        Chunks are read as they are needed, so any number of them takes bounded memory. Each batch
        of some megabytes is one transaction: whatever stops the call, batches before are stored
        and the one under way is not. Run it again to go on.

        Parameters
        ----------
        chunks : iterable of Chunk, dict or str
        workers : int, optional
            Read texts in so many processes, while this one writes.
        show_progress : bool or callable, optional
            Show a progress bar, or call a function with the number of chunks that are done.

        Raises
        ------
        InvalidChunkError
            For the first chunk that cannot be stored; batches before it are.
        EmbeddingError, TaggingError
            If a model fails.
        """
        _check_iterable(chunks)
        self._check_text_version()
        with _progress(show_progress) as progress:
            new = map(Chunk.of, chunks)
            report, removed = self._loader.add(new, workers=workers, progress=progress)
        if removed:
            self._erase(removed, wait=0.0)
        if self.embedder is not None:
            self._vectors.synchronise()
        return report

    def refresh(
        self, chunks: Iterable[Chunk | dict[str, Any]], *, workers: int | None = None
    ) -> AddReport:
        """Replace whole documents: add chunks, and delete others of their documents.

        All chunks are held in memory, and a small refresh is one transaction. ``workers`` are as
        in :meth:`add`.

        Raises
        ------
        ParameterError
            If a chunk has no ``document_id``.
        """
        _check_iterable(chunks)
        self._check_text_version()
        new = [Chunk.of(chunk) for chunk in chunks]
        if missing := [chunk.id for chunk in new if chunk.document_id is None]:
            raise ParameterError(f"refresh replaces documents; chunk {missing[0]!r} has none")
        kept = {chunk.id for chunk in new}
        documents = list({chunk.document_id for chunk in new})

        def lost(session: Session) -> list[int]:
            sql = "SELECT row, id FROM $chunk WHERE document_id = ANY(?)"
            return [row for row, id_ in session.rows(sql, documents) if id_ not in kept]

        report, removed = self._loader.add(new, lost=lost, workers=workers)
        if removed:
            self._erase(removed)
        return report

    def delete(
        self,
        ids: str | Sequence[str] | None = None,
        *,
        document_id: str | Sequence[str] | None = None,
        where: Mapping[str, Any] | None = None,
    ) -> DeleteReport:
        """Delete chunks by id, document or filter; they are gone for every process at once.

        Several arguments delete the chunks that fit all of them. Texts, words and vectors are
        overwritten in the files, too. If a reader holds an older state open, this waits for it
        (``Settings.wait``), and reports whether it ended.

        Raises
        ------
        ParameterError
            Without an argument.
        """
        if ids is None and document_id is None and where is None:
            raise ParameterError("delete takes ids, document_id= or a filter; got none of them")
        if where is not None and not where:
            raise ParameterError("where={} passes every chunk; name what to delete")

        def lost(session: Session) -> set[int]:
            sets = []
            if ids is not None:
                sets.append(set(rows_of(session, listed(ids, "ids")).values()))
            if document_id is not None:
                sql = "SELECT row FROM $chunk WHERE document_id = ANY(?)"
                of_document = session.rows(sql, listed(document_id, "document_id"))
                sets.append({row for (row,) in of_document})
            if where is not None:
                passing, _ = rows_passing(session, where)
                rows = np.array(session.rows("SELECT row FROM $chunk"), np.int64).reshape(-1)
                sets.append(set(rows[passing(rows)].tolist()))
            return set.intersection(*sets)

        report, removed = self._loader.add((), lost=lost)
        erased = self._erase(removed)
        return DeleteReport(deleted=report.deleted, erased=erased, resting=report.resting)

    def _erase(self, rows: Sequence[int], *, wait: float | None = None) -> bool:
        """Overwrite what was deleted, in the log and then in the file of vectors."""
        erased = self._database.erase_log(self.settings.wait if wait is None else wait)
        self._vectors.erase(rows)  # last, for an older reader may have written the file meanwhile
        return erased

    def rebuild(self) -> int:
        """Recreate terms and postings from the chunks, by today's rules; return their number.

        It is one transaction: readers see the former state until it ends.
        """
        with self._database.write() as session:
            n = rebuild(session, self.settings)
        self._stale_text = ""
        return n


def _check_iterable(chunks: object) -> None:
    if isinstance(chunks, str | dict | Chunk) or not isinstance(chunks, Iterable):
        raise ParameterError(f"chunks is a list of chunks, got one {type(chunks).__name__}")


@contextmanager
def _progress(show: Callable[[int], Any] | bool | None) -> Iterator[Progress | None]:
    """Show a progress bar, or call a caller's function, or neither."""
    if callable(show) or not show:
        yield show or None
        return
    from rich.progress import Progress as Bar
    from rich.progress import TextColumn, TimeElapsedColumn

    with Bar(TextColumn("{task.completed:,} chunks"), TimeElapsedColumn()) as bar:
        task = bar.add_task("", total=None)
        yield lambda done: bar.update(task, completed=done)
