"""All routes of the API, and the role that each one needs.

The path is the name of the method of ``HebbianIndex``, the body its arguments. What takes none is
a GET. A route that is not in this table does not exist; one without a role is open to all.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel
from starlette.responses import JSONResponse, PlainTextResponse

from hebbgraph.graph.statistics import Stats
from hebbgraph.inspection import Neighborhood, TagCorrection, Trace
from hebbgraph.records import (
    AddReport,
    AnswerRecord,
    DoctorReport,
    Explanation,
    Feedback,
    PruneReport,
    Recall,
)
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


def _read(name: str, answer: type[BaseModel], method: str = "POST") -> Route:
    return Route(method, f"/{name}", getattr(reading, name), answer, Role.READ)


def _teach(name: str, answer: type[BaseModel]) -> Route:
    return Route("POST", f"/{name}", getattr(teaching, name), answer, Role.TEACH)


def _write(name: str, answer: type[BaseModel], **more: Any) -> Route:
    return Route("POST", f"/{name}", getattr(writing, name), answer, Role.WRITE, **more)


ROUTES = (
    Route("GET", "/health", reading.health, bodies.Health, None),
    Route("GET", "/metrics", metrics, None, None),
    Route("GET", "/namespaces", reading.namespaces, bodies.Namespaces, None),
    _read("recall", Recall),
    _read("in_full", bodies.Question),
    _read("find_recall", bodies.FoundRecall),
    _read("explain", Explanation),
    _read("get", bodies.Chunks),
    _read("holds", bodies.ChunkIds),
    _read("ids", bodies.ChunkIds),
    _read("document_fingerprints", bodies.Fingerprints, "GET"),
    _read("stats", Stats, "GET"),
    _read("learned", bodies.Learned, "GET"),
    _read("properties", bodies.Properties, "GET"),
    _read("colonies", bodies.Colonies),
    _read("trace", Trace),
    _read("tags", bodies.Tags),
    _read("neighborhood", Neighborhood),
    _read("tag_corrections", bodies.Corrections, "GET"),
    _teach("reinforce", Feedback),
    _teach("find_feedback", bodies.Feedbacks),
    _teach("forget", bodies.Forgotten),
    _teach("keep_answer", AnswerRecord),
    _teach("find_answer", bodies.FoundAnswer),
    _teach("earlier_recalls", bodies.Recalls),
    _teach("lessons", bodies.Lessons),
    _write("add", AddReport, takes=bodies.AddRequest, streams=bodies.Progress),
    _write("put_document", AddReport, takes=bodies.PutDocumentRequest),
    _write("delete", bodies.Deleted),
    _write("correct_tags", TagCorrection),
    _write("undo_tag_correction", bodies.Undone),
    _write("prune", PruneReport),
    _write("doctor", DoctorReport),
    _write("compact", bodies.Compacted),
)

_PROBLEMS: dict[int | str, dict[str, Any]] = {
    "default": {
        "description": "A problem (RFC 9457)",
        "content": {PROBLEM_JSON: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
}


@functools.cache
def router() -> APIRouter:
    """Return the router of the table, which holds no state."""
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
