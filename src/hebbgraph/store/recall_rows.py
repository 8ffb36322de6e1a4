"""What is stored of a recall, and how it is completed when it is read.

Stored are the question, the chunks found, their order and paths; the content of chunks stays
in the truth alone. So there is no second copy of a text to erase, and a recall that is looked
up shows no text that the index no longer has.
"""

from __future__ import annotations

from typing import Any

from pydantic_core import from_json

from hebbgraph.records import Chunk, Hit, PathStep, Recall, text_hash
from hebbgraph.store.chunks import ChunkReader, Outline
from hebbgraph.store.texts import some_of

__all__ = ["as_row", "from_row", "whole"]

_NOT_STORED: dict[str, Any] = {
    "vector": True,
    "hits": {
        "__all__": {
            "text_hash": True,
            "chunk": {"text", "title", "metadata", "document_id", "tags"},
            "path": {"__all__": {"title"}},
        }
    },
}


def as_row(recall: Recall) -> str:
    """Return what is stored of a recall, without its vector and the content of chunks.

    One line with the hash of each hit's text, which tells later whether it has changed, and
    one line of JSON.
    """
    hashes = " ".join(hit.hash_of_text for hit in recall.hits)
    return f"{hashes}\n{recall.model_dump_json(exclude=_NOT_STORED)}"


def from_row(row: str) -> Recall:
    """Parse what :func:`as_row` returned; hits have an empty text, and the hash of theirs.

    Earlier versions stored the whole record.

    Raises
    ------
    ValueError
        If it is no stored recall.
    """
    if row.startswith("{"):
        return Recall.model_validate_json(row)
    hashes, _, body = row.partition("\n")
    fields = from_json(body)
    try:
        for hit, hash_ in zip(fields["hits"], hashes.split(), strict=True):
            hit["text_hash"] = hash_
            hit["chunk"]["text"] = ""
    except (TypeError, LookupError) as error:
        raise ValueError("not a stored recall") from error
    return Recall.model_validate(fields)


def whole(recall: Recall, truth: ChunkReader) -> Recall:
    """Return a stored recall with the present content of its chunks.

    A hit whose chunk was deleted or changed since keeps its place and its id only, and a note
    names it.
    """
    wanted = {hit.chunk.id for hit in recall.hits}
    wanted |= {step.value for hit in recall.hits for step in hit.path if step.kind == "chunk"}
    rows = truth.rows_of(sorted(wanted))
    outlines = truth.outlines(sorted(rows.values()))
    held = {id_: outlines[row] for id_, row in rows.items() if row in outlines}
    unchanged = [_is_unchanged(hit, held.get(hit.chunk.id)) for hit in recall.hits]
    gone = [hit.chunk.id for hit, is_ in zip(recall.hits, unchanged, strict=True) if not is_]
    notes = (f"deleted or replaced since: {some_of(gone)}",) if gone else ()
    hits = [_whole(hit, held, is_) for hit, is_ in zip(recall.hits, unchanged, strict=True)]
    found = recall.model_copy(update={"hits": tuple(hits), "notes": (*recall.notes, *notes)})
    completed = truth.text_store.kept(found)
    # A text store elsewhere may still have the text of a chunk that was deleted here.
    answered = [
        one if is_ else hit for one, hit, is_ in zip(completed.hits, hits, unchanged, strict=True)
    ]
    return completed.model_copy(update={"hits": tuple(answered)})


def _whole(hit: Hit, held: dict[str, Outline], same: bool) -> Hit:
    chunk, hash_ = held[hit.chunk.id] if same else (_id_only(hit.chunk.id), hit.hash_of_text)
    path = tuple(_titled(step, held) for step in hit.path)
    return hit.model_copy(update={"chunk": chunk, "text_hash": hash_, "path": path})


def _is_unchanged(hit: Hit, outline: Outline | None) -> bool:
    """Return whether a chunk still has the text that was found."""
    if outline is None:
        return False
    known = outline.text_hash or text_hash(outline.chunk.title, outline.chunk.text)
    return known == hit.hash_of_text


def _titled(step: PathStep, held: dict[str, Outline]) -> PathStep:
    if step.kind != "chunk":
        return step
    outline = held.get(step.value)
    return step.model_copy(update={"title": "" if outline is None else outline.chunk.title})


def _id_only(chunk_id: str) -> Chunk:
    return Chunk.model_construct(
        id=chunk_id, text="", title="", metadata={}, document_id=None, tags=()
    )
