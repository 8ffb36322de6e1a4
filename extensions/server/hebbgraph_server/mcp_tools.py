"""Tools for agents, over the Model Context Protocol (MCP): ask, cite, list documents."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import Field, ValidationError
from starlette.exceptions import HTTPException

from hebbgraph import HebbianIndex, __version__
from hebbgraph.errors import HebbgraphError
from hebbgraph_server import models
from hebbgraph_server.asking import ask
from hebbgraph_server.documents import list_documents
from hebbgraph_server.errors import problem_of
from hebbgraph_server.settings import ServerSettings
from hebbgraph_server.teaching import teach
from hebbgraph_server.tokens import make_token
from hebbgraph_server.visits import Service, Visit, visit_of

_INSTRUCTIONS = """\
Documents that are searched, and a search that learns. Ask with `ask`. After you have answered, \
report with `cite` which passages your answer rests on, and which were wrong: later questions find \
the cited ones sooner. Cite only what you used."""
#: What an agent gets of a recall; marks and parts of scores are for eyes.
_HIT = {"id", "title", "place", "text", "complete", "score", "why"}
_ASKED: dict[str, Any] = {"id": True, "confidence": True, "notes": True, "hits": {"__all__": _HIT}}
#: In whose name an agent teaches whose token has no actor.
_AGENT = "agent"


def _server(visit_of: Callable[[Any], Visit]) -> MCPServer:
    """Return an MCP server with the tools, for any transport."""
    server = MCPServer(
        "hebbgraph", version=__version__, instructions=_INSTRUCTIONS, log_level="WARNING"
    )
    reads = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    teaches = ToolAnnotations(destructive_hint=False, idempotent_hint=True)

    @server.tool(name="ask", annotations=reads)
    async def ask_tool(
        ctx: Context,
        question: Annotated[str, Field(description="in plain language")],
        k: Annotated[int, Field(ge=1, le=50, description="number of passages")] = 5,
        where: Annotated[
            dict[str, Any] | None, Field(description='filter by metadata: {"lang": "en"}')
        ] = None,
    ) -> dict[str, Any]:
        """Find the passages that answer a question, even one that takes two steps."""
        with _plain():
            body = models.RecallBody(question=question, k=k, where=where)
            return (await ask(body, visit_of(ctx))).model_dump(mode="json", include=_ASKED)

    @server.tool(annotations=teaches)
    async def cite(
        ctx: Context,
        recall_id: Annotated[str, Field(description="the id that ask returned")],
        chunk_ids: Annotated[list[str], Field(description="passages that the answer rests on")],
        rejected: Annotated[list[str] | None, Field(description="passages that were wrong")] = None,
    ) -> models.LessonOut:
        """Report which passages an answer rests on, so that later questions find them sooner."""
        with _plain():
            said = {"recall": recall_id, "cited": chunk_ids, "rejected": rejected or []}
            return await teach(models.LessonBody(**said, actor=_AGENT), visit_of(ctx))

    @server.tool(name="list_documents", annotations=reads)
    async def list_tool(
        ctx: Context,
        find: Annotated[str, Field(description="words in place or title; all if empty")] = "",
        limit: Annotated[int, Field(ge=1, le=1_000)] = 50,
    ) -> models.Documents:
        """List the documents that can be asked about."""
        with _plain():
            return await list_documents(visit_of(ctx), find, limit)

    return server


@contextmanager
def _plain() -> Iterator[None]:
    """Turn errors into messages that the agent sees."""
    try:
        yield
    except (HTTPException, HebbgraphError) as error:
        raise ToolError(problem_of(error).problem.message) from error
    except ValidationError as error:
        raise ToolError(str(error.errors()[0]["msg"])) from error


def served_mcp(service: Service) -> MCPServer:
    """Return the MCP server of an HTTP server, whose guard has checked the token."""

    def of_request(context: Any) -> Visit:
        request = context.request_context.request
        return visit_of(service, request.state.token, request.query_params.get("namespace"))

    return _server(of_request)


def run_stdio(index: HebbianIndex, *, teach: bool = True, actor: str | None = None) -> None:
    """Serve one namespace over standard input and output, until the input ends."""
    token, _ = make_token("stdio", teach=teach, actor=actor or _AGENT)
    service = Service(index, ServerSettings(namespace=index.namespace))
    visit = Visit(service, token, index.namespace)
    try:
        anyio.run(_server(lambda _: visit).run_stdio_async)
    finally:
        service.close()
