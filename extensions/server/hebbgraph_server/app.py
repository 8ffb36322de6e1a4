"""The ASGI app: routes, page, reference and MCP behind the guard."""

import contextlib
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from anyio import to_thread
from fastapi import FastAPI
from fastapi.responses import FileResponse, Response
from fastapi.staticfiles import StaticFiles
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.types import Scope

from hebbgraph import HebbianIndex, SentenceTransformerEmbedder, Settings, __version__
from hebbgraph.errors import ParameterError
from hebbgraph_server import asking, documents, status, teaching
from hebbgraph_server.errors import ApiError, handlers
from hebbgraph_server.guard import Guard, is_private
from hebbgraph_server.mcp_tools import served_mcp
from hebbgraph_server.observing import Metrics, Observed
from hebbgraph_server.settings import ServerSettings
from hebbgraph_server.visits import Service

logger = logging.getLogger(__name__)
_HERE = Path(__file__).parent
#: Addresses of the page, which all give the same file.
_VIEWS = ("learned", "documents")
_DESCRIPTION = """\
A retriever that learns which passages answer a question. Errors have one shape: `error`, `message`,
`field`. Every path takes `namespace`; left out, it is the one that your token sees."""


def open_index(settings: ServerSettings) -> HebbianIndex:
    """Open the index of a server, making it if there is none."""
    model = settings.embedder and SentenceTransformerEmbedder(settings.embedder)
    options: dict[str, Any] = {"namespace": settings.namespace, "embedder": model or None}
    chosen = Settings(keep_questions=settings.keep_questions, quorum=settings.quorum)
    try:
        return HebbianIndex.open(settings.index, settings=chosen, **options)
    except ParameterError:  # it was built with another quorum, which its lessons follow
        chosen = Settings(keep_questions=settings.keep_questions)
        index = HebbianIndex.open(settings.index, settings=chosen, **options)
    unvouched = [t.name for t in settings.tokens if t.may_teach and not t.is_vouched_for]
    if unvouched and index.settings.quorum < settings.quorum:
        text = "the index was built with quorum 1, so lessons of %s count at once"
        logger.warning(text, ", ".join(unvouched))
    return index


def create_app(index: HebbianIndex, settings: ServerSettings | None = None) -> FastAPI:
    """Return an ASGI app over the namespaces of an index, which it closes at its end."""
    settings = settings or ServerSettings(namespace=index.namespace)
    settings.check()
    index.recall("?", 1, seeds=())  # raises, rather than each request, if other text rules built it
    service, metrics = Service(index, settings), Metrics()
    mcp = served_mcp(service)
    mcp_routes = mcp.streamable_http_app(
        streamable_http_path="/mcp",
        stateless_http=True,  # any worker answers
        json_response=True,
        # Our guard has checked hosts and origins.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        max_request_body_size=settings.max_body_bytes,
    ).routes

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with mcp.session_manager.run():
            yield
        await to_thread.run_sync(service.close)

    app = FastAPI(
        title="hebbgraph",
        version=__version__,
        description=_DESCRIPTION,
        openapi_url="/v1/openapi.json",
        docs_url=None,  # FastAPI's pages load scripts from other servers
        redoc_url=None,
        lifespan=lifespan,
        exception_handlers=handlers(),
        middleware=[Middleware(Observed, metrics), Middleware(Guard, settings)],
    )
    app.state.service, app.state.metrics = service, metrics
    for room in (asking, teaching, documents, status):
        app.include_router(room.router)
    app.router.routes.extend(mcp_routes)
    app.mount("/", _Pages(directory=_HERE / "page", html=True))
    return app


class _Pages(StaticFiles):
    """Files of the page; a browser gets the page itself for its views, and where there is none."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        try:
            return await super().get_response("index.html" if path in _VIEWS else path, scope)
        except HTTPException as error:
            if error.status_code != 404:
                raise
            accepts = Headers(scope=scope).get("accept", "")
            if "text/html" in accepts and not is_private(scope["path"]):
                return FileResponse(_HERE / "page" / "index.html", 404)
            text = f"there is nothing at {scope['path']!r:.200}; /docs lists what there is"
            raise ApiError(404, "not_found", text) from error
