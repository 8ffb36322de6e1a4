"""What a request says besides its question: its user, its namespace, its metadata."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from hebbgraph.citations.options import NAMESPACE
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config

__all__ = ["NAMESPACE", "RequestRetriever", "configured", "current_namespace", "current_request"]

#: The configuration of the present call of a retriever; outside of one, LangChain's own.
_config: ContextVar[RunnableConfig | None] = ContextVar("langchain_hebbgraph_config", default=None)


class RequestRetriever(BaseRetriever):
    """Base of retrievers that read the request around a call: :func:`current_request`."""

    def invoke(
        self, input: str, config: RunnableConfig | None = None, **kwargs: Any
    ) -> list[Document]:
        """Return the documents for a question; the class says what else it takes."""
        with _during(config):
            return super().invoke(input, config, **kwargs)

    async def ainvoke(
        self, input: str, config: RunnableConfig | None = None, **kwargs: Any
    ) -> list[Document]:
        """Async twin of :meth:`invoke`."""
        with _during(config):
            return await super().ainvoke(input, config, **kwargs)


@contextmanager
def _during(config: RunnableConfig | None) -> Iterator[None]:
    token = _config.set(ensure_config(config))
    try:
        yield
    finally:
        _config.reset(token)


def current_request() -> dict[str, Any]:
    """Return everything that the request says: runtime context, configurable, metadata."""
    config = ensure_config(_config.get())
    configurable = {
        name: value
        for name, value in (config.get("configurable") or {}).items()
        if not name.startswith("__")
    }
    return {**_runtime_context(), **configurable, **(config.get("metadata") or {})}


def current_namespace() -> str | None:
    """Return the namespace that the request names; its metadata cannot."""
    named: str | None = {**_runtime_context(), **configured((NAMESPACE,))}.get(NAMESPACE)
    return named


def configured(names: tuple[str, ...]) -> dict[str, Any]:
    """Return those of these names that are in the request's ``configurable``."""
    configurable = ensure_config(_config.get()).get("configurable") or {}
    values = {name: configurable.get(name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def _runtime_context() -> Mapping[str, Any]:
    """Return the context of the LangGraph run that this code is part of, if any."""
    runtime = sys.modules.get("langgraph.runtime")
    if runtime is None:
        return {}
    try:
        context = runtime.get_runtime().context
    except (RuntimeError, KeyError, AttributeError):  # outside of a graph
        return {}
    if isinstance(context, Mapping):
        return context
    fields, named = getattr(context, "__dict__", {}), getattr(context, NAMESPACE, None)
    return fields if named is None else {**fields, NAMESPACE: named}
