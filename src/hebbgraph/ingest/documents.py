"""Whole documents replaced: what they no longer hold is deleted."""

from __future__ import annotations

import time
from collections.abc import Iterable

from hebbgraph.errors import ParameterError
from hebbgraph.ingest.intake import ChunkLike, Intake, OnError, check_iterable
from hebbgraph.ingest.progress import OnProgress
from hebbgraph.ingest.writer import Document, Writer
from hebbgraph.namespace import Namespace
from hebbgraph.records import AddReport

__all__ = ["refresh"]


def refresh(
    namespace: Namespace,
    writer: Writer,
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
    truth = namespace.truth
    intake = Intake(strict=strict, on_error=on_error)
    accepted = writer.distinct(list(intake.take(chunks)), intake)
    intake.tell()
    skipped = {chunk.id for chunk in intake.failed if chunk.id}
    kept = {chunk.id for chunk in accepted} | skipped
    documents = {chunk.document_id for chunk in accepted if chunk.document_id}.union(document_ids)
    # Only a document that loses chunks needs a transaction of its own.
    losing = [id_ for id_ in sorted(documents) if not truth.ids_of_document(id_) <= kept]
    report = writer.add(
        [chunk for chunk in accepted if chunk.document_id not in losing],
        on_error="raise",
        strict=False,
        show_progress=show_progress,
        on_progress=on_progress,
    )
    for document_id in losing:
        rest = [chunk for chunk in accepted if chunk.document_id == document_id]
        report += writer.put_document(Document(document_id, staying=skipped), rest)
    if delete_missing:
        if namespace.settings.keep_versions:  # the documents' former chunks are old versions now
            kept |= {old.id for old in truth.versions_of(frozenset(kept)).values()}
            kept |= {id_ for document_id in documents for id_ in truth.ids_of_document(document_id)}
        missing = [id_ for id_, _ in truth.by_id() if id_ not in kept]
        report += AddReport(deleted=writer.delete(missing, ()) if missing else 0)
    namespace.bring_up_to_date()
    return report.model_copy(
        update={
            "cleaned": intake.cleaned,
            "failed": tuple(intake.failed),
            "seconds": time.perf_counter() - started,
        }
    )
