"""What is kept of a recall, and how it becomes whole again.

Which chunks were found, in which order, over which path, by which question: that is the
recall, and that is kept. What a chunk says is the truth's alone. So there is no second
copy of a text that would have to be erased, and who looks a recall up reads no text that
the index does not have any more.
"""

from __future__ import annotations

from typing import Any

from pydantic_core import from_json

from hebbgraph.records import Chunk, Hit, PathStep, Recall, text_hash
from hebbgraph.store.chunks import ChunkReader, Outline
from hebbgraph.store.texts import some_of

__all__ = ["as_row", "from_row", "whole"]

_NOT_KEPT: dict[str, Any] = {
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
    """Write a recall down without its vector and without what its chunks say.

    A line with the hash of each hit's text, by which it is known what the hit was about, and
    a line of JSON.
    """
    hashes = " ".join(hit.hash_of_text for hit in recall.hits)
    return f"{hashes}\n{recall.model_dump_json(exclude=_NOT_KEPT)}"


def from_row(row: str) -> Recall:
    """Read what :func:`as_row` wrote; hits have an empty text, and the hash of theirs.

    Earlier versions wrote the record itself, texts and all.

    Raises
    ------
    ValueError
        If it is something else.
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
        raise ValueError("no recall that was kept") from error
    return Recall.model_validate(fields)


def whole(recall: Recall, truth: ChunkReader) -> Recall:
    """Return a recall that was kept with what its chunks say now.

    A hit whose text is not the one that was found, for the chunk was deleted or replaced
    since, stays in its place with its id and nothing else, and a note names it.
    """
    wanted = {hit.chunk.id for hit in recall.hits}
    wanted |= {step.value for hit in recall.hits for step in hit.path if step.kind == "chunk"}
    rows = truth.rows_of(sorted(wanted))
    outlines = truth.outlines(sorted(rows.values()))
    held = {id_: outlines[row] for id_, row in rows.items() if row in outlines}
    there = [_is_about(hit, held.get(hit.chunk.id)) for hit in recall.hits]
    gone = [hit.chunk.id for hit, is_ in zip(recall.hits, there, strict=True) if not is_]
    notes = (f"deleted or replaced since: {some_of(gone)}",) if gone else ()
    hits = [_whole(hit, held, is_) for hit, is_ in zip(recall.hits, there, strict=True)]
    found = recall.model_copy(update={"hits": tuple(hits), "notes": (*recall.notes, *notes)})
    completed = truth.text_store.kept(found)
    # A store of texts elsewhere may have one that was deleted here; it is not asked for it.
    answered = [
        one if is_ else hit for one, hit, is_ in zip(completed.hits, hits, there, strict=True)
    ]
    return completed.model_copy(update={"hits": tuple(answered)})


def _whole(hit: Hit, held: dict[str, Outline], is_there: bool) -> Hit:
    chunk, hash_ = held[hit.chunk.id] if is_there else (_nothing_of(hit.chunk.id), hit.hash_of_text)
    path = tuple(_titled(step, held) for step in hit.path)
    return hit.model_copy(update={"chunk": chunk, "text_hash": hash_, "path": path})


def _is_about(hit: Hit, outline: Outline | None) -> bool:
    """Tell whether a chunk still has the text that was found."""
    if outline is None:
        return False
    known = outline.text_hash or text_hash(outline.chunk.title, outline.chunk.text)
    return known == hit.hash_of_text


def _titled(step: PathStep, held: dict[str, Outline]) -> PathStep:
    if step.kind != "chunk":
        return step
    outline = held.get(step.value)
    return step.model_copy(update={"title": "" if outline is None else outline.chunk.title})


def _nothing_of(chunk_id: str) -> Chunk:
    return Chunk.model_construct(
        id=chunk_id, text="", title="", metadata={}, document_id=None, tags=()
    )
