"""The tables of the page as JSON and CSV, each at its own address.

``GET /v1/tables/tags.csv?containing=bay`` returns the rows of ``POST /v1/tags`` with that argument.
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
    """The route that returns the rows of a table, and where in its answer they are.

    ``row`` is the record of a row, ``fixed`` arguments that keep the request from changing
    anything.
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
#: A spreadsheet takes a cell that begins with one of these for a formula.
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")


async def table(visit: Visit) -> Response:
    """Return a table of the page, as JSON (a list of its rows) or CSV.

    The query parameters are the fields of the route that returns the rows, such as ``containing``
    for ``tags.csv``; lists and objects are JSON. In CSV, an apostrophe comes before a cell that a
    spreadsheet would take for a formula.
    """
    file_name = visit.path.rpartition("/")[2]
    if file_name not in NAMES:
        raise NotFoundError(f"there is no table {file_name!r:.80}; there are {', '.join(NAMES)}")
    name, _, form = file_name.partition(".")
    source = _TABLES[name]
    visit.caller.check(source.role, visit.namespace)
    takes = get_type_hints(source.endpoint).get("body")
    fields = () if takes is None else takes.model_fields.keys() - source.fixed.keys()
    check_names(visit.query, ["namespace", *sorted(fields)], of=file_name)
    arguments = {key: _value(text) for key, text in visit.query.items() if key != "namespace"}
    body = () if takes is None else (takes.model_validate({**arguments, **source.fixed}),)
    answer = json.loads(bytes((await source.endpoint(*body, visit)).body))
    rows = answer
    for part in source.rows.split("."):
        rows = rows[part]
    if source.rows == "events":
        for row in rows:
            row |= {end: answer["nodes"][row[end]]["value"] for end in ("source", "target")}
    if form == "json":
        return JSONResponse(rows)
    headers = {"Content-Disposition": f'attachment; filename="{file_name}"'}
    return Response(_csv(rows, source.row), media_type="text/csv", headers=headers)


def _value(value: str) -> Any:
    """Parse a query parameter; the route itself parses numbers and truth values."""
    try:
        return json.loads(value) if value.startswith(("[", "{")) else value
    except ValueError:
        return value


def _csv(rows: list[dict[str, Any]], record: type[BaseModel]) -> str:
    cells = [dict(_cells(row)) for row in rows]
    text = io.StringIO()
    columns = dict.fromkeys(key for row in cells for key in row) or _columns(record)
    writer = csv.DictWriter(text, list(columns))
    writer.writeheader()
    writer.writerows(cells)
    return text.getvalue()


def _columns(record: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """Yield the columns that every row of a record has."""
    for name, info in record.model_fields.items():
        if isinstance(info.annotation, type) and issubclass(info.annotation, BaseModel):
            yield from _columns(info.annotation, f"{prefix}{name}.")
        elif get_origin(info.annotation) is not dict:
            yield f"{prefix}{name}"


def _cells(row: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield column and value of each cell of a row; nested fields are named ``chunk.title``."""
    for key, value in row.items():
        if isinstance(value, dict):
            yield from _cells(value, f"{prefix}{key}.")
        elif isinstance(value, list):
            yield f"{prefix}{key}", json.dumps(value, ensure_ascii=False)
        else:
            is_formula = isinstance(value, str) and value.startswith(_FORMULAS)
            yield f"{prefix}{key}", f"'{value}" if is_formula else value
