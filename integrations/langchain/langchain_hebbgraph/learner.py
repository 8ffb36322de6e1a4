"""CitationLearner: a callback handler that teaches indexes what answers cite."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Unpack, cast

from hebbgraph import HebbianIndex, NotFoundError, ParameterError, Recall
from hebbgraph.calling import in_thread
from hebbgraph.citations import (
    Exchange,
    FrameworkLearner,
    LearnerOptions,
    Outcome,
    Reason,
    Recalled,
    Rendered,
    Reply,
    sources_of,
)
from langchain_core.messages import BaseMessage

from langchain_hebbgraph import sessions
from langchain_hebbgraph.answers import exchange_of, reply_to
from langchain_hebbgraph.request import current_namespace
from langchain_hebbgraph.tracing import Trace, TracingHandler

__all__ = ["CitationLearner"]

RunId = uuid.UUID | str

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


class CitationLearner(FrameworkLearner, TracingHandler):
    """Callback handler that teaches an index which chunks the answers cite.

    Put it into ``config["callbacks"]`` of the outermost call, or :meth:`install` it once for the
    whole application; attached only to the retriever, it would never see an answer. It learns from
    every :class:`HebbianRetriever` and :class:`HebbianVectorStore` retriever in the run, over
    whichever index.

    A chunk is cited if the answer contains the key or the id that the model was shown for it
    (:mod:`hebbgraph.citations`): in its text, in a structured answer or as a native citation.
    Chunks that a reranker or a token limit kept from the model were not shown. An answer that
    cites nothing teaches nothing. Runs with the same ``thread_id``, in ``configurable`` or
    ``metadata``, are turns of one conversation: an answer may cite what an earlier turn has
    found. Of a model that is called by itself, LangChain passes on the ``metadata`` only.

    While a chain runs, the learner only collects references. It reads and learns in a background
    thread once the run has ended. It never raises into a chain: errors are logged.

    Parameters
    ----------
    index, actor, trusted, judge, implicit, learn_on, remember, on_lesson, on_answer
        As for :class:`~hebbgraph.citations.FrameworkLearner`. A request's metadata are those of
        the root run, a call's ``configurable`` and LangGraph's runtime context.
    background : bool
        False learns before the outermost call returns: for processes that are frozen or
        ended right after an answer.

    Notes
    -----
    :meth:`feedback` and :meth:`undo` name an answer by the ``answer_id`` in the ``metadata`` or
    ``configurable`` of its call; by the id of the root run, the model call or the retriever's run;
    or by its message or ``message.id``.

    Examples
    --------
    >>> learner = CitationLearner()
    >>> # chain.invoke(question, config={"callbacks": [learner]})
    >>> learner.flush()
    True
    """

    _naming_hint = 'name the user of each request with metadata={"user_id": ...}'

    def __init__(
        self, index: Any = None, *, background: bool = True, **options: Unpack[LearnerOptions]
    ) -> None:
        TracingHandler.__init__(self)
        FrameworkLearner.__init__(self, index, **options)
        self.background = background
        # Collecting references is faster than switching threads; learning is not.
        self.run_inline = background

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> CitationLearner:
        """Return the learner itself: copies of a configuration share it."""
        return self

    __copy__ = __deepcopy__

    # -- listening --------------------------------------------------------------------

    def install(self) -> CitationLearner:
        """Listen to every run of this process, in all threads; replaces another learner."""
        sessions.everywhere.handler = self
        return self

    def uninstall(self) -> None:
        """Undo :meth:`install`."""
        if sessions.everywhere.handler is self:
            sessions.everywhere.handler = None

    @contextmanager
    def session(self, metadata: Mapping[str, Any] | None = None) -> Iterator[uuid.UUID]:
        """Treat the calls within as one run.

        A retriever and a model that are called one after the other, without a chain, are
        otherwise unrelated runs. If the block raises, it teaches nothing.

        Yields
        ------
        UUID
            The id of the session, for :meth:`feedback`.
        """
        trace = Trace(uuid.uuid4(), dict(metadata or {}), is_session=True)
        with self._lock:
            self._keep(trace)
        try:
            with sessions.session(self, trace):
                yield trace.root
        except BaseException as error:
            trace.fail(error)
            raise
        finally:
            with self._lock:
                trace.ended = time.monotonic()
                self._settle(trace)

    def _session(self) -> Trace | None:
        return sessions.session_of(self)

    # -- learning ---------------------------------------------------------------------

    def _completed(self, trace: Trace) -> None:
        if trace.recalls or (trace.calls and trace.request.get("thread_id") is not None):
            self._submit(partial(self._read, trace), background=self.background)
        elif trace.calls:
            self._journal.note(Outcome(reason=Reason.NOTHING_RECALLED))

    def _read(self, trace: Trace) -> Exchange:
        return exchange_of(trace, **self._fields_of(trace.request, list(trace.recalls.values())))

    def learn(
        self,
        answer: Any,
        recalls: Recall | RunId | Iterable[Recall | RunId],
        *,
        prompt: str | Sequence[BaseMessage] | None = None,
        index: HebbianIndex | None = None,
        actor: str | None = None,
        trusted: bool = False,
    ) -> list[Any]:
        """Learn from one answer without listening to a run.

        Parameters
        ----------
        answer : str, message, dict or pydantic model
        recalls : Recall or id, or several
            An id is that of a retriever's run.
        prompt : str or list of messages, optional
            What the model was given; keys are read from it. Left out, all hits count as shown,
            and only citations by id or quotation count.
        index : HebbianIndex, optional
            Left out, the learner's.
        actor : str, optional
        trusted : bool
            Whether the application vouches for the answer.

        Returns
        -------
        list
            The feedback records; empty if nothing was cited.

        Raises
        ------
        NotFoundError
            If a recall is not, or no longer, kept.
        """
        is_one = isinstance(recalls, Recall | str | uuid.UUID)
        listed = list(cast("Iterable[Recall | RunId]", [recalls] if is_one else recalls))
        if index is None:
            namespaces = {recall.namespace for recall in listed if isinstance(recall, Recall)}
            whose = self._whose(namespaces.pop() if len(namespaces) == 1 else None)
            index = cast("HebbianIndex | None", self._answers.index_of(whose))
        if index is None:
            raise ParameterError(
                "learn needs an index; pass it here or to the learner, or over a pool a Recall"
            )
        recalled = [Recalled(index, _find_recall(index, recall)) for recall in listed]
        if prompt is None:
            text = str(answer.text) if isinstance(answer, BaseMessage) else answer
            reply = Reply(structured=[text], rendered=Rendered(tuple(sources_of(recalled))))
        else:
            reply = reply_to(prompt, answer)
        outcome = self._learn_now(
            Exchange(recalls=recalled, replies=[reply], actor=actor, trusted=trusted)
        )
        return list(outcome.feedback)

    alearn = in_thread(learn)

    def _asked_namespace(self) -> str | None:
        return current_namespace()

    def _names_of(self, answer: RunId | int | BaseMessage) -> Sequence[str]:
        id_ = answer.id if isinstance(answer, BaseMessage) else answer
        if not isinstance(id_, RunId | int) or not (name := str(id_)).strip():
            raise NotFoundError(f"{id_!r:.80} is not the id of an answer, a run or a message")
        run = _UUID.search(name)  # the id of a message contains that of its run
        return list(dict.fromkeys([name, str(uuid.UUID(run.group()))] if run else [name]))


def _find_recall(index: HebbianIndex, recall: Recall | RunId) -> Recall:
    if isinstance(recall, Recall):
        return recall
    if not isinstance(recall, str | uuid.UUID):
        raise ParameterError(
            f"a recall is a Recall or its id, which is that of the retriever's run; "
            f"got {recall!r:.80}"
        )
    kept = index.find_recall(str(recall))
    if kept is None:
        raise NotFoundError(f"recall {str(recall)!r} is not, or no longer, kept by {index!r}")
    return kept
