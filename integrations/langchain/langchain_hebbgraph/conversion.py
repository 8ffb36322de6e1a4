"""Converts documents to chunks and back.

Metadata come back as JSON represents them (:mod:`hebbgraph.plain_values`), and
``Document.metadata`` is never modified. Some of its fields have a meaning for the index:

``title``
    The chunk's title. It becomes a tag that is looked for in other chunks.
``tags``
    A list of str: tags in addition to those that the index finds. :class:`TagTransformer`
    and :class:`HebbianTextSplitter` write it.
``source``
    The document that the chunk comes from, for ``delete(document_id=...)``. A path or a URL is
    also an address.
``addresses``, ``references``
    Lists of str: where others find the document (path, URL with anchor, message id,
    ``[[wiki name]]``, symbols), and what it links to. Recalls follow them.
    :class:`HebbianTextSplitter` writes both, from Markdown.

Periods of validity are read from the fields that ``Settings(time_fields=...)`` names, only.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from hebbgraph import Chunk, FilterError, ParameterError
from hebbgraph.arguments import check_list
from hebbgraph.citations import Source
from hebbgraph.filters import parse_filter
from hebbgraph.ingest import clean_chunk
from hebbgraph.limits import MAX_ADDRESSES, MAX_ID, MAX_REFERENCES, MAX_TITLE
from hebbgraph.plain_values import plain
from hebbgraph.records import readable_links
from hebbgraph_documents.links import is_place
from langchain_core.documents import Document

__all__ = [
    "Filter",
    "check_documents",
    "check_filter",
    "chunk_filter",
    "documents_of_texts",
    "fields_of",
    "stable_id",
    "to_chunk",
    "to_document",
    "to_source",
    "with_ids",
]

TITLE, TAGS, SOURCE = "title", "tags", "source"
#: Where ``include_path`` writes how a document was found; never stored in the index.
TRAIL = "hebbgraph"
ADDRESSES, REFERENCES = "addresses", "references"

Filter: TypeAlias = Mapping[str, Any] | Callable[[Document], bool] | None
"""A dict as in :mod:`hebbgraph.filters`, or a callable that takes a Document."""


def check_documents(documents: Iterable[Document]) -> list[Document]:
    """Return documents as a list; raise ParameterError for anything else."""
    hints = {str: "texts go to from_texts or add_texts"}
    return check_list(documents, Document, "documents", "Document", hints)


def documents_of_texts(
    texts: Iterable[str], metadatas: Iterable[dict[str, Any]] | None = None
) -> list[Document]:
    """Make documents of texts; raise ParameterError if the arguments do not fit."""
    texts = check_list(texts, str, "texts", "str", {Document: "documents go to from_documents"})
    if metadatas is None:
        return [Document(text) for text in texts]
    metadatas = check_list(metadatas, Mapping | None, "metadatas", "dict")
    if len(metadatas) != len(texts):
        raise ParameterError(
            f"as many metadatas as texts are needed, got {len(metadatas)} for {len(texts)}"
        )
    pairs = zip(texts, metadatas, strict=True)
    return [Document(text, metadata=dict(metadata or {})) for text, metadata in pairs]


def with_ids(documents: Iterable[Document], ids: Sequence[str | None] | None) -> list[Document]:
    """Return copies with ids: those given, their own, or ids made of the content."""
    documents = check_documents(documents)
    if ids is not None:
        ids = check_list(ids, str | None, "ids", "str")
        if len(ids) != len(documents):
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


def stable_id(document: Document) -> str:
    """Return the document's id, or one made of its content and metadata.

    Examples
    --------
    >>> stable_id(Document("Synapses learn.")) == stable_id(Document("Synapses learn."))
    True
    """
    if document.id:
        return document.id
    metadata = json.dumps(plain(document.metadata, other=repr), sort_keys=True)
    content = f"{document.page_content}\x1f{metadata}"
    return hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()[:32]


def fields_of(document: Document, id: str | None = None) -> dict[str, Any]:
    """Return the fields of a document's chunk, for ``HebbianIndex.add`` to clean and check."""
    # The index refuses other values, by id.
    metadata = plain(document.metadata, other=lambda value: value)
    metadata.pop(TRAIL, None)
    tags = metadata.get(TAGS)
    tags = tags if isinstance(tags, list) else ()
    return {
        "id": id or stable_id(document),
        "text": document.page_content,
        "title": _title(metadata),
        "metadata": metadata,
        "document_id": _document_id(metadata),
        "tags": [tag for tag in tags if isinstance(tag, str) and tag.strip()],
        "addresses": _addresses(metadata),
        "references": readable_links(metadata.get(REFERENCES), MAX_REFERENCES),
    }


def to_chunk(document: Document, id: str | None = None) -> Chunk:
    """Make a chunk of a document, without changing it.

    Metadata become plain values (:mod:`hebbgraph.plain_values`). Control characters that
    databases cannot store are replaced.

    Raises
    ------
    InvalidChunkError
        If the metadata are no JSON.

    Examples
    --------
    >>> to_chunk(Document("Ida Moss built it.", id="p", metadata={"title": "Petrel"})).title
    'Petrel'
    """
    return clean_chunk(fields_of(document, id))


def to_document(chunk: Chunk) -> Document:
    """Make a document of a chunk: a copy that the caller may change.

    Adds the title and the document id to the metadata if they are missing there.
    """
    metadata: dict[str, Any] = _copied(chunk.metadata)
    if chunk.title and TITLE not in metadata:
        metadata[TITLE] = chunk.title
    if chunk.document_id and SOURCE not in metadata:
        metadata[SOURCE] = chunk.document_id
    return Document(id=chunk.id, page_content=chunk.text, metadata=metadata)


def to_source(document: Document) -> Source:
    """Make a source for a :class:`~hebbgraph.citations.Formatter`."""
    return Source(document.id or "", document.page_content, _title(document.metadata))


def check_filter(where: Filter) -> None:
    """Raise FilterError for a filter that every search would refuse."""
    if isinstance(where, Mapping):
        parse_filter(where)
    elif where is not None and not callable(where):
        raise FilterError(f"a filter is a dict or a callable, got {type(where).__name__}")


def chunk_filter(where: Filter) -> Mapping[str, Any] | Callable[[Chunk], bool] | None:
    """Turn a filter for documents into one for chunks."""
    if where is None or isinstance(where, Mapping) or not callable(where):
        return where  # the index checks it
    accepts = where

    def passes(chunk: Chunk) -> bool:
        try:
            passed = accepts(to_document(chunk))
        except KeyError as error:
            raise FilterError(
                f"the filter finds no {error.args[0]!r:.80} in document {chunk.id!r}; write "
                f"document.metadata.get({error.args[0]!r:.80})"
            ) from error
        if passed is None:
            raise FilterError(f"the filter returned None for document {chunk.id!r}; return a bool")
        return bool(passed)

    return passes


def _title(metadata: Mapping[str, Any]) -> str:
    title = metadata.get(TITLE)
    return title[:MAX_TITLE] if isinstance(title, str) else ""


def _document_id(metadata: Mapping[str, Any]) -> str | None:
    source = metadata.get(SOURCE)
    if isinstance(source, str) and 0 < len(source) <= MAX_ID and source.isprintable():
        return source
    return None


def _addresses(metadata: Mapping[str, Any]) -> tuple[str, ...]:
    source = metadata.get(SOURCE)
    place = readable_links(source if is_place(source) else None, 1)
    listed = readable_links(metadata.get(ADDRESSES), MAX_ADDRESSES - len(place))
    return tuple(dict.fromkeys((*listed, *place)))


def _copied(value: Any) -> Any:
    """Copy plain values, faster than ``copy.deepcopy``: filters read many chunks."""
    if isinstance(value, dict):
        return {key: _copied(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_copied(part) for part in value]
    return value
