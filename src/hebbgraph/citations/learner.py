"""Teaches indexes what answers cite, at once or in the background, and takes it back."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, TypeAlias

from hebbgraph.citations.conversations import Conversations
from hebbgraph.citations.credit import Lesson, Recalled, TeachableIndex, share_credit
from hebbgraph.citations.exchange import Exchange, Outcome
from hebbgraph.citations.worker import Worker
from hebbgraph.errors import FeedbackError, NotFoundError, ParameterError
from hebbgraph.records import Feedback

__all__ = ["Actor", "Learner", "user_id"]

logger = logging.getLogger(__name__)

Actor: TypeAlias = Callable[[Mapping[str, Any]], str | None]
"""From a request's metadata to the name that its lessons are attributed to, or None."""


def user_id(metadata: Mapping[str, Any]) -> str | None:
    """Return ``metadata["user_id"]`` as a str: the default actor.

    >>> user_id({"user_id": 7})
    '7'
    """
    actor = metadata.get("user_id")
    return None if actor is None else str(actor)


class Learner:
    """Learns from answers of any framework.

    An adapter listens to its framework's events and passes each request on as an
    :class:`~hebbgraph.citations.Exchange`; everything else happens here.

    Parameters
    ----------
    learn_on : {"citation", "approval"}
        With ``"approval"``, an answer teaches only after :meth:`feedback` approved of it.
    remember : int
        Number of answers kept for :meth:`feedback`.
    on_lesson : callable, optional
        Called with each feedback record of an index. Its errors are logged.

    Attributes
    ----------
    conversations : Conversations
        For adapters: the recalls of earlier turns.

    Examples
    --------
    >>> from hebbgraph import HebbianIndex
    >>> from hebbgraph.citations import Recalled, Reply
    >>> with HebbianIndex.open(":memory:") as index:
    ...     report = index.add([{"id": "owl", "text": "Owls hunt at night."}])
    ...     recall = index.recall("When do owls hunt?")
    ...     said = Reply(prompt="[1] Owls hunt at night.", text="I do not know.")
    ...     outcome = Learner().learn(Exchange(recalls=[Recalled(index, recall)], replies=[said]))
    >>> outcome.lessons, outcome.reason.value
    ((), 'nothing was cited')
    """

    def __init__(
        self,
        *,
        learn_on: Literal["citation", "approval"] = "citation",
        remember: int = 1_000,
        on_lesson: Callable[[Feedback], object] | None = None,
    ) -> None:
        if learn_on not in ("citation", "approval"):
            raise ParameterError(f"learn_on is 'citation' or 'approval', got {learn_on!r}")
        self.learn_on = learn_on
        self.remember = remember
        self.on_lesson = on_lesson
        self.conversations = Conversations()
        self._worker = Worker()
        self._lock = threading.RLock()
        self._answers: dict[str, _Answered] = {}
        self._order: deque[tuple[_Answered, Sequence[str]]] = deque()

    # -- learning ---------------------------------------------------------------------

    def submit(self, read: Callable[[], Exchange], *, background: bool = True) -> None:
        """Learn from a finished request. Never raises: errors are logged.

        Parameters
        ----------
        read : callable
            Builds the exchange from what was collected during the request.
        background : bool
            Run in a thread. If False, before this returns.
        """
        if background:
            self._worker.put(partial(self._study, read))
        else:
            self._study(read)

    def learn(self, exchange: Exchange) -> Outcome:
        """Learn from one exchange at once, approved or not.

        Returns
        -------
        Outcome
            With the feedback records, or the reason why there are none.

        Raises
        ------
        HebbgraphError
            The first error of an index; the lessons of other recalls are taught all the same.
        """
        outcome, answered = self._read(exchange)
        if answered is None:
            return outcome
        feedback, errors = answered.judge(True, self._tell)
        if errors:
            raise errors[0]
        return replace(outcome, feedback=tuple(feedback))

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until everything submitted is learned; False after ``timeout`` seconds."""
        return self._worker.flush(timeout)

    def _study(self, read: Callable[[], Exchange]) -> None:
        try:
            outcome, answered = self._read(read())
        except Exception:
            logger.exception("an answer could not be read; it teaches nothing")
            return
        if answered is None:
            logger.debug("an answer teaches nothing: %s", outcome.reason)
        elif self.learn_on == "citation":
            for error in answered.judge(True, self._tell)[1]:
                logger.error("an answer could not be learned: %s", error, exc_info=error)

    def _read(self, exchange: Exchange) -> tuple[Outcome, _Answered | None]:
        with self._lock:  # two answers of one request must not both teach the same chunk
            outcome = exchange.outcome()
            if not outcome.lessons:
                return outcome, None
            exchange.taught.update(outcome.cited)
            answered = _Answered(outcome.lessons)
            self._keep(answered, exchange.ids)
        return outcome, answered

    def _keep(self, answered: _Answered, ids: Sequence[str]) -> None:
        if not ids:
            return
        self._order.append((answered, ids))
        self._answers.update(dict.fromkeys(ids, answered))
        while len(self._order) > self.remember:
            oldest, names = self._order.popleft()
            for name in names:
                if self._answers.get(name) is oldest:
                    del self._answers[name]

    def _tell(self, feedback: Feedback) -> None:
        if self.on_lesson is not None:
            try:
                self.on_lesson(feedback)
            except Exception:
                logger.exception("on_lesson failed for feedback %s", feedback.id)

    # -- late feedback ----------------------------------------------------------------

    def feedback(
        self,
        id: str,
        good: bool,
        *,
        cited: Sequence[str] | None = None,
        actor: str | None = None,
        index: TeachableIndex | None = None,
    ) -> list[Feedback]:
        """Judge an answer: thumbs up or down. The last verdict counts.

        Parameters
        ----------
        id : str
            One of the ids of the exchange.
        good : bool
            True: learn what the answer cited, unless it was learned already. False: take back
            what was learned from it, and reject what it cited.
        cited : sequence of str, optional
            Chunk ids to judge instead of those the answer cited.
        actor : str, optional
            By default, that of the exchange.
        index : TeachableIndex, optional
            Where to look for a recall with this ``id``, if ``cited`` is given and the answer is not
            remembered.

        Returns
        -------
        list of Feedback

        Raises
        ------
        NotFoundError
            If no answer with this id is remembered, or it cited nothing.
        FeedbackError
            If no recall of it found a chunk in ``cited``.
        HebbgraphError
            The first error of an index.
        """
        if not isinstance(good, bool):
            raise ParameterError(f"good is True (thumbs up) or False (thumbs down), got {good!r}")
        if isinstance(cited, str):
            raise ParameterError(f"cited is a list of chunk ids, got {cited!r}; put it in a list")
        self.flush()
        with self._lock:
            answered = self._answers.get(id)
        if cited is not None:
            answered = self._about(id, cited, answered, index)
        if answered is None:
            raise NotFoundError(
                f"no citing answer of run {id!r} is remembered (the last {self.remember} are); "
                "name the chunks by cited=[...] with a retriever's run"
            )
        feedback, errors = answered.judge(good, self._tell, actor)
        if errors:
            raise errors[0]
        return feedback

    @staticmethod
    def _about(
        id: str, cited: Sequence[str], known: _Answered | None, index: TeachableIndex | None
    ) -> _Answered | None:
        lessons = known.lessons if known is not None else ()
        recalls = [lesson.recalled for lesson in lessons]
        if not recalls and index is not None and (recall := index.find_recall(id)) is not None:
            recalls = [Recalled(index, recall)]
        found_ids = {hit.chunk.id for one in recalls for hit in one.recall.hits}
        if recalls and (unknown := [id_ for id_ in cited if id_ not in found_ids]):
            raise FeedbackError(
                f"chunk {unknown[0]!r} is not among the hits that run {id!r} was given; "
                "only what a recall found can be judged"
            )
        shown = [id_ for lesson in lessons for id_ in lesson.shown]
        actor = lessons[0].actor if lessons else None
        found = share_credit(cited, [*shown, *cited], recalls)
        return _Answered([lesson.by(actor) for lesson in found]) if recalls else None


class _Answered:
    """The lessons of one answer, the verdict so far, and the records made of it."""

    def __init__(self, lessons: Sequence[Lesson]) -> None:
        self.lessons = tuple(lessons)
        self._verdict: bool | None = None
        self._given: list[tuple[TeachableIndex, Feedback]] = []
        self._lock = threading.Lock()

    def judge(
        self, good: bool, tell: Callable[[Feedback], None], actor: str | None = None
    ) -> tuple[list[Feedback], list[Exception]]:
        """Teach the lessons, or their opposite; return the records and the errors."""
        errors: list[Exception] = []
        with self._lock:
            if actor is not None:
                self.lessons = tuple(lesson.by(actor) for lesson in self.lessons)
            if self._verdict is not good:
                for index, feedback in self._given:
                    index.forget(feedback=feedback.id)
                self._given = []
                for lesson in self.lessons:
                    try:
                        feedback = (lesson if good else lesson.as_rejection()).teach()
                    except Exception as error:  # the other lessons are as good as ever
                        errors.append(error)
                    else:
                        self._given.append((lesson.recalled.index, feedback))
                        tell(feedback)
                # What failed may be tried again.
                self._verdict = None if errors else good
            return [feedback for _, feedback in self._given], errors
