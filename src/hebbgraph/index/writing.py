"""The verbs that write: ``add``, ``refresh``, ``put_document``, ``delete``, ``compact``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from hebbgraph.arguments import check_ids, known_names
from hebbgraph.calling import in_thread
from hebbgraph.errors import ParameterError
from hebbgraph.extras import load_plugin
from hebbgraph.index.session import Session
from hebbgraph.limits import MAX_ID
from hebbgraph.records import AddReport

if TYPE_CHECKING:
    from hebbgraph.ingest import ChunkLike, OnError, OnProgress

__all__ = ["WritingVerbs"]


class WritingVerbs(Session):
    """Verbs that add, replace and delete chunks."""

    @known_names
    def add(
        self,
        chunks: Iterable[ChunkLike],
        *,
        on_error: OnError = "raise",
        strict: bool = False,
        workers: int | None = None,
        show_progress: bool = False,
        on_progress: OnProgress = None,
    ) -> AddReport:
        """Add chunks; a chunk whose id exists replaces the old one, and nothing else is deleted.

        To replace whole documents, see :meth:`refresh`.

        Parameters
        ----------
        chunks : iterable of Chunk, dict or str
            Committed in batches of ``settings.batch_size``. A list or tuple is checked as a whole
            before anything is written. In texts and dicts, control characters and lone surrogates
            are replaced; ``AddReport.cleaned`` counts these chunks, and one warning is logged.
        on_error : {"raise", "skip"}
            ``"skip"`` leaves out invalid chunks and lists them in ``AddReport.failed``.
        strict : bool
            Refuse chunks with characters that cannot be stored, instead of replacing those.
        workers : int, optional
            Prepare chunks in this many processes (``hebbgraph[scale]``), which pays off from some
            ten thousand chunks on. Batches are larger then, and a list is not checked as a whole
            first. The result is the same. See ``docs/building.md``.
        show_progress : bool
            Show a progress bar on standard error.
        on_progress : callable, optional
            Called with the number of chunks done, and the total if known.

        Returns
        -------
        AddReport
            What was committed. Chunks equal to existing ones count as ``unchanged``.

        Raises
        ------
        InvalidChunkError
            For an invalid chunk, or an id that occurs twice in one batch with different content.
            That batch is not written; a note on the error says how many chunks were written before.
        """
        self._check_open()
        if workers is None:
            return self._writer.add(
                chunks,
                on_error=on_error,
                strict=strict,
                show_progress=show_progress,
                on_progress=on_progress,
            )
        add_with_workers = load_plugin(
            "hebbgraph.builds", "add", extra="scale", purpose="add(workers=...)"
        )
        report: AddReport = add_with_workers(
            self._parts,
            chunks,
            workers,
            on_error=on_error,
            strict=strict,
            show_progress=show_progress,
            on_progress=on_progress,
        )
        return report

    @known_names
    def refresh(
        self,
        chunks: Iterable[ChunkLike],
        *,
        document_ids: Iterable[str] = (),
        delete_missing: bool = False,
        on_error: OnError = "raise",
        strict: bool = False,
        show_progress: bool = False,
        on_progress: OnProgress = None,
    ) -> AddReport:
        """Replace whole documents; :meth:`add` only adds.

        All other chunks of the documents that these chunks name are deleted. Unchanged chunks stay
        untouched and keep what was learned about them. A document that loses chunks is replaced in
        one transaction.

        Parameters
        ----------
        chunks : iterable of Chunk, dict or str
            All current chunks of each document. A chunk without ``document_id`` is only added.
        document_ids : iterable of str
            More documents to replace, such as those that are empty now.
        delete_missing : bool
            Also delete every chunk that is not among ``chunks``. Without any, this is refused.
        on_error, strict, show_progress, on_progress
            As for :meth:`add`. A chunk that is skipped keeps its version in the index.

        Examples
        --------
        >>> with HebbianIndex.open(":memory:") as index:
        ...     page = {"document_id": "owls.md"}
        ...     report = index.add([{"id": "1", "text": "Owls hunt.", **page},
        ...                         {"id": "2", "text": "Owls sing.", **page}])
        ...     report = index.refresh([{"id": "1", "text": "Owls hunt.", **page}])
        ...     report.unchanged, report.deleted, index.ids()
        (1, 1, ['1'])
        """
        self._check_open()
        return self._writer.refresh(
            chunks,
            check_ids(document_ids, "a document id"),
            delete_missing=delete_missing,
            on_error=on_error,
            strict=strict,
            show_progress=show_progress,
            on_progress=on_progress,
        )

    def put_document(
        self, document_id: str, fingerprint: str | None, chunks: Iterable[ChunkLike]
    ) -> AddReport:
        """Replace all chunks of one document in one transaction, and store its fingerprint.

        For programs that skip unchanged files; otherwise use :meth:`refresh`. Unchanged chunks stay
        untouched; chunks that the document no longer has are deleted.

        Parameters
        ----------
        document_id : str
            Set on every chunk.
        fingerprint : str or None
            Returned by :meth:`document_fingerprints`, to skip an unchanged document later.
        chunks : iterable of Chunk, dict or str

        Notes
        -----
        Unlike :meth:`add`, this leaves updating the graph to the next recall (or ``close``), so
        many small documents in a row cost one update.
        """
        self._check_open()
        check_ids([document_id], "a document id")
        if not document_id or len(document_id) > MAX_ID:
            raise ParameterError(
                f"a document id has 1 to {MAX_ID} characters, got {len(document_id)}"
            )
        if fingerprint is not None:
            check_ids([fingerprint], "a fingerprint")
        from hebbgraph.ingest.writer import Document

        return self._writer.put_document(Document(document_id, fingerprint), chunks)

    def document_fingerprints(self) -> dict[str, str]:
        """Return the fingerprints kept by :meth:`put_document`, by document id."""
        self._check_open()
        return self._parts.truth.files.fingerprints()

    @known_names
    def delete(
        self,
        ids: Iterable[str] | None = None,
        *,
        document_id: str | None = None,
        erase: bool = False,
    ) -> int:
        """Delete chunks by id, or all chunks of a document; return how many were deleted.

        Unknown ids are ignored. Afterwards the graph equals one built from the remaining chunks.

        Parameters
        ----------
        ids : iterable of str, optional
        document_id : str, optional
        erase : bool
            Also :meth:`compact`, which takes longer, so no file holds a byte of these or earlier
            deleted chunks.

        Raises
        ------
        IndexLockedError
            With ``erase``, if another process prevents it. The chunks are deleted anyway; the next
            :meth:`compact` erases them.
        """
        self._check_exists()
        if ids is None and document_id is None:
            raise ParameterError("delete takes ids or a document_id, got neither")
        chunk_ids = [] if ids is None else check_ids(ids, "a chunk id")
        documents = [] if document_id is None else check_ids([document_id], "a document id")
        deleted = self._writer.delete(chunk_ids, documents)
        if erase:
            self._erase(self.compact)
        return deleted

    def compact(self) -> None:
        """Rewrite and shrink all files, erasing deleted and forgotten data.

        Afterwards no file of an index in SQLite, including write-ahead logs, holds a byte of a
        deleted text, title or metadata, or of a forgotten actor, question or cue; see
        ``docs/security.md``. Recent recalls of this namespace can no longer be found by id. On
        PostgreSQL this runs ``VACUUM``; the server does the rest.

        Raises
        ------
        IndexLockedError
            If another process uses the index, or reads an older state of it, for longer than
            ``write_wait_seconds``. The error names the process if possible. Try again later.
        """
        self._check_exists()
        self._parts.derived.compact()
        if self._parts.colonies.exist:
            with self._parts.derived.reading():
                derived = self._parts.derived
                self._parts.colonies.at(derived.graph, derived.vectors, rebuild=True)
        self._parts.truth.drop_tombstones()
        self._teacher.expire_queries()
        self._teacher.erase_gone_phrases()
        self._teacher.forgotten.clear()
        self._parts.scrub()

    aadd = in_thread(add)
    arefresh = in_thread(refresh)
    aput_document = in_thread(put_document)
    adocument_fingerprints = in_thread(document_fingerprints)
    adelete = in_thread(delete)
    acompact = in_thread(compact)
