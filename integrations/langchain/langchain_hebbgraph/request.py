"""What a request says besides its question: its user, its namespace, its metadata."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config

__all__ = ["NAMESPACE", "current_namespace", "current_request", "during", "request_of"]

#: The key in ``config["configurable"]``, and the field of a LangGraph runtime's context.
NAMESPACE = "hebbgraph_namespace"

#: The namespace that the present request names, and everything that it says.
_current: ContextVar[tuple[str | None, Mapping[str, Any]]] = ContextVar(
    "langchain_hebbgraph_request", default=(None, {})
)


@contextmanager
def during(config: RunnableConfig | None) -> Iterator[None]:
    """Make the request of a configuration the current one."""
    token = _current.set((_namespace_of(config), request_of(config)))
    try:
        yield
    finally:
        _current.reset(token)


def current_request() -> Mapping[str, Any]:
    """Return everything that the current request says."""
    return _current.get()[1]


def current_namespace() -> str | None:
    """Return the namespace that the current request names."""
    return _current.get()[0] or _namespace_of(None)


def request_of(config: RunnableConfig | None = None) -> dict[str, Any]:
    """Return everything that a request says: runtime context, configurable, metadata."""
    config = ensure_config(config)
    context = _runtime_context()
    fields = context if isinstance(context, Mapping) else getattr(context, "__dict__", {})
    configurable = {
        name: value
        for name, value in (config.get("configurable") or {}).items()
        if not name.startswith("__")
    }
    return {**fields, **configurable, **(config.get("metadata") or {})}


def _namespace_of(config: RunnableConfig | None) -> Any:
    configurable = ensure_config(config).get("configurable") or {}
    if (namespace := configurable.get(NAMESPACE)) is not None:
        return namespace
    context = _runtime_context()
    if isinstance(context, Mapping):
        return context.get(NAMESPACE)
    return getattr(context, NAMESPACE, None)


def _runtime_context() -> Any:
    """Return the context of the LangGraph run that this code is part of, or None."""
    runtime = sys.modules.get("langgraph.runtime")
    if runtime is None:
        return None
    try:
        return runtime.get_runtime().context
    except (RuntimeError, KeyError, AttributeError):  # outside of a graph
        return None
