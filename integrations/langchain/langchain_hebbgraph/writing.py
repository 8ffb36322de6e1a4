"""Documents into an index, and into the store beneath it if there is one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from hebbgraph import AddReport, Chunk, HebbianIndex, InvalidChunkError, ParameterError
from hebbgraph.documents.links import is_place
from hebbgraph.intake import Intake, OnError
from langchain_core.documents import Document

from langchain_hebbgraph.conversion import SOURCE, documents_of, fields_of, stable_id, to_chunk
from langchain_hebbgraph.wrapped import Wrapped

__all__ = ["as_now", "changed", "places_of", "sources_of", "with_ids", "write", "write_current"]


def write(
    index: HebbianIndex,
    documents: Sequence[Document],
    *,
    sources: Iterable[str] = (),
    wrapped: Wrapped | None = None,
    on_error: OnError = "raise",
    strict: bool = False,
) -> AddReport:
    """Add documents, each in the place of its former self; of several with one id, the last.

    Parameters
    ----------
    index : HebbianIndex
    documents : sequence of Document
        With ids.
    sources : iterable of str
        Whatever else the index holds of these sources goes.
    wrapped : Wrapped, optional
        The store that takes and loses the same documents.
    on_error, strict
        As for ``HebbianIndex.add``.
    """
    intake = Intake(on_error=on_error, strict=strict)
    taken = {chunk.id: (at, chunk) for at, chunk in intake.take(map(fields_of, documents))}
    if wrapped is not None:
        wrapped.add([documents[at] for at, _ in taken.values()])
    report = index.add([chunk for _, chunk in taken.values()])
    intake.tell()
    held = index.ids({"$document_id": {"$in": named}}) if (named := list(sources)) else []
    gone = [id_ for id_ in held if id_ not in taken]
    if gone and wrapped is not None:
        wrapped.delete(gone)
    return report.model_copy(
        update={
            "cleaned": intake.cleaned,
            "failed": tuple(intake.failed),
            "deleted": index.delete(gone) if gone else 0,
        }
    )


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
    report = index.add(
        [
            as_now(chunk, current[chunk.id])
            for chunk in index.get(current)
            if every or changed(chunk, current[chunk.id])
        ]
    )
    gone = [id_ for id_ in ids if id_ not in current]
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


def sources_of(documents: Iterable[Document]) -> list[str]:
    """Return what the documents name as their source."""
    named = (document.metadata.get(SOURCE) for document in documents)
    return list(dict.fromkeys(one for one in named if isinstance(one, str) and one))


def places_of(documents: Iterable[Document]) -> list[str]:
    """Return the sources that are a path or a URL; "wiki" may name a thousand documents."""
    return [source for source in sources_of(documents) if is_place(source)]


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
