"""Routes of the role ``read``: recall, explain, chunks, numbers."""

from __future__ import annotations

from typing import Literal

from hebbgraph.errors import NotFoundError, ParameterError
from hebbgraph.hebbian_index import HebbianIndex
from hebbgraph.records import Chunk
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from hebbgraph_server import bodies
from hebbgraph_server.access import Role
from hebbgraph_server.answering import AnswerRequest
from hebbgraph_server.health import Examiner
from hebbgraph_server.spans import retrieval
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
    """Have a model answer the question of a recall from its passages, with citations."""
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
    return as_response(await model.answer(question, chunks))


async def in_full(body: bodies.InFullRequest, visit: Visit) -> Response:
    """Return a question with the earlier turns that it relies on."""
    return await visit.answer(
        lambda index: bodies.Question(query=index.in_full(body.query, body.history))
    )


async def explain(body: bodies.ExplainRequest, visit: Visit) -> Response:
    """Explain why a recall ranked a chunk as it did."""
    return await visit.answer(lambda index: index.explain(body.recall, body.chunk_id))


async def find_recall(body: bodies.FindRecallRequest, visit: Visit) -> Response:
    """Return a recent recall by its id, or null."""
    return await visit.answer(
        lambda index: bodies.FoundRecall(recall=index.find_recall(body.recall_id))
    )


async def get(body: bodies.ChunkIds, visit: Visit) -> Response:
    """Return chunks by id; unknown ids are left out."""
    return await visit.answer(lambda index: bodies.Chunks(chunks=index.get(body.ids)))


async def holds(body: bodies.ChunkIds, visit: Visit) -> Response:
    """Return which of these ids the namespace holds."""
    return await visit.answer(lambda index: bodies.ChunkIds(ids=sorted(index.holds(body.ids))))


async def ids(body: bodies.IdsRequest, visit: Visit) -> Response:
    """Return the ids of all chunks that pass a filter, sorted."""
    return await visit.answer(
        lambda index: bodies.ChunkIds.model_construct(ids=index.ids(body.where)), pool="long"
    )


async def documents(body: bodies.DocumentsRequest, visit: Visit) -> Response:
    """List documents, the one indexed last first."""
    return await visit.answer(
        lambda index: index.inspect.documents(body.containing, limit=body.limit), pool="long"
    )


async def document_fingerprints(visit: Visit) -> Response:
    """Return the fingerprints of documents, by document id."""
    return await visit.answer(
        lambda index: bodies.Fingerprints(fingerprints=index.document_fingerprints()), pool="long"
    )


async def trace(body: bodies.TraceRequest, visit: Visit) -> Response:
    """Replay how activation spread for the question of a recall."""
    return await visit.answer(
        lambda index: index.inspect.trace(body.recall, where=body.where, limit=body.limit)
    )


async def tags(body: bodies.TagsRequest, visit: Visit) -> Response:
    """Return tags that contain some characters, or those of a chunk, the most frequent first."""
    return await visit.answer(
        lambda index: bodies.Tags(
            tags=index.tags.find(body.containing, chunk=body.chunk, limit=body.limit)
        )
    )


async def neighborhood(body: bodies.NeighborhoodRequest, visit: Visit) -> Response:
    """Return the tags around one, the strongest first."""
    return await visit.answer(lambda index: index.tags.around(body.tag, limit=body.limit))


async def tag_corrections(visit: Visit) -> Response:
    """Return the corrections of tags in force, the oldest first."""
    return await visit.answer(
        lambda index: bodies.Corrections(corrections=index.tags.corrections())
    )


async def colonies(body: bodies.ColoniesRequest, visit: Visit) -> Response:
    """Return the communities of chunks, the largest first; finding them again takes ``write``."""
    if body.rebuild:
        visit.caller.check(Role.WRITE, visit.namespace)
    return await visit.answer(
        lambda index: bodies.Colonies(colonies=index.inspect.colonies(rebuild=body.rebuild)),
        pool="long",
    )


async def learned(visit: Visit) -> Response:
    """Return the parameters of the corpus that citations have moved."""
    return await visit.answer(lambda index: bodies.Learned(learned=list(index.inspect.learned())))


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


async def stats(visit: Visit) -> Response:
    """Count chunks, tags and edges."""
    return await visit.answer(lambda index: index.stats(), pool="long")


class Access(BaseModel):
    """What the token of a request may do in a namespace, and as whom it acts."""

    role: Literal["read", "teach", "write"]
    actor: str | None = None
    answers: bool = Field(default=False, description="whether a model answers questions")


async def access(visit: Visit) -> Response:
    """Tell what the token may do here, and as whom it acts."""
    role = visit.caller.role.name.lower()
    told = {"role": role, "actor": visit.caller.actor, "answers": bool(visit.service.model)}
    return as_response(Access.model_validate(told))


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
