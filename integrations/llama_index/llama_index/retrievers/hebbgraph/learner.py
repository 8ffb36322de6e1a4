"""CitationLearner: teaches the index what answers cite.

:mod:`.listening` relates answers to recalls; :mod:`hebbgraph.citations` decides what was shown and
cited, and which recall gets the credit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Unpack

from llama_index.core.base.response.schema import RESPONSE_TYPE, PydanticResponse, Response
from llama_index.core.schema import NodeWithScore

from hebbgraph import NotFoundError, ParameterError, Recall
from hebbgraph.citations import Exchange, LearnerOptions
from hebbgraph.citations.credit import pool_of
from llama_index.retrievers.hebbgraph.answers import (
    Answer,
    chunk_id,
    exchange_of,
    prompt_text_of,
    text_of,
)
from llama_index.retrievers.hebbgraph.listening import Listener
from llama_index.retrievers.hebbgraph.nodes import TRAIL_KEY
from llama_index.retrievers.hebbgraph.requests import NAMESPACE, requested_namespace
from llama_index.retrievers.hebbgraph.tracing import Request, SeenRecall

__all__ = ["CitationLearner"]


class CitationLearner(Listener):
    """Learns from query engines, chat engines, streams and agents while it is installed.

    Parameters
    ----------
    index, actor, trusted, judge, implicit, learn_on, remember, on_lesson, on_answer
        As for :class:`~hebbgraph.citations.FrameworkLearner`; ``actor`` and ``trusted`` get a
        request's instrument tags. Without an index, every index learns from the answers to its own
        recalls.
    background : bool
        Always learn in a background thread; :meth:`flush` waits for it.

    Notes
    -----
    * An answer teaches once: the chunks it cites among those in the model's prompt. Without a
      citation it teaches nothing. The response modes ``no_text``, ``context_only`` and
      ``generation`` teach nothing.
    * Make models cite with a :class:`CitationFormatter` or a ``CitationQueryEngine``.
    * :meth:`feedback` and :meth:`undo` take the instrument tag ``answer_id`` of the request, the
      response, a recall or its id (a :class:`RecallEvent` has it). With ``include_path``, a
      response names its recall; otherwise the latest recall that returned its nodes counts.
    * Requests with the same instrument tag ``thread_id`` are one conversation: an answer may cite
      what an earlier turn found. An agent that gets its ``memory`` or ``ctx`` again needs no tag.
    * In synchronous code an answer is learned when the call returns or its stream ends. On an
      event loop, and for abandoned streams, a background thread learns; :meth:`flush` waits.
    * If a guardrail or workflow replaces an answer, the replacement is read. Of a stream, what the
      model said is read.
    * Errors are logged, never raised. Handlers are installed for the whole process.
    * A retriever and a model that are called outside any engine, agent or workflow are not
      related: put both into ``with learner.request():``, or call :meth:`learn`.

    Examples
    --------
    ::

        with CitationLearner(retriever.index):
            query_engine.query("Where was the builder of the Petrel born?")

    or, for the life of the process, ``CitationLearner().install()``.
    """

    def __init__(
        self, index: Any = None, *, background: bool = False, **options: Unpack[LearnerOptions]
    ) -> None:
        super().__init__(index, **options)
        self._background = background

    def learn(
        self,
        answer: str | Response | PydanticResponse,
        nodes: Sequence[NodeWithScore] | None = None,
        *,
        tags: Mapping[str, Any] | None = None,
    ) -> None:
        """Learn from an answer that no engine gave.

        Parameters
        ----------
        answer : str or Response
            What the model said.
        nodes : sequence of NodeWithScore
            As shown to the model, from one of the latest 64 retrievals while installed. By default
            the response's.
        tags : mapping, optional
            Name the actor.
        """
        nodes = list(nodes if nodes is not None else getattr(answer, "source_nodes", ()))
        ids = {result.node_id for result in nodes}
        namespace = self._whose((tags or {}).get(NAMESPACE))
        recalls = [recall for recall in self._latest_of(namespace) if ids & recall.ids]
        if recalls:
            request = Request(dict(tags or {}))
            prompt = prompt_text_of(nodes)
            exchange = Answer(request, [_first(recalls)], request.tags, prompt=prompt, nodes=nodes)
            exchange.text, exchange.structured = text_of(answer)
            self._learner.submit(partial(self._read, exchange), background=False)

    # -- names of answers ---------------------------------------------------------------

    def _names_of(self, answer: Recall | RESPONSE_TYPE | str) -> Sequence[str]:
        if isinstance(answer, str):
            return [answer]
        if isinstance(answer, Recall):
            return [answer.id]
        nodes: Sequence[NodeWithScore] | None = getattr(answer, "source_nodes", None)
        if nodes is None:
            raise ParameterError(f"name a Recall, its id or a response; got {answer!r:.80}")
        for result in nodes:
            if trail := result.metadata.get(TRAIL_KEY):
                return [str(trail["recall_id"])]
        similar, exact = [], []
        for recall in self._latest_of(self._whose(None)):
            # The parts that a CitationQueryEngine makes have new ids.
            scores = {(chunk_id(result.node, [recall]), result.score) for result in nodes}
            if recall.ids.isdisjoint(id_ for id_, _ in scores):
                continue
            similar.append(recall)
            if scores <= {(hit.chunk.id, hit.score) for hit in recall.recall.hits}:
                exact.append(recall)
        if not similar:
            raise NotFoundError("no recall of the latest ones returned the nodes of this response")
        return [_first(exact or similar).recall.id]

    def _asked_namespace(self) -> str | None:
        return requested_namespace()

    # -- teaching -----------------------------------------------------------------------

    def _learn_from(self, answer: Answer, *, later: bool = False) -> None:
        background = later or self._background or _on_event_loop()
        self._learner.submit(partial(self._read, answer), background=background)

    def _read(self, answer: Answer) -> Exchange:
        if (thread := answer.tags.get("thread_id")) is not None:
            namespace = answer.tags.get(NAMESPACE)
            answer.earlier = self._learner.earlier(
                str(thread),
                but=answer.recalls,
                namespace=None if namespace is None else str(namespace),
            )
        return exchange_of(answer, **self._attributed(answer.tags))


def _first(recalls: Sequence[SeenRecall]) -> SeenRecall:
    """Return the first recall; refuse recalls of several tenants of a pool."""
    tenants = {recall.recall.namespace for recall in recalls if pool_of(recall.index) is not None}
    if len(tenants) > 1:
        raise ParameterError(
            "several tenants were given these nodes; name the one that is meant, within "
            f'instrument_tags({{"{NAMESPACE}": ...}})'
        )
    return recalls[0]


def _on_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
