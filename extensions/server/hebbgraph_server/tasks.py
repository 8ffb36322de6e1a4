"""Work that goes on behind the response: ``Prefer: respond-async`` (RFC 7240).

The response is 202 with a record of the task; ``GET /v1/tasks`` shows its progress. Tasks end with
the server.
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
#: Limits for each token: none can block another, or push its tasks out of the list.
_MOST_KEPT = 100
_MOST_RUNNING = 20


class Task(BaseModel):
    """A long request: its route, status and result."""

    id: str
    path: str = Field(description="the requested route")
    status: Literal["running", "done", "failed"] = "running"
    done: int | None = Field(default=None, description="how much is done, if known")
    total: int | None = None
    started_at: float = Field(description="seconds since 1970")
    ended_at: float | None = None
    answer: Any = Field(default=None, description="the route's answer")
    problem: Problem | None = None


class TasksFound(BaseModel):
    """The tasks of a namespace that the token may see, newest first."""

    tasks: list[Task]


class Tasks:
    """The tasks of one server: those that run, and each token's latest that ended."""

    def __init__(self) -> None:
        self._tasks: dict[str, tuple[Task, str, str]] = {}  # id: task, namespace, token
        self._running: set[asyncio.Task[None]] = set()  # asyncio keeps only weak references

    def begin(self, path: str, namespace: str, caller: str) -> Task:
        """Return the record of a new task.

        Raises
        ------
        TooManyRequestsError
            If the caller has too many running tasks.
        """
        tasks = [task for task, _, owner in self._tasks.values() if owner == caller]
        ended = [task for task in tasks if task.status != "running"]
        if len(tasks) - len(ended) >= _MOST_RUNNING:
            raise TooManyRequestsError(
                f"{caller!r} may have {_MOST_RUNNING} tasks running; wait for one to end"
            )
        for oldest in ended[: max(0, len(tasks) + 1 - _MOST_KEPT)]:
            del self._tasks[oldest.id]
        task = Task(id=uuid.uuid4().hex, path=path, started_at=time.time())
        self._tasks[task.id] = (task, namespace, caller)
        return task

    def run(self, task: Task, work: Awaitable[Response]) -> None:
        """Do the work, and record its result."""

        async def record() -> None:
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

        running = asyncio.ensure_future(record())
        self._running.add(running)
        running.add_done_callback(self._running.discard)

    def of(self, namespace: str, caller: str | None) -> list[Task]:
        """Return the tasks of a namespace, newest first: one caller's, or all."""
        tasks = [
            task
            for task, place, owner in self._tasks.values()
            if place == namespace and caller in (None, owner)
        ]
        return tasks[::-1]
