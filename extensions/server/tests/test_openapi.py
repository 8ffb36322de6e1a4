"""The OpenAPI document is valid and complete, and nothing that fits it brings the server down."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra server is not installed")

from hypothesis import HealthCheck, given, settings
from starlette.testclient import TestClient

from hebbgraph_server.client import HebbianClient
from hebbgraph_server.routes import ROUTES

Serve = Callable[..., TestClient]


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for one in value.values():
            yield from references(one)
    elif isinstance(value, list):
        for one in value:
            yield from references(one)


def test_the_document_is_valid_and_complete(api: TestClient) -> None:
    document = api.get("/v1/openapi.json").json()
    assert set(document["paths"]) == {f"/v1{route.path}" for route in ROUTES}
    for route in ROUTES:
        told = document["paths"][f"/v1{route.path}"][route.method.lower()]
        assert told["description"]
        assert "default" in told["responses"]  # a problem
        takes_none = route.method == "GET" or route.takes is None
        assert ("requestBody" not in told) == takes_none
    known = document["components"]["schemas"]
    assert {one.rpartition("/")[2] for one in references(document)} <= set(known)
    validator = pytest.importorskip("openapi_spec_validator", reason="not installed")
    validator.validate(document)


def test_people_read_it_without_the_network(api: TestClient) -> None:
    page = api.get("/docs").text
    for route in ROUTES:
        assert f'<section id="/v1{route.path}"><h2>{route.method} /v1{route.path} ' in page
    assert "<td>k</td><td>integer from 1 to 1,000</td><td>10</td>" in page
    assert "<script" not in page
    assert "https://" not in page


def test_whatever_fits_the_document_gets_an_answer(connect: Callable[..., HebbianClient]) -> None:
    """What schemathesis makes of the document gets no 5xx, and answers as they are described."""
    schemathesis = pytest.importorskip("schemathesis", reason="not installed")
    from schemathesis.specs.openapi.checks import response_schema_conformance

    checks = [schemathesis.checks.not_a_server_error, response_schema_conformance]
    with connect(requests_per_minute=None) as client:
        schema = schemathesis.openapi.from_url(f"{client._http.url}/v1/openapi.json")
        for operation in schema.get_all_operations():
            if operation.ok().path == "/v1/metrics":  # not JSON
                continue

            @settings(max_examples=15, suppress_health_check=list(HealthCheck))
            @given(case=operation.ok().as_strategy())
            def ask(case: Any) -> None:
                case.call_and_validate(checks=checks)

            ask()


def test_limits_that_are_told_are_those_that_hold(api: TestClient) -> None:
    """Of each route, one field at a time that is just too large is refused."""
    schemas = api.get("/v1/openapi.json").json()["components"]["schemas"]
    asked = 0
    for route in ROUTES:
        if route.takes is None:
            continue
        for name, field in schemas[route.takes.__name__]["properties"].items():
            for kind in [field, *field.get("anyOf", ())]:
                large: object = None
                if "maxLength" in kind:
                    large = "x" * (kind["maxLength"] + 1)
                elif "maximum" in kind:
                    large = kind["maximum"] + 1
                elif "maxItems" in kind:
                    large = [["x", 1.0]] * (kind["maxItems"] + 1)
                if large is not None:
                    answer = api.post(
                        f"/v1{route.path}", json=_minimal(schemas, route) | {name: large}
                    )
                    assert answer.status_code == 422, (route.path, name, answer.text)
                    asked += 1
    assert asked > 30
    most = schemas["RecallRequest"]["properties"]["k"]["maximum"]
    assert api.post("/v1/recall", json={"query": "Petrel", "k": most}).status_code == 200


def _minimal(schemas: dict[str, Any], route: Any) -> dict[str, Any]:
    """Return a body with what a route requires."""
    schema = schemas[route.takes.__name__]
    known = {"kind": "mute", "recall": "r", "tags": "owl", "correction": "c", "content": "eA=="}
    return {
        name: known.get(name, [] if schema["properties"][name].get("type") == "array" else "x")
        for name in schema.get("required", ())
    }


def test_a_chunk_that_says_nothing_is_refused(api: TestClient) -> None:
    for chunk in ("", " \n", {"text": ""}, {"text": "", "title": " "}):
        for path, more in (("add", {}), ("refresh", {}), ("put_document", {"document_id": "d"})):
            answer = api.post(f"/v1/{path}", json={"chunks": [chunk], **more})
            assert (answer.status_code, answer.json()["error"]) == (422, "InvalidChunkError")
    skipped = api.post("/v1/add", json={"chunks": ["", "Owls hunt."], "on_error": "skip"}).json()
    assert (skipped["added"], len(skipped["failed"])) == (1, 1)
    assert api.post("/v1/add", json={"chunks": [{"text": "", "title": "Owls"}]}).status_code == 200


def test_bodies_that_fit_nothing_are_refused(api: TestClient) -> None:
    bodies = [
        b"",
        b"{",
        b"null",
        b"[]",
        b'"text"',
        b"\xff\xfe",
        b'{"query": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        json.dumps({"query": "\ud800"}).encode(),
        b'{"query": "Who?", "k": NaN}',
        b'{"query": "Who?", "k": 1e999}',
        b'{"query": "Who?", "where": {"a": NaN}}',
        b'{"query": "Who?", "vector": [NaN]}',
        b'{"query": "Who?", "seeds": [["moss", Infinity]]}',
    ]
    for route in ROUTES:
        if route.method == "POST":
            for body in bodies:
                answer = api.post(
                    f"/v1{route.path}", content=body, headers={"Content-Type": "application/json"}
                )
                assert answer.status_code < 500, (route.path, body[:80], answer.text)
