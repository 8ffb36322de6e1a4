"""Each table of the page at an address of its own, as JSON and as CSV.

``GET /v1/tables/tags.csv?containing=bay`` has the rows of ``POST /v1/tags`` with these arguments.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, get_origin, get_type_hints

from hebbgraph.arguments import check_names
from hebbgraph.errors import NotFoundError
from hebbgraph.inspect.documents import DocumentSummary
from hebbgraph.records import (
    Colony,
    EdgeChange,
    Forgetting,
    Hit,
    LearnedParameter,
    LessonRecord,
    TagCorrection,
)
from hebbgraph.records.explanations import TraceEvent, TraceHit
from hebbgraph.records.lesson_report import LessonPoint
from hebbgraph.records.neighborhood import TagCount, TagNode
from pydantic import BaseModel
from starlette.responses import JSONResponse, Response

from hebbgraph_server import reading, teaching
from hebbgraph_server.access import Role
from hebbgraph_server.visit import Visit

__all__ = ["NAMES", "table"]


@dataclass(frozen=True)
class _Table:
    """Where the rows of a table come from: a route, and what it answers with.

    ``row`` is the record of a row. ``fixed`` are arguments that a table chooses itself: reading one
    changes nothing.
    """

    endpoint: Callable[..., Awaitable[Response]]
    rows: str
    row: type[BaseModel]
    role: Role = Role.READ
    fixed: Mapping[str, Any] = field(default_factory=dict)


_PREVIEW = {"dry_run": True}
_TABLES = {
    "colonies": _Table(reading.colonies, "colonies", Colony, fixed={"rebuild": False}),
    "corrections": _Table(reading.tag_corrections, "corrections", TagCorrection),
    "documents": _Table(reading.documents, "documents", DocumentSummary),
    "edges": _Table(teaching.forget, "preview.changes", EdgeChange, Role.TEACH, _PREVIEW),
    "flows": _Table(reading.trace, "events", TraceEvent),
    "forgotten": _Table(teaching.forgotten, "forgotten", Forgetting, Role.TEACH),
    "gain": _Table(teaching.lesson_report, "points", LessonPoint, Role.WRITE),
    "hits": _Table(reading.recall, "hits", Hit),
    "lessons": _Table(teaching.lessons, "lessons", LessonRecord, Role.TEACH),
    "neighbours": _Table(reading.neighborhood, "nodes", TagNode),
    "parameters": _Table(reading.learned, "learned", LearnedParameter),
    "ranks": _Table(reading.trace, "hits", TraceHit),
    "tags": _Table(reading.tags, "tags", TagCount),
}
NAMES = tuple(f"{name}.{form}" for name in _TABLES for form in ("csv", "json"))
#: A spreadsheet would run a cell that begins so.
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")


async def table(visit: Visit) -> Response:
    """Return a table of the page, as JSON (a list of its rows) or CSV.

    Its query parameters are the fields of the route that has the rows, such as ``containing`` for
    ``tags.csv``; lists and objects are JSON. In CSV, a cell that a spreadsheet would take for a
    formula begins with an apostrophe.
    """
    asked = visit.path.rpartition("/")[2]
    if asked not in NAMES:
        raise NotFoundError(f"there is no table {asked!r:.80}; there are {', '.join(NAMES)}")
    name, _, form = asked.partition(".")
    found = _TABLES[name]
    visit.caller.check(found.role, visit.namespace)
    takes = get_type_hints(found.endpoint).get("body")
    known = [] if takes is None else [one for one in takes.model_fields if one not in found.fixed]
    check_names(visit.query, ["namespace", *known], of=asked)
    given = {key: _read(value) for key, value in visit.query.items() if key != "namespace"}
    body = () if takes is None else (takes.model_validate({**given, **found.fixed}),)
    told = json.loads(bytes((await found.endpoint(*body, visit)).body))
    rows = told
    for part in found.rows.split("."):
        rows = rows[part]
    nodes = told.get("nodes", ())
    for row in rows if found.rows == "events" else ():
        row |= {end: nodes[row[end]]["value"] for end in ("source", "target")}
    if form == "json":
        return JSONResponse(rows)
    headers = {"Content-Disposition": f'attachment; filename="{asked}"'}
    return Response(_csv(rows, found.row), media_type="text/csv", headers=headers)


def _read(value: str) -> Any:
    """Return the value of a query parameter; numbers and truth values are read by the route."""
    try:
        return json.loads(value) if value.startswith(("[", "{")) else value
    except ValueError:
        return value


def _csv(rows: list[dict[str, Any]], kind: type[BaseModel]) -> str:
    cells = [dict(_cells(row)) for row in rows]
    written = io.StringIO()
    columns = dict.fromkeys(key for row in cells for key in row) or _columns(kind)
    writer = csv.DictWriter(written, list(columns))
    writer.writeheader()
    writer.writerows(cells)
    return written.getvalue()


def _columns(kind: type[BaseModel], above: str = "") -> Iterator[str]:
    """Yield the names of the columns that every row of a record has."""
    for name, about in kind.model_fields.items():
        if isinstance(about.annotation, type) and issubclass(about.annotation, BaseModel):
            yield from _columns(about.annotation, f"{above}{name}.")
        elif get_origin(about.annotation) is not dict:
            yield f"{above}{name}"


def _cells(row: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the cells of a row by the name of their column: ``chunk.title`` for what is nested."""
    for key, value in row.items():
        if isinstance(value, dict):
            yield from _cells(value, f"{above}{key}.")
        elif isinstance(value, list):
            yield f"{above}{key}", json.dumps(value, ensure_ascii=False)
        else:
            risky = isinstance(value, str) and value.startswith(_FORMULAS)
            yield f"{above}{key}", f"'{value}" if risky else value
