"""The OpenAPI document as a page (``/docs``) that needs no scripts and no network."""

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
</head><body><header class="rail"><a class="mark" href="/">hebbgraph</a>
<nav aria-label="Routes">{links}</nav></header>
<main class="api"><h1>API</h1>
<p>{about} For programs: <a href="/v1/openapi.json">openapi.json</a>.</p>
{routes}</main></body></html>
"""


def as_page(document: Mapping[str, Any]) -> str:
    """Return an OpenAPI document as HTML: each route with its role and fields."""
    schemas = document["components"]["schemas"]
    links, routes = "", ""
    for path, operations in document["paths"].items():
        links += f'<a href="#{path}"><span>{path.removeprefix("/v1/")}</span></a>'
        for method, operation in operations.items():
            routes += "".join(_route(path, method.upper(), operation, schemas))
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
        yield f'<div class="scroll" tabindex="0" role="region" aria-label="Fields of {path}">'
        yield "<table>"
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
    resolved: Mapping[str, Any] = schemas[name] if name else schema
    return resolved


def _type(field: Mapping[str, Any]) -> str:
    """Describe the values of a field, with their limits."""
    if "$ref" in field:
        return str(field["$ref"]).rpartition("/")[2]
    for union in ("anyOf", "oneOf"):
        if union in field:
            return " or ".join(map(_type, field[union]))
    if "enum" in field:
        return ", ".join(map(str, field["enum"]))
    kind = str(field.get("type", "any value"))
    if kind == "array":
        items = field.get("prefixItems") or [field.get("items", {})]
        most = field.get("maxItems")
        at_most = "" if most is None or "prefixItems" in field else f" of at most {most:,}"
        return f"list({', '.join(map(_type, items))}){at_most}"
    limits = {
        "minimum": "from {:,}",
        "maximum": "to {:,}",
        "maxLength": "of at most {:,} characters",
    }
    return " ".join(
        [kind, *(text.format(field[key]) for key, text in limits.items() if key in field)]
    )
