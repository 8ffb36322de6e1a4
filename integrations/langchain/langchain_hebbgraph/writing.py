"""Writes documents to an index, and to the store beneath it if there is one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import Any

from hebbgraph import AddReport, Chunk, HebbianIndex, InvalidChunkError, ParameterError
from hebbgraph.ingest import Intake, OnError
from langchain_core.documents import Document

from langchain_hebbgraph.conversion import check_documents, fields_of, stable_id, to_chunk
from langchain_hebbgraph.wrapped import WrappedStore

__all__ = ["differs", "sync", "updated_fields", "with_ids", "write"]


def write(
    index: HebbianIndex,
    documents: Sequence[Document],
    *,
    refresh: bool = False,
    delete_missing: bool = False,
    wrapped: WrappedStore | None = None,
    on_error: OnError = "raise",
    strict: bool = False,
) -> AddReport:
    """Add documents; of several with one id, the last. Those without text and title are skipped.

    Parameters
    ----------
    index : HebbianIndex
    documents : sequence of Document
        With ids.
    refresh : bool
        Whether to delete all else that the index has of their sources.
    delete_missing : bool
        Whether to delete all other documents, too.
    wrapped : WrappedStore, optional
        Changed in the same way.
    on_error, strict
        As for ``HebbianIndex.add``.
    """
    fields = [fields_of(document) for document in documents]
    intake = Intake(on_error=on_error, strict=strict, skip_empty=True)
    accepted = {chunk.id: (position, chunk) for position, chunk in intake.take(fields)}
    chunks = [chunk for _, chunk in accepted.values()]
    if wrapped is not None:
        wrapped.add([documents[position] for position, _ in accepted.values()])
    intake.tell()
    if not refresh:
        report = index.add(chunks)
    else:
        skipped = [fields[failed.position] for failed in intake.failed]
        sources = {item["document_id"] for item in skipped if item["document_id"]}
        emptied = sorted({item["id"] for item in skipped} - accepted.keys())
        outdated = [] if wrapped is None else _outdated(index, chunks, sources, delete_missing)
        report = index.refresh(chunks, document_ids=sources, delete_missing=delete_missing)
        report += AddReport(deleted=index.delete(emptied))
        if wrapped is not None and (outdated or emptied):
            wrapped.delete([*outdated, *emptied])
    return report.model_copy(update={"cleaned": intake.cleaned, "failed": tuple(intake.failed)})


def _outdated(
    index: HebbianIndex, chunks: Sequence[Chunk], sources: Set[str], delete_missing: bool
) -> list[str]:
    """Return the ids that a refresh with these chunks deletes."""
    sources = {*sources, *(chunk.document_id for chunk in chunks if chunk.document_id)}
    if not (sources or delete_missing):
        return []
    where = None if delete_missing else {"$document_id": {"$in": sorted(sources)}}
    new = {chunk.id for chunk in chunks}
    return [id_ for id_ in index.ids(where) if id_ not in new]


def sync(index: HebbianIndex, wrapped: WrappedStore) -> AddReport:
    """Update an index's documents to what the store beneath has now.

    Raises
    ------
    ParameterError
        If the store cannot be asked by id.
    """
    if not wrapped.is_readable:
        raise ParameterError(
            f"{type(wrapped.source).__name__} cannot be asked for documents by id; "
            "hand over those that it holds now: refresh(documents)"
        )
    ids = index.ids()
    current = wrapped.read(ids)
    can_compare = index.settings.keep_text
    updated = [
        updated_fields(chunk, current[chunk.id])
        for chunk in index.get(current)
        if not can_compare or differs(chunk, current[chunk.id])
    ]
    intake = Intake(skip_empty=True)
    report = index.add([chunk for _, chunk in intake.take(updated)])
    intake.tell()
    emptied = {updated[failed.position]["id"] for failed in intake.failed}
    deleted = [id_ for id_ in ids if id_ not in current or id_ in emptied]
    return report.model_copy(update={"deleted": index.delete(deleted) if deleted else 0})


def differs(chunk: Chunk, document: Document) -> bool:
    """Return whether a store's document has another text than the chunk made of it."""
    try:
        return to_chunk(document, chunk.id).text != chunk.text
    except InvalidChunkError:
        return True


def updated_fields(chunk: Chunk, document: Document) -> dict[str, Any]:
    """Return a chunk's fields, updated by a store's document."""
    fields = fields_of(document, chunk.id)
    for name in ("title", "document_id", "tags", "addresses", "references"):
        fields[name] = fields[name] or getattr(chunk, name)
    fields["metadata"] = {**chunk.metadata, **fields["metadata"]}
    return fields


def with_ids(documents: Iterable[Document], ids: Sequence[str | None] | None) -> list[Document]:
    """Return copies with ids: those given, their own, or ids made of the content."""
    documents = check_documents(documents)
    if isinstance(ids, str):
        raise ParameterError(f"ids is a list of str, got {ids!r}; put it in a list")
    if ids is not None and len(ids) != len(documents):
        raise ParameterError(
            f"as many ids as documents are needed, got {len(ids)} for {len(documents)}"
        )
    ids = ids or [document.id for document in documents]
    if "" in ids:
        raise ParameterError("an id is not empty; leave it out (None) where there is none")
    return [
        document.model_copy(update={"id": id_ or stable_id(document)})
        for document, id_ in zip(documents, ids, strict=True)
    ]
