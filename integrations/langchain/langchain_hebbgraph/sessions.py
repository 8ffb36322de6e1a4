"""Attaches learners to runs without ``callbacks``: to all runs, a session, or one agent's run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, cast
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.tracers.context import register_configure_hook

from langchain_hebbgraph.tracing import Trace, TracingHandler

__all__ = ["everywhere", "has_learner", "session", "session_of", "watch"]


class _Global:
    """A handler for all threads, in place of the ContextVar that LangChain expects."""

    def __init__(self) -> None:
        self.handler: BaseCallbackHandler | None = None

    def get(self) -> BaseCallbackHandler | None:
        return self.handler


class _Watch(TracingHandler):
    """Traces all runs from their start, so that a learner can ask for one that is under way."""

    run_inline = True

    def follow(self, run_id: UUID | None, learner: TracingHandler) -> None:
        """Give the trace around a run to a learner when it completes, unless it has one."""
        with self._lock:
            trace = None if run_id is None else self._trace_of.get(run_id)
            if trace is not None and trace.learner is None:
                trace.learner = learner

    def _completed(self, trace: Trace) -> None:
        if trace.learner is not None:
            trace.learner._completed(trace)


_watch = _Watch()
_watcher = _Global()
everywhere = _Global()
_learner: ContextVar[BaseCallbackHandler | None] = ContextVar(
    "langchain_hebbgraph_learner", default=None
)
_trace: ContextVar[Trace | None] = ContextVar("langchain_hebbgraph_trace", default=None)

for _hook in (_watcher, everywhere, _learner):
    register_configure_hook(cast("ContextVar[Any]", _hook), inheritable=True)


def watch() -> _Watch:
    """Trace every run from now on."""
    _watcher.handler = _watch
    return _watch


def has_learner() -> bool:
    """Return whether a learner listens to this code without being in ``callbacks``."""
    return everywhere.handler is not None or _learner.get() is not None


def session_of(learner: BaseCallbackHandler) -> Trace | None:
    """Return the trace of the current session, if it is this learner's and has not ended."""
    trace = _trace.get() if _learner.get() is learner else None
    # A task that was started within a session may outlive it.
    return None if trace is None or trace.ended is not None else trace


@contextmanager
def session(learner: BaseCallbackHandler, trace: Trace) -> Iterator[None]:
    """Trace everything in this context as one run."""
    tokens = _learner.set(learner), _trace.set(trace)
    try:
        yield
    finally:
        _learner.reset(tokens[0])
        _trace.reset(tokens[1])
