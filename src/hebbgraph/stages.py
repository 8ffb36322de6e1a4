"""The stages of a recall, for whoever watches them: the server makes each a span."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

__all__ = ["WATCHER", "stage"]

#: Called with the name of a stage, in the thread that recalls; what it returns is open meanwhile.
WATCHER: contextvars.ContextVar[Callable[[str], AbstractContextManager[Any]] | None] = (
    contextvars.ContextVar("hebbgraph_stage_watcher", default=None)
)


def stage(name: str) -> AbstractContextManager[Any]:
    """Return what is open while a stage of a recall runs; nothing, if nobody watches."""
    watcher = WATCHER.get()
    return nullcontext() if watcher is None else watcher(name)
