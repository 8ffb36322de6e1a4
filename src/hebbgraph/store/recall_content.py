"""The content of a stored recall: what its chunks hold now."""

from __future__ import annotations

from hebbgraph.records import Chunk, Hit, PathStep, Recall, text_hash
from hebbgraph.store.chunks import ChunkReader, Outline
from hebbgraph.store.texts import TextsElsewhere, some_of

__all__ = ["whole"]


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
    same = {hit.chunk.id for hit in recall.hits if _is_unchanged(hit, held.get(hit.chunk.id))}
    hits = tuple(_whole(hit, held, hit.chunk.id in same) for hit in recall.hits)
    if isinstance(store := truth.text_store, TextsElsewhere):
        completed, _ = store.completed(hits)
        # It may have another text by now, or still that of a chunk that was deleted here.
        hits = tuple(
            one if hit.chunk.id in same and one.hash_of_text == hit.hash_of_text else hit
            for one, hit in zip(completed, hits, strict=True)
        )
    gone = [hit.chunk.id for hit in recall.hits if hit.chunk.id not in same]
    notes = (f"deleted or replaced since: {some_of(gone)}",) if gone else ()
    return recall.model_copy(update={"hits": hits, "notes": (*recall.notes, *notes)})


def _whole(hit: Hit, held: dict[str, Outline], same: bool) -> Hit:
    nothing = Chunk.model_construct(
        id=hit.chunk.id, text="", title="", metadata={}, document_id=None, tags=()
    )
    chunk, hash_ = held[hit.chunk.id] if same else (nothing, hit.hash_of_text)
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
