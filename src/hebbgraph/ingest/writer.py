"""The flow of ``add``: check, tag and embed a batch, then commit it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from hebbgraph.errors import EmbeddingError, InvalidChunkError, ParameterError
from hebbgraph.ingest.candidates import Tagging, propose_candidates
from hebbgraph.ingest.intake import (
    AcceptedChunk,
    ChunkLike,
    Intake,
    OnError,
    check_emptying,
    check_iterable,
)
from hebbgraph.ingest.progress import OnProgress, part_of, progress
from hebbgraph.ingest.vectors import ChunkVectors, Embedded
from hebbgraph.ingest.versions import arranged, check_versioned, dated, ended, version_key
from hebbgraph.namespace import Namespace
from hebbgraph.records import AddReport, Chunk, TaggingReport
from hebbgraph.search_text import with_context
from hebbgraph.store.chunks import pages
from hebbgraph.store.truth import ChunkWrite, OvertakenError, StoredRows

__all__ = ["Document", "Writer"]

logger = logging.getLogger(__name__)

#: A long add spends at least this many times more time adding than refreshing readers.
_ADD_TIME_PER_REFRESH_TIME = 10.0


class Document(NamedTuple):
    """A document that is replaced as a whole.

    Attributes
    ----------
    id : str
    fingerprint : str, optional
        Stored for ``document_fingerprints``.
    staying : collection of str
        Ids of stored chunks to keep although they are not among the new ones.
    """

    id: str
    fingerprint: str | None = None
    staying: Collection[str] = ()


class _Final(NamedTuple):
    """The chunks to write: the new ones, and older versions that move.

    ``reusable`` names stored chunks whose vectors are reused for equal content.
    """

    put: list[Chunk]
    moved: list[Chunk]
    expected_rows: StoredRows | None
    reusable: Iterable[str]


class _Prepared(NamedTuple):
    """Chunks that are ready to be written; after a failure, only those with a vector."""

    writes: list[ChunkWrite]
    embedded: Embedded
    tagging: TaggingReport | None


class Writer:
    """Writes the chunks of one namespace."""

    def __init__(self, namespace: Namespace) -> None:
        self._namespace = namespace
        self._truth = namespace.truth
        self._settings = namespace.settings
        self._tagging = Tagging(namespace)
        self._vectors = ChunkVectors(namespace)
        self._next_refresh = 0.0

    def add(
        self,
        chunks: Iterable[ChunkLike],
        *,
        on_error: OnError,
        strict: bool,
        show_progress: bool,
        on_progress: OnProgress,
    ) -> AddReport:
        """See :meth:`hebbgraph.HebbianIndex.add`."""
        intake = Intake(strict=strict, on_error=on_error)
        check_iterable(chunks, "add")
        self._namespace.warn_without_model()
        with self._truth.acknowledging_at_the_end():
            try:
                return self._add_all(chunks, intake, show_progress, on_progress)
            finally:
                intake.tell()
                self._namespace.bring_up_to_date()

    def _add_all(
        self,
        chunks: Iterable[ChunkLike],
        intake: Intake,
        show_progress: bool,
        on_progress: OnProgress,
    ) -> AddReport:
        accepted: Iterable[AcceptedChunk] = intake.take(chunks)
        total = None
        if isinstance(chunks, Sequence):
            accepted = list(accepted)  # validate all before anything is written
            total = len(accepted)
        started = time.perf_counter()
        report = AddReport(generation=self._truth.generation())
        done = 0
        with progress(show_progress, on_progress) as notify:
            try:
                for batch in pages(accepted, self._settings.batch_size):
                    distinct = self.distinct(batch, intake)
                    part, failure = self.write(distinct, on_progress=part_of(notify, done, total))
                    report += part
                    if failure is not None:
                        raise failure
                    done += len(batch)
                    notify(done, total)
                    self._refresh_readers()
            except Exception as error:
                committed = report.added + report.replaced
                which = "" if isinstance(error, EmbeddingError) else " of earlier batches"
                error.add_note(f"{committed} chunks{which} were committed")
                raise
        return report.model_copy(
            update={
                "cleaned": intake.cleaned,
                "failed": tuple(sorted(intake.failed, key=lambda chunk: chunk.position)),
                "seconds": time.perf_counter() - started,
            }
        )

    def _refresh_readers(self) -> None:
        """During a long add, show new chunks to the readers of this process from time to time."""
        if self._namespace.derived.readers_lag and time.monotonic() >= self._next_refresh:
            started = time.monotonic()
            self._namespace.bring_up_to_date()
            took = time.monotonic() - started
            pause = max(1.0, _ADD_TIME_PER_REFRESH_TIME * took)
            self._next_refresh = time.monotonic() + pause

    def distinct(self, batch: Iterable[AcceptedChunk], intake: Intake) -> list[Chunk]:
        """Return the distinct chunks of a batch, with their dates; reject contradictions."""
        keep_versions = self._settings.keep_versions
        by_key: dict[tuple[str, str], Chunk] = {}
        for position, chunk in batch:
            try:
                chunk = self._with_metadata(chunk)
                key = (chunk.id, version_key(chunk) if keep_versions else "")
                if keep_versions:
                    check_versioned(chunk)
                if by_key.setdefault(key, chunk) != chunk:
                    raise InvalidChunkError(
                        f"id {chunk.id!r} occurs twice in one batch with different content; "
                        f"ids{' or valid_from' if keep_versions else ''} must differ"
                    )
            except InvalidChunkError as error:
                intake.refuse(position, chunk, error)
        return list(by_key.values())

    def _with_metadata(self, chunk: Chunk) -> Chunk:
        """Fill in dates and context from the metadata fields that the settings name."""
        chunk = dated(chunk, self._settings.time_fields)
        return with_context(chunk, self._settings.search_metadata)

    def put_document(self, document: Document, chunks: Iterable[ChunkLike]) -> AddReport:
        """Replace a document in one transaction; the next recall updates the graph."""
        started = time.perf_counter()
        by_id: dict[str, Chunk] = {}
        intake = Intake()
        for _, chunk in intake.take(chunks):
            chunk = self._with_metadata(chunk)
            chunk = chunk.model_copy(update={"document_id": document.id})
            if by_id.setdefault(chunk.id, chunk) != chunk:
                raise InvalidChunkError(f"document {document.id!r}: id {chunk.id!r} occurs twice")
        for chunk in by_id.values() if self._settings.keep_versions else ():
            check_versioned(chunk)
        report, failure = self.write(list(by_id.values()), document=document)
        if failure is not None:
            raise failure
        intake.tell()
        seconds = time.perf_counter() - started
        return report.model_copy(update={"cleaned": intake.cleaned, "seconds": seconds})

    def refresh(
        self,
        chunks: Iterable[ChunkLike],
        document_ids: Iterable[str],
        *,
        delete_missing: bool,
        on_error: OnError,
        strict: bool,
        show_progress: bool,
        on_progress: OnProgress,
    ) -> AddReport:
        """See :meth:`hebbgraph.HebbianIndex.refresh`."""
        check_iterable(chunks, "refresh")
        if not isinstance(delete_missing, bool):
            raise ParameterError(f"delete_missing is True or False, got {delete_missing!r:.80}")
        started = time.perf_counter()
        truth = self._truth
        intake = Intake(strict=strict, on_error=on_error)
        accepted = self.distinct(list(intake.take(chunks)), intake)
        intake.tell()
        skipped = {chunk.id for chunk in intake.failed if chunk.id}
        staying = {chunk.id for chunk in accepted} | skipped
        if delete_missing:
            check_emptying(len(staying), truth.count())
        documents = {chunk.document_id for chunk in accepted if chunk.document_id}.union(
            document_ids
        )
        # Only a document that loses chunks needs a transaction of its own.
        losing = [id_ for id_ in sorted(documents) if not truth.ids_of_document(id_) <= staying]
        report = self.add(
            [chunk for chunk in accepted if chunk.document_id not in losing],
            on_error="raise",
            strict=False,
            show_progress=show_progress,
            on_progress=on_progress,
        )
        for document_id in losing:
            rest = [chunk for chunk in accepted if chunk.document_id == document_id]
            report += self.put_document(Document(document_id, staying=skipped), rest)
        if delete_missing:
            if self._settings.keep_versions:  # the documents' former chunks are old versions now
                staying |= {old.id for old in truth.versions_of(frozenset(staying)).values()}
                staying = staying.union(*map(truth.ids_of_document, documents))
            missing = [id_ for id_, _ in truth.by_id() if id_ not in staying]
            report += AddReport(deleted=self.delete(missing, ()) if missing else 0)
        self._namespace.bring_up_to_date()
        return report.model_copy(
            update={
                "cleaned": intake.cleaned,
                "failed": tuple(intake.failed),
                "seconds": time.perf_counter() - started,
            }
        )

    def write(
        self,
        chunks: list[Chunk],
        *,
        document: Document | None = None,
        on_progress: Callable[[int], object] | None = None,
    ) -> tuple[AddReport, EmbeddingError | None]:
        """Prepare chunks outside of any transaction, and commit them in one.

        Returns
        -------
        AddReport
            What was committed. After a failed embedding, the chunks with a vector; but moving
            versions and replacing a document happen as a whole or not at all.
        EmbeddingError, optional
            Why some chunks have no vector.
        """
        self._namespace.make()
        while True:
            stored = set() if document is None else self._truth.ids_of_document(document.id)
            stored.difference_update(() if document is None else document.staying)
            gone = stored.difference(chunk.id for chunk in chunks)
            final = self._in_versions(chunks, gone)
            changed = self._truth.changed([*final.put, *final.moved])
            reusable = {*stored, *final.reusable}
            prepared = self._prepare(changed, on_progress, reusable)
            failure = prepared.embedded.failure
            may_write_part = document is None and not final.moved and prepared.writes
            if failure is not None and not may_write_part:
                self._vectors.unwritten = prepared.embedded
                return AddReport(), failure
            self._vectors.unwritten = Embedded({}, None)
            try:
                outcome = self._truth.apply(
                    prepared.writes,
                    embedding=prepared.embedded.state,
                    delete_ids=() if self._settings.keep_versions else gone,
                    fingerprints=_fingerprints(document),
                    expected_rows=final.expected_rows,
                )
                break
            except OvertakenError:
                logger.info("another process wrote versions of the same chunks; reading them again")
        written = {chunk.id for chunk, _ in changed}
        unchanged = [chunk for chunk in final.put if chunk.id not in written]
        report = AddReport(
            **{name: getattr(outcome, name) for name in outcome._fields},
            unchanged=len(unchanged),
            batches=1,
            tagging=prepared.tagging,
        )
        return report, failure or self._vectors.complete(unchanged)

    def _in_versions(self, chunks: list[Chunk], gone: Collection[str]) -> _Final:
        """Arrange chunks among the stored versions, if old versions are kept.

        ``gone`` names chunks that their document no longer has; they end now.
        """
        if not self._settings.keep_versions:
            return _Final(chunks, [], None, ())
        now = datetime.now(UTC)
        subjects = frozenset({*gone, *(chunk.version_of or chunk.id for chunk in chunks)})
        stored = self._truth.versions_of(subjects)
        by_id = {chunk.id: chunk for chunk in stored.values()}
        put, moved = arranged(chunks, by_id, now)
        moved += (ended(by_id[id_], now) for id_ in gone if id_ in by_id)
        return _Final(put, moved, StoredRows(subjects, frozenset(stored)), by_id)

    def _prepare(
        self,
        changed: list[tuple[Chunk, bytes]],
        on_progress: Callable[[int], object] | None,
        reusable: Iterable[str],
    ) -> _Prepared:
        """Tag and embed (chunk, digest) pairs outside any transaction."""
        chunks = [chunk for chunk, _ in changed]
        tags, tagging = self._tagging.tags(chunks, on_progress)
        on_embedded = None if self._namespace.tagger else on_progress
        embedded = self._vectors.embed(chunks, reusable=reusable, on_progress=on_embedded)
        if embedded.failure is not None:
            with_vector = [
                at for at, chunk in enumerate(chunks) if embedded.vector_of(chunk) is not None
            ]
            changed, tags = [changed[at] for at in with_vector], [tags[at] for at in with_vector]
            chunks = [chunk for chunk, _ in changed]
        proposed = propose_candidates(self._settings, chunks, tags)
        writes = [
            ChunkWrite(chunk, candidates, embedded.vector_of(chunk), digest)
            for (chunk, digest), candidates in zip(changed, proposed, strict=True)
        ]
        return _Prepared(writes, embedded, tagging)

    def delete(self, ids: Iterable[str], document_ids: Iterable[str]) -> int:
        """See :meth:`hebbgraph.HebbianIndex.delete`."""
        self._vectors.unwritten = Embedded({}, None)
        if not self._namespace.is_made:
            return 0
        outcome = self._truth.apply(delete_ids=ids, delete_documents=document_ids)
        self._namespace.bring_up_to_date()
        return outcome.deleted


def _fingerprints(document: Document | None) -> dict[str, str] | None:
    if document is None or document.fingerprint is None:
        return None
    return {document.id: document.fingerprint}
