"""Work that goes on after its request was answered: ``Prefer: respond-async`` (RFC 7240).

The answer is 202 and a record of the task; ``GET /v1/tasks`` says how it stands. Tasks live as long
as the server, which ends them before it ends itself.
"""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import Awaitable
from typing import Any, Literal

from hebbgraph.errors import TooManyRequestsError
from pydantic import BaseModel, Field
from starlette.responses import Response

from hebbgraph_server.problems import Problem, problem_of

__all__ = ["PREFER", "Task", "Tasks", "TasksFound"]

PREFER = "respond-async"
#: Of one token: none holds up another, nor pushes its tasks out of the list.
_MOST_KEPT = 100
_MOST_RUNNING = 20


class Task(BaseModel):
    """Some work: what it is, how it stands, and what came of it."""

    id: str
    path: str = Field(description="the route that was asked")
    status: Literal["running", "done", "failed"] = "running"
    done: int | None = Field(default=None, description="how much of it is done, if that is known")
    total: int | None = None
    started_at: float = Field(description="seconds since 1970")
    ended_at: float | None = None
    answer: Any = Field(default=None, description="what the route answers with")
    problem: Problem | None = None


class TasksFound(BaseModel):
    """The tasks of a namespace that the token may see, the latest first."""

    tasks: list[Task]


class Tasks:
    """The tasks of one server; of those of each token that ended, the latest are kept."""

    def __init__(self) -> None:
        self._tasks: dict[str, tuple[Task, str, str]] = {}
        self._running: set[asyncio.Task[None]] = set()  # the loop itself holds them weakly

    def begin(self, path: str, namespace: str, caller: str) -> Task:
        """Return the record of a new task.

        Raises
        ------
        TooManyRequestsError
            If so many of the caller are at work.
        """
        own = [one for one, _, who in self._tasks.values() if who == caller]
        ended = [one for one in own if one.status != "running"]
        if len(own) - len(ended) >= _MOST_RUNNING:
            raise TooManyRequestsError(
                f"{_MOST_RUNNING} tasks of {caller!r} are at work, the most at once; wait for one"
            )
        for one in ended[: max(0, len(own) + 1 - _MOST_KEPT)]:
            del self._tasks[one.id]
        task = Task(id=uuid.uuid4().hex, path=path, started_at=time.time())
        self._tasks[task.id] = (task, namespace, caller)
        return task

    def run(self, task: Task, work: Awaitable[Response]) -> None:
        """Do the work, and note what comes of it."""

        async def noting() -> None:
            try:
                response = await work
                task.answer = json.loads(bytes(response.body))
                task.status = "done"
            except Exception as error:
                task.problem, task.status = problem_of(error), "failed"
            except asyncio.CancelledError:
                task.status = "failed"
                raise
            finally:
                task.ended_at = time.time()

        running = asyncio.ensure_future(noting())
        self._running.add(running)
        running.add_done_callback(self._running.discard)

    def of(self, namespace: str, caller: str | None) -> list[Task]:
        """Return the tasks of a namespace, those of one caller or all, the latest first."""
        seen = [
            task
            for task, where, who in self._tasks.values()
            if where == namespace and caller in (None, who)
        ]
        return seen[::-1]
