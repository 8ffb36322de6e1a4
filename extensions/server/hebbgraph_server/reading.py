"""Routes of the role ``read``: recall, explain, chunks, numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from hebbgraph.errors import NotFoundError, ParameterError, TooManyRequestsError
from hebbgraph.hebbian_index import HebbianIndex
from hebbgraph.records import Chunk
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from hebbgraph_server import bodies
from hebbgraph_server.access import Role
from hebbgraph_server.answering import Answer, AnswerRequest, as_it_comes
from hebbgraph_server.health import Examiner
from hebbgraph_server.served import served
from hebbgraph_server.spans import retrieval
from hebbgraph_server.tasks import TasksFound
from hebbgraph_server.visit import NDJSON, Service, Visit, as_response


async def recall(body: bodies.RecallRequest, visit: Visit) -> Response:
    """Return the k most active chunks for a question."""
    if body.k > (most := visit.service.settings.max_k):
        raise ParameterError(f"this server returns at most {most} hits, got k={body.k}")
    arguments = {name: getattr(body, name) for name in body.model_fields_set - {"query"}}
    return await visit.answer(
        lambda index: retrieval(
            visit.namespace, body.k, lambda: index.recall(body.query, **arguments)
        )
    )


async def answer(body: AnswerRequest, visit: Visit) -> Response:
    """Have a model answer the question of a recall from its passages, with citations.

    With ``Accept: application/x-ndjson``, it is streamed: lines with parts of the text, then one
    with the answer, or with the problem that ended it.
    """
    if (model := visit.service.model) is None:
        raise ParameterError("no model answers here; start the server with --llm URL")

    def work(index: HebbianIndex) -> tuple[str, list[Chunk]]:
        found = index.find_recall(body.recall_id)
        if found is None:
            raise NotFoundError(f"no recall {body.recall_id!r:.200} is kept; ask again")
        asked = index.in_full(found.query, [turn.text for turn in found.history])
        return asked, index.get([hit.chunk.id for hit in found.hits[: body.k]])

    question, chunks = await visit.run(work)
    if not chunks:
        raise ParameterError("the recall has no passages to answer from")
    at_once = visit.service.answering
    if at_once.locked():
        raise TooManyRequestsError(
            f"the model answers {visit.service.settings.answers_at_once} questions already, as "
            "many as this server asks it at once; ask again in a moment"
        )

    async def answering(tell: Callable[[str], None] | None) -> Answer:
        async with at_once:
            return await model.answer(question, chunks, tell)

    if NDJSON in visit.accepts:
        return StreamingResponse(as_it_comes(answering), media_type=NDJSON)
    return as_response(await answering(None))


async def tasks(visit: Visit) -> Response:
    """List the tasks of a namespace: the token's own, or with the role write, all."""
    whose = None if visit.caller.role is Role.WRITE else visit.caller.name
    return as_response(TasksFound(tasks=visit.service.tasks.of(visit.namespace, whose)))


async def properties(visit: Visit) -> Response:
    """Return the properties of the index: settings, whether it embeds, what was repaired."""

    def held(index: HebbianIndex) -> bodies.Properties:
        return bodies.Properties(
            namespace=index.namespace,
            # A search or rule of one's own is a callable, which has a name at most.
            settings=index.settings.model_dump(mode="json", fallback=repr),
            embeds=index.embeds,
            repairs=list(index.repairs),
        )

    return await visit.answer(held)


class Access(BaseModel):
    """What the token of a request may do in a namespace, and as whom it acts."""

    role: Literal["read", "teach", "write"]
    actor: str | None = None
    answers: bool = Field(default=False, description="whether a model answers questions")
    folder: bool = Field(default=False, description="whether there is a folder to read again")
    learns: bool = Field(default=False, description="whether what people do here teaches")


async def access(visit: Visit) -> Response:
    """Tell what the token may do here, and as whom it acts."""
    role = visit.caller.role.name.lower()
    settings = visit.service.settings
    return as_response(
        Access(
            role=role,
            actor=visit.caller.actor,
            answers=bool(visit.service.model),
            folder=settings.folder_of(visit.namespace) is not None,
            learns=settings.learn_from_use and visit.caller.role.includes(Role.TEACH),
        )
    )


async def namespaces(request: Request) -> Response:
    """Return the namespaces that the token sees."""
    service: Service = request.app.state.service
    found = await service.threads.run("read", service.indexes.names)
    sees = request.state.caller.sees
    return as_response(bodies.Namespaces(namespaces=[name for name in found if sees(name)]))


async def health(request: Request) -> Response:
    """Tell whether the index answers, and what it has to do without; takes no token."""
    examiner: Examiner = request.app.state.examiner
    return await examiner.answer()


in_full = served("in_full", "query")
find_recall = served("find_recall", "recall")
explain = served("explain")
get = served("get", "chunks")
holds = served("holds", "ids")
ids = served("ids", "ids", pool="long")
documents = served("documents", pool="long")
document_fingerprints = served("document_fingerprints", "fingerprints", pool="long")
stats = served("stats", pool="long")
learned = served("learned", "learned")
trace = served("trace")
tags = served("tags", "tags")
neighborhood = served("neighborhood")
tag_corrections = served("tag_corrections", "corrections")


def _may_rebuild(arguments: dict[str, Any], visit: Visit) -> None:
    if arguments["rebuild"]:
        visit.caller.check(Role.WRITE, visit.namespace)


colonies = served("colonies", "colonies", pool="long", check=_may_rebuild)
