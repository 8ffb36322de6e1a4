"""Whole namespaces: delete, export and import them.

An export is a list of requests that make the namespace again, a line each: documents, chunks
without one, lessons, tag corrections.
"""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Callable, Iterator
from typing import Any, Literal

from hebbgraph.errors import NamespaceNotFoundError, ParameterError
from hebbgraph.hebbian_index import HebbianIndex
from hebbgraph.ingest import Intake
from pydantic import BaseModel, Field
from starlette.responses import Response, StreamingResponse

from hebbgraph_server import bodies
from hebbgraph_server.bodies import Body
from hebbgraph_server.problems import Problem, problem_of
from hebbgraph_server.streaming import NDJSON
from hebbgraph_server.visit import Visit

__all__ = [
    "DropRequest",
    "Dropped",
    "ImportRequest",
    "Imported",
    "Line",
    "drop_namespace",
    "export",
    "import_lines",
]

_PAGE = 1_000


class DropRequest(Body):
    """The name of the namespace again, as confirmation."""

    name: str = Field(max_length=256)


class Dropped(BaseModel):
    """The namespace is gone."""

    dropped: Literal[True] = True


class Line(Body):
    """One line of an export, which makes a part of the namespace again."""

    put_document: bodies.PutDocumentRequest | None = None
    add: bodies.AddRequest | None = None
    feedback: dict[str, Any] | None = None
    correct_tags: bodies.CorrectTagsRequest | None = None
    problem: Problem | None = Field(
        default=None, description="the last line of an incomplete export"
    )


class ImportRequest(Body):
    """Lines of an export, or a part of them, in order."""

    lines: list[Line]


class Imported(BaseModel):
    """The number of chunks, lessons and corrections that were new."""

    chunks: int
    lessons: int
    corrections: int
    skipped: list[str] = Field(default=[], description="empty chunks, which were left out")


async def drop_namespace(body: DropRequest, visit: Visit) -> Response:
    """Delete the namespace and erase its content. This cannot be undone."""
    visit.caller.check_unnamed()
    if body.name != visit.namespace:
        raise ParameterError(
            f"this deletes {visit.namespace!r}, and the body names {body.name!r}; give both alike"
        )
    visit.service.indexes.check_spare(visit.namespace)

    def work(index: HebbianIndex) -> Dropped:
        index.drop_namespace()
        visit.service.indexes.forget(visit.namespace)
        return Dropped()

    return await visit.answer(work, pool="long")


async def export(visit: Visit) -> Response:
    """Export the namespace as JSON lines, which ``import`` reads.

    Vectors, recent recalls and old versions of documents are left out. If the export fails, for
    instance because the namespace is deleted, its last line is the problem.
    """
    visit.caller.check_unnamed()
    await visit.run(lambda index: index.holds([]))  # raises if there is no such namespace
    return StreamingResponse(_lines_or_problem(visit), media_type=NDJSON)


def _lines_or_problem(visit: Visit) -> Iterator[bytes]:
    """Yield the lines of an export, and at the end the problem if it fails."""
    try:
        before = visit.service.indexes.names()  # of a new index, none
        yield from _lines(visit)
        if visit.namespace in {*before} - {*visit.service.indexes.names()}:
            raise NamespaceNotFoundError(f"the namespace {visit.namespace!r} was deleted meanwhile")
    except Exception as error:
        yield _line("problem", problem_of(error).model_dump())


def _lines(visit: Visit) -> Iterator[bytes]:
    """Yield the lines of an export, each from the state at its time."""
    with visit.service.indexes.borrowed(visit.namespace) as index:
        documents: dict[str | None, list[str]] = {}
        for page in _pages(index.ids()):
            for chunk in index.get(page):
                documents.setdefault(chunk.document_id, []).append(chunk.id)
        fingerprints = index.document_fingerprints()
        for page in _pages(documents.pop(None, [])):
            chunks = [chunk.model_dump(mode="json") for chunk in index.get(page)]
            yield _line("add", {"chunks": chunks})
        for name, ids in documents.items():
            chunks = [chunk.model_dump(mode="json") for chunk in index.get(ids)]
            fingerprint = fingerprints.get(name or "")
            body = {"document_id": name, "fingerprint": fingerprint, "chunks": chunks}
            yield _line("put_document", body)
        with tempfile.TemporaryFile("w+", encoding="utf-8") as log:
            index.log.export(log)
            log.seek(0)
            yield from (_line("feedback", json.loads(lesson)) for lesson in log)
        for correction in index.tags.corrections():
            body = correction.model_dump(include={"kind", "tags", "into", "actor"})
            yield _line("correct_tags", body | {"chunks": list(correction.chunks) or None})


def _pages(ids: list[str]) -> Iterator[list[str]]:
    return (ids[at : at + _PAGE] for at in range(0, len(ids), _PAGE))


def _line(name: str, body: dict[str, Any]) -> bytes:
    return json.dumps({name: body}).encode() + b"\n"


async def import_lines(body: ImportRequest, visit: Visit) -> Response:
    """Import lines of an export, in one request or several; the same id replaces.

    The body is ``application/x-ndjson``, or JSON with the field ``lines``. Empty chunks, which
    earlier versions kept, are left out and named.
    """
    visit.caller.check_unnamed()
    if (broken := next((line.problem for line in body.lines if line.problem), None)) is not None:
        raise ParameterError(f"the export is incomplete; export again: {broken.detail}")

    def work(index: HebbianIndex) -> Imported:
        index.make_namespace()
        intake = Intake(skip_empty=True)
        chunks = corrections = 0
        lessons: list[str] = []
        known = {(c.kind, c.tags, c.into, c.chunks) for c in index.tags.corrections()}
        for at, line in enumerate(body.lines):
            visit.tell(at, len(body.lines))
            if (document := line.put_document) is not None:
                accepted = [item.chunk for item in intake.take(document.chunks)]
                name, fingerprint = document.document_id, document.fingerprint
                chunks += index.put_document(name, fingerprint, accepted).added
            elif line.add is not None:
                chunks += index.add([item.chunk for item in intake.take(line.add.chunks)]).added
            elif line.feedback is not None:
                lessons.append(json.dumps(line.feedback))
            elif (new := line.correct_tags) is not None:
                tags = (new.tags,) if isinstance(new.tags, str) else tuple(new.tags)
                if (new.kind, tags, new.into, tuple(new.chunks or ())) not in known:
                    correct: Callable[..., Any] = index.tags.correct
                    correct(new.kind, tags, into=new.into, chunks=new.chunks, actor=new.actor)
                    corrections += 1
        taught = (
            index.log.import_(io.StringIO("\n".join(lessons)), origin="import") if lessons else 0
        )
        skipped = [str(failure.id) for failure in intake.failed]
        return Imported(chunks=chunks, lessons=taught, corrections=corrections, skipped=skipped)

    return await visit.answer(work, pool="long", create=True)
