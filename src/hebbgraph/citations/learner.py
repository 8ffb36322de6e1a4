"""Teaches what answers cite, in the background, and takes verdicts on them later."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

from hebbgraph.citations.answer import Denials
from hebbgraph.citations.exchange import (
    MISTAKES,
    Outcome,
    Reason,
    Reply,
    credited,
    reached,
    read_replies,
)
from hebbgraph.citations.worker import WORKER, keep_on_sigterm
from hebbgraph.errors import ParameterError
from hebbgraph.protocols import Closing
from hebbgraph.records import Lesson, Recall

logger = logging.getLogger(__name__)

#: Seconds until a verdict is tried again.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0


class TeachableIndex(Protocol):
    """What a learner needs of an index; see :class:`~hebbgraph.HebbianIndex`."""

    namespace: str

    def reinforce(self, recall: Recall, cited: Iterable[str] = (), **options: Any) -> Lesson: ...
    def keep(self, recall: Recall, *, answer: str | None = None) -> None: ...
    def kept(self, id: str) -> list[Recall]: ...
    def lessons(self, *, recall: Iterable[str] | None = None) -> list[Lesson]: ...
    def forget(self, lesson: str | None = None) -> int: ...


class Learner(Closing):
    """Learns from answers, and keeps nobody waiting; both adapters stand on it.

    Parameters
    ----------
    index : HebbianIndex, or callable
        What learns; or a function from a namespace to its index, which should remember them.
    namespace : str
        Of verdicts that do not say, if ``index`` is a function.
    actor : str, optional
        Who says what answers cite, unless a call says otherwise.
    trusted : bool
        Whether the application vouches for what answers cite.
    denials : iterable of str
        Patterns of answers that deny, in addition to the English ones.
    on_outcome : callable, optional
        Called with each :class:`Outcome`, in the background.
    patience : float
        Seconds that a verdict waits for its answer, which another process may still be writing.
    on_sigterm : bool
        Whether SIGTERM waits until all is learned, ten seconds at most.

    Examples
    --------
    >>> from hebbgraph import HebbianIndex
    >>> from hebbgraph.citations import Reply, number_passages
    >>> with HebbianIndex.open(":memory:") as index, Learner(index, actor="ida") as learner:
    ...     report = index.add([{"id": "owl", "text": "Owls hunt at night."}])
    ...     recall = index.recall("When do owls hunt?")
    ...     reply = Reply("At night [1].", prompt=number_passages(recall).text)
    ...     learner.learn([recall], [reply]).result().cited
    ('owl',)
    """

    def __init__(
        self,
        index: TeachableIndex | Callable[[str], TeachableIndex],
        *,
        namespace: str = "default",
        actor: str | None = None,
        trusted: bool = False,
        denials: Iterable[str] = (),
        on_outcome: Callable[[Outcome], object] | None = None,
        patience: float = 60.0,
        on_sigterm: bool = True,
    ) -> None:
        self.index = index
        self.namespace = namespace if callable(index) else index.namespace
        self.actor = actor
        self.trusted = trusted
        self.patience = patience
        self._denials = Denials(denials)
        self._on_outcome = on_outcome
        self._lock = threading.RLock()
        self._counts: Counter[str] = Counter()
        self._closed = False
        if on_sigterm:
            keep_on_sigterm()

    # -- answers ----------------------------------------------------------------------

    def learn(
        self,
        recalls: Iterable[Recall],
        replies: Iterable[Reply],
        *,
        output: Any = None,
        answer_id: str | Iterable[str] | None = None,
        actor: str | None = None,
        trusted: bool | None = None,
    ) -> Future[Outcome]:
        """Learn what an answer cites. Returns at once; an error becomes an outcome.

        Parameters
        ----------
        recalls : iterable of Recall
            Those made for the answer, oldest first. Each cited chunk is credited to the recall
            with the result of which the prompt shows it, else to the one that ranks it best.
        replies : iterable of Reply
            The calls of models, in order. What reached the user is the answer.
        output : str, message or object, optional
            What the application returned.
        answer_id : str, or several, optional
            Keeps the recalls, so that :meth:`verdict` finds them from any process, unless
            another answer has this name already.
        actor, trusted : optional
            By default the learner's.
        """
        made, calls = list(recalls), list(replies)
        names = [answer_id] if isinstance(answer_id, str) else list(answer_id or ())
        options = {
            "actor": self.actor if actor is None else actor,
            "trusted": self.trusted if trusted is None else trusted,
        }

        def study() -> Outcome:
            namespaces = dict.fromkeys(recall.namespace for recall in made)
            indexes = [self._index_of(namespace) for namespace in namespaces]
            answers, outcomes = reached(calls, output), list[Outcome]()
            for index in indexes:  # no namespace knows the chunks of another
                own = [recall for recall in made if recall.namespace == index.namespace]
                outcome, places = read_replies(answers, own, self._denials, calls)
                lessons = [
                    index.reinforce(recall, cited=cited, shown=shown, **options)
                    for recall, cited, shown in credited(outcome.cited, outcome.shown, own, places)
                ]
                for name in (name for name in names if not index.kept(name)):
                    for recall in own:
                        index.keep(recall, answer=name)
                outcomes.append(outcome.with_lessons(lessons))
            taught = tuple(lesson for outcome in outcomes for lesson in outcome.lessons)
            nothing = Outcome(reason=Reason.NOTHING_CITED)
            best = max(outcomes, key=lambda outcome: bool(outcome.lessons), default=nothing)
            return replace(best, lessons=taught)

        return self._submit(study, made[0].namespace if made else self.namespace, *names[:1])

    def _index_of(self, namespace: str) -> TeachableIndex:
        """Return the index of a namespace."""
        if callable(self.index):
            return self.index(namespace)
        if self.index.namespace != namespace:
            raise ParameterError(
                f"namespace {namespace!r} cannot teach {self.index.namespace!r}; "
                "give the learner a function from names to indexes"
            )
        return self.index

    # -- verdicts ---------------------------------------------------------------------

    def verdict(
        self,
        answer_id: str,
        rating: float,
        *,
        cited: Iterable[str] | None = None,
        actor: str | None = None,
        trusted: bool = False,
        namespace: str | None = None,
        reason: str | None = None,
    ) -> Future[Outcome]:
        """Judge an answer of any process: 1 is a thumb up, -1 a thumb down. Returns at once.

        The verdict is about what the answer taught, and replaces what the same actor, or nobody,
        said of it. It waits for an answer that is not stored yet.

        Parameters
        ----------
        answer_id : str
            As given to :meth:`learn`.
        rating : float, in [-1, 1], not 0
        cited : iterable of str, optional
            Chunks to judge, in place of those that the answer cited.
        actor, namespace : str, optional
            By default the learner's; or else whoever the answer was learned from.
        trusted, reason : optional
            As for ``index.reinforce``.
        """
        if not isinstance(rating, int | float) or not -1 <= rating <= 1 or not rating:
            raise ParameterError(f"rating is a number from -1 to 1, but not 0, got {rating!r:.80}")
        if not isinstance(answer_id, str) or not answer_id:
            raise ParameterError(f"answer_id is a str, got {answer_id!r:.80}")
        chosen = None if cited is None else list(cited)
        whose = self.namespace if namespace is None else namespace
        options = {"rating": rating, "trusted": trusted, "reason": reason}

        def judge() -> Outcome | None:
            index = self._index_of(whose)
            if not (recalls := index.kept(answer_id)):
                return None
            former = index.lessons(recall={recall.id for recall in recalls})
            named = (id_ for lesson in former for id_ in (*lesson.cited, *lesson.rejected))
            about = list(named) if chosen is None else chosen
            who = actor or self.actor or next((lesson.actor for lesson in former), None)
            # The index replaces what an actor said; to what nobody said, it would add.
            if about and who is None:
                for nameless in (lesson for lesson in former if lesson.actor is None):
                    index.forget(nameless.id)
            lessons = [
                index.reinforce(recall, cited=chunks, actor=who, **options)
                for recall, chunks, _ in credited(about, (), recalls, {})
            ]
            return Outcome(reason=Reason.NOTHING_CITED).with_lessons(lessons)

        return self._submit(judge, whose, answer_id)

    # -- the background ---------------------------------------------------------------

    def _submit(
        self, work: Callable[[], Outcome | None], namespace: str, answer_id: str | None = None
    ) -> Future[Outcome]:
        """Do a work in the background, again and again while it gives None."""
        future: Future[Outcome] = Future()
        future.set_running_or_notify_cancel()  # nobody can cancel it any more
        lane, deadline = (id(self), namespace), time.monotonic() + self.patience

        def finish(outcome: Outcome) -> None:
            named = replace(outcome, answer_id=answer_id)
            self._report(named)
            future.set_result(named)

        def job(pause: float = _FIRST_PAUSE) -> None:
            try:
                outcome = work()
            except Exception as error:
                logger.debug("an answer is not learned", exc_info=True)
                outcome = Outcome(reason=Reason.REFUSED, detail=repr(error)[:500])
            waits = outcome is None and not self._closed and time.monotonic() < deadline
            again = partial(job, min(2 * pause, _LONGEST_PAUSE))
            if not (waits and WORKER.put(lane, again, delay=pause)):
                finish(outcome or Outcome(reason=Reason.UNKNOWN_ANSWER))

        if self._closed or not WORKER.put(lane, job):
            if self._closed or WORKER.over:
                job()
            else:
                finish(Outcome(reason=Reason.DROPPED))
        return future

    def _report(self, outcome: Outcome) -> None:
        """Count, log and hand on an outcome; no line holds a word of question or answer."""
        with self._lock:
            self._counts[outcome.code] += 1
            is_first = self._counts[outcome.code] == 1
        if outcome.reason is not None:
            level = logging.WARNING if is_first and outcome.reason in MISTAKES else logging.DEBUG
            logger.log(level, "an answer teaches nothing: %s %s", outcome.reason, outcome.detail)
        try:
            if self._on_outcome is not None:
                self._on_outcome(outcome)
        except Exception:
            logger.exception("on_outcome failed")

    @property
    def counts(self) -> dict[str, int]:
        """How many answers and verdicts there were, by :attr:`Outcome.code`."""
        with self._lock:
            return dict(self._counts)

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until nothing is left to learn; False after ``timeout`` seconds.

        It does not wait for other learners, nor for verdicts on answers of other processes.
        """
        return WORKER.flush(id(self), timeout)

    def close(self, timeout: float | None = None) -> bool:
        """Wait until all is learned, before the index is closed; give up unknown answers.

        A closed learner learns at once, while its caller waits.
        """
        self._closed = True
        return WORKER.flush(id(self), timeout, delayed=True)
