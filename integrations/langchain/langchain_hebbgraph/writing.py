"""Documents into an index, and into the store beneath it if there is one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import Any

from hebbgraph import AddReport, Chunk, HebbianIndex, InvalidChunkError, ParameterError
from hebbgraph.ingest import Intake, OnError
from langchain_core.documents import Document

from langchain_hebbgraph.conversion import documents_of, fields_of, stable_id, to_chunk
from langchain_hebbgraph.wrapped import Wrapped

__all__ = ["as_now", "changed", "with_ids", "write", "write_current"]


def write(
    index: HebbianIndex,
    documents: Sequence[Document],
    *,
    refresh: bool = False,
    delete_missing: bool = False,
    wrapped: Wrapped | None = None,
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
        Whether whatever else the index holds of their sources goes.
    delete_missing : bool
        Whether all that is not among them goes too.
    wrapped : Wrapped, optional
        The store that takes and loses the same documents.
    on_error, strict
        As for ``HebbianIndex.add``.
    """
    fields = [fields_of(document) for document in documents]
    intake = Intake(on_error=on_error, strict=strict, skip_empty=True)
    taken = {chunk.id: (at, chunk) for at, chunk in intake.take(fields)}
    if wrapped is not None:
        wrapped.add([documents[at] for at, _ in taken.values()])
    chunks = [chunk for _, chunk in taken.values()]
    intake.tell()
    if not refresh:
        report = index.add(chunks)
    else:
        emptied = [fields[failed.position] for failed in intake.failed]
        sources = {one["document_id"] for one in emptied if one["document_id"]}
        lost = sorted({one["id"] for one in emptied} - taken.keys())
        gone = [] if wrapped is None else _gone(index, chunks, sources, delete_missing)
        report = index.refresh(chunks, document_ids=sources, delete_missing=delete_missing)
        report += AddReport(deleted=index.delete(lost))
        if wrapped is not None and (gone or lost):
            wrapped.delete([*gone, *lost])
    return report.model_copy(update={"cleaned": intake.cleaned, "failed": tuple(intake.failed)})


def _gone(
    index: HebbianIndex, chunks: Sequence[Chunk], emptied: Set[str], delete_missing: bool
) -> list[str]:
    """Return which ids a refresh with these chunks deletes."""
    named = sorted({*emptied, *(chunk.document_id for chunk in chunks if chunk.document_id)})
    kept = {chunk.id for chunk in chunks}
    where = None if delete_missing else {"$document_id": {"$in": named}}
    return [id_ for id_ in index.ids(where) if id_ not in kept] if delete_missing or named else []


def write_current(index: HebbianIndex, wrapped: Wrapped) -> AddReport:
    """Bring an index to what the store beneath it holds now of its documents.

    Raises
    ------
    ParameterError
        If the store cannot be asked by id.
    """
    if not wrapped.tells:
        raise ParameterError(
            f"{type(wrapped.source).__name__} cannot be asked for documents by id; "
            "hand over those that it holds now: refresh(documents)"
        )
    ids = index.ids()
    current = wrapped.current(ids)
    every = not index.settings.keep_text  # then it cannot tell what has changed
    now = [
        as_now(chunk, current[chunk.id])
        for chunk in index.get(current)
        if every or changed(chunk, current[chunk.id])
    ]
    intake = Intake(skip_empty=True)
    report = index.add([chunk for _, chunk in intake.take(now)])
    intake.tell()
    emptied = {now[failed.position]["id"] for failed in intake.failed}
    gone = [id_ for id_ in ids if id_ not in current or id_ in emptied]
    return report.model_copy(update={"deleted": index.delete(gone) if gone else 0})


def changed(chunk: Chunk, document: Document) -> bool:
    """Return whether a store's document reads otherwise than the chunk made of it."""
    try:
        return to_chunk(document, chunk.id).text != chunk.text
    except InvalidChunkError:
        return True


def as_now(chunk: Chunk, document: Document) -> dict[str, Any]:
    """Return a chunk's fields as a store's document has them; what that lacks stays."""
    fields = fields_of(document, chunk.id)
    for name in ("title", "document_id", "tags", "addresses", "references"):
        fields[name] = fields[name] or getattr(chunk, name)
    fields["metadata"] = {**chunk.metadata, **fields["metadata"]}
    return fields


def with_ids(documents: Iterable[Document], ids: Sequence[str | None] | None) -> list[Document]:
    """Return copies that have ids: those given, their own, or ones made of the content."""
    own = documents_of(documents)
    if isinstance(ids, str):
        raise ParameterError(f"ids is a list of str, got {ids!r}; put it in a list")
    if ids is not None and len(ids) != len(own):
        raise ParameterError(f"as many ids as documents are needed, got {len(ids)} for {len(own)}")
    given = ids or [document.id for document in own]
    if "" in given:
        raise ParameterError("an id is not empty; leave it out (None) where there is none")
    return [
        document.model_copy(update={"id": id_ or stable_id(document)})
        for document, id_ in zip(own, given, strict=True)
    ]
