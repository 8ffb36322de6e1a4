"""CitationLearner: every answer's citations teach the index that its sources came from.

Which recalls, prompts and answers belong together is found by :mod:`.listening`. What was shown
and cited, and which recall gets the credit, is decided by :mod:`hebbgraph.citations`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, Self

from llama_index.core.base.response.schema import RESPONSE_TYPE, PydanticResponse, Response
from llama_index.core.schema import NodeWithScore

from hebbgraph import HebbianIndex, NotFoundError, ParameterError, Recall
from hebbgraph.calling import in_thread
from hebbgraph.citations import (
    Actor,
    Exchange,
    Judge,
    Learner,
    Outcome,
    Reason,
    Trusted,
    actor_by,
    check_trusted,
)
from hebbgraph.records import Feedback
from llama_index.retrievers.hebbgraph.answers import (
    Answer,
    chunk_id,
    contents,
    exchange_of,
    text_of,
)
from llama_index.retrievers.hebbgraph.base import HebbianRetriever
from llama_index.retrievers.hebbgraph.graph_index import HebbianGraphIndex
from llama_index.retrievers.hebbgraph.listening import Listener
from llama_index.retrievers.hebbgraph.nodes import TRAIL_KEY
from llama_index.retrievers.hebbgraph.store import HebbianVectorStore
from llama_index.retrievers.hebbgraph.tracing import Request

__all__ = ["CitationLearner"]


class CitationLearner(Listener):
    """Learns from query engines, chat engines, streams and agents, once installed.

    Parameters
    ----------
    index : HebbianIndex, optional
        The only one to learn; a retriever or a vector store over one fits as well. Left out,
        each index learns from the answers to what it recalled. Nodes of other retrievers are
        ignored.
    actor : callable or str, optional
        Takes the request's instrument tags and returns the name that the lesson is
        attributed to, or None. Left out, the tag ``user_id``, which
        ``with instrument_tags({"user_id": ...}):`` sets, or one like it.
    trusted : bool or callable
        Whether the application vouches for what answers cite, as where editors alone ask; a
        callable takes what ``actor`` takes. Such lessons count in full at once.
    judge : callable, optional
        ``judge(sentence, text)`` says whether a source supports a sentence that names it: True,
        False, or None to leave it to the rule.
    learn_on : {"citation", "approval"}
        ``"approval"``: lessons wait until :meth:`feedback` says that the answer was good.
    on_lesson : callable, optional
        Called with each feedback record that an index returned.
    on_answer : callable, optional
        Called with what became of each answer: an
        :class:`~hebbgraph.citations.Outcome`, which says what was learned, or why nothing.
    background : bool
        Always learn in a background thread; :meth:`flush` waits for it.

    Notes
    -----
    * An answer teaches once: the chunks it cites, of those that stood in the model's
      prompt. Without a citation it teaches nothing; neither do the response modes
      ``no_text``, ``context_only`` and ``generation``.
    * Make models cite, with :class:`CitationFormatter` or a ``CitationQueryEngine``.
    * Requests with the same instrument tag ``thread_id`` are turns of one conversation: an
      answer may cite what an earlier turn has found. An agent that is handed its ``memory`` or
      ``ctx`` again needs no tag: its prompt goes on where the last one ended.
    * In synchronous code an answer has taught when the call returns, or when its stream
      ends. On an event loop, and for streams that are abandoned, a background thread does
      the learning; :meth:`flush` waits for it.
    * Errors are logged, never raised. Handlers are installed for the whole process.
    * A retriever and a model that are called one after the other, outside any engine, agent
      or workflow, have nothing in common. Put them into ``with learner.request():``, or call
      :meth:`learn`.

    Examples
    --------
    ::

        with CitationLearner(retriever.index):
            query_engine.query("Where was the builder of the Petrel born?")

    or, for the life of the process, ``CitationLearner().install()``.
    """

    def __init__(
        self,
        index: HebbianIndex
        | HebbianRetriever
        | HebbianVectorStore
        | HebbianGraphIndex
        | None = None,
        *,
        actor: Actor | str | None = None,
        trusted: Trusted = False,
        judge: Judge | None = None,
        background: bool = False,
        learn_on: Literal["citation", "approval"] = "citation",
        on_lesson: Callable[[Feedback], object] | None = None,
        on_answer: Callable[[Outcome], object] | None = None,
    ) -> None:
        own = _index_of(index)
        self._learner = Learner(
            learn_on=learn_on,
            index=own,
            on_lesson=on_lesson,
            on_answer=on_answer,
            expects_actor=actor is None,
            judge=judge,
        )
        super().__init__(own, self._learner.conversations)
        self._background = background
        self._actor = actor_by(actor)
        self._trusted = check_trusted(trusted)

    # -- installing -----------------------------------------------------------------

    def uninstall(self) -> None:
        """Stop listening, and wait for what was heard to be learned."""
        self._stop()
        self.flush()
        self._spans.clear()

    def __enter__(self) -> Self:
        return self.install()

    def __exit__(self, *exception: object) -> None:
        self.uninstall()

    async def __aenter__(self) -> Self:
        return self.install()

    async def __aexit__(self, *exception: object) -> None:
        await asyncio.to_thread(self.uninstall)

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until all answers heard so far have taught; False if time ran out."""
        return self._learner.flush(timeout)

    aflush = in_thread(flush)

    # -- without an engine, and late feedback ---------------------------------------

    def learn(
        self,
        answer: str | Response | PydanticResponse,
        nodes: Sequence[NodeWithScore] | None = None,
        *,
        tags: Mapping[str, Any] | None = None,
    ) -> None:
        """Learn from an answer, explicitly.

        Parameters
        ----------
        answer : str or Response
            A response brings its nodes along.
        nodes : sequence of NodeWithScore
            As they were shown, from one of the latest 64 retrievals while installed.
        tags : mapping, optional
            For the actor.
        """
        shown = list(nodes if nodes is not None else getattr(answer, "source_nodes", ()))
        ids = {one.node_id for one in shown}
        recalls = [seen for seen in reversed(self._recent) if ids & seen.ids][:1]
        if recalls:
            request = Request(dict(tags or {}))
            text, structured = text_of(answer)
            self._study(
                Answer(
                    request,
                    recalls,
                    request.tags,
                    prompt=contents(shown),
                    nodes=shown,
                    text=text,
                    structured=structured,
                ),
                background=False,
            )

    def feedback(
        self,
        recall: Recall | RESPONSE_TYPE | str,
        good: bool,
        *,
        cited: Sequence[str] | None = None,
        actor: str | None = None,
        trusted: bool = False,
    ) -> list[Feedback]:
        """Say what became of an answer: thumbs up or down. The last verdict holds.

        Up: what the answer cited is learned, if it was not yet. Down: what was learned
        from it is taken back, and what it cited is rejected.

        Parameters
        ----------
        recall : Recall, its id, or the response
            One that the answer was given from; a :class:`RecallEvent` tells of it. A response
            names it with ``include_path``; without, the latest recall counts that returned its
            nodes with their scores, or else some of them.
        good : bool
            Up or down.
        cited : sequence of str, optional
            Node ids that the thumb is about, in place of what the answer cited.
        actor : str, optional
            Left out, the request's.
        trusted : bool
            Whether the application vouches for it, as for an editor's word.

        Returns
        -------
        list of Feedback

        Raises
        ------
        NotFoundError
            For a recall whose answer is not, or no longer, remembered, or cited nothing.
        """
        return self._learner.feedback(
            self._id_of(recall),
            good,
            cited=cited,
            actor=actor,
            trusted=trusted,
            index=self.index,
        )

    afeedback = in_thread(feedback)

    def undo(self, recall: Recall | RESPONSE_TYPE | str) -> int:
        """Take back what an answer has taught, thumbs included; return how many lessons.

        Parameters
        ----------
        recall : Recall, its id, or the response
            As for :meth:`feedback`.

        Raises
        ------
        NotFoundError
            For a recall whose answer is not, or no longer, remembered, or cited nothing.
        """
        return self._learner.undo(self._id_of(recall))

    aundo = in_thread(undo)

    def _id_of(self, recall: Recall | RESPONSE_TYPE | str) -> str:
        """Return the id of the recall that is meant."""
        if isinstance(recall, str):
            return recall
        if isinstance(recall, Recall):
            return recall.id
        nodes = getattr(recall, "source_nodes", None)
        if nodes is None:
            raise ParameterError(f"name a Recall, its id or a response; got {recall!r:.80}")
        trails = [one.metadata.get(TRAIL_KEY) for one in nodes]
        if named := [trail["recall_id"] for trail in trails if trail]:
            return str(named[0])
        alike: Recall | None = None
        for seen in reversed(list(self._recent)):
            # A CitationQueryEngine hands on pieces, with ids of their own.
            scored = {(chunk_id(one.node, [seen]), one.score) for one in nodes}
            if not {id_ for id_, _ in scored} & seen.ids:
                continue
            if scored <= {(hit.chunk.id, hit.score) for hit in seen.recall.hits}:
                return seen.recall.id
            alike = alike or seen.recall
        if alike is not None:
            return alike.id
        raise NotFoundError("no recall of the latest ones returned the nodes of this response")

    @property
    def lessons(self) -> tuple[Outcome, ...]:
        """What became of the latest answers, oldest first: what was learned, or why nothing.

        ``index.lessons()`` lists what an index has learned, from all processes.
        """
        return self._learner.journal.latest

    @property
    def counts(self) -> dict[str, int]:
        """How many answers there were, by what became of them.

        >>> CitationLearner().counts
        {}
        """
        return self._learner.journal.counts

    # -- teaching -------------------------------------------------------------------

    def _answered(self, answer: Answer, *, later: bool = False) -> None:
        self._study(answer, background=later or self._background or _on_event_loop())

    def _study(self, answer: Answer, *, background: bool) -> None:
        self._learner.submit(partial(self._read, answer), background=background)

    def _missed(self, reason: Reason) -> None:
        self._learner.missed(reason)

    def _read(self, answer: Answer) -> Exchange:
        if (thread := answer.tags.get("thread_id")) is not None:
            answer.earlier = self._learner.earlier(str(thread), but=answer.recalls)
        trusted = self._trusted(answer.tags) if callable(self._trusted) else self._trusted
        return exchange_of(answer, actor=self._actor(answer.tags), trusted=trusted)


def _index_of(given: object) -> HebbianIndex | None:
    """Return the index of what has one."""
    if given is None or isinstance(given, HebbianIndex):
        return given
    index = getattr(given, "index", None)
    if not isinstance(index, HebbianIndex):
        raise ParameterError(
            f"index is a HebbianIndex, or a retriever or vector store over one; got {given!r:.80}"
        )
    return index


def _on_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
