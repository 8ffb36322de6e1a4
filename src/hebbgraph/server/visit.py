"""One request: who asks, of which namespace, and in which thread the index answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Query
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from hebbgraph.index import HebbianIndex
from hebbgraph.server.access import Role, Token
from hebbgraph.server.indexes import Indexes
from hebbgraph.server.settings import ServerSettings
from hebbgraph.server.threads import Pool, Threads

__all__ = ["Service", "Visit", "Visiting", "needs"]

_T = TypeVar("_T")


@dataclass(frozen=True)
class Service:
    """What all requests share."""

    settings: ServerSettings
    indexes: Indexes
    threads: Threads


@dataclass(frozen=True)
class Visit:
    """One request.

    Attributes
    ----------
    service : Service
    caller : Token
    namespace : str
    """

    service: Service
    caller: Token
    namespace: str

    async def run(
        self,
        work: Callable[[HebbianIndex], _T],
        *,
        pool: Pool = "read",
        create: bool = False,
    ) -> _T:
        """Run a blocking call on the namespace's index in a thread."""

        def borrowing() -> _T:
            with self.service.indexes.borrowed(self.namespace, create=create) as index:
                return work(index)

        return await self.service.threads.run(pool, borrowing)

    async def answer(
        self,
        work: Callable[[HebbianIndex], BaseModel],
        *,
        pool: Pool = "read",
        create: bool = False,
    ) -> Response:
        """The same, with the record that it returns as the response: written in the thread, too."""

        def written(index: HebbianIndex) -> bytes:
            return as_json(work(index))

        content = await self.run(written, pool=pool, create=create)
        return Response(content, media_type="application/json")


def as_json(record: BaseModel) -> bytes:
    """Write a record as JSON."""
    return record.model_dump_json().encode()


# Both are coroutines, since FastAPI would run plain functions in a thread: two hops a request.
async def visiting(
    request: Request,
    namespace: Annotated[
        str, Query(min_length=1, max_length=256, description="the namespace asked")
    ] = "default",
) -> Visit:
    """Return the visit of a request that has passed the guard."""
    return Visit(request.app.state.service, request.state.caller, namespace)


Visiting = Annotated[Visit, Depends(visiting)]


def needs(role: Role) -> Any:
    """Return a dependency that lets only a role pass."""

    async def check(visit: Visiting) -> None:
        visit.caller.check(role, visit.namespace)

    return Depends(check)
