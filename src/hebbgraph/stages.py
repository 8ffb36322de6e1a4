"""The stages of a recall, for observers: the server records each as a span."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

__all__ = ["WATCHER", "stage"]

#: Maps the name of a stage to a context manager; called in the thread of the recall.
WATCHER: contextvars.ContextVar[Callable[[str], AbstractContextManager[Any]] | None] = (
    contextvars.ContextVar("hebbgraph_stage_watcher", default=None)
)


def stage(name: str) -> AbstractContextManager[Any]:
    """Return the watcher's context manager for a stage, or a null context without a watcher."""
    watcher = WATCHER.get()
    return nullcontext() if watcher is None else watcher(name)
