"""Tools for agents, through the SDK's own client; and the description of the API."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from manuals import QUESTION
from served import _MAIN, secret, served_process

pytest.importorskip("mcp", reason="the extra serve is not installed")

import httpx2
from hypothesis import HealthCheck, given, settings
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client


async def call(client: Client, tool: str, **arguments: Any) -> Any:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return str(result.content[0].text)  # type: ignore[union-attr]


async def use(client: Client) -> None:
    """Ask, cite what the answer rests on, and see it first."""
    assert {tool.name for tool in (await client.list_tools()).tools} == {
        "ask",
        "cite",
        "list_documents",
    }
    asked = await call(client, "ask", question=QUESTION, k=3)
    assert asked["hits"][0].keys() == {
        "id",
        "title",
        "place",
        "text",
        "complete",
        "score",
        "why",
    }
    cited = await call(client, "cite", recall_id=asked["id"], chunk_ids=["folders"])
    assert ([chunk["id"] for chunk in cited["cited"]], cited["note"]) == (["folders"], "")
    assert (await call(client, "ask", question=QUESTION))["hits"][0]["id"] == "folders"
    listed = await call(client, "list_documents", find="ping")
    assert listed["documents"] == [
        {"place": "docs/npm-ping.md", "title": "npm ping", "passages": 1}
    ]
    assert "no recall 'gone' is kept" in await refused(
        client, "cite", recall_id="gone", chunk_ids=["bin"]
    )
    assert "unknown operator" in await refused(
        client, "ask", question="x", where={"a": {"$near": 1}}
    )


async def test_an_agent_over_standard_input(location: Path) -> None:
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-c", _MAIN, "mcp", str(location)],
        env={"PYTHONPATH": ":".join(filter(None, sys.path))},
    )
    async with Client(stdio_client(parameters)) as client:
        await use(client)


async def test_agents_over_http_with_two_workers(location: Path, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.toml"
    tokens.write_text(
        f'[ann]\nsecret = "{secret("ann")}"\nteach = true\nactor = "ann"\n'
        f'[reader]\nsecret = "{secret("reader")}"\nnamespaces = ["other"]\n'
    )
    options = ("--workers", "2", "--tokens", str(tokens))
    with served_process(location, *options) as (_, url, _):
        for name in ("ann", "reader"):
            headers = {"Authorization": f"Bearer {secret(name)}"}
            async with (
                httpx2.AsyncClient(headers=headers, timeout=60) as http,
                Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
            ):
                if name == "ann":
                    await use(client)
                    continue
                asked = await call(client, "ask", question="secret")
                assert [hit["id"] for hit in asked["hits"]] == ["secret"]
                said = await refused(client, "cite", recall_id=asked["id"], chunk_ids=["secret"])
                assert "may ask, but not teach" in said
        async with httpx2.AsyncClient() as http:
            stranger = await http.post(f"{url}/mcp", json={})
            page = await http.post(
                f"{url}/mcp", json={}, headers={"Origin": "https://evil.example"}
            )
    assert (stranger.status_code, page.status_code) == (401, 403)


def test_the_description_is_valid_and_complete(api: Any) -> None:
    validator = pytest.importorskip("openapi_spec_validator", reason="not installed")
    document = api.get("/v1/openapi.json").json()
    validator.validate(document)
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            assert operation["description"], (path, method)
            assert operation["tags"][0] in ("any", "read", "teach", "write", "admin")
            problem = operation["responses"]["default"]["content"]["application/json"]["schema"]
            assert problem == {"$ref": "#/components/schemas/Problem"}


def test_the_page_on_the_api_names_every_path(api: Any) -> None:
    import json
    import re

    import hebbgraph

    page = (Path(hebbgraph.__file__).parents[2] / "docs/http.md").read_text("utf-8")
    for path in api.get("/v1/openapi.json").json()["paths"]:
        assert path.removeprefix("/v1") in page, path
    block = re.search(r"<!-- recall: begin -->\n```json\n(.*?)\n```", page, re.DOTALL)
    assert block is not None
    example = json.loads(block[1])
    answer = api.post("/v1/recalls", json={"question": QUESTION, "compare": True}).json()
    assert example.keys() == answer.keys()
    assert example["hits"][1].keys() == answer["hits"][1].keys()


def test_whatever_fits_the_description_gets_an_answer(location: Path) -> None:
    schemathesis = pytest.importorskip("schemathesis", reason="not installed")
    from schemathesis.specs.openapi.checks import response_schema_conformance

    checks = [schemathesis.checks.not_a_server_error, response_schema_conformance]
    with served_process(location) as (_, url, _):
        schema = schemathesis.openapi.from_url(f"{url}/v1/openapi.json")
        for operation in schema.get_all_operations():
            if operation.ok().path in ("/v1/metrics", "/v1/documents"):  # not JSON
                continue

            @settings(max_examples=12, suppress_health_check=list(HealthCheck), deadline=None)
            @given(case=operation.ok().as_strategy())
            def ask(case: Any) -> None:
                case.call_and_validate(checks=checks)

            ask()
