"""The options of a learner, and of a verdict: what they may be, and what they mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias, TypedDict

from hebbgraph.arguments import check_actor
from hebbgraph.citations.cited import Judge
from hebbgraph.citations.credit import TeachableIndex, TeachablePool, pool_of
from hebbgraph.citations.outcomes import Outcome
from hebbgraph.errors import ParameterError
from hebbgraph.records import Feedback

__all__ = [
    "NAMESPACE",
    "Actor",
    "LearnerOptions",
    "Trusted",
    "actor_by",
    "check_options",
    "check_verdict",
    "home_of",
    "user_id",
]

Actor: TypeAlias = Callable[[Mapping[str, Any]], str | None]
"""From a request's metadata to the name that its lessons are attributed to, or None."""

Trusted: TypeAlias = bool | Callable[[Mapping[str, Any]], bool]
"""Whether the application vouches for citations, or a callable that says so of metadata."""


class LearnerOptions(TypedDict, total=False):
    """All options of a learner except its index, for type checkers."""

    actor: Actor | str | None
    trusted: Trusted
    judge: Judge | None
    implicit: bool
    learn_on: Literal["citation", "approval"]
    remember: int
    on_lesson: Callable[[Feedback], object] | None
    on_answer: Callable[[Outcome], object] | None


NAMESPACE = "hebbgraph_namespace"
"""The field of a request's metadata that names its namespace."""

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
        if (name := _name_of(user)) is not None:
            return name
    return None


def _name_of(user: object) -> str | None:
    is_named = user is not None and not isinstance(user, bool) and str(user).strip()
    return str(user) if is_named else None


def actor_by(actor: Actor | str | None) -> Actor:
    """Return a callable that names a request's actor: given, one name for all, or :func:`user_id`.

    >>> actor_by("ida")({}), actor_by(None)({"user_id": 7}), actor_by(len)({"user_id": 7})
    ('ida', '7', '1')
    """
    if actor is None:
        return user_id
    if isinstance(actor, str):
        check_actor(actor)
        return lambda metadata: actor
    if not callable(actor):
        raise ParameterError(
            f"actor is a name, or a callable from a request's metadata to one; got {actor!r:.80}"
        )
    return lambda metadata: _name_of(actor(metadata))


def check_options(
    learn_on: object,
    implicit: object,
    judge: object,
    trusted: object,
    remember: object,
    **callbacks: object,
) -> None:
    """Raise ParameterError for an option of a learner that is none."""
    if not isinstance(remember, int) or isinstance(remember, bool) or remember < 0:
        raise ParameterError(f"remember is a whole number, 0 or more, got {remember!r:.80}")
    if not (isinstance(trusted, bool) or callable(trusted)):
        raise ParameterError(
            "trusted is True, False, or a callable that says so of a request's metadata; "
            f"got {trusted!r:.80}"
        )
    if not isinstance(implicit, bool):
        raise ParameterError(f"implicit is True or False, got {implicit!r:.80}")
    if learn_on not in ("citation", "approval"):
        raise ParameterError(f"learn_on is 'citation' or 'approval', got {learn_on!r}")
    for name, callback in callbacks.items():
        if not (callback is None or callable(callback)):
            raise ParameterError(f"{name} is a callable, got {callback!r:.80}")
    if not (judge is None or callable(judge)):
        raise ParameterError(
            "judge is a callable from a sentence and the text of a source to whether that "
            f"supports it; got {judge!r:.80}"
        )


def check_verdict(
    good: object, cited: object, outdated: Mapping[str, str] | None, trusted: object
) -> None:
    """Raise ParameterError for a verdict that says nothing."""
    if not isinstance(good, bool):
        raise ParameterError(f"good is True (thumbs up) or False (thumbs down), got {good!r}")
    if not isinstance(trusted, bool):
        raise ParameterError(f"trusted is True or False, got {trusted!r:.80}")
    if isinstance(cited, str):
        raise ParameterError(f"cited is a list of chunk ids, got {cited!r}; put it in a list")
    if cited is not None and not (cited or outdated):
        raise ParameterError("cited names no chunk; leave it out to judge what the answer cited")
    if outdated is not None and good:
        raise ParameterError("outdated= says what was wrong in an answer: give good=False")


def home_of(given: Any) -> tuple[Any, str | None]:
    """Return the index or pool of a learner's ``index``, and the namespace of a retriever."""
    if isinstance(given, type):
        raise ParameterError(f"index is an object, got the class {given.__name__}; make one of it")
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
