"""The OpenAPI document as a page that people read: ``/docs``, without scripts or the network."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

__all__ = ["as_page"]

_PAGE = """\
<!doctype html>
<html lang="en" data-theme="system"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>API · hebbgraph</title><link rel="icon" href="icon.svg">
<link rel="stylesheet" href="style.css">
</head><body><header class="rail scroll"><a class="mark" href="/">hebbgraph</a>
<nav aria-label="Routes">{links}</nav></header>
<main class="api"><h1>API</h1>
<p>{about} The same for programs: <a href="/v1/openapi.json">openapi.json</a>.</p>
{routes}</main></body></html>
"""


def as_page(document: Mapping[str, Any]) -> str:
    """Return an OpenAPI document as HTML: each route with its role, and the fields it takes."""
    schemas = document["components"]["schemas"]
    told = {
        path: (method.upper(), operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }
    links = "".join(f'<a href="#{path}"><span>{path[4:]}</span></a>' for path in told)
    routes = "".join(
        "".join(_route(path, method, operation, schemas))
        for path, (method, operation) in told.items()
    )
    return _PAGE.format(links=links, about=escape(document["info"]["description"]), routes=routes)


def _route(
    path: str, method: str, operation: Mapping[str, Any], schemas: Mapping[str, Any]
) -> Iterator[str]:
    role = operation["tags"][0]
    yield f'<section id="{path}"><h2>{method} {path} <span class="badge">{role}</span></h2>'
    yield f"<p>{escape(operation['description'])}</p>"
    body = operation.get("requestBody")
    if body is not None:
        schema = _resolved(body["content"]["application/json"]["schema"], schemas)
        required = schema.get("required", ())
        yield '<div class="scroll" tabindex="0" role="region" aria-label="Fields"><table>'
        yield "<tr><th>field<th>type<th>default<th>about</tr>"
        for name, field in schema.get("properties", {}).items():
            default = "required" if name in required else _default(field)
            cells = (name, _type(field), default, field.get("description", ""))
            yield f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in cells)}</tr>"
        yield "</table></div>"
    yield "</section>"


def _default(field: Mapping[str, Any]) -> str:
    value = field.get("default")
    return "" if value is None else value if isinstance(value, str) else json.dumps(value)


def _resolved(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> Mapping[str, Any]:
    name = schema.get("$ref", "").rpartition("/")[2]
    found: Mapping[str, Any] = schemas[name] if name else schema
    return found


def _type(field: Mapping[str, Any]) -> str:
    """Return what a field takes, in words, with its limits."""
    if "$ref" in field:
        return str(field["$ref"]).rpartition("/")[2]
    for several in ("anyOf", "oneOf"):
        if several in field:
            return " or ".join(_type(one) for one in field[several])
    if "enum" in field:
        return ", ".join(map(str, field["enum"]))
    kind = str(field.get("type", "any")).replace("null", "nothing")
    if kind == "array":
        kind = f"list of {_type(field.get('items', {}))}"
    limits = {
        "minimum": "from {:,}",
        "maximum": "to {:,}",
        "maxLength": "of at most {:,} characters",
        "maxItems": "of at most {:,}",
    }
    return " ".join(
        [kind, *(say.format(field[key]) for key, say in limits.items() if key in field)]
    )
