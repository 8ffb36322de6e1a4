"""The ASGI app: routes, page, reference and MCP behind the guard."""

import contextlib
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from anyio import to_thread
from fastapi import FastAPI
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles
from mcp.server.transport_security import TransportSecuritySettings
from starlette.middleware import Middleware

from hebbgraph import HebbianIndex, SentenceTransformerEmbedder, Settings, __version__
from hebbgraph.errors import ParameterError
from hebbgraph_server import asking, documents, status, teaching
from hebbgraph_server.errors import handlers
from hebbgraph_server.guard import Guard
from hebbgraph_server.mcp_tools import served_mcp
from hebbgraph_server.observing import Metrics, Observed
from hebbgraph_server.settings import ServerSettings
from hebbgraph_server.visits import Service

logger = logging.getLogger(__name__)
_HERE = Path(__file__).parent
#: Addresses of the page, which all give the same file.
_VIEWS = ("/learned", "/documents")
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
    _add_pages(app)
    return app


def _add_pages(app: FastAPI) -> None:
    """Serve the page under its addresses, and the reference of the API."""

    async def page() -> FileResponse:
        return FileResponse(_HERE / "page" / "index.html")

    for view in _VIEWS:
        app.add_api_route(view, page, include_in_schema=False)
    app.mount("/", StaticFiles(directory=_HERE / "page", html=True))
