"""Uses the tools with version 1 of the MCP SDK; run by its Python, over the URL of a server."""

from __future__ import annotations

import asyncio
import sys
from importlib.metadata import version

from mcp import ClientSession  # type: ignore[attr-defined]
from mcp.client.streamable_http import streamablehttp_client  # type: ignore[attr-defined]


async def main(url: str) -> None:
    assert version("mcp").startswith("1."), version("mcp")
    async with streamablehttp_client(url) as (read, write, _), ClientSession(read, write) as client:
        await client.initialize()
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert tools["recall"].outputSchema
        assert tools["recall"].annotations.readOnlyHint

        async def call(name: str, **arguments: object) -> dict:
            result = await client.call_tool(name, arguments)
            assert not result.isError, result.content
            return result.structuredContent

        found = await call("recall", query="Where was the builder of the Petrel born?", k=3)
        first, last = (found["passages"][at] for at in (0, 2))
        assert first["heading"]
        given = await call("cite", recall_id=found["recall_id"], chunk_ids=[last["id"]])
        assert given["cited"] == [last["id"]]
        undone = await call("forget", feedback_id=given["feedback_id"], dry_run=False)
        assert undone["removed"] == 1
        read_ = await client.read_resource(f"hebbgraph://chunks/{first['id']}")
        assert first["text"] in read_.contents[0].text
        wrong = await client.call_tool("recall", {"query": "x", "kk": 2})
        assert wrong.isError
        assert "did you mean 'k'" in wrong.content[0].text


asyncio.run(main(sys.argv[1]))
