"""A chunk as the columns of its row, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from typing import Any

from pydantic_core import to_json

from hebbgraph.errors import InvalidChunkError
from hebbgraph.records import Chunk
from hebbgraph.store.database import marks
from hebbgraph.store.texts import TextStore
from hebbgraph.stored_json import read_json

__all__ = [
    "INSERT_CHUNK",
    "PLACE",
    "ROW_FIELDS",
    "as_json",
    "chunk_of",
    "chunk_of_row",
    "digest",
    "links_of",
    "row_of",
    "validity_in",
    "validity_of",
]

#: The columns that depend on the chunk, in the order of :func:`row_of`.
ROW_FIELDS = (
    "id",
    "document_id",
    "title",
    "text",
    "metadata",
    "tags",
    "candidates",
    "digest",
    "imprint",
    "links",
    "validity",
    "version_of",
    "context",
)
#: The position of the generation among these fields.
PLACE = ROW_FIELDS.index("digest") + 1
#: All columns but ``row``, which the database assigns.
_WRITTEN = (
    "namespace",
    *ROW_FIELDS[:PLACE],
    "generation",
    *ROW_FIELDS[PLACE:],
    "vector_epoch",
    "vector",
)
INSERT_CHUNK = f"INSERT INTO chunks ({', '.join(_WRITTEN)}) VALUES ({marks(_WRITTEN)})"
_NO_LINKS: dict[str, Any] = {"addresses": (), "references": ()}
_NEVER_DATED: dict[str, Any] = {"valid_from": None, "valid_until": None, "supersedes": ()}


def chunk_of(
    id_: str,
    document_id: str | None,
    title: str,
    metadata: str,
    tags: str,
    links: str | None,
    validity: str | None,
    version_of: str | None,
    context: str | None,
    *,
    text: str,
) -> Chunk:
    """Return the chunk of some columns, with a text."""
    # It was validated when it was written.
    link_fields: dict[str, Any] = _NO_LINKS
    if links is not None:
        parsed = read_json(links, dict, "links of a chunk")
        link_fields = _NO_LINKS | {name: tuple(keys) for name, keys in parsed.items()}
    fields = {
        "id": id_,
        "text": text,
        "title": title,
        "metadata": {} if metadata == "{}" else read_json(metadata, dict, "metadata of a chunk"),
        "document_id": document_id,
        "tags": () if tags == "[]" else tuple(read_json(tags, list, "tags of a chunk")),
        **link_fields,
        **(_NEVER_DATED if validity is None else validity_in(validity)),
        "version_of": version_of,
        "context": context,
    }
    return Chunk.restored(fields)


def row_of(
    chunk: Chunk,
    candidates: Mapping[str, Sequence[str]],
    known_digest: bytes | None,
    store: TextStore,
) -> tuple[Any, ...]:
    """Return the values of a chunk's row, in the order of :data:`ROW_FIELDS`."""
    text, imprint = store.values(chunk)
    links, validity = links_of(chunk), validity_of(chunk)
    return (
        chunk.id,
        chunk.document_id,
        chunk.title,
        text,
        as_json(chunk.metadata) if chunk.metadata else "{}",
        as_json(chunk.tags) if chunk.tags else "[]",
        as_json({kind: store.stored_order(keys) for kind, keys in candidates.items()}),
        known_digest or digest(chunk),
        imprint,
        as_json(links) if links else None,
        as_json(validity) if validity or chunk.version_of else None,
        chunk.version_of,
        chunk.context,
    )


def chunk_of_row(row: Sequence[Any]) -> tuple[Chunk, dict[str, list[str]], bytes]:
    """Return the chunk of a row with its text, its candidates and its digest."""
    id_, document_id, title, text, metadata, tags, candidates, known_digest, _, *rest = row
    chunk = chunk_of(id_, document_id, title, metadata, tags, *rest, text=text)
    return chunk, read_json(candidates, dict, "candidates of a chunk"), known_digest


def validity_in(validity: str) -> dict[str, Any]:
    """Parse the column that says when a chunk holds; return its fields."""
    values = read_json(validity, dict, "when a chunk holds")
    return {
        "valid_from": _moment(values.get("from")),
        "valid_until": _moment(values.get("until")),
        "supersedes": tuple(values.get("supersedes", ())),
    }


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def links_of(chunk: Chunk) -> dict[str, tuple[str, ...]]:
    """Return a chunk's addresses and references by field, without empty ones."""
    fields = {"addresses": chunk.addresses, "references": chunk.references}
    return {name: keys for name, keys in fields.items() if keys}


def validity_of(chunk: Chunk) -> dict[str, Any]:
    """Return when a chunk holds and what it supersedes, without empty fields."""
    fields = {"from": chunk.valid_from, "until": chunk.valid_until, "supersedes": chunk.supersedes}
    return {name: value for name, value in fields.items() if value}


def digest(chunk: Chunk) -> bytes:
    """Return 16 bytes that differ if any field differs."""
    metadata = dict(sorted(chunk.metadata.items()))
    fields: list[Any] = [chunk.document_id, chunk.title, chunk.text, metadata, chunk.tags]
    # A chunk without any of these keeps the digest of older versions.
    links, validity = links_of(chunk), validity_of(chunk)
    if links or validity or chunk.version_of:
        fields.append(links)
    if validity or chunk.version_of:
        fields += [validity, chunk.version_of]
    if chunk.context is not None:
        fields.append(["context", chunk.context])
    return blake2b(as_json(fields).encode(), digest_size=16).digest()


def as_json(value: object) -> str:
    """Return a value as JSON; InvalidChunkError if JSON cannot hold it."""
    try:
        text = to_json(value).decode()
        if "NaN" in text or "Infinity" in text:  # a number, or a word of some text
            json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidChunkError(f"metadata must be JSON: {error}") from error
    return text
