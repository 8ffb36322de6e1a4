"""Documents to chunks and back.

``Document.metadata`` comes back as JSON represents it, and is never modified. Some of its fields
have a meaning for the index:

``title``
    The chunk's title, which becomes a tag of every chunk that mentions it.
``source``
    The document that the chunk comes from, for ``delete(document_id=...)`` and ``refresh``.
``tags``, ``addresses``, ``references``
    Lists of str, as in :class:`hebbgraph.Chunk`; the transformers write them.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any, TypeAlias

from langchain_core.documents import Document

from hebbgraph import Chunk, Hit
from hebbgraph.errors import InvalidChunkError, ParameterError
from hebbgraph.recall.pipeline import Where
from hebbgraph.records.base import MAX_ID, MAX_TITLE

__all__ = [
    "Filter",
    "Ids",
    "Metadatas",
    "as_documents",
    "as_list",
    "chunk_filter",
    "chunks_of",
    "title_of",
    "to_chunk",
    "to_document",
]

logger = logging.getLogger(__name__)

Filter: TypeAlias = Mapping[str, Any] | Callable[[Document], bool] | None
"""A dict as in :mod:`hebbgraph.filters`, or a callable that takes a Document."""
Ids: TypeAlias = Sequence[str | None] | None
Metadatas: TypeAlias = Iterable[Mapping[str, Any] | None] | None


def to_chunk(document: Document, id: str | None = None) -> Chunk:
    """Make a chunk of a document, without changing it; what cannot be kept is an error by name.

    Its id is the one given, the document's own, or else a digest of source, title and text: other
    metadata may change without changing it.
    """
    extra = sorted(type(document).model_fields.keys() - Document.model_fields.keys())
    if extra:
        raise InvalidChunkError(
            f"a {type(document).__name__} has the field {extra[0]!r}, which no Document has and "
            "which would be lost; put it into metadata"
        )
    metadata = document.metadata
    _check_numbers(metadata)
    source = metadata.get("source")
    is_id = isinstance(source, str) and 0 < len(source) <= MAX_ID and source.isprintable()
    fields: dict[str, Any] = {
        "text": document.page_content,
        "title": title_of(metadata),
        "metadata": metadata,
        "document_id": source if is_id else None,
    }
    if name := id or document.id:
        fields["id"] = name
    for name in ("tags", "addresses", "references"):
        if isinstance(value := metadata.get(name), list | tuple):
            fields[name] = [item for item in value if isinstance(item, str) and item.strip()]
    return Chunk.of(fields)


def to_document(chunk: Chunk | Hit) -> Document:
    """Make a document of a chunk or hit, with title and source among its metadata."""
    metadata: dict[str, Any] = deepcopy(chunk.metadata)
    if chunk.title:
        metadata.setdefault("title", chunk.title)
    if chunk.document_id:
        metadata.setdefault("source", chunk.document_id)
    return Document(id=chunk.id, page_content=chunk.text, metadata=metadata)


def title_of(metadata: Mapping[str, Any]) -> str:
    """Return the title among a document's metadata, or ``""``."""
    title = metadata.get("title")
    return title[:MAX_TITLE].strip() if isinstance(title, str) else ""


def chunks_of(documents: Iterable[Document], ids: Ids = None) -> list[Chunk]:
    """Make chunks of documents, leaving out blank ones with a warning in the log."""
    documents = as_list(documents, Document, "documents")
    names = _as_many(documents, "documents", ids, "ids")
    chunks, blank = list[Chunk](), list[int]()
    for at, (document, id_) in enumerate(zip(documents, names, strict=True)):
        if not document.page_content.strip() and not title_of(document.metadata):
            blank.append(at)
            continue
        try:
            chunks.append(to_chunk(document, id_))
        except InvalidChunkError as error:
            raise InvalidChunkError(f"documents[{at}]: {error}") from error
    if blank:
        text = "%d of %d documents have no text and were left out; the first is documents[%d]"
        logger.warning(text, len(blank), len(documents), blank[0])
    last = {chunk.id: chunk for chunk in chunks}
    if n_replaced := sum(chunk != last[chunk.id] for chunk in chunks):
        logger.warning("documents that a later one with the same id replaces: %d", n_replaced)
    return chunks


def as_documents(texts: Iterable[str], metadatas: Metadatas = None) -> list[Document]:
    """Make documents of texts and their metadata; raise ParameterError unless they fit."""
    texts = as_list(texts, str, "texts")
    pairs = zip(texts, _as_many(texts, "texts", metadatas, "metadatas"), strict=True)
    return [Document(text, metadata=dict(metadata or {})) for text, metadata in pairs]


def _as_many(items: list[Any], what: str, others: Iterable[Any] | None, name: str) -> list[Any]:
    listed = [None] * len(items) if others is None else list(others)
    if len(listed) != len(items):
        raise ParameterError(f"got {len(listed)} {name} for {len(items)} {what}; pass as many")
    return listed


def as_list(values: Iterable[Any], kind: type, name: str) -> list[Any]:
    """Return values of one kind as a list; raise ParameterError for other things."""
    single = isinstance(values, str | bytes | Mapping | Document)
    items: list[Any] = [values] if single or not isinstance(values, Iterable) else list(values)
    wrong = items if single else [item for item in items if not isinstance(item, kind)]
    if wrong:
        hint = "; texts go to from_texts or add_texts" if isinstance(wrong[0], str) else ""
        raise ParameterError(
            f"{name} is a list of {kind.__name__}, got {type(wrong[0]).__name__}{hint}"
        )
    return items


def chunk_filter(where: Filter) -> Where:
    """Turn a filter for documents into one for chunks."""
    if where is None or isinstance(where, Mapping) or not callable(where):
        return where  # the core checks it
    accepts = where
    return lambda chunk: bool(accepts(to_document(chunk)))


def _check_numbers(metadata: Mapping[str, Any]) -> None:
    """Raise InvalidChunkError for a number that JSON cannot hold, naming its field."""
    for name, value in metadata.items():
        try:
            json.dumps(value, allow_nan=False, skipkeys=True, default=str)
        except ValueError as error:
            raise InvalidChunkError(
                f"metadata[{name!r}] is {value!r:.80}, and {error}; use None, or leave it out"
            ) from error
