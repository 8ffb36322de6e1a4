"""Routes of the role ``write``: chunks and documents, in and out."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from typing import Any

from hebbgraph.hebbian_index import HebbianIndex
from hebbgraph.records import AddReport
from hebbgraph_documents import chunks_of_bytes
from starlette.responses import Response, StreamingResponse

from hebbgraph_server import bodies
from hebbgraph_server.problems import problem_of
from hebbgraph_server.served import served
from hebbgraph_server.visit import NDJSON, Visit, as_json

logger = logging.getLogger(__name__)

#: The event loop itself holds tasks by weak references alone.
_running: set[asyncio.Task[AddReport]] = set()


async def add(body: bodies.AddRequest, visit: Visit) -> Response:
    """Add chunks; a chunk whose id exists replaces the old one.

    With ``Accept: application/x-ndjson``, the answer is streamed: a line of progress after each
    batch, then one with the report, or with the problem that ended it.
    """
    if NDJSON in visit.accepts:
        return StreamingResponse(_told(*_started(body, visit)), media_type=NDJSON)
    return await visit.answer(
        lambda index: _add(index, body, on_progress=visit.tell), pool="write", create=True
    )


def _add(index: HebbianIndex, body: bodies.AddRequest, **more: Any) -> AddReport:
    return index.add(body.chunks, on_error=body.on_error, strict=body.strict, **more)


def _started(
    body: bodies.AddRequest, visit: Visit
) -> tuple[asyncio.Task[AddReport], asyncio.Queue[bytes | None]]:
    """Start to add; return that, and the lines of progress, None at the end.

    It goes on if the client leaves, even before it has read the first line.
    """
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[bytes | None] = asyncio.Queue()

    def tell(done: int, total: int | None) -> None:
        line = as_json(bodies.Progress(done=done, total=total))
        loop.call_soon_threadsafe(lines.put_nowait, line)

    def work(index: HebbianIndex) -> AddReport:
        return _add(index, body, on_progress=tell)

    def end(adding: asyncio.Task[AddReport]) -> None:
        _running.discard(adding)
        if not adding.cancelled() and (error := adding.exception()) is not None:
            logger.info("a streamed add ended: %s", type(error).__name__)
        lines.put_nowait(None)

    adding = asyncio.create_task(visit.run(work, pool="write", create=True))
    _running.add(adding)
    adding.add_done_callback(end)
    return adding, lines


async def _told(
    adding: asyncio.Task[AddReport], lines: asyncio.Queue[bytes | None]
) -> AsyncIterator[bytes]:
    """Yield the lines of a streamed answer."""
    while (line := await lines.get()) is not None:
        yield line + b"\n"
    try:
        last = {"report": adding.result().model_dump()}
    except Exception as error:
        last = {"problem": problem_of(error).model_dump()}
    yield json.dumps(last).encode() + b"\n"


async def put_document(body: bodies.PutDocumentRequest, visit: Visit) -> Response:
    """Replace all chunks of a document in one transaction."""
    return await visit.answer(
        lambda index: index.put_document(body.document_id, body.fingerprint, body.chunks),
        pool="write",
        create=True,
    )


async def put_file(body: bodies.PutFileRequest, visit: Visit) -> Response:
    """Convert a file (PDF, Word, HTML, Markdown, text), and replace the document of its name.

    What cannot be read changes nothing. The server needs the extra ``documents`` for it.
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
delete = served("delete", "deleted", pool=lambda given: "long" if given["erase"] else "write")
