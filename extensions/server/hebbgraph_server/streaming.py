"""Answers that are streamed: JSON lines while the work goes on, then its result or its problem."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from pydantic import BaseModel
from starlette.responses import StreamingResponse

from hebbgraph_server.problems import problem_of

__all__ = ["NDJSON", "streamed"]

logger = logging.getLogger(__name__)
#: The media type of JSON lines.
NDJSON = "application/x-ndjson"
#: The event loop itself keeps only weak references to tasks.
_running: set[asyncio.Future[Any]] = set()


def streamed(
    work: Callable[[Callable[[BaseModel], object]], Awaitable[BaseModel]],
    name: str,
    *,
    survives: bool,
) -> StreamingResponse:
    """Stream what some work reports, and then its result, as the field ``name`` of the last line.

    The work takes a function that sends a line, from any thread. Work that survives starts at
    once, and goes on when the client leaves; other work lasts as long as the response.
    """
    call_soon = asyncio.get_running_loop().call_soon_threadsafe
    lines: asyncio.Queue[BaseModel | None] = asyncio.Queue()

    def end(task: asyncio.Future[BaseModel]) -> None:
        _running.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.info("streaming ended without %s: %s", name, type(error).__name__)
        lines.put_nowait(None)

    def start() -> asyncio.Future[BaseModel]:
        task = asyncio.ensure_future(work(lambda line: call_soon(lines.put_nowait, line)))
        _running.add(task)
        task.add_done_callback(end)
        return task

    started = start() if survives else None

    async def body() -> AsyncIterator[bytes]:
        task = started or start()
        try:
            while (line := await lines.get()) is not None:
                yield line.model_dump_json().encode() + b"\n"
            try:
                last = {name: task.result().model_dump()}
            except Exception as error:
                last = {"problem": problem_of(error).model_dump()}
            yield json.dumps(last).encode() + b"\n"
        finally:
            if not survives:
                task.cancel()

    return StreamingResponse(body(), media_type=NDJSON)
