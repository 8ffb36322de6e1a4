"""What a learner notes while chains run: of LangChain's events, what belongs to a Trace."""

from __future__ import annotations

import asyncio
import threading
import uuid
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from hebbgraph import HebbianIndex, Recall
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage
from langchain_core.outputs import LLMResult

from langchain_hebbgraph.runs import Retrieval, Trace
from langchain_hebbgraph.sessions import session_of

__all__ = ["RunNotes"]

_ABANDONED = (GeneratorExit, asyncio.CancelledError)


class RunNotes(BaseCallbackHandler, ABC):
    """Callback handler that sorts what happens in runs into traces, one for each root.

    It notes references and reads nothing. When a trace is taken in and when it is done
    with is for the subclass to say.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._traces: OrderedDict[uuid.UUID, Trace] = OrderedDict()
        self._ending: OrderedDict[uuid.UUID, Trace] = OrderedDict()
        self._trace_of: dict[uuid.UUID, Trace] = {}

    @abstractmethod
    def _keep(self, trace: Trace) -> None:
        """Take in a new trace."""

    @abstractmethod
    def _settle(self, trace: Trace) -> None:
        """Do what is to be done with a trace of which an end was noted."""

    def on_chain_start(
        self,
        serialized: dict[str, Any],
        inputs: Any,
        *,
        run_id: uuid.UUID,
        parent_run_id: uuid.UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Note a run."""
        self._started(run_id, parent_run_id, metadata)

    def on_tool_start(
        self,
        serialized: dict[str, Any],
        input_str: str,
        *,
        run_id: uuid.UUID,
        parent_run_id: uuid.UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        inputs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Note a tool that ran."""
        trace = self._started(run_id, parent_run_id, metadata)
        trace.tools.add(str((serialized or {}).get("name") or kwargs.get("name")))

    def on_retriever_start(
        self,
        serialized: dict[str, Any],
        query: str,
        *,
        run_id: uuid.UUID,
        parent_run_id: uuid.UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Note a retriever."""
        self._started(run_id, parent_run_id, metadata)

    def on_hebbian_recall(
        self, index: HebbianIndex, recall: Recall, *, run_id: Any, parent_run_id: Any
    ) -> None:
        """Note a recall; the retriever tells of it."""
        with self._lock:
            trace = self._trace_of.get(run_id) or self._trace_of.get(parent_run_id)
            if trace is None:
                trace = session_of(self)
            if trace is not None:
                trace.note(Retrieval(index, recall, run_id))
                if run_id not in self._trace_of:
                    self._trace_of[run_id] = trace
                    trace.runs.append(run_id)

    def on_retriever_end(
        self,
        documents: Sequence[Document],
        *,
        run_id: uuid.UUID,
        parent_run_id: uuid.UUID | None = None,
        **kwargs: Any,
    ) -> None:
        """Note what was returned."""
        with self._lock:
            if (trace := self._trace_of.get(run_id)) is not None:
                if run_id not in trace.retrievals:
                    trace.note_documents(run_id, documents)
                self._ended(run_id, trace, documents)

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: uuid.UUID,
        parent_run_id: uuid.UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Note what a chat model was given."""
        with self._lock:
            self._started(run_id, parent_run_id, metadata).begin(run_id, messages)

    def on_llm_start(
        self,
        serialized: dict[str, Any],
        prompts: list[str],
        *,
        run_id: uuid.UUID,
        parent_run_id: uuid.UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Note what a text model was given."""
        with self._lock:
            self._started(run_id, parent_run_id, metadata).begin(run_id, prompts)

    def on_llm_end(
        self,
        response: LLMResult,
        *,
        run_id: uuid.UUID,
        parent_run_id: uuid.UUID | None = None,
        **kwargs: Any,
    ) -> None:
        """Note what a model said."""
        self._said(run_id, response)

    def on_llm_error(
        self,
        error: BaseException,
        *,
        run_id: uuid.UUID,
        parent_run_id: uuid.UUID | None = None,
        **kwargs: Any,
    ) -> None:
        """Forget what a model failed to say; of an abandoned stream, keep what it said."""
        response = kwargs.get("response")
        self._said(run_id, response if isinstance(error, _ABANDONED) else None)

    def on_chain_end(
        self,
        outputs: Any,
        *,
        run_id: uuid.UUID,
        parent_run_id: uuid.UUID | None = None,
        **kwargs: Any,
    ) -> None:
        """Note that a run ended; at the root, hand the trace over."""
        with self._lock:
            if (trace := self._trace_of.get(run_id)) is not None:
                self._ended(run_id, trace, outputs)

    def on_tool_end(
        self,
        output: Any,
        *,
        run_id: uuid.UUID,
        parent_run_id: uuid.UUID | None = None,
        **kwargs: Any,
    ) -> None:
        """Note that a tool ended."""
        self.on_chain_end(output, run_id=run_id)

    def on_chain_error(
        self,
        error: BaseException,
        *,
        run_id: uuid.UUID,
        parent_run_id: uuid.UUID | None = None,
        **kwargs: Any,
    ) -> None:
        """Note that a run failed: at the root, its answer teaches nothing."""
        with self._lock:
            trace = self._trace_of.get(run_id)
            if trace is not None and trace.root == run_id and not trace.is_session:
                if not isinstance(error, _ABANDONED):
                    trace.failed = True
                    trace.open_calls = 0  # it came up from below: nothing follows
                self._ended(run_id, trace, None)

    on_tool_error = on_chain_error
    on_retriever_error = on_chain_error

    def _started(
        self, run_id: uuid.UUID, parent: uuid.UUID | None, metadata: Mapping[str, Any] | None
    ) -> Trace:
        with self._lock:
            trace = None if parent is None else self._trace_of.get(parent)
            if trace is None:
                trace = session_of(self)
            if trace is None:
                trace = Trace(run_id, metadata or {})
                self._keep(trace)
            trace.runs.append(run_id)
            self._trace_of[run_id] = trace
            return trace

    def _said(self, run_id: uuid.UUID, response: LLMResult | None) -> None:
        with self._lock:
            trace = self._trace_of.get(run_id)
            if trace is None:
                return
            trace.end(run_id, None if response is None else response.generations)
            if trace.root == run_id and not trace.is_session:  # a model called by itself
                trace.finish()
            self._settle(trace)

    def _ended(self, run_id: uuid.UUID, trace: Trace, output: Any) -> None:
        if trace.is_session:
            return
        if trace.root == run_id:
            trace.finish(output)
            self._settle(trace)

    def _drop(self, trace: Trace) -> None:
        self._traces.pop(trace.root, None)
        self._ending.pop(trace.root, None)
        for run_id in trace.runs:
            self._trace_of.pop(run_id, None)
