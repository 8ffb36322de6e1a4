"""What a request says beside its question: whose it is, and the namespace it is about."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config

__all__ = ["NAMESPACE", "asked_namespace", "asked_request", "request", "said", "within"]

#: The key in ``config["configurable"]``, and the field of a LangGraph runtime's context.
NAMESPACE = "hebbgraph_namespace"

#: The namespace that a request asks for, and all that it says of itself.
_request: ContextVar[tuple[str | None, Mapping[str, Any]]] = ContextVar(
    "langchain_hebbgraph_request", default=(None, {})
)


@contextmanager
def within(config: RunnableConfig | None) -> Iterator[None]:
    """Remember what a request says for as long as it is answered."""
    token = _request.set((said(NAMESPACE, config), request(config)))
    try:
        yield
    finally:
        _request.reset(token)


def asked_request() -> Mapping[str, Any]:
    """Return what the present request says of itself."""
    return _request.get()[1]


def asked_namespace() -> str | None:
    """Return the namespace that the present request asks for."""
    return _request.get()[0] or said(NAMESPACE)


def request(config: RunnableConfig | None = None) -> dict[str, Any]:
    """Return all that the request says of itself: runtime context, configurable, metadata."""
    known = ensure_config(config)
    context = _context()
    named = context if isinstance(context, Mapping) else getattr(context, "__dict__", {})
    configurable = known.get("configurable") or {}
    own = {name: one for name, one in configurable.items() if not name.startswith("__")}
    return {**named, **own, **(known.get("metadata") or {})}


def said(name: str, config: RunnableConfig | None = None) -> Any:
    """Return what the configuration says under a name, or else the runtime's context."""
    configurable = ensure_config(config).get("configurable") or {}
    if (value := configurable.get(name)) is not None:
        return value
    context = _context()
    return context.get(name) if isinstance(context, Mapping) else getattr(context, name, None)


def _context() -> Any:
    """Return the context of the LangGraph run that this is part of, if it is part of one."""
    runtime = sys.modules.get("langgraph.runtime")
    if runtime is None:
        return None
    try:
        return runtime.get_runtime().context
    except (RuntimeError, KeyError, AttributeError):  # outside of a graph
        return None
