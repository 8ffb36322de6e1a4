"""Routes for documents and chunks: found, shown, uploaded, deleted."""

from collections import Counter
from functools import partial
from pathlib import PurePosixPath
from typing import Annotated, Any

from fastapi import APIRouter, Body, Query

from hebbgraph import Chunk, HebbianIndex
from hebbgraph.documents import Document, IngestReport, convert, ingest
from hebbgraph.documents.kinds import can_convert
from hebbgraph.errors import ConversionError
from hebbgraph.records import AddReport, DeleteReport
from hebbgraph.records.base import MAX_ID
from hebbgraph.text.characters import fold
from hebbgraph_server import models
from hebbgraph_server.errors import RESPONSES, ApiError
from hebbgraph_server.visits import Reader, Writer
from hebbgraph_server.why import passage_of

router = APIRouter(prefix="/v1", responses=RESPONSES)
_OFFERED = ".csv .docx .epub .htm .html .ipynb .json .md .mdx .odt .org .pdf .pptx .rst .rtf .txt"
#: Endings of files that people may choose; other texts are read as well.
KINDS = [ending for ending in _OFFERED.split(" ") if can_convert(f"a{ending}")]
_SHOWN = 20  # passages that come or go with a file
_Place = Annotated[str, Query(min_length=1, max_length=MAX_ID, description="name of the document")]
_Preview = Annotated[bool, Query(description="change nothing")]


@router.get("/documents", tags=["read"])
async def list_documents(
    visit: Reader,
    find: Annotated[str, Query(max_length=200, description="in place or title")] = "",
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    offset: Annotated[int, Query(ge=0)] = 0,
) -> models.Documents:
    """List the documents whose place or title holds all words of ``find``."""

    def work(index: HebbianIndex) -> models.Documents:
        counts, where = index.documents(), visit.where()
        if where is not None:
            seen = Counter(chunk.document_id for chunk in index.get(index.ids(where)))
            counts = {place: seen[place] for place in counts if place in seen}
        first = index.get(index.ids(visit.where({"position": 0})))
        titles = {chunk.document_id: _title(chunk) for chunk in first}
        words = fold(find).split()
        listed = [
            models.Document(place=place, title=title, passages=n)
            for place, n in counts.items()
            for title in [titles.get(place, place)]
            if all(word in fold(f"{place} {title}") for word in words)
        ]
        return models.Documents(documents=listed[offset : offset + limit], total=len(listed))

    return await visit.run(work)


def _title(first: Chunk) -> str:
    """Return the title of a document by its first passage."""
    return (passage_of(first).headings or [first.title])[0] or str(first.document_id)


def _passages(index: HebbianIndex, where: dict[str, Any] | None) -> list[Chunk]:
    """Return passages in the order of their positions."""
    found = sorted(index.get(index.ids(where)), key=lambda chunk: chunk.id)
    places = {chunk.id: chunk.metadata.get("position") for chunk in found}
    return sorted(found, key=lambda c: at if isinstance(at := places[c.id], int | float) else 0)


@router.get("/documents/passages", tags=["read"])
async def passages(place: _Place, visit: Reader) -> dict[str, list[models.Passage]]:
    """Return the passages of a document, in order."""

    def work(index: HebbianIndex) -> list[models.Passage]:
        found = _passages(index, visit.where({"$document_id": place}))
        if not found:
            raise _no_document(place)
        return list(map(passage_of, found))

    return {"passages": await visit.run(work)}


def _no_document(place: str) -> ApiError:
    return ApiError(404, "not_found", f"there is no document {place!r:.200}", "place")


@router.post("/documents", tags=["write"])
async def upload(
    place: _Place,
    visit: Writer,
    content: Annotated[bytes, Body(media_type="application/octet-stream")] = b"",
    preview: _Preview = False,
) -> models.Upload:
    """Upload a file, which replaces the document of its place; preview it first."""
    document = await visit.run(lambda _: convert(content, place), "convert")

    def work(index: HebbianIndex) -> models.Upload:
        change = _change(index, document, preview)
        if not preview:
            change.resting = index.refresh(document.chunks()).resting
        return change

    return await visit.run(work, "write")


def _change(index: HebbianIndex, document: Document, preview: bool) -> models.Upload:
    """Compare a file with the document that is at its place now."""
    place, chunks = document.document_id, document.chunks()
    if not chunks:
        raise ConversionError(f"{place}: holds no passage")
    former = _passages(index, {"$document_id": place})
    replaced = {"place": place, "title": former and _title(former[0]), "passages": len(former)}
    name = fold(PurePosixPath(place).name)
    others = [other for other in index.documents() if other != place]
    new, old = {chunk.id for chunk in chunks}, {chunk.id for chunk in former}
    named = [{*lesson.cited, *lesson.rejected} for lesson in index.lessons() if not lesson.note]
    return models.Upload(
        place=place,
        title=document.title,
        passages=len(chunks),
        preview=preview,
        added=len(new - old),
        unchanged=len(new & old),
        deleted=len(old - new),
        replaces=models.Document.model_validate(replaced) if former else None,
        same_name=[other for other in others if fold(PurePosixPath(other).name) == name][:20],
        resting=sum(bool(ids & old) and not ids & new for ids in named),
        new=[passage_of(chunk) for chunk in chunks if chunk.id not in old][:_SHOWN],
        gone=[passage_of(chunk) for chunk in former if chunk.id not in new][:_SHOWN],
    )


@router.delete("/documents", tags=["write"])
async def delete_document(place: _Place, visit: Writer) -> DeleteReport:
    """Delete a document; its texts are overwritten on the disk."""
    report = await visit.run(lambda index: index.delete(document_id=place), "write")
    if not report.deleted:
        raise _no_document(place)
    return report


@router.post("/documents/folder", tags=["write"])
async def read_folder(
    visit: Writer, delete_missing: bool = False, preview: _Preview = False
) -> IngestReport:
    """Read the folder again that the server was started with; preview it first."""
    folder = visit.service.folder_of(visit.namespace)
    if folder is None:
        text = "there is no folder to read again; see hebbgraph serve --folder"
        raise ApiError(404, "not_found", text)
    work = partial(ingest, [folder], delete_missing=delete_missing, dry_run=preview)
    return await visit.run(work, "convert")


@router.post("/chunks", tags=["write"])
async def add(body: models.ChunksBody, visit: Writer) -> AddReport:
    """Add chunks; an existing id is replaced, an unchanged chunk is skipped."""
    return await visit.run(lambda index: index.add(body.chunks), "write")


@router.post("/chunks/delete", tags=["write"])
async def delete(body: models.DeleteBody, visit: Writer) -> DeleteReport:
    """Delete chunks; their texts are overwritten on the disk."""
    return await visit.run(lambda index: index.delete(body.ids), "write")
