"""CitationLearner: a callback handler that teaches an index what answers cite."""

from __future__ import annotations

import asyncio
import threading
import warnings
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any, Self
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.outputs import LLMResult

from hebbgraph import HebbianIndex, Recall
from hebbgraph.access import Actor, Fields, Namespaces, Tenant, actor_of
from hebbgraph.citations import Learner, Outcome, Passage, Reply
from hebbgraph.errors import ParameterError
from langchain_hebbgraph.documents import to_document
from langchain_hebbgraph.request import Recalled, current_fields

__all__ = ["CitationLearner", "put_last"]

#: Runs that are followed at once, and conversations that are remembered.
_RUNS, _CONVERSATIONS = 10_000, 1_000
#: The user did not wait for the rest of the answer.
_ABANDONED = (GeneratorExit, asyncio.CancelledError)


@dataclass(slots=True)
class _Trace:
    """What happened below an outermost run: references, read once all has ended."""

    root: UUID
    names: list[str]
    recalls: list[Recalled] = field(default_factory=list)
    documents: deque[Document] = field(default_factory=lambda: deque(maxlen=200))
    replies: dict[UUID, list[Reply]] = field(default_factory=dict)
    runs: list[UUID] = field(default_factory=list)
    output: Any = None
    fields: Fields = field(default_factory=dict)
    n_open: int = 0
    is_over: bool = False


class CitationLearner(Learner, BaseCallbackHandler):
    """Teaches an index which chunks answers cite, in the background.

    Put it into ``config["callbacks"]`` of the outermost call; attached to the retriever alone, it
    would never see an answer. What was shown, and under which keys, is read from the prompt.
    ``counts``, ``flush`` and ``close`` are those of :class:`hebbgraph.citations.Learner`.

    Parameters
    ----------
    source : HebbianRetriever, HebbianVectorStore, its retriever, or HebbianIndex
        Whose index learns. Recalls of another index are left to a learner of its own.
    actor : str or callable, optional
        In whose name answers are learned: bound by the application, or a function of what the
        request says. By default the request's ``user_id`` (:mod:`hebbgraph.access`).
    **options
        ``trusted``, ``denials``, ``on_outcome``, ``patience``, ``on_sigterm``: as for
        :class:`hebbgraph.citations.Learner`.

    Examples
    --------
    >>> from langchain_hebbgraph import HebbianRetriever
    >>> with HebbianRetriever.from_texts(["Owls hunt voles."]) as retriever:
    ...     with CitationLearner(retriever) as learner:
    ...         # chain.invoke(question, {"callbacks": [learner]})
    ...         learner.counts
    {}
    """

    raise_error = False
    run_inline = True  # collecting references is faster than switching threads

    def __init__(self, source: Any, *, actor: Actor = None, **options: Any) -> None:
        owner = source if hasattr(source, "index") else getattr(source, "vectorstore", source)
        index = getattr(owner, "index", owner)
        if not isinstance(index, HebbianIndex):
            raise ParameterError(
                f"a learner takes a retriever, a store or an index, got {type(source).__name__}"
            )
        self._own = index
        shared = getattr(source, "namespaces", None)
        self._namespaces = shared if isinstance(shared, Namespaces) else Namespaces(index)
        self._actor = actor
        self._tracing = threading.RLock()
        self._traces: OrderedDict[UUID, _Trace] = OrderedDict()
        self._trace_of: dict[UUID, _Trace] = {}
        self._earlier: OrderedDict[str, deque[Recall]] = OrderedDict()
        options["actor"] = actor if isinstance(actor, str) else None
        super().__init__(
            lambda name: Tenant(self._namespaces, name), namespace=index.namespace, **options
        )

    def __deepcopy__(self, memo: object) -> Self:
        return self  # copies of a configuration share it

    def learn(  # type: ignore[override]
        self,
        answer: Any,
        recalls: Recall | Iterable[Recall],
        *,
        prompt: str | Sequence[Any] = "",
        request: Fields | None = None,
        names: Sequence[str] = (),
        **options: Any,
    ) -> Future[Outcome]:
        """Learn from one answer, in any form, without listening to a run.

        ``recalls`` are those made for it; keys are read from the ``prompt``. ``request`` is what
        the request says, for its actor, and ``names`` are ids for :meth:`verdict`. Options are
        ``actor``, ``trusted`` and ``output``, as for the core's learner.
        """
        listed = [recalls] if isinstance(recalls, Recall) else recalls
        options.setdefault("actor", actor_of(self._actor, request or {}))
        return super().learn(listed, [Reply(answer, prompt)], answer_id=names, **options)

    def verdict(  # type: ignore[override]
        self, answer: str | UUID | BaseMessage, rating: float, **options: Any
    ) -> Future[Outcome]:
        """Judge an answer, in any process, at once or later: 1 is a thumb up, -1 a thumb down.

        ``answer`` is its message, the message's id, or the ``run_id`` of the outermost call, of
        the model's or of the retriever's; options are as for the core's learner.
        """
        name = answer.id if isinstance(answer, BaseMessage) else answer
        return super().verdict(str(name or ""), rating, **options)

    def close(self, timeout: float | None = None) -> bool:
        """Wait until all is learned, before the index is closed; close other namespaces of it."""
        is_done = super().close(timeout)
        self._namespaces.close()
        return is_done

    # -- listening --------------------------------------------------------------------

    def on_hebbian_recall(
        self, recalled: Recalled, *, run_id: UUID | None, parent_run_id: UUID | None
    ) -> None:
        """Note a recall of the index, as our retrievers report it."""
        runs = [run for run in (run_id, parent_run_id) if run in self._trace_of]
        if runs and self.is_about(recalled):
            self._trace_of[runs[0]].recalls.append(recalled)

    def is_about(self, recalled: Recalled) -> bool:
        """Return whether a recall is one of this learner's index."""
        index = recalled.namespaces.index
        return index is self._own or index._path == self._own._path != ":memory:"

    def on_chain_start(self, *args: Any, **run: Any) -> None:
        """Follow a run, and all below it; once closed, none that begins."""
        self._start(run)

    on_tool_start = on_retriever_start = on_chain_start

    def on_llm_start(self, *args: Any, **run: Any) -> None:
        """Follow a model's call, and its prompts: lists of messages, or texts."""
        with self._tracing:
            if (trace := self._start(run)) is not None:
                trace.n_open += 1
                trace.fields = trace.fields or current_fields()
                trace.replies[run["run_id"]] = [Reply(None, prompt) for prompt in args[1]]

    on_chat_model_start = on_llm_start

    def on_llm_end(self, response: LLMResult | None, *, run_id: UUID, **run: Any) -> None:
        """Note what a model answered."""
        with self._tracing:
            trace = self._trace_of.get(run_id)
            asked = trace.replies.pop(run_id, None) if trace is not None else None
            if trace is not None and asked is not None:
                trace.n_open -= 1
                trace.names.append(str(run_id))
                first = [given[0] for given in response.generations if given] if response else []
                said = [getattr(generation, "message", generation.text) for generation in first]
                pairs = zip(asked, said, strict=False)
                trace.replies[run_id] = [Reply(answer, reply.prompt) for reply, answer in pairs]
                trace.names += [id_ for answer in said if (id_ := getattr(answer, "id", None))]
        self._end(run_id, None)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **run: Any) -> None:
        """Drop a call that failed; of an abandoned stream, keep the text so far."""
        response = run.get("response") if isinstance(error, _ABANDONED) else None
        self.on_llm_end(response, run_id=run_id)

    def on_chain_end(self, *args: Any, **run: Any) -> None:
        """Note the end of a run."""
        self._end(run["run_id"], args[0])

    on_tool_end = on_retriever_end = on_chain_end

    def on_chain_error(self, error: BaseException, **run: Any) -> None:
        """Note a failure: if the outermost run fails, its answer teaches nothing."""
        self._end(run["run_id"], None, error)

    on_tool_error = on_retriever_error = on_chain_error

    def _start(self, run: Mapping[str, Any]) -> _Trace | None:
        run_id, parent = run["run_id"], run.get("parent_run_id")
        with self._tracing:
            trace = self._trace_of.get(parent) if parent is not None else None
            if trace is None and self._closed:
                return None
            if trace is None:
                trace = _Trace(run_id, [str(run_id)])
                if (dropped := put_last(self._traces, run_id, trace, _RUNS)) is not None:
                    self._drop(dropped)
            trace.runs.append(run_id)
            self._trace_of[run_id] = trace
            return trace

    def _end(self, run_id: UUID, output: Any, error: BaseException | None = None) -> None:
        with self._tracing:
            if (trace := self._trace_of.get(run_id)) is None:
                return
            if isinstance(output, list):
                trace.documents.extend(part for part in output if isinstance(part, Document))
            if run_id == trace.root:
                trace.is_over, trace.output = True, output
            left = GeneratorExit if trace.n_open > 0 else _ABANDONED  # cancelled calls never end
            if run_id == trace.root and error is not None and not isinstance(error, left):
                self._drop(trace)
            elif trace.is_over and trace.n_open <= 0:  # an abandoned stream's model ends last
                self._drop(trace)
                self._read(trace)

    def _drop(self, trace: _Trace) -> None:
        self._traces.pop(trace.root, None)
        for run_id in trace.runs:
            self._trace_of.pop(run_id, None)

    def _read(self, trace: _Trace) -> None:
        unlearned = [recalled for recalled in trace.recalls if not recalled.is_learned]
        if trace.recalls and not unlearned:  # another learner of the index was first
            return
        recalls = [recalled.recall for recalled in unlearned]
        request = trace.recalls[0].fields if trace.recalls else trace.fields
        if (thread := request.get("thread_id")) is not None:  # a later turn may cite these
            known = self._earlier.get(str(thread)) or deque(maxlen=8)
            known.extend(recalls)
            recalls = recalls or list(known)
            put_last(self._earlier, str(thread), known, _CONVERSATIONS)
        made = [reply for replies in trace.replies.values() for reply in replies]
        passages = list(dict.fromkeys(_parts(trace.documents, recalls)))
        replies = [replace(reply, passages=passages) for reply in made]
        if replies and recalls:
            messages = trace.output.get("messages") if isinstance(trace.output, dict) else None
            output = messages[-1] if isinstance(messages, list) and messages else trace.output
            if messages and isinstance(output, HumanMessage):  # another field holds the answer
                output = {**trace.output, "messages": None}
            for recalled in unlearned:
                recalled.is_learned = True
            actor = actor_of(self._actor, request)
            super().learn(recalls, replies, output=output, answer_id=trace.names, actor=actor)
        elif trace.recalls:
            hint = "put it into the callbacks of the outermost call"
            warnings.warn(f"a learner hears a retrieval and no answer; {hint}", stacklevel=2)


def _parts(documents: Iterable[Document], recalls: Iterable[Recall]) -> Iterator[Passage]:
    """Return other texts of hits: parts, new wordings, parents; those of the best hits first."""
    shown = {hit.id: to_document(hit) for recall in recalls for hit in recall}
    texts = {id_: " ".join(document.page_content.split()) for id_, document in shown.items()}
    for document in documents:
        part, own = " ".join(document.page_content.split()), document.id or ""
        holders = [id_ for id_, text in texts.items() if text and (part in text or text in part)]
        given = document.metadata  # an id alone may be one of another store
        if own in holders or (own in shown and {**given, **shown[own].metadata} == given != {}):
            holders = [own]
        if part and holders and part not in texts.values():
            yield Passage(holders[0], document.page_content)


def put_last(known: OrderedDict[Any, Any], key: Any, value: Any, most: int) -> Any:
    """Put a value last; return the oldest one, and forget it, if there are too many."""
    known[key] = value
    known.move_to_end(key)
    return known.popitem(last=False)[1] if len(known) > most else None
