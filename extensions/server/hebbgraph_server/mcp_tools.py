"""An index as tools for agents, over the Model Context Protocol (MCP).

The tools are ``recall``, ``cite``, ``remember``, ``forget`` and ``explain``; each chunk is a
resource. Citations of an agent teach under the name of its session, whose influence is bounded
like that of any actor.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import logging
import uuid
from collections.abc import Callable
from typing import Annotated, Any

from hebbgraph._version import __version__
from hebbgraph.arguments import check_names
from hebbgraph.errors import HebbgraphError, NotFoundError, ParameterError
from hebbgraph.hebbian_index import HebbianIndex
from hebbgraph.labels import heading_of, place_of
from hebbgraph.pool import IndexPool
from hebbgraph.records import Chunk, Recall
from hebbgraph.records.explanations import Explanation
from hebbgraph_documents import markdown_document, split_document
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError
from mcp.server.mcpserver.resources import ResourceSecurity
from mcp_types import Tool, ToolAnnotations
from pydantic import BaseModel, ConfigDict, Field

from hebbgraph_server.access import Role, Token
from hebbgraph_server.indexes import Indexes
from hebbgraph_server.settings import ServerSettings
from hebbgraph_server.spans import retrieval
from hebbgraph_server.threads import Threads
from hebbgraph_server.visit import Service, Visit

__all__ = ["VisitOf", "make_mcp", "run_stdio", "served_mcp"]

logger = logging.getLogger(__name__)

#: Maps the context of a call to its visit and the name of its session.
VisitOf = Callable[[Any], tuple[Visit, str]]

_INSTRUCTIONS = """\
A memory that learns which passages belong together. Ask it with `recall`. After you have \
answered, report with `cite` which passages your answer rests on and which were wrong: later \
recalls find the cited ones sooner. Cite only what you used. `remember` stores new text, `forget` \
removes it, `explain` says why a passage came back."""
#: In characters. Longer texts are split into passages; longer passages are shown in part.
_MAX_PASSAGE = 2_000
#: Metadata that heading and source repeat; some of it holds a path of this machine.
_MADE_BY_US = frozenset({"source", "position", "headings", "media_type", "content_hash"})
_MAX_HITS = 50
#: Sessions whose latest recall is remembered.
_MAX_SESSIONS = 1_000


class _Result(BaseModel):
    model_config = ConfigDict(frozen=True)


class Passage(_Result):
    """A chunk that answers a question."""

    id: str
    title: str
    heading: str = Field(description="title and headings above it")
    source: str = Field(description="its document and place")
    text: str = Field(description="its beginning; the resource hebbgraph://chunks/{id} has all")
    complete: bool = Field(description="whether text is the whole text")
    metadata: dict[str, Any]
    score: float
    path: str = Field(description="how the question led to it")


class Recalled(_Result):
    """The passages for a question."""

    recall_id: str = Field(description="for cite and explain")
    passages: list[Passage]
    notes: list[str]
    nothing_known: bool = Field(description="the memory seems to know nothing about this")


class Cited(_Result):
    """A lesson."""

    feedback_id: str = Field(description="for forget")
    cited: list[str]
    rejected: list[str]


class Remembered(_Result):
    """The stored chunks."""

    chunk_ids: list[str]
    document_id: str | None = None


class Forgotten(_Result):
    """The number of removed records; after a dry run, of those that would be."""

    removed: int
    dry_run: bool


def _with_tool_errors(tool: Callable[..., Any]) -> Callable[..., Any]:
    """Return a tool that raises our errors as ToolError, whose message the agent sees."""

    @functools.wraps(tool)
    async def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return await tool(*args, **kwargs)
        except HebbgraphError as error:
            raise ToolError(str(error)) from error

    return call


class _Tools:
    """The tools of one server."""

    def __init__(self, visit_of: VisitOf) -> None:
        self._visit_of = visit_of
        #: Namespace and session to the id of the latest recall, which led to what is read next.
        self._latest: dict[tuple[str, str], str] = {}

    def _visit(self, context: Any, role: Role) -> tuple[Visit, str]:
        visit, session = self._visit_of(context)
        visit.caller.check(role, visit.namespace)
        return visit, session

    async def recall(
        self,
        ctx: Context,
        query: Annotated[str, Field(description="a question in plain language")],
        k: Annotated[int, Field(ge=1, le=_MAX_HITS, description="number of passages")] = 5,
        where: Annotated[
            dict[str, Any] | None, Field(description='filter by metadata, like {"lang": "en"}')
        ] = None,
        history: Annotated[
            list[str] | None, Field(description="earlier turns of the conversation, oldest first")
        ] = None,
    ) -> Recalled:
        """Find the passages that answer a question, even one that takes several steps."""
        visit, session = self._visit(ctx, Role.READ)
        recall: Recall = await visit.run(
            lambda index: retrieval(
                visit.namespace,
                k,
                lambda: index.recall(query, k=k, where=where, history=history or ()),
            )
        )
        self._latest.pop((visit.namespace, session), None)
        self._latest[visit.namespace, session] = recall.id
        if len(self._latest) > _MAX_SESSIONS:
            del self._latest[next(iter(self._latest))]
        return Recalled(
            recall_id=recall.id,
            passages=[
                Passage(
                    id=hit.chunk.id,
                    title=hit.chunk.title,
                    heading=heading_of(hit.chunk),
                    source=place_of(hit.chunk),
                    text=hit.chunk.text[:_MAX_PASSAGE],
                    complete=len(hit.chunk.text) <= _MAX_PASSAGE,
                    metadata={
                        name: value
                        for name, value in hit.chunk.metadata.items()
                        if name not in _MADE_BY_US
                    },
                    score=hit.score,
                    path=hit.path_text,
                )
                for hit in recall.hits
            ],
            notes=list(recall.notes),
            nothing_known=recall.nothing_known,
        )

    async def cite(
        self,
        ctx: Context,
        recall_id: Annotated[str, Field(description="as recall returned it")],
        chunk_ids: Annotated[list[str], Field(description="the passages that the answer rests on")],
        rejected: Annotated[list[str] | None, Field(description="passages that were wrong")] = None,
        outdated: Annotated[
            dict[str, str] | None,
            Field(description="outdated passages, each with the one that replaces it"),
        ] = None,
    ) -> Cited:
        """Report the passages that an answer rests on, so that recalls find them sooner."""
        visit, session = self._visit(ctx, Role.TEACH)
        actor = visit.caller.actor or session
        feedback = await visit.run(
            lambda index: index.reinforce(
                recall_id, chunk_ids, rejected=rejected, outdated=outdated, actor=actor
            ),
            pool="write",
        )
        return Cited(
            feedback_id=feedback.id, cited=list(feedback.cited), rejected=list(feedback.rejected)
        )

    async def remember(
        self,
        ctx: Context,
        text: Annotated[str, Field(description="plain text or Markdown")],
        title: Annotated[str, Field(description="its subject")] = "",
        document_id: Annotated[
            str | None, Field(description="a name; storing it again replaces the old text")
        ] = None,
        metadata: Annotated[dict[str, Any] | None, Field(description="fields for filters")] = None,
    ) -> Remembered:
        """Store a text for later recalls. A long text is split into passages."""
        if not text.strip() and not title.strip():
            raise ParameterError("the text is empty, so nothing was stored; give the text")
        visit, _ = self._visit(ctx, Role.WRITE)

        def work(index: HebbianIndex) -> Remembered:
            name, chunks = _passages(text, title, document_id, metadata or {})
            if name is None:
                index.add(chunks)
            else:
                index.put_document(name, None, chunks)
            return Remembered(chunk_ids=[chunk.id for chunk in chunks], document_id=name)

        return await visit.run(work, pool="write", create=True)

    async def forget(
        self,
        ctx: Context,
        chunk_ids: Annotated[list[str] | None, Field(description="chunks to delete")] = None,
        document_id: Annotated[str | None, Field(description="a document to delete")] = None,
        feedback_id: Annotated[str | None, Field(description="a citation to take back")] = None,
        dry_run: Annotated[bool, Field(description="only count what would be removed")] = True,
    ) -> Forgotten:
        """Delete chunks or a document, or take a citation back. By default, a dry run."""
        if [chunk_ids, document_id, feedback_id].count(None) != 2:
            raise ParameterError("forget takes one of chunk_ids, document_id and feedback_id")
        visit, session = self._visit(ctx, Role.READ if dry_run else Role.TEACH)
        if feedback_id is not None:
            # Without the role write, a session takes back its own citations alone.
            actor = visit.caller.actor or (None if visit.caller.role >= Role.WRITE else session)
            removed = await visit.run(
                lambda index: _take_back(index, feedback_id, actor, dry_run), pool="long"
            )
            return Forgotten(removed=removed, dry_run=dry_run)
        if not dry_run:
            visit.caller.check(Role.WRITE, visit.namespace)

        def work(index: HebbianIndex) -> int:
            if not dry_run:
                return index.delete(chunk_ids, document_id=document_id)
            if document_id is not None:
                return len(index.ids({"$document_id": document_id}))
            return len(index.holds(chunk_ids or ()))

        return Forgotten(removed=await visit.run(work, pool="write"), dry_run=dry_run)

    async def explain(
        self,
        ctx: Context,
        recall_id: Annotated[str, Field(description="as recall returned it")],
        chunk_id: Annotated[str, Field(description="any chunk, found or not")],
    ) -> Explanation:
        """Explain why a passage came back: its score, the path to it, and the lessons on it."""
        visit, _ = self._visit(ctx, Role.READ)
        return await visit.run(lambda index: index.explain(recall_id, chunk_id))

    async def chunk(self, id: str, ctx: Context) -> str:
        """Return the title and text of a chunk."""
        try:
            visit, session = self._visit(ctx, Role.READ)
            chunks = await visit.run(lambda index: index.get([id]))
        except NotFoundError as error:
            raise ResourceNotFoundError(str(error)) from error
        except HebbgraphError as error:
            raise ResourceError(str(error)) from error
        if not chunks:
            raise ResourceNotFoundError(f"there is no chunk {id!r}")
        await self._learn_from_reading(visit, session, id)
        title = f"# {chunks[0].title}\n\n" if chunks[0].title else ""
        return title + chunks[0].text

    async def _learn_from_reading(self, visit: Visit, session: str, id: str) -> None:
        """With ``learn_from_use``, teach that the agent reads a hit of its latest recall."""
        recall_id = self._latest.get((visit.namespace, session))
        may_teach = visit.service.settings.learn_from_use and visit.caller.role.includes(Role.TEACH)
        if recall_id is None or not may_teach:
            return
        actor = visit.caller.actor or session

        def work(index: HebbianIndex) -> None:
            recall = index.find_recall(recall_id)
            if recall is not None and recall.hit(id) is not None:
                index.reinforce(recall, [id], actor=actor, kind="read on")

        try:
            await visit.run(work, pool="write")
        except HebbgraphError as error:  # the reading itself succeeded
            logger.warning("reading on taught nothing: %s", type(error).__name__)


def _take_back(index: HebbianIndex, feedback_id: str, actor: str | None, dry_run: bool) -> int:
    if dry_run:
        return len(index.forget(feedback_id, actor=actor, dry_run=True).feedback)
    return index.forget(feedback_id, actor=actor)


def _passages(
    text: str, title: str, document_id: str | None, metadata: dict[str, Any]
) -> tuple[str | None, list[Chunk]]:
    """Return the chunks of a text, and the id of their document, if they make one."""
    if len(text) <= _MAX_PASSAGE:
        chunk = Chunk.coerce(
            {"text": text, "title": title, "metadata": metadata, "document_id": document_id}
        )
        return document_id, [chunk]
    digest = hashlib.sha256(f"{title}\x1f{text}".encode("utf-8", "replace")).hexdigest()
    name = document_id or f"remembered/{digest[:16]}"
    document = markdown_document(f"# {title}\n\n{text}" if title else text)
    return name, [
        chunk.model_copy(update={"metadata": {**chunk.metadata, **metadata}})
        for chunk in split_document(document, document_id=name)
    ]


#: Names of arguments elsewhere: the nearest spelling to "cited" would be "rejected".
_INSTEAD = {"cited": "give chunk_ids"}


class _StrictServer(MCPServer):
    """Refuses unknown arguments, which the SDK drops silently."""

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        for tool in await self.list_tools():
            if tool.name == name:
                try:
                    known = tool.input_schema.get("properties", ())
                    check_names(arguments, known, of=name, instead=_INSTEAD)
                except ParameterError as error:
                    raise ToolError(str(error)) from error
        return await super().call_tool(name, arguments, context)

    async def list_tools(self) -> list[Tool]:
        closed = {"additionalProperties": False}
        return [
            tool.model_copy(update={"input_schema": tool.input_schema | closed})
            for tool in await super().list_tools()
        ]


#: Roles that tools need, if not ``read``; a dry run of forget needs no more than that.
_ROLES = {"cite": Role.TEACH, "forget": Role.TEACH, "remember": Role.WRITE}


def _hide_tools(visit_of: VisitOf) -> Callable[..., Any]:
    """Return middleware that lists only the tools that the caller's role may use."""

    async def hide_tools(ctx: Any, call_next: Callable[..., Any]) -> Any:
        result = await call_next(ctx)
        if ctx.method != "tools/list":
            return result
        role = visit_of(Context(request_context=ctx))[0].caller.role
        answer = result if isinstance(result, dict) else result.model_dump(by_alias=True)
        tools = [t for t in answer["tools"] if role.includes(_ROLES.get(t["name"], Role.READ))]
        return answer | {"tools": tools}

    return hide_tools


def make_mcp(visit_of: VisitOf) -> MCPServer:
    """Return an MCP server with the tools, for any transport.

    Parameters
    ----------
    visit_of : callable
        See :data:`VisitOf`.
    """
    tools = _Tools(visit_of)
    server = _StrictServer(
        "hebbgraph", version=__version__, instructions=_INSTRUCTIONS, log_level="WARNING"
    )
    hints: dict[Callable[..., Any], ToolAnnotations] = {
        tools.recall: ToolAnnotations(read_only_hint=True, open_world_hint=False),
        tools.cite: ToolAnnotations(destructive_hint=False, idempotent_hint=True),
        tools.remember: ToolAnnotations(destructive_hint=False, idempotent_hint=True),
        tools.forget: ToolAnnotations(destructive_hint=True, idempotent_hint=True),
        tools.explain: ToolAnnotations(read_only_hint=True, open_world_hint=False),
    }
    for tool, hint in hints.items():
        server.add_tool(_with_tool_errors(tool), description=inspect.getdoc(tool), annotations=hint)
    server.middleware.append(_hide_tools(visit_of))
    server.resource(
        "hebbgraph://chunks/{id}",
        name="chunk",
        description="A chunk by its id, percent-encoded.",
        mime_type="text/markdown",
        # The id names no file.
        security=ResourceSecurity(exempt_params={"id"}),
    )(tools.chunk)
    return server


def served_mcp(service: Service) -> MCPServer:
    """Return the MCP server of an HTTP server, whose guard has checked the token."""

    def visit_of(context: Any) -> tuple[Visit, str]:
        request = context.request_context.request
        namespace = request.query_params.get("namespace", "default")
        visit = Visit(service, request.state.caller, namespace)
        # Later versions of the protocol have no sessions; then a token is one session.
        session = request.headers.get("mcp-session-id", visit.caller.name)
        return visit, f"mcp:{hashlib.sha256(session.encode()).hexdigest()[:16]}"

    return make_mcp(visit_of)


def run_stdio(
    pool: IndexPool,
    namespace: str,
    *,
    role: Role,
    actor: str | None = None,
    settings: ServerSettings | None = None,
) -> None:
    """Serve one namespace over standard input and output, until the input ends."""
    caller = Token(name="stdio", digest="0" * 64, role=role, namespaces={namespace}, actor=actor)
    settings = settings or ServerSettings()
    indexes = Indexes(pool, namespace)
    threads = Threads(settings.readers, settings.writers)
    session = f"mcp:{uuid.uuid4().hex[:16]}"
    visit = Visit(Service(settings, indexes, threads), caller, namespace)
    try:
        make_mcp(lambda _: (visit, session)).run("stdio")
    finally:
        threads.close()
        indexes.close()
