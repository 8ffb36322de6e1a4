"""Collects LangChain's events while chains run, in one trace for each root run."""

from __future__ import annotations

import asyncio
import threading
import time
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from hebbgraph import HebbianIndex, Recall
from hebbgraph.citations import Recalled
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage
from langchain_core.outputs import Generation, LLMResult

from langchain_hebbgraph.request import current_request

__all__ = ["Call", "Prompt", "Trace", "TracingHandler"]

Prompt = Sequence[BaseMessage] | str

#: Retrievals and model calls traced in a run; beyond it, the first are dropped.
_MAX_TRACED = 512
#: Open runs traced at once; beyond it, the oldest are given up.
MAX_OPEN = 10_000
#: Seconds after which a run that never ended is given up.
PATIENCE_SECONDS = 3_600.0
#: When a stream is abandoned, the root ends before its model, which then has this long to end.
GRACE_SECONDS = 60.0
_MAX_ENDING = 1_000

_ABANDONED = (GeneratorExit, asyncio.CancelledError)


@dataclass(slots=True)
class Call:
    """One call of a language model: its prompts and, once it ended, its answers."""

    prompts: Sequence[Prompt]
    answers: Sequence[Sequence[Generation]] = ()
    ended: bool = False


@dataclass(slots=True)
class Trace:
    """Everything below one root run, as references: nothing is read while it runs."""

    root: UUID
    metadata: Mapping[str, Any] = field(default_factory=dict)
    context: Mapping[str, Any] = field(default_factory=dict)  # of the first runs
    started: float = field(default_factory=time.monotonic)
    recalls: dict[UUID, Recalled] = field(default_factory=dict)
    foreign: dict[UUID, Sequence[Document]] = field(default_factory=dict)
    calls: dict[UUID, Call] = field(default_factory=dict)
    runs: list[UUID] = field(default_factory=list)
    tools: set[str] = field(default_factory=set)
    output: Any = None
    ended: float | None = None
    failed: bool = False
    open_calls: int = 0
    is_session: bool = False
    learner: TracingHandler | None = None  # that asked for the trace while it ran

    @property
    def request(self) -> Mapping[str, Any]:
        """Everything that the request says: configurable, runtime context, root metadata."""
        return {**self.context, **self.metadata}

    @property
    def complete(self) -> bool:
        """Whether the root and all model calls have ended."""
        return self.ended is not None and self.open_calls <= 0

    def end(self, run_id: UUID, output: Any = None) -> None:
        """Note that a run ended; the root's end is that of the trace."""
        if run_id == self.root and not self.is_session:
            self.ended, self.output = time.monotonic(), output

    def fail(self, error: BaseException) -> None:
        """Note that the root failed: its answer teaches nothing, unless it was abandoned."""
        if not isinstance(error, _ABANDONED):
            self.failed = True
            self.open_calls = 0  # the calls below have ended with the same error

    def end_call(self, run_id: UUID, answers: Sequence[Sequence[Generation]] | None) -> None:
        """Add the answers of a model call; None if it failed."""
        call = self.calls.get(run_id)
        if call is None or call.ended:
            return
        self.open_calls -= 1
        if answers is None:
            del self.calls[run_id]
        else:
            call.answers, call.ended = answers, True


def _put(traced: dict[UUID, Any], run_id: UUID, value: Any) -> None:
    """Add what a run did; only the latest are kept."""
    traced[run_id] = value
    while len(traced) > _MAX_TRACED:
        del traced[next(iter(traced))]


class TracingHandler(BaseCallbackHandler, ABC):
    """Callback handler that passes on the trace of each root run once it is complete."""

    raise_error = False

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._traces: OrderedDict[UUID, Trace] = OrderedDict()
        self._ending: OrderedDict[UUID, Trace] = OrderedDict()
        self._trace_of: dict[UUID, Trace] = {}

    @abstractmethod
    def _completed(self, trace: Trace) -> None:
        """Use a trace that is complete."""

    def _session(self) -> Trace | None:
        """Return the trace of the current session."""
        return None

    # -- events --------------------------------------------------------------------------

    def on_chain_start(
        self,
        serialized: dict[str, Any],
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Trace a run."""
        self._started(run_id, parent_run_id, metadata)

    # LangChain passes the inputs by position.
    on_retriever_start = on_chain_start  # type: ignore[assignment]

    def on_tool_start(self, serialized: dict[str, Any], input_str: str, **kwargs: Any) -> None:
        """Trace a tool."""
        run = (kwargs["run_id"], kwargs.get("parent_run_id"), kwargs.get("metadata"))
        self._started(*run).tools.add(str((serialized or {}).get("name") or kwargs.get("name")))

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: Sequence[Prompt],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Trace a model call: messages for a chat model, texts for a text model."""
        with self._lock:
            trace = self._started(run_id, parent_run_id, metadata)
            trace.open_calls += 1
            _put(trace.calls, run_id, Call(messages))

    on_llm_start = on_chat_model_start  # type: ignore[assignment]

    def on_hebbian_recall(
        self, index: HebbianIndex, recall: Recall, *, run_id: Any, parent_run_id: Any
    ) -> None:
        """Trace a recall, as :func:`~langchain_hebbgraph.base.announce` reports it."""
        with self._lock:
            trace = self._trace_of.get(run_id) or self._trace_of.get(parent_run_id)
            if trace is None:
                trace = self._session()
            if trace is not None:
                _put(trace.recalls, run_id, Recalled(index, recall))
                if run_id not in self._trace_of:
                    self._trace_of[run_id] = trace
                    trace.runs.append(run_id)

    def on_retriever_end(
        self, documents: Sequence[Document], *, run_id: UUID, **kwargs: Any
    ) -> None:
        """Trace the documents of a retriever; those of others have keys in the prompt as well."""
        with self._ending_run(run_id) as trace:
            if run_id not in trace.recalls:
                _put(trace.foreign, run_id, documents)
            trace.end(run_id, documents)

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Trace the end of a run."""
        with self._ending_run(run_id) as trace:
            trace.end(run_id, outputs)

    on_tool_end = on_chain_end  # type: ignore[assignment]

    def on_llm_end(self, response: LLMResult | None, *, run_id: UUID, **kwargs: Any) -> None:
        """Trace a model's answer."""
        with self._ending_run(run_id) as trace:
            trace.end_call(run_id, None if response is None else response.generations)
            trace.end(run_id)  # a model may be called by itself

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Drop a failed call; of an abandoned stream, keep the text so far."""
        is_abandoned = isinstance(error, _ABANDONED)
        self.on_llm_end(kwargs.get("response") if is_abandoned else None, run_id=run_id)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Trace a failure; if the root fails, its answer teaches nothing."""
        with self._ending_run(run_id) as trace:
            trace.end(run_id)
            if run_id == trace.root:
                trace.fail(error)

    on_tool_error = on_chain_error
    on_retriever_error = on_chain_error

    # -- traces --------------------------------------------------------------------------

    def _started(
        self, run_id: UUID, parent: UUID | None, metadata: Mapping[str, Any] | None
    ) -> Trace:
        with self._lock:
            trace = None if parent is None else self._trace_of.get(parent)
            if trace is None:
                trace = self._session()
            if trace is None:
                trace = Trace(run_id, metadata or {})
                self._keep(trace)
            # Of a root, only a retriever of ours knows its configuration; others hand it on.
            if len(trace.runs) < 2 or not trace.context:
                trace.context = {**trace.context, **current_request()}
            trace.runs.append(run_id)
            self._trace_of[run_id] = trace
            return trace

    @contextmanager
    def _ending_run(self, run_id: UUID) -> Iterator[Trace]:
        """Yield the trace of a run, or an empty one; pass it on afterwards if it is complete."""
        with self._lock:
            trace = self._trace_of.get(run_id)
            yield Trace(run_id) if trace is None else trace
            if trace is not None:
                self._settle(trace)

    def _keep(self, trace: Trace) -> None:
        """Keep a new trace, and give up old ones that will not complete any more."""
        self._traces[trace.root] = trace
        while self._ending:
            oldest = next(iter(self._ending.values()))
            if len(self._ending) <= _MAX_ENDING and (
                oldest.ended is None or oldest.ended > trace.started - GRACE_SECONDS
            ):
                break
            oldest.open_calls = 0
            self._settle(oldest)
        while self._traces:
            oldest = next(iter(self._traces.values()))
            if len(self._traces) <= MAX_OPEN and oldest.started > trace.started - PATIENCE_SECONDS:
                return
            self._drop(oldest)

    def _settle(self, trace: Trace) -> None:
        """Pass a trace on if it is complete."""
        if trace.complete:
            self._drop(trace)
            self._completed(trace)
        elif trace.ended is not None:
            self._ending[trace.root] = trace

    def _drop(self, trace: Trace) -> None:
        self._traces.pop(trace.root, None)
        self._ending.pop(trace.root, None)
        for run_id in trace.runs:
            self._trace_of.pop(run_id, None)
