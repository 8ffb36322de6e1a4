"""What the learner of every framework has, whatever it hears of answers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, TypedDict, TypeVar, Unpack

from hebbgraph.arguments import agreed_namespace
from hebbgraph.calling import Closing, in_thread
from hebbgraph.citations.cited import Judge
from hebbgraph.citations.credit import TeachableIndex, TeachablePool, pool_of
from hebbgraph.citations.learner import Actor, Learner, Trusted, actor_by, check_trusted
from hebbgraph.citations.outcomes import Outcome
from hebbgraph.errors import NotFoundError, ParameterError
from hebbgraph.records import Feedback

__all__ = ["FrameworkLearner", "LearnerOptions"]

_T = TypeVar("_T")


class AnswerOptions(TypedDict, total=False):
    """What a learner takes that says what becomes of answers, for type checkers."""

    judge: Judge | None
    implicit: bool
    learn_on: Literal["citation", "approval"]
    remember: int
    on_lesson: Callable[[Feedback], object] | None
    on_answer: Callable[[Outcome], object] | None


class LearnerOptions(AnswerOptions, total=False):
    """What every learner takes beside its index."""

    actor: Actor | str | None
    trusted: Trusted


class FrameworkLearner(Closing):
    """Base of the adapters' ``CitationLearner``: lessons, verdicts, and their end.

    Parameters
    ----------
    index : HebbianIndex or IndexPool, optional
        What is learned, or what has it as ``index`` or ``pool``: a retriever, a vector store.
    actor : callable or str, optional
        From what a request says of itself to the name that its lessons are attributed to. Left
        out, ``user_id`` and the like.
    trusted : bool or callable
        Whether the application vouches for what answers cite, as where editors alone ask; a
        callable takes what ``actor`` takes. Such lessons count in full at once.
    judge : callable, optional
        ``judge(sentence, text)`` says whether a source supports a sentence that names it: True,
        False, or None to leave it to the rule.
    implicit : bool
        Whether it teaches, too, that a conversation asks again at once in other words: doubt about
        what the first answer cited, believed as far as citations bear it out.
    learn_on : {"citation", "approval"}
        ``"approval"``: lessons wait until :meth:`feedback` says that the answer was good.
    remember : int
        How many answers are kept in memory for late feedback; the index keeps more.
    on_lesson : callable, optional
        Called with each feedback record that an index returned.
    on_answer : callable, optional
        Called with what became of each answer: an :class:`~hebbgraph.citations.Outcome`, which says
        what was learned, or why nothing.
    """

    def __init__(
        self,
        index: Any = None,
        *,
        actor: Actor | str | None = None,
        trusted: Trusted = False,
        **options: Unpack[AnswerOptions],
    ) -> None:
        home, self._namespace = _home_of(index)
        self.pool: Any = home if isinstance(home, TeachablePool) else None
        self.index: Any = None if self.pool is not None else home
        self.actor = actor_by(actor)
        self.trusted = check_trusted(trusted)
        self._learner = Learner(index=home, expects_actor=actor is None, **options)

    @abstractmethod
    def uninstall(self) -> None:
        """Stop listening."""

    @abstractmethod
    def _names_of(self, answer: Any) -> Sequence[str]:
        """Return what an answer may be called, the likeliest name first."""

    @abstractmethod
    def _asked_namespace(self) -> str | None:
        """Return the namespace that the present request names."""

    def _whose(self, namespace: str | None) -> str | None:
        """Return the namespace that is meant: the one given, the request's, or the retriever's."""
        return agreed_namespace(namespace, self._asked_namespace()) or self._namespace

    def _attributed(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return whom the lessons of a request are attributed to."""
        trusted = self.trusted(request) if callable(self.trusted) else self.trusted
        return {"actor": self.actor(request), "trusted": trusted}

    def close(self) -> None:
        """Stop listening, and wait for what was heard to be learned."""
        self.uninstall()
        self.flush()

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until all answers heard so far are learned from; False if time ran out.

        It blocks: on an event loop, await :meth:`aflush`.
        """
        return self._learner.flush(timeout)

    aflush = in_thread(flush)

    @property
    def lessons(self) -> tuple[Outcome, ...]:
        """What became of the latest answers, oldest first: what was learned, or why nothing.

        Those of all tenants; :meth:`outcomes` chooses. ``index.lessons()`` lists what an index has
        learned, from all processes.
        """
        return self._learner.journal.latest

    def outcomes(self, answer: Any = None, *, namespace: str | None = None) -> tuple[Outcome, ...]:
        """What became of an answer, or of the latest of one tenant, oldest first.

        Parameters
        ----------
        answer : str or other, optional
            As for :meth:`feedback`. Left out, all of them.
        namespace : str, optional
            Whose. Left out, that of the request.
        """
        whose = self._whose(namespace)
        names = None if answer is None else set(self._names_of(answer))
        return tuple(
            one
            for one in self.lessons
            if (whose is None or whose in one.namespaces)
            and (names is None or not names.isdisjoint(one.names))
        )

    @property
    def counts(self) -> dict[str, int]:
        """How many answers there were, by what became of them."""
        return self._learner.journal.counts

    def feedback(
        self,
        answer: Any,
        good: bool,
        *,
        cited: Sequence[str] | None = None,
        outdated: Mapping[str, str] | None = None,
        actor: str | None = None,
        trusted: bool = False,
        namespace: str | None = None,
    ) -> list[Feedback]:
        """Say what became of an answer: thumbs up or down. The last verdict holds.

        Up: what the answer cited is learned, if it was not yet. Down: what was learned
        from it is taken back, and what it cited is rejected.

        Parameters
        ----------
        answer : str or other
            The id that the request gave its answer, or another name; the class says which.
        good : bool
        cited : sequence of str, optional
            Chunk ids that the thumb is about, in place of what the answer cited. If the
            answer is not remembered, the name must be a recall's.
        outdated : mapping of str to str, optional
            With a thumb down: for each chunk that no longer holds, the one that does, as for
            ``index.reinforce``.
        actor : str, optional
            Left out, the request's.
        trusted : bool
            Whether the application vouches for it, as for an editor's word.
        namespace : str, optional
            Whose answer it is. Left out, the request's, where this is called within one, or that
            of the retriever. Needed over a pool for names that are not random, and wherever
            several namespaces have an answer of the name.

        Returns
        -------
        list of Feedback
            Empty if the answer cited nothing; its :class:`~hebbgraph.citations.Outcome` says why.

        Raises
        ------
        NotFoundError
            For an answer that is not, or no longer, remembered.
        ParameterError
            If several tenants may have an answer of this name, and none is named. Nothing is
            judged then.
        """
        whose = self._whose(namespace)
        judge = partial(
            self._learner.feedback,
            good=good,
            cited=cited,
            outdated=outdated,
            actor=actor,
            trusted=trusted,
            index=self._learner.known.index_of(whose),
            namespace=whose,
        )
        return list(self._by_name(answer, judge))

    afeedback = in_thread(feedback)

    def undo(self, answer: Any, *, namespace: str | None = None) -> int:
        """Take back what an answer has taught, thumbs included; return how many lessons.

        Parameters and errors are those of :meth:`feedback`.
        """
        whose = self._whose(namespace)
        return self._by_name(answer, partial(self._learner.undo, namespace=whose))

    aundo = in_thread(undo)

    def _by_name(self, answer: Any, what: Callable[[str], _T]) -> _T:
        *likely, last = self._names_of(answer)
        for name in likely:
            try:
                return what(name)
            except NotFoundError:
                continue
        return what(last)


def _home_of(given: Any) -> tuple[Any, str | None]:
    """Return the index or the pool of what has one, and the namespace of its requests."""
    if given is None or isinstance(given, TeachableIndex | TeachablePool):
        return given, None
    retriever = getattr(given, "vectorstore", given)
    if (pool := pool_of(retriever)) is not None:
        return pool, retriever.namespace
    index = getattr(retriever, "index", None)
    if not isinstance(index, TeachableIndex):
        raise ParameterError(
            "index is a HebbianIndex, an IndexPool, or a retriever or vector store over one; "
            f"got {given!r:.80}"
        )
    return index, None
