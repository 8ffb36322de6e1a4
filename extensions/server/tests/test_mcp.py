"""The tools for agents, through the SDK's own client."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra server is not installed")

from hebbgraph import HebbianIndex
from hebbgraph.errors import ParameterError
from mcp import Client, MCPError, StdioServerParameters

from hebbgraph_server.client import HebbianClient

Connect = Callable[..., HebbianClient]
_BEFORE = "mcp==1.30.0"
QUESTION = "Where was the builder of the Petrel born?"


async def call(client: Client, tool: str, **arguments: Any) -> Any:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return str(result.content[0].text)  # type: ignore[union-attr]


async def use_all(client: Client) -> None:
    """Recall, cite, explain, remember and forget, and read a chunk."""
    tools = (await client.list_tools()).tools
    assert {tool.name for tool in tools} == {"recall", "cite", "remember", "forget", "explain"}
    hints = {tool.name: tool.annotations for tool in tools}
    assert {name for name, hint in hints.items() if hint and hint.read_only_hint} == {
        "recall",
        "explain",
    }
    assert all(tool.output_schema for tool in tools)
    found = await call(client, "recall", query=QUESTION, k=3)
    first, last = found["passages"][0]["id"], found["passages"][2]["id"]
    given = await call(client, "cite", recall_id=found["recall_id"], chunk_ids=[last])
    assert given["cited"] == [last]
    outdated = {first: last}
    said = await call(client, "cite", recall_id=found["recall_id"], chunk_ids=[], outdated=outdated)
    assert (said["cited"], said["rejected"]) == ([last], [first])
    given = await call(client, "cite", recall_id=found["recall_id"], chunk_ids=[last])
    again = await call(client, "recall", query=QUESTION, k=3)
    told = await call(client, "explain", recall_id=again["recall_id"], chunk_id=last)
    assert told["learned"][0]["actor"].startswith("mcp:")
    assert (await call(client, "forget", feedback_id=given["feedback_id"]))["removed"] == 1
    undone = await call(client, "forget", feedback_id=given["feedback_id"], dry_run=False)
    assert undone == {"removed": 1, "dry_run": False}
    assert "nothing was stored" in await refused(client, "remember", text=" \n")
    kept = await call(client, "remember", text="Owls hunt voles.", title="Owls")
    resource = await client.read_resource(f"hebbgraph://chunks/{kept['chunk_ids'][0]}")
    assert resource.contents[0].text == "# Owls\n\nOwls hunt voles."  # type: ignore[union-attr]
    long = "\n\n".join(f"Owl number {n} hunts voles in barn {n}." * 3 for n in range(200))
    parts = await call(client, "remember", text=long, title="Barns", document_id="/srv/barns")
    assert len(parts["chunk_ids"]) > 1
    barns = await call(client, "recall", query="Owl number 7 hunts voles in barn 7", k=1)
    assert barns["passages"][0]["heading"] == "Barns"
    assert barns["passages"][0]["source"].startswith("barns, passage ")
    assert barns["passages"][0]["complete"]
    assert "/srv" not in str(barns)
    assert (await call(client, "forget", document_id="/srv/barns"))["removed"] == len(
        parts["chunk_ids"]
    )
    gone = await call(client, "forget", document_id="/srv/barns", dry_run=False)
    assert gone["removed"] == len(parts["chunk_ids"])
    assert "no recall 'gone'" in await refused(client, "cite", recall_id="gone", chunk_ids=[first])
    assert "forget takes one of" in await refused(client, "forget")
    for tool in tools:
        told = await refused(client, tool.name, namesapce="other")
        assert f"{tool.name} has no argument 'namesapce'" in told
        assert tool.input_schema["additionalProperties"] is False
    assert "did you mean 'chunk_ids'?" in await refused(client, "forget", chunk_id=[first])
    told = await refused(client, "cite", recall_id="any", cited=[first])  # as in Python
    assert told.endswith("cite has no argument 'cited'; give chunk_ids")
    with pytest.raises(MCPError, match="no chunk"):
        await client.read_resource("hebbgraph://chunks/none")


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_over_http(connect: Connect, mode: Any) -> None:
    with connect() as served:
        async with Client(f"{served._http.url}/mcp", mode=mode) as client:
            await use_all(client)


@pytest.fixture(scope="module")
def python_of_the_sdk_before(request: pytest.FixtureRequest) -> Path:
    """A Python that has the version before: both cannot be in one environment."""
    place = Path(request.config.cache.mkdir("mcp1")) / _BEFORE  # type: ignore[union-attr]
    python = place / "bin/python"
    if not (place / "complete").exists():
        venv.create(place, clear=True, with_pip=True)
        install = [python, "-m", "pip", "install", "--quiet", _BEFORE]
        done = subprocess.run(install, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"{_BEFORE} cannot be installed: {done.stderr[-300:]}")
        (place / "complete").touch()
    return python


async def test_clients_of_the_sdk_before_this_one(
    connect: Connect, python_of_the_sdk_before: Path
) -> None:
    python = python_of_the_sdk_before
    url = f"{connect()._http.url}/mcp"
    script = Path(__file__).parent / "mcp1_client.py"
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = await asyncio.to_thread(
        subprocess.run,
        [python, script, url],
        env=clean,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


async def test_over_standard_input(location: Path) -> None:
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "hebbgraph", "mcp", "--db", str(location)],
        env={"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    async with Client(command) as client:
        await use_all(client)
    with HebbianIndex.open(location) as index:
        assert index.recall("Owls and voles").hits[0].chunk.title == "Owls"


async def test_roles_namespaces_and_actors_hold(connect: Connect) -> None:
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    with connect(role="teach", namespaces=["default"], actor="agent-7") as served:
        url = f"{served._http.url}/mcp"
        async with httpx2.AsyncClient() as bare:
            assert (await bare.post(url, json={})).status_code == 401
        headers = {"Authorization": "Bearer secret-of-the-client"}
        async with httpx2.AsyncClient(headers=headers) as http:
            async with Client(streamable_http_client(url, http_client=http)) as client:
                found = await call(client, "recall", query=QUESTION)
                cited = [found["passages"][0]["id"]]
                await call(client, "cite", recall_id=found["recall_id"], chunk_ids=cited)
                assert "'write'" in await refused(client, "remember", text="More.")
                assert "'write'" in await refused(
                    client, "forget", chunk_ids=["moss"], dry_run=False
                )
            other = f"{url}?namespace=other"
            async with Client(streamable_http_client(other, http_client=http)) as client:
                assert "does not see" in await refused(client, "recall", query="Whose secret?")
                with pytest.raises(MCPError, match="does not see"):
                    await client.read_resource("hebbgraph://chunks/secret")
    assert served.namespace == "default"


@pytest.mark.parametrize("learns", [True, False])
async def test_reading_on_teaches_where_that_is_asked_for(connect: Connect, learns: bool) -> None:
    with connect(learn_from_use=learns) as served:
        async with Client(f"{served._http.url}/mcp") as client:
            found = await call(client, "recall", query=QUESTION, k=3)
            last = found["passages"][2]["id"]
            await client.read_resource(f"hebbgraph://chunks/{last}")
            found_ids = {one["id"] for one in found["passages"]}
            others = set(await asyncio.to_thread(served.ids)) - found_ids
            await client.read_resource(f"hebbgraph://chunks/{others.pop()}")
        lessons = await asyncio.to_thread(served.lessons)
        told = [(one.kind, one.cited) for one in lessons if one.recall_id == found["recall_id"]]
    assert told == [("read on", (last,))] * learns


async def test_a_warning_names_no_chunk(
    connect: Connect, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(index: HebbianIndex, *args: Any, **kwargs: Any) -> None:
        raise ParameterError("there is no chunk 'a-secret-id'")

    with connect(learn_from_use=True) as served:
        async with Client(f"{served._http.url}/mcp") as client:
            passages = (await call(client, "recall", query=QUESTION, k=1))["passages"]
            monkeypatch.setattr(HebbianIndex, "reinforce", refuse)
            await client.read_resource(f"hebbgraph://chunks/{passages[0]['id']}")
    assert "reading on taught nothing: ParameterError" in caplog.text
    assert "a-secret-id" not in caplog.text


async def test_a_reader_sees_only_what_it_may_use(connect: Connect) -> None:
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    headers = {"Authorization": "Bearer secret-of-the-client"}
    for role, names in (
        ("read", {"recall", "explain"}),
        ("teach", {"recall", "explain", "cite", "forget"}),
    ):
        with connect(role=role) as served:
            async with httpx2.AsyncClient(headers=headers) as http:
                transport = streamable_http_client(f"{served._http.url}/mcp", http_client=http)
                async with Client(transport) as client:
                    assert {one.name for one in (await client.list_tools()).tools} == names
                    assert (await call(client, "recall", query=QUESTION))["passages"]


async def test_a_page_of_another_origin_reaches_no_tool(connect: Connect) -> None:
    import httpx2

    with connect() as served:
        async with httpx2.AsyncClient() as http:
            answer = await http.post(
                f"{served._http.url}/mcp", json={}, headers={"Origin": "https://evil.example"}
            )
    assert answer.status_code == 403


async def test_a_namespace_that_does_not_exist_is_named(connect: Connect) -> None:
    with connect() as served:
        async with Client(f"{served._http.url}/mcp?namespace=defualt") as client:
            told = await refused(client, "recall", query=QUESTION)
            assert "there is no namespace 'defualt', only 'default', 'other'" in told
            await call(client, "remember", text="Owls hunt voles.", title="Owls")
            assert (await call(client, "recall", query="Owls"))["passages"]
