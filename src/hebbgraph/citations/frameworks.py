"""The base of every framework's learner: who gives feedback, on which answer, and when it ends."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, TypeAlias, TypedDict, TypeVar, Unpack

from hebbgraph.arguments import agreed_namespace, check_names
from hebbgraph.calling import Closing, in_thread
from hebbgraph.citations.cited import Judge
from hebbgraph.citations.credit import TeachableIndex, TeachablePool, pool_of
from hebbgraph.citations.learner import Learner
from hebbgraph.citations.outcomes import Outcome
from hebbgraph.errors import NotFoundError, ParameterError
from hebbgraph.records import Feedback

__all__ = [
    "Actor",
    "FrameworkLearner",
    "LearnerOptions",
    "Trusted",
    "actor_by",
    "check_trusted",
    "user_id",
]

_T = TypeVar("_T")

Actor: TypeAlias = Callable[[Mapping[str, Any]], str | None]
"""From a request's metadata to the name that its lessons are attributed to, or None."""

Trusted: TypeAlias = bool | Callable[[Mapping[str, Any]], bool]
"""Whether the application vouches for citations, or a callable that says so of metadata."""

#: Where frameworks and tracers put the user of a request.
_USER_KEYS = ("user_id", "userId", "user-id", "langfuse_user_id", "user", "actor")


def user_id(metadata: Mapping[str, Any]) -> str | None:
    """Return the user that a request's metadata names: the default actor.

    Reads ``user_id``, ``userId``, ``langfuse_user_id``, ``user`` (a name, or a mapping with an
    ``id``) and ``actor``; the first that is there counts.

    >>> user_id({"user_id": 7}), user_id({"user": {"id": "ida"}}), user_id({})
    ('7', 'ida', None)
    """
    for key in _USER_KEYS:
        user = metadata.get(key)
        if isinstance(user, Mapping):
            user = user.get("id", user.get("user_id"))
        if user is not None and not isinstance(user, bool) and str(user).strip():
            return str(user)
    return None


def actor_by(actor: Actor | str | None) -> Actor:
    """Return a callable that names a request's actor: given, one name for all, or :func:`user_id`.

    >>> actor_by("ida")({}), actor_by(None)({"user_id": 7})
    ('ida', '7')
    """
    if actor is None:
        return user_id
    if isinstance(actor, str) and actor.strip():
        return lambda metadata: actor
    if not callable(actor):
        raise ParameterError(
            f"actor is a name, or a callable from a request's metadata to one; got {actor!r:.80}"
        )
    return actor


def check_trusted(trusted: Trusted) -> Trusted:
    """Return ``trusted``; raise ParameterError unless it is a bool or a callable."""
    if not (isinstance(trusted, bool) or callable(trusted)):
        raise ParameterError(
            "trusted is True, False, or a callable that says so of a request's metadata; "
            f"got {trusted!r:.80}"
        )
    return trusted


class AnswerOptions(TypedDict, total=False):
    """Options of a learner about answers, for type checkers."""

    judge: Judge | None
    implicit: bool
    learn_on: Literal["citation", "approval"]
    remember: int
    on_lesson: Callable[[Feedback], object] | None
    on_answer: Callable[[Outcome], object] | None


class LearnerOptions(AnswerOptions, total=False):
    """All options of a learner except its index."""

    actor: Actor | str | None
    trusted: Trusted


class FrameworkLearner(Closing):
    """Base of the adapters' ``CitationLearner``: outcomes, verdicts and closing.

    Parameters
    ----------
    index : HebbianIndex or IndexPool, optional
        What learns; or a retriever or vector store over it.
    actor : callable or str, optional
        From a request's metadata to the name that its lessons are attributed to, or one name for
        all. Left out, ``user_id`` and the like.
    trusted : bool or callable
        Whether the application vouches for what answers cite, as where only editors ask; a
        callable takes a request's metadata. Such lessons count in full at once.
    judge : callable, optional
        ``judge(sentence, text)`` says whether a source supports a sentence that names it: True,
        False, or None to leave it to the rule.
    implicit : bool
        Whether asking again at once in other words teaches doubt about what the first answer
        cited; it is believed as far as citations bear it out.
    learn_on : {"citation", "approval"}
        ``"approval"``: lessons wait until :meth:`feedback` says that the answer was good.
    remember : int
        How many answers are kept in memory for late feedback; the index keeps more.
    on_lesson : callable, optional
        Called with each feedback record that an index returned.
    on_answer : callable, optional
        Called with the :class:`~hebbgraph.citations.Outcome` of each answer, which says what was
        learned, or why nothing.
    """

    def __init__(
        self,
        index: Any = None,
        *,
        actor: Actor | str | None = None,
        trusted: Trusted = False,
        **options: Unpack[AnswerOptions],
    ) -> None:
        known = ("index", "background", *LearnerOptions.__annotations__)
        check_names(options, known, of=type(self).__name__)
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
        """Return the names that an answer may have, the likeliest first."""

    @abstractmethod
    def _asked_namespace(self) -> str | None:
        """Return the namespace that the present request names."""

    def _whose(self, namespace: str | None) -> str | None:
        """Return the namespace of a call: its argument, the request's, or the retriever's."""
        return agreed_namespace(namespace, self._asked_namespace()) or self._namespace

    def _attributed(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the actor of a request, and whether it is trusted."""
        trusted = self.trusted(request) if callable(self.trusted) else self.trusted
        return {"actor": self.actor(request), "trusted": trusted}

    def close(self) -> None:
        """Stop listening, and wait until everything heard is learned."""
        self.uninstall()
        self.flush()

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until all answers heard so far are learned; False after ``timeout`` seconds.

        It blocks: on an event loop, await :meth:`aflush`.
        """
        return self._learner.flush(timeout)

    aflush = in_thread(flush)

    @property
    def lessons(self) -> tuple[Outcome, ...]:
        """The outcomes of the latest answers, oldest first: what was learned, or why nothing.

        Those of all tenants; :meth:`outcomes` selects. ``index.lessons()`` lists what an index
        has learned, from all processes.
        """
        return self._learner.journal.latest

    def outcomes(self, answer: Any = None, *, namespace: str | None = None) -> tuple[Outcome, ...]:
        """Return the outcomes of an answer, or of the latest answers of one tenant, oldest first.

        Parameters
        ----------
        answer : str or other, optional
            As for :meth:`feedback`. Left out, all of them.
        namespace : str, optional
            Left out, that of the request.
        """
        whose = self._whose(namespace)
        names = None if answer is None else set(self._names_of(answer))
        return tuple(
            outcome
            for outcome in self.lessons
            if (whose is None or whose in outcome.namespaces)
            and (names is None or not names.isdisjoint(outcome.names))
        )

    @property
    def counts(self) -> dict[str, int]:
        """How many answers there were, by outcome."""
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
        """Judge an answer: thumbs up or down. The last verdict holds.

        Up teaches what the answer cited, if that was not taught yet. Down takes back what the
        answer taught, and rejects what it cited.

        Parameters
        ----------
        answer : str or other
            The id that the request gave its answer, or another name; the class says which.
        good : bool
        cited : sequence of str, optional
            The ids of the chunks to judge, in place of those that the answer cited. If the
            answer is not remembered, the name must be a recall's.
        outdated : mapping of str to str, optional
            With a thumb down: maps chunks that no longer hold to those that do, as for
            ``index.reinforce``.
        actor : str, optional
            Left out, the request's.
        trusted : bool
            Whether the application vouches for the verdict, as for an editor's.
        namespace : str, optional
            The namespace of the answer. Left out, that of the request, if this is called within
            one, or that of the retriever. Needed over a pool for names that are not random, and
            wherever several namespaces have an answer of this name.

        Returns
        -------
        list of Feedback
            Empty if the answer cited nothing; its :class:`~hebbgraph.citations.Outcome` says why.

        Raises
        ------
        NotFoundError
            If the answer is not, or no longer, remembered.
        ParameterError
            If several tenants may have an answer of this name, and no namespace is given.
            Nothing is judged then.
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

    def _by_name(self, answer: Any, call: Callable[[str], _T]) -> _T:
        """Call with the first of an answer's names that is known."""
        *likely, last = self._names_of(answer)
        for name in likely:
            try:
                return call(name)
            except NotFoundError:
                continue
        return call(last)


def _home_of(given: Any) -> tuple[Any, str | None]:
    """Return the index or pool of a learner's ``index``, and the namespace of a retriever."""
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
