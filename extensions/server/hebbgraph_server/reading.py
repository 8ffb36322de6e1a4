"""Routes of the role ``read``: recalls, explanations, chunks, statistics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from hebbgraph.errors import NotFoundError, ParameterError, TooManyRequestsError
from hebbgraph.hebbian_index import HebbianIndex
from hebbgraph.records import Chunk
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from hebbgraph_server import bodies
from hebbgraph_server.access import Role
from hebbgraph_server.answering import Answer, AnswerPart, AnswerRequest
from hebbgraph_server.health import Examiner
from hebbgraph_server.served import served
from hebbgraph_server.spans import retrieval
from hebbgraph_server.streaming import NDJSON, streamed
from hebbgraph_server.tasks import TasksFound
from hebbgraph_server.visit import Service, Visit, as_response


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

    With ``Accept: application/x-ndjson``, the answer is streamed: a line for each part of the
    text, then one with the answer or the problem.
    """
    if (model := visit.service.model) is None:
        raise ParameterError("no model answers here; start the server with --llm URL")

    def work(index: HebbianIndex) -> tuple[str, list[Chunk]]:
        recall = index.find_recall(body.recall_id)
        if recall is None:
            raise NotFoundError(f"no recall {body.recall_id!r:.200} is kept; ask again")
        question = index.in_full(recall.query, [turn.text for turn in recall.history])
        return question, index.get([hit.chunk.id for hit in recall.hits[: body.k]])

    question, chunks = await visit.run(work)
    if not chunks:
        raise ParameterError("the recall has no passages to answer from")
    slots = visit.service.answering
    if slots.locked():
        raise TooManyRequestsError(
            f"the model is answering {visit.service.settings.answers_at_once} questions, the most "
            "at a time; ask again in a moment"
        )

    async def ask(send: Callable[[BaseModel], object] | None) -> Answer:
        async with slots:
            on_text = None if send is None else lambda part: send(AnswerPart(text=part))
            return await model.answer(question, chunks, on_text)

    if NDJSON in visit.accepts:
        return streamed(ask, "answer", survives=False)
    return as_response(await ask(None))


async def tasks(visit: Visit) -> Response:
    """List the tasks of a namespace: the token's own, or all for the role write."""
    name = None if visit.caller.role is Role.WRITE else visit.caller.name
    return as_response(TasksFound(tasks=visit.service.tasks.of(visit.namespace, name)))


async def properties(visit: Visit) -> Response:
    """Return the properties of the index: settings, whether it embeds, what was repaired."""

    def work(index: HebbianIndex) -> bodies.Properties:
        return bodies.Properties(
            namespace=index.namespace,
            # A custom search or rule is a callable, which JSON can only name.
            settings=index.settings.model_dump(mode="json", fallback=repr),
            embeds=index.embeds,
            repairs=list(index.repairs),
        )

    return await visit.answer(work)


class Access(BaseModel):
    """What a token may do in a namespace, and as which actor."""

    role: Literal["read", "teach", "write"]
    actor: str | None = None
    answers: bool = Field(default=False, description="whether a model answers questions")
    folder: bool = Field(default=False, description="whether read_folder has a folder to read")
    learns: bool = Field(default=False, description="whether opening and copying teach")


async def access(visit: Visit) -> Response:
    """Return what the token may do here, and as which actor."""
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
    names = await service.threads.run("read", service.indexes.names)
    sees = request.state.caller.sees
    return as_response(bodies.Namespaces(namespaces=[name for name in names if sees(name)]))


async def health(request: Request) -> Response:
    """Check whether the index answers. Needs no token."""
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
