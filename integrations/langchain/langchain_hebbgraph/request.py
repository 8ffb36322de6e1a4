"""What a LangChain request says besides its question; :mod:`hebbgraph.access` has the precedence.

The *context* of a request is that of LangGraph's run; its *configuration* is ``configurable``.
Tracing ``metadata`` are never read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import ConfigurableFieldSpec, RunnableConfig
from langchain_core.runnables.config import ensure_config, run_in_executor

from hebbgraph import Recall
from hebbgraph.access import Fields, Namespaces, fields_of

__all__ = ["Recalled", "RequestRetriever", "announce", "configured", "current_fields"]

#: Before the names that retrievers read from ``configurable``: others use "k" and "filter", too.
PREFIX = "hebbgraph_"
_RUNTIME = "__pregel_runtime"  # where LangGraph keeps the run's context
_TYPES = {"k": int, "filter": dict[str, Any], "score_threshold": float}


@dataclass
class Recalled:
    """A recall that learners hear of, with what the request said; one of them learns from it."""

    recall: Recall
    namespaces: Namespaces
    fields: Fields = field(default_factory=dict)
    is_learned: bool = False


def current_fields(config: RunnableConfig | None = None) -> dict[str, Any]:
    """Return what the request says: the context of its run before its ``configurable``."""
    outer, inner = (ensure_config(part).get("configurable") or {} for part in (None, config))
    runtime = outer.get(_RUNTIME) or inner.get(_RUNTIME)
    return fields_of(getattr(runtime, "context", None), inner)


def configured(fields: Fields) -> dict[str, Any]:
    """Return the search options that a request sets, by their names without the prefix."""
    named = {name: fields.get(f"{PREFIX}{name}") for name in _TYPES}
    return {name: value for name, value in named.items() if value is not None}


class RequestRetriever(BaseRetriever):
    """Base of retrievers to whose calls a request belongs, as ``_fields``."""

    @property
    def config_specs(self) -> list[ConfigurableFieldSpec]:
        """What a request's ``configurable`` may set."""
        names = ((f"{PREFIX}{name}", kind) for name, kind in _TYPES.items())
        return [ConfigurableFieldSpec(id=name, annotation=kind | None) for name, kind in names]

    def invoke(
        self, input: str, config: RunnableConfig | None = None, **kwargs: Any
    ) -> list[Document]:
        """Return the documents for a question; the class says what else it takes."""
        return super().invoke(input, config, _fields=current_fields(config), **kwargs)

    async def ainvoke(
        self, input: str, config: RunnableConfig | None = None, **kwargs: Any
    ) -> list[Document]:
        """Async twin of :meth:`invoke`; it never blocks the event loop."""
        return await super().ainvoke(input, config, _fields=current_fields(config), **kwargs)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        ask = partial(self._get_relevant_documents, run_manager=run_manager.get_sync(), **options)
        return await run_in_executor(None, ask, query)


def announce(recalled: Recalled, run: Any = None) -> None:
    """Tell the learners that listen to a run of a recall; left out, to the current run."""
    run = run or ensure_config().get("callbacks")
    handlers = run if isinstance(run, list) else getattr(run, "handlers", ())
    run_id, parent = (getattr(run, name, None) for name in ("run_id", "parent_run_id"))
    for handler in handlers:
        if hear := getattr(handler, "on_hebbian_recall", None):
            hear(recalled, run_id=run_id, parent_run_id=parent)
