"""Namespaces as a whole: deleted, exported, and imported somewhere else.

What is exported are the requests that make it again, a line each: documents, chunks without one,
lessons, corrections of tags.
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
from hebbgraph_server.fields import Body
from hebbgraph_server.problems import Problem, problem_of
from hebbgraph_server.visit import NDJSON, Visit

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
    """The name of the namespace once more, so that none is deleted by mistake."""

    name: str = Field(max_length=256)


class Dropped(BaseModel):
    """The namespace is gone."""

    dropped: Literal[True] = True


class Line(Body):
    """One line of an export: what makes a part of it again."""

    put_document: bodies.PutDocumentRequest | None = None
    add: bodies.AddRequest | None = None
    feedback: dict[str, Any] | None = None
    correct_tags: bodies.CorrectTagsRequest | None = None
    problem: Problem | None = Field(default=None, description="the export broke off; the last line")


class ImportRequest(Body):
    """Lines of an export; any part of them, in their order."""

    lines: list[Line]


class Imported(BaseModel):
    """What was not there before."""

    chunks: int
    lessons: int
    corrections: int
    skipped: list[str] = Field(default=[], description="chunks that say nothing, and were left out")


async def drop_namespace(body: DropRequest, visit: Visit) -> Response:
    """Delete the namespace with all that it holds, and erase it. There is no way back."""
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
    """Write all that makes the namespace again, a line of JSON each; ``import`` reads it.

    Vectors, recent recalls and old versions of documents are not in it. If it breaks off, as when
    the namespace is deleted meanwhile, its last line is the problem.
    """
    visit.caller.check_unnamed()
    await visit.run(lambda index: index.holds([]))  # that there is such a namespace
    return StreamingResponse(_whole(visit), media_type=NDJSON)


def _whole(visit: Visit) -> Iterator[bytes]:
    """Yield the lines of an export, and the problem that ends it, if one does."""
    try:
        yield from _exported(visit)
        if visit.namespace not in visit.service.indexes.names():
            raise NamespaceNotFoundError(f"the namespace {visit.namespace!r} was deleted meanwhile")
    except Exception as error:
        yield _line("problem", problem_of(error).model_dump())


def _exported(visit: Visit) -> Iterator[bytes]:
    """Yield the lines; each is of the state when it is read."""
    with visit.service.indexes.borrowed(visit.namespace) as index:
        documents: dict[str | None, list[str]] = {}
        for page in _pages(index.ids()):
            for chunk in index.get(page):
                documents.setdefault(chunk.document_id, []).append(chunk.id)
        prints = index.document_fingerprints()
        for page in _pages(documents.pop(None, [])):
            chunks = [chunk.model_dump(mode="json") for chunk in index.get(page)]
            yield _line("add", {"chunks": chunks})
        for name, ids in documents.items():
            chunks = [chunk.model_dump(mode="json") for chunk in index.get(ids)]
            told = {"document_id": name, "fingerprint": prints.get(name or ""), "chunks": chunks}
            yield _line("put_document", told)
        with tempfile.TemporaryFile("w+", encoding="utf-8") as log:
            index.log.export(log)
            log.seek(0)
            for lesson in log:
                yield _line("feedback", json.loads(lesson))
        for one in index.tags.corrections():
            said = one.model_dump(include={"kind", "tags", "into", "actor"})
            yield _line("correct_tags", said | {"chunks": list(one.chunks) or None})


def _pages(ids: list[str]) -> Iterator[list[str]]:
    return (ids[at : at + _PAGE] for at in range(0, len(ids), _PAGE))


def _line(name: str, body: dict[str, Any]) -> bytes:
    return json.dumps({name: body}).encode() + b"\n"


async def import_lines(body: ImportRequest, visit: Visit) -> Response:
    """Read lines of an export, in one request or several; what has the same id is replaced.

    The lines are a body of ``application/x-ndjson``, or in JSON the field ``lines``. Chunks that
    say nothing, as earlier versions kept them, are left out and named.
    """
    visit.caller.check_unnamed()
    if (broken := next((line.problem for line in body.lines if line.problem), None)) is not None:
        raise ParameterError(f"the export broke off, so export again: {broken.detail}")

    def work(index: HebbianIndex) -> Imported:
        index.make_namespace()
        intake = Intake(skip_empty=True)
        chunks = corrections = 0
        lessons: list[str] = []
        known = {(one.kind, one.tags, one.into, one.chunks) for one in index.tags.corrections()}
        for at, line in enumerate(body.lines):
            visit.tell(at, len(body.lines))
            if (document := line.put_document) is not None:
                made = [one.chunk for one in intake.take(document.chunks)]
                name, fingerprint = document.document_id, document.fingerprint
                chunks += index.put_document(name, fingerprint, made).added
            elif line.add is not None:
                chunks += index.add([one.chunk for one in intake.take(line.add.chunks)]).added
            elif line.feedback is not None:
                lessons.append(json.dumps(line.feedback))
            elif (one := line.correct_tags) is not None:
                tags = (one.tags,) if isinstance(one.tags, str) else tuple(one.tags)
                if (one.kind, tags, one.into, tuple(one.chunks or ())) not in known:
                    correct: Callable[..., Any] = index.tags.correct
                    correct(one.kind, tags, into=one.into, chunks=one.chunks, actor=one.actor)
                    corrections += 1
        taught = (
            index.log.import_(io.StringIO("\n".join(lessons)), origin="import") if lessons else 0
        )
        skipped = [str(one.id) for one in intake.failed]
        return Imported(chunks=chunks, lessons=taught, corrections=corrections, skipped=skipped)

    return await visit.answer(work, pool="long", create=True)
