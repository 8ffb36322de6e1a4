"""All routes of the API, and the role that each needs.

The path is the name of a method of ``HebbianIndex``, the body its arguments; methods without
arguments are a GET. Only the routes in this table exist. A route without a role is open to all.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, get_type_hints

from fastapi import APIRouter
from fastapi.routing import APIRoute
from hebbgraph.records import (
    AddReport,
    Recall,
    TagCorrection,
)
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from hebbgraph_server import bodies, moving, reading, tables, teaching, writing
from hebbgraph_server.access import Role
from hebbgraph_server.answering import Answer, AnswerPart
from hebbgraph_server.folders import FolderReport, read_folder
from hebbgraph_server.observing import metrics
from hebbgraph_server.problems import PROBLEM_JSON, Problem, answer_of
from hebbgraph_server.streaming import NDJSON
from hebbgraph_server.tasks import PREFER, Task, TasksFound
from hebbgraph_server.threads import Pool
from hebbgraph_server.visit import (
    DEFAULT_NAMESPACE,
    MAX_NAMESPACE,
    Visit,
    as_response,
    body_of,
    visit_of,
)

__all__ = ["ROUTES", "Direct", "Route", "methods", "own_schemas", "router"]


@dataclass(frozen=True)
class Route:
    """One route.

    Attributes
    ----------
    method, path : str
    endpoint : coroutine function
        Takes the body, if there is one, and the visit; without a role, the request.
    answer : type, optional
        The record that it returns; None for plain text.
    role : Role, optional
        None if every valid token may call it; then it belongs to no namespace.
    streams : type, optional
        The lines of a streamed answer.
    is_long : bool
        Whether it can run as a task; see :mod:`hebbgraph_server.tasks`.
    """

    method: str
    path: str
    endpoint: Callable[..., Any]
    answer: type[BaseModel] | None
    role: Role | None
    streams: type[BaseModel] | None = None
    is_long: bool = False

    @property
    def takes(self) -> type[BaseModel] | None:
        """The record in the request's body."""
        return get_type_hints(self.endpoint).get("body")


def _of(
    module: ModuleType,
    role: Role,
    name: str,
    answer: type[BaseModel] | None = None,
    method: str = "POST",
    **more: Any,
) -> Route:
    """Return the route of an endpoint; endpoints made by ``served`` know their answer."""
    endpoint = getattr(module, name)
    answer = answer or get_type_hints(endpoint)["answer"]
    return Route(method, f"/{name}", endpoint, answer, role, **more)


_read = functools.partial(_of, reading, Role.READ)
_teach = functools.partial(_of, teaching, Role.TEACH)
_write = functools.partial(_of, writing, Role.WRITE)
_long = functools.partial(_write, is_long=True)


ROUTES = (
    Route("GET", "/health", reading.health, bodies.Health, None),
    Route("GET", "/metrics", metrics, None, None),
    Route("GET", "/namespaces", reading.namespaces, bodies.Namespaces, None),
    _read("access", reading.Access, "GET"),
    _read("recall", Recall),
    _read("answer", Answer, streams=AnswerPart),
    _read("in_full"),
    _read("find_recall"),
    _read("explain"),
    _read("get"),
    _read("holds"),
    _read("ids"),
    _read("documents"),
    _read("document_fingerprints", method="GET"),
    _read("stats", method="GET"),
    _read("learned", method="GET"),
    _read("properties", bodies.Properties, "GET"),
    _read("colonies", is_long=True),
    _read("tasks", TasksFound, "GET"),
    _read("trace"),
    _read("tags"),
    _read("neighborhood"),
    _read("tag_corrections", method="GET"),
    Route("GET", "/tables/{table}", tables.table, None, Role.READ),
    _teach("reinforce"),
    _teach("find_feedback", bodies.Feedbacks),
    _teach("forget", bodies.Forgotten),
    _teach("forgotten", bodies.Forgettings, "GET"),
    _teach("undo_forget", bodies.Restored),
    _teach("keep_answer"),
    _teach("find_answer"),
    _teach("earlier_recalls"),
    _teach("lessons"),
    _of(teaching, Role.WRITE, "lesson_report", is_long=True),
    _long("add", AddReport, streams=bodies.Progress),
    _long("refresh"),
    _long("put_document", AddReport),
    _write("make_namespace"),
    _long("put_file", AddReport),
    _of(moving, Role.WRITE, "drop_namespace", moving.Dropped, is_long=True),
    Route("GET", "/export", moving.export, None, Role.WRITE, streams=moving.Line),
    Route("POST", "/import", moving.import_lines, moving.Imported, Role.WRITE, is_long=True),
    Route("POST", "/read_folder", read_folder, FolderReport, Role.WRITE, is_long=True),
    _long("delete"),
    _write("correct_tags", TagCorrection),
    _write("undo_tag_correction"),
    _long("prune"),
    _long("doctor"),
    _long("compact"),
)

_PROBLEMS: dict[int | str, dict[str, Any]] = {
    "default": {
        "description": "A problem (RFC 9457)",
        "content": {PROBLEM_JSON: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
}


_NAMESPACE = {
    "name": "namespace",
    "in": "query",
    "required": False,
    "description": "the namespace asked",
    "schema": {
        "type": "string",
        "minLength": 1,
        "maxLength": MAX_NAMESPACE,
        "default": DEFAULT_NAMESPACE,
    },
}


_TABLE = {
    "name": "table",
    "in": "path",
    "required": True,
    "schema": {"type": "string", "enum": list(tables.NAMES)},
}


_PREFER = {
    "name": "Prefer",
    "in": "header",
    "required": False,
    "description": "respond-async runs it as a task; GET /v1/tasks shows its progress",
    "schema": {"type": "string", "enum": [PREFER]},
}


def methods() -> dict[str, tuple[str, ...]]:
    """Return the HTTP methods of each path."""
    allowed = {"GET": ("GET", "HEAD"), "POST": ("POST",)}
    return {f"/v1{path}": allowed[route.method] for route in ROUTES for path in _paths(route.path)}


def _paths(path: str) -> list[str]:
    """Return all paths of a route: one for each table."""
    names = tables.NAMES if "{table}" in path else ("",)
    return [path.replace("{table}", name) for name in names]


@functools.cache
def router() -> APIRouter:
    """Return FastAPI's router for the table; it holds no state."""
    router = APIRouter(prefix="/v1")
    for route in ROUTES:
        router.add_api_route(
            route.path,
            _handler(route),
            methods=[route.method],
            operation_id=route.path.strip("/").replace("/", "_"),
            description=inspect.getdoc(route.endpoint),
            response_model=route.answer,
            response_class=_response_class(route),
            responses=_PROBLEMS | _other_responses(route),
            tags=["any" if route.role is None else route.role.name.lower()],
            openapi_extra=_parameters_and_body(route),
        )
    return router


def _response_class(route: Route) -> type[Response]:
    return PlainTextResponse if route.answer is None else JSONResponse


def _handler(route: Route) -> Callable[[Request], Awaitable[Response]]:
    """Return the handler of a route.

    FastAPI could find the namespace, role and body itself, but that takes a millisecond.
    """
    role, takes = route.role, route.takes
    if role is None:
        return route.endpoint
    pool: Pool = "write" if role is Role.WRITE else "read"

    async def answer(request: Request) -> Response:
        visit = visit_of(request, role)
        body = () if takes is None else (await body_of(request, takes, visit, pool),)
        if route.is_long and PREFER in request.headers.get("prefer", ""):
            return _start_task(visit, request.url.path, route.endpoint, body)
        response: Response = await route.endpoint(*body, visit)
        return response

    answer.__name__ = route.endpoint.__name__
    return answer


def _start_task(visit: Visit, path: str, endpoint: Callable[..., Any], body: Any) -> Response:
    """Start a task, and return its record."""
    task = visit.service.tasks.begin(path, visit.namespace, visit.caller.name)
    response = as_response(task)
    visit.service.tasks.run(task, endpoint(*body, replace(visit, accepts="", task=task)))
    response.status_code = 202
    response.headers["Preference-Applied"] = PREFER
    return response


class Direct:
    """ASGI middleware that calls the routes of the table directly.

    FastAPI's routing takes longer than all else that serving adds to a recall. Traced requests go
    through it, since it makes the spans.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._routes = {
            (method, path): route
            for route in router().routes
            if isinstance(route, APIRoute)
            for method in route.methods or ()
            for path in _paths(route.path)
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        method = scope.get("method", "")
        is_head = method == "HEAD"  # handled as a GET; uvicorn drops the body
        route = self._routes.get(("GET" if is_head else method, scope.get("path", "")))
        if route is None or ("fastapi.telemetry" in scope and not is_head):
            await self._app(scope, receive, send)
            return
        scope["route"] = route
        try:
            response = await route.endpoint(Request(scope, receive))
        except Exception as error:
            response = answer_of(error)
        await response(scope, receive, send)


def _parameters_and_body(route: Route) -> dict[str, Any]:
    """Describe the parameters and body of a route for OpenAPI."""
    parameters = {
        "namespace": (_NAMESPACE, route.role is not None),
        "table": (_TABLE, "{table}" in route.path),
        "prefer": (_PREFER, route.is_long),
    }
    description: dict[str, Any] = {
        "parameters": [parameter for parameter, is_taken in parameters.values() if is_taken]
    }
    if route.takes is not None:
        content = {"application/json": {"schema": _reference(route.takes)}}
        description["requestBody"] = {"required": True, "content": content}
    return description


def _reference(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{model.__name__}"}


def _other_responses(route: Route) -> dict[int | str, dict[str, Any]]:
    """Describe tasks and streamed answers for OpenAPI."""
    responses: dict[int | str, dict[str, Any]] = {}
    if route.is_long:
        responses[202] = {"model": Task, "description": "The task that does it"}
    if route.streams is not None:
        responses[200] = {"content": {NDJSON: {"schema": _reference(route.streams)}}}
    return responses


def own_schemas() -> list[type[BaseModel]]:
    """Return the models that the OpenAPI document needs besides those that FastAPI finds."""
    models = [model for route in ROUTES for model in (route.takes, route.streams)]
    return [Problem, *filter(None, models)]
