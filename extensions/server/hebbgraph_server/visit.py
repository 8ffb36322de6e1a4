"""One request: its token and namespace, and the thread in which the index answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hebbgraph.arguments import check_names
from hebbgraph.errors import NamespaceNotFoundError, ParameterError
from hebbgraph.hebbian_index import HebbianIndex
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from hebbgraph_server.access import Role, Token
from hebbgraph_server.answering import Model
from hebbgraph_server.indexes import Indexes
from hebbgraph_server.problems import kind_of
from hebbgraph_server.settings import ServerSettings
from hebbgraph_server.streaming import NDJSON
from hebbgraph_server.tasks import Task, Tasks
from hebbgraph_server.threads import Pool, Threads

__all__ = [
    "DEFAULT_NAMESPACE",
    "MAX_NAMESPACE",
    "Service",
    "Visit",
    "as_response",
    "body_of",
    "visit_of",
]

DEFAULT_NAMESPACE = "default"
MAX_NAMESPACE = 256

#: A body of fewer bytes is parsed in less time than a thread takes to wake up.
_PARSED_IN_LOOP = 16_384

_T = TypeVar("_T")
_Body = TypeVar("_Body", bound=BaseModel)


@dataclass(frozen=True)
class Service:
    """The state that requests share; ``answering`` bounds concurrent requests to the model."""

    settings: ServerSettings
    indexes: Indexes
    threads: Threads
    model: Model | None = None
    tasks: Tasks = field(default_factory=Tasks)
    answering: asyncio.Semaphore = field(default_factory=asyncio.Semaphore)


@dataclass(frozen=True)
class Visit:
    """One request.

    Attributes
    ----------
    service : Service
    caller : Token
    namespace : str
    accepts : str
        The media types that the client accepts.
    path, query
        Of the URL.
    task : Task, optional
        The task that runs it.
    """

    service: Service
    caller: Token
    namespace: str
    accepts: str = ""
    path: str = ""
    query: Mapping[str, str] = field(default_factory=dict)
    task: Task | None = None

    def tell(self, done: int, total: int | None) -> None:
        """Record progress in the task, if there is one."""
        if self.task is not None:
            self.task.done, self.task.total = done, total

    async def run(
        self,
        work: Callable[[HebbianIndex], _T],
        *,
        pool: Pool = "read",
        create: bool = False,
    ) -> _T:
        """Run a blocking call on the namespace's index in a thread.

        Raises
        ------
        NamespaceNotFoundError
            If there is no such namespace, unless ``create``; it lists those that the caller sees.
        """

        def call() -> _T:
            indexes = self.service.indexes
            try:
                with indexes.borrowed(self.namespace, create=create) as index:
                    return work(index)
            except NamespaceNotFoundError:
                visible = filter(self.caller.sees, indexes.names())
                raise NamespaceNotFoundError.of(self.namespace, visible) from None

        return await self.service.threads.run(pool, call)

    async def answer(
        self,
        work: Callable[[HebbianIndex], BaseModel],
        *,
        pool: Pool = "read",
        create: bool = False,
    ) -> Response:
        """Like :meth:`run`, but return the record as a response, serialised in the thread."""
        return await self.run(lambda index: as_response(work(index)), pool=pool, create=create)


def as_response(record: BaseModel) -> Response:
    """Return a record as a response."""
    return Response(record.model_dump_json().encode(), media_type="application/json")


def visit_of(request: Request, role: Role) -> Visit:
    """Return the visit of a request that has passed the guard.

    Raises
    ------
    ParameterError
        If the name of the namespace is empty or too long.
    AccessError
        If the token lacks the role there.
    """
    namespace = request.query_params.get("namespace", DEFAULT_NAMESPACE)
    if not 1 <= len(namespace) <= MAX_NAMESPACE:
        raise ParameterError(
            f"a namespace has 1 to {MAX_NAMESPACE} characters, got {len(namespace)}"
        )
    caller: Token = request.state.caller
    caller.check(role, namespace)
    service: Service = request.app.state.service
    accepts = request.headers.get("accept", "")
    return Visit(service, caller, namespace, accepts, request.url.path, request.query_params)


async def body_of(request: Request, kind: type[_Body], visit: Visit, pool: Pool) -> _Body:
    """Read the body of a request and parse it, in a thread if it is large.

    Parsing 8 MB takes longer than the event loop may wait.

    Raises
    ------
    ParameterError
        If it is no JSON object, or has an unknown field.
    pydantic.ValidationError
        If a field is invalid.
    """
    try:
        content = await request.body()
    except ClientDisconnect:
        raise HTTPException(400, "the body is incomplete") from None

    def parse() -> _Body:
        try:
            if request.headers.get("content-type", "").startswith(NDJSON):
                lines = [json.loads(line) for line in content.splitlines() if line.strip()]
                arguments: Any = {"lines": lines}
            else:
                arguments = json.loads(content or b"{}")
        except (ValueError, RecursionError) as error:  # also of a number with too many digits
            raise ParameterError(f"the body is no JSON: {error}") from error
        fields = kind.model_fields
        if not isinstance(arguments, dict):
            raise ParameterError(
                f"the body is an object with {', '.join(fields)}; got {kind_of(arguments)}"
            )
        check_names(arguments, fields, of=request.url.path)
        return kind.model_validate(arguments)

    if len(content) <= _PARSED_IN_LOOP:
        return parse()
    return await visit.service.threads.run(pool, parse)
