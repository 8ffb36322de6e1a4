"""Routes about the server: who asks, what it serves, whether it works."""

import logging
from pathlib import PurePath
from typing import Any

from anyio import CapacityLimiter, fail_after, to_thread
from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse

from hebbgraph import HebbianIndex, __version__
from hebbgraph.errors import HebbgraphError
from hebbgraph_server.documents import KINDS
from hebbgraph_server.errors import RESPONSES, ApiError
from hebbgraph_server.observing import metrics_text
from hebbgraph_server.tokens import LOCAL, Role
from hebbgraph_server.visits import Admin, Reader, Visit

logger = logging.getLogger(__name__)
router = APIRouter(prefix="/v1", responses=RESPONSES)


@router.get("/session", tags=["read"])
async def session(visit: Reader) -> dict[str, Any]:
    """Say who asks, what they may do and see, and what the corpus is."""
    service, token = visit.service, visit.token
    settings, folder = service.settings, service.folder_of(visit.namespace)

    def work(index: HebbianIndex) -> dict[str, Any]:
        numbers = _numbers(visit, index)
        write, admin = (token.role.includes(role) for role in (Role.WRITE, Role.ADMIN))
        return {
            "token": token.name,
            "role": token.role,
            "may": {"teach": token.may_teach, "write": write, "admin": admin},
            "actor": token.actor,
            "namespaces": [name for name in index.namespaces() if token.sees(name)],
            "namespace": visit.namespace,
            "name": settings.name,
            "documents": numbers["documents"],
            "passages": numbers["chunks"],
            "lessons": numbers.get("lessons", 0),
            "folder": folder and PurePath(folder).name,
            "kinds": KINDS,
            "keeps_questions": index.settings.keep_questions,
            "needs_token": token is not LOCAL,
            "version": __version__,
        }

    return await visit.run(work)


def _numbers(visit: Visit, index: HebbianIndex) -> dict[str, Any]:
    """Return what a token sees, in numbers."""
    if visit.token.filter is None:
        return index.stats()
    seen = index.get(index.ids(visit.where()))
    return {"chunks": len(seen), "documents": len({chunk.document_id for chunk in seen} - {None})}


@router.get("/health", tags=["any"])
async def health() -> dict[str, str]:
    """Say that the process answers."""
    return {"status": "ok", "version": __version__}


@router.get("/ready", tags=["any"])
async def ready(request: Request) -> dict[str, str]:
    """Say whether the index answers; 503 if not."""
    index: HebbianIndex = request.app.state.service.index
    own = CapacityLimiter(1)  # that all other threads are busy is no illness
    try:
        with fail_after(3.0):
            await to_thread.run_sync(index.get, [], abandon_on_cancel=True, limiter=own)
    except (HebbgraphError, OSError) as error:
        logger.error("not ready: %s: %s", type(error).__name__, error)
        raise ApiError(503, "failed", "the index does not answer; see the server's log") from error
    return {"status": "ok"}


@router.get("/metrics", tags=["admin"], responses={200: {"content": {"text/plain": {}}}})
async def metrics(request: Request, visit: Admin) -> PlainTextResponse:
    """Return metrics in Prometheus' format."""
    content, kind = metrics_text(request.app.state.metrics)
    return PlainTextResponse(content, media_type=kind)
