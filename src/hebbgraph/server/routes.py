"""All routes of the API, and the role that each one needs.

The path is the name of the method of ``HebbianIndex``, the body its arguments. What takes none is
a GET. A route that is not in this table does not exist; one without a role is open to all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel
from starlette.responses import JSONResponse, PlainTextResponse

from hebbgraph.graph.statistics import Stats
from hebbgraph.records import AddReport, Explanation, Feedback, Recall
from hebbgraph.server import bodies, reading, teaching, writing
from hebbgraph.server.access import Role
from hebbgraph.server.observing import metrics
from hebbgraph.server.problems import PROBLEM_JSON, Problem
from hebbgraph.server.visit import needs

__all__ = ["ROUTES", "Route", "own_schemas", "router"]


@dataclass(frozen=True)
class Route:
    """One route.

    Attributes
    ----------
    method, path : str
    endpoint : coroutine function
    answer : type, optional
        The record that it answers with; None for plain text.
    role : Role, optional
        None for what every valid token may ask, of no namespace.
    takes : type, optional
        The body, where the endpoint reads it itself.
    streams : type, optional
        The lines of a streamed answer, if asked for.
    """

    method: str
    path: str
    endpoint: Callable[..., Any]
    answer: type[BaseModel] | None
    role: Role | None
    takes: type[BaseModel] | None = None
    streams: type[BaseModel] | None = None


ROUTES = (
    Route("GET", "/health", reading.health, bodies.Health, None),
    Route("GET", "/metrics", metrics, None, None),
    Route("GET", "/namespaces", reading.namespaces, bodies.Namespaces, None),
    Route("POST", "/recall", reading.recall, Recall, Role.READ),
    Route("POST", "/in_full", reading.in_full, bodies.Question, Role.READ),
    Route("POST", "/find_recall", reading.find_recall, bodies.FoundRecall, Role.READ),
    Route("POST", "/explain", reading.explain, Explanation, Role.READ),
    Route("POST", "/get", reading.get, bodies.Chunks, Role.READ),
    Route("POST", "/holds", reading.holds, bodies.ChunkIds, Role.READ),
    Route("POST", "/ids", reading.ids, bodies.ChunkIds, Role.READ),
    Route("GET", "/document_fingerprints", reading.fingerprints, bodies.Fingerprints, Role.READ),
    Route("GET", "/stats", reading.stats, Stats, Role.READ),
    Route("POST", "/reinforce", teaching.reinforce, Feedback, Role.TEACH),
    Route(
        "POST",
        "/add",
        writing.add,
        AddReport,
        Role.WRITE,
        takes=bodies.AddRequest,
        streams=bodies.Progress,
    ),
    Route(
        "POST",
        "/put_document",
        writing.put_document,
        AddReport,
        Role.WRITE,
        takes=bodies.PutDocumentRequest,
    ),
    Route("POST", "/delete", writing.delete, bodies.Deleted, Role.WRITE),
)

_PROBLEMS: dict[int | str, dict[str, Any]] = {
    "default": {
        "description": "A problem (RFC 9457)",
        "content": {PROBLEM_JSON: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
}


def router() -> APIRouter:
    """Return the router of the table."""
    made = APIRouter(prefix="/v1")
    for route in ROUTES:
        made.add_api_route(
            route.path,
            route.endpoint,
            methods=[route.method],
            operation_id=route.path.strip("/").replace("/", "_"),
            response_model=route.answer,
            response_class=PlainTextResponse if route.answer is None else JSONResponse,
            responses=_PROBLEMS | _streamed(route),
            dependencies=[] if route.role is None else [needs(route.role)],
            tags=["any" if route.role is None else route.role.name.lower()],
            openapi_extra=_body(route),
        )
    return made


def _body(route: Route) -> dict[str, Any] | None:
    if route.takes is None:
        return None
    schema = {"$ref": f"#/components/schemas/{route.takes.__name__}"}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def _streamed(route: Route) -> dict[int | str, dict[str, Any]]:
    if route.streams is None:
        return {}
    schema = {"$ref": f"#/components/schemas/{route.streams.__name__}"}
    return {200: {"content": {writing.NDJSON: {"schema": schema}}}}


def own_schemas() -> list[type[BaseModel]]:
    """Return the models that the document refers to besides those that FastAPI finds."""
    found: list[type[BaseModel]] = [Problem]
    for route in ROUTES:
        found += [one for one in (route.takes, route.streams) if one is not None]
    return found
