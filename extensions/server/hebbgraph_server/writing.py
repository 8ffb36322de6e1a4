"""Routes of the role ``write``: add, replace and delete chunks and documents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hebbgraph.hebbian_index import HebbianIndex
from hebbgraph.records import AddReport
from hebbgraph_documents import chunks_of_bytes
from pydantic import BaseModel
from starlette.responses import Response

from hebbgraph_server import bodies
from hebbgraph_server.served import served
from hebbgraph_server.streaming import NDJSON, streamed
from hebbgraph_server.visit import Visit


async def add(body: bodies.AddRequest, visit: Visit) -> Response:
    """Add chunks; a chunk whose id exists replaces the old one.

    With ``Accept: application/x-ndjson``, the answer is streamed: a line of progress after each
    batch, then one with the report or the problem. It goes on if the client leaves.
    """

    def work(index: HebbianIndex, on_progress: Any) -> AddReport:
        return index.add(
            body.chunks, on_error=body.on_error, strict=body.strict, on_progress=on_progress
        )

    if NDJSON not in visit.accepts:
        return await visit.answer(lambda index: work(index, visit.tell), pool="write", create=True)

    async def add_chunks(send: Callable[[BaseModel], object]) -> AddReport:
        def progress(done: int, total: int | None) -> None:
            send(bodies.Progress(done=done, total=total))

        return await visit.run(lambda index: work(index, progress), pool="write", create=True)

    return streamed(add_chunks, "report", survives=True)


async def put_document(body: bodies.PutDocumentRequest, visit: Visit) -> Response:
    """Replace all chunks of a document in one transaction."""
    return await visit.answer(
        lambda index: index.put_document(body.document_id, body.fingerprint, body.chunks),
        pool="write",
        create=True,
    )


async def put_file(body: bodies.PutFileRequest, visit: Visit) -> Response:
    """Convert a file (PDF, Word, HTML, Markdown, text), and replace the document of its name.

    A file that cannot be read changes nothing. The server needs the extra ``documents``.
    """
    fingerprint, chunks = await visit.service.threads.run(
        "long", lambda: chunks_of_bytes(body.content, name=body.name)
    )
    return await visit.answer(
        lambda index: index.put_document(body.name, fingerprint, chunks), pool="write", create=True
    )


async def correct_tags(body: bodies.CorrectTagsRequest, visit: Visit) -> Response:
    """Merge, rename, mute or split tags."""
    actor = visit.caller.actor_of(body.actor)
    return await visit.answer(
        lambda index: index.tags.correct(
            body.kind, body.tags, into=body.into, chunks=body.chunks, actor=actor
        ),
        pool="write",
    )


refresh = served("refresh", pool="write", create=True)
undo_tag_correction = served("undo_tag_correction", "undone", pool="write")
prune = served("prune", pool="long")
doctor = served("doctor", pool="long")
make_namespace = served("make_namespace", "made", pool="write", create=True)
compact = served("compact", "compacted", pool="long")
delete = served(
    "delete", "deleted", pool=lambda arguments: "long" if arguments["erase"] else "write"
)
