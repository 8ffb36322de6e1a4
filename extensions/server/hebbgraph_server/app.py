"""The ASGI app: routes and page behind the guard."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from hebbgraph._version import __version__
from hebbgraph.hebbian_index import HebbianIndex
from hebbgraph.pool import IndexPool
from mcp.server.transport_security import TransportSecuritySettings
from pydantic.json_schema import models_json_schema
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import HTMLResponse, JSONResponse
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from hebbgraph_server.describing import as_page
from hebbgraph_server.guard import Guard, is_private
from hebbgraph_server.health import Examiner
from hebbgraph_server.indexes import Indexes
from hebbgraph_server.mcp_tools import served_mcp
from hebbgraph_server.observing import Metrics, Observed
from hebbgraph_server.problems import handlers
from hebbgraph_server.routes import Direct, methods, own_schemas, router
from hebbgraph_server.settings import ServerSettings
from hebbgraph_server.threads import Threads
from hebbgraph_server.visit import Service

__all__ = ["PAGE", "create_app"]

#: The files of the web page.
PAGE = Path(__file__).parent / "page"

_DOCUMENT = "/v1/openapi.json"

_DESCRIPTION = """\
A retriever that learns from citations. Each path is a method of the Python API, its body the
arguments, its answer what the method returns. Errors are problems (RFC 9457)."""


def create_app(
    index: HebbianIndex | IndexPool | Indexes,
    settings: ServerSettings | None = None,
    *,
    sessions: bool = True,
) -> FastAPI:
    """Return an ASGI app over an index.

    Parameters
    ----------
    index : HebbianIndex, IndexPool or Indexes
        One open index, or all namespaces of a pool. The caller closes either.
    settings : ServerSettings, optional
    sessions : bool
        Whether MCP keeps sessions in this process. Choose False where several processes answer
        behind one address; the agents of one token then count as one actor.

    Raises
    ------
    ParameterError
        If the app would listen to the network without a token.
    """
    settings = settings or ServerSettings()
    indexes = index if isinstance(index, Indexes) else Indexes(index)
    settings.check()
    service = Service(
        settings,
        indexes,
        Threads(settings.readers, settings.writers),
        settings.model,
        answering=asyncio.Semaphore(settings.answers_at_once),
    )
    metrics = Metrics()
    mcp = served_mcp(service)
    # Our guard has checked hosts and origins.
    unguarded = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    mcp_routes = mcp.streamable_http_app(
        streamable_http_path="/mcp",
        stateless_http=not sessions,
        transport_security=unguarded,
        max_request_body_size=settings.max_body_bytes,
    ).routes

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        watching = asyncio.create_task(metrics.watch())
        try:
            async with mcp.session_manager.run():
                yield
        finally:
            watching.cancel()
            await asyncio.to_thread(service.threads.close)
            await asyncio.to_thread(indexes.close)

    paths = methods() | {_DOCUMENT: ("GET", "HEAD")}
    app = FastAPI(
        title="hebbgraph",
        version=__version__,
        description=_DESCRIPTION,
        openapi_url=None,  # ours has more; FastAPI's pages load scripts from other servers
        lifespan=lifespan,
        exception_handlers=handlers(),
        middleware=[
            Middleware(Observed, metrics=metrics, paths=[*paths, "/mcp", "/docs"]),
            Middleware(Guard, settings=settings, methods=paths),
            Middleware(Direct),
        ],
    )
    app.state.service = service
    app.state.examiner = Examiner(indexes)
    app.state.metrics = metrics
    app.include_router(router())
    _add_documentation(app)
    app.router.routes.extend(mcp_routes)
    app.mount("/", _page(), name="page")
    return app


def _add_documentation(app: FastAPI) -> None:
    document = functools.cache(lambda: _document(app))
    app.add_route(_DOCUMENT, lambda _: JSONResponse(document()), include_in_schema=False)
    app.add_route("/docs", lambda _: HTMLResponse(as_page(document())), include_in_schema=False)


def _page() -> ASGIApp:
    """Return an app for the files of the page that refuses unknown paths of the API."""
    files = StaticFiles(directory=PAGE, html=True)

    async def page(scope: Scope, receive: Receive, send: Send) -> None:
        if is_private(scope["path"]):
            raise HTTPException(
                404, f"no route {scope['method']} {scope['path']:.200}; see /v1/openapi.json"
            )
        await files(scope, receive, send)

    return page


def _document(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document, with the models that FastAPI does not find itself."""
    document: dict[str, Any] = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes
    )
    _, models = models_json_schema(
        [(model, "validation") for model in own_schemas()],
        ref_template="#/components/schemas/{model}",
    )
    components = document.setdefault("components", {})
    components["schemas"] = models["$defs"] | components.get("schemas", {})
    max_k = app.state.service.settings.max_k
    components["schemas"]["RecallRequest"]["properties"]["k"]["maximum"] = max_k
    components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{"token": []}, {}]
    return document
