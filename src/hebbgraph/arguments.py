"""Checks of arguments that the index and the adapters share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any, ParamSpec, TypeVar

from hebbgraph.errors import ParameterError
from hebbgraph.limits import MAX_ID, MAX_K

__all__ = [
    "agreed_namespace",
    "check_actor",
    "check_ids",
    "check_k",
    "check_list",
    "check_names",
    "check_str",
    "known_names",
    "one_of",
]

_P = ParamSpec("_P")
_T = TypeVar("_T")


def check_k(k: object, name: str = "k") -> None:
    """Raise ParameterError unless k is a valid number of hits."""
    if not isinstance(k, int) or isinstance(k, bool) or not 1 <= k <= MAX_K:
        raise ParameterError(f"{name} is a whole number from 1 to {MAX_K}, got {k!r}")


def check_list(
    values: Any, kind: Any, name: str, of: str, hints: Mapping[Any, str] | None = None
) -> list[Any]:
    """Return the values of an argument as a list; raise ParameterError if one is of another kind.

    Parameters
    ----------
    values : iterable
    kind : type or union
    name, of : str
        Names of the argument and of the kind, for messages.
    hints : mapping, optional
        From types that callers pass by mistake to what they should do.

    Examples
    --------
    >>> check_list("petrel", str, "ids", "str")
    Traceback (most recent call last):
    hebbgraph.errors.ParameterError: ids is a list of str, got 'petrel'; put it in a list
    """
    if isinstance(values, kind):
        one = repr(values)[:80] if isinstance(values, str) else f"one {type(values).__name__}"
        raise ParameterError(f"{name} is a list of {of}, got {one}; put it in a list")
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ParameterError(f"{name} is a list of {of}, got {values!r:.80}")
    checked = list(values)
    for value in checked:
        if not isinstance(value, kind):
            hint = (hints or {}).get(type(value))
            reason = f"; {hint}" if hint else ""
            raise ParameterError(f"{name} is a list of {of}, got {value!r:.80} in it{reason}")
    return checked


def check_names(
    names: Iterable[str],
    known: Iterable[str],
    *,
    of: str,
    instead: Mapping[str, str] | None = None,
) -> None:
    """Raise ParameterError for an unknown argument, and suggest the one that was meant.

    Parameters
    ----------
    names, known : iterable of str
        Names of arguments: those passed, and those that exist.
    of : str
        The function or class that takes them, for the message.
    instead : mapping, optional
        Hints for names that other libraries use.

    Examples
    --------
    >>> check_names(["lokation"], ["location", "k"], of="open")
    Traceback (most recent call last):
    hebbgraph.errors.ParameterError: open has no argument 'lokation'; did you mean 'location'?
    """
    known = list(known)
    for name in names:
        if name in known:
            continue
        close = get_close_matches(name, known, n=1)
        if instead and name in instead:
            hint = instead[name]
        elif close:
            hint = f"did you mean {close[0]!r}?"
        else:
            hint = f"it takes {', '.join(known)}"
        raise ParameterError(f"{of} has no argument {name!r}; {hint}")


def known_names(method: Callable[_P, _T]) -> Callable[_P, _T]:
    """Make a method suggest the argument that was meant when it gets an unknown one.

    The message names the class of the object; Python's own would name the defining class.

    Examples
    --------
    >>> class Door:
    ...     @known_names
    ...     def open(self, *, wide=False):
    ...         return wide
    >>> Door().open(wde=True)
    Traceback (most recent call last):
    hebbgraph.errors.ParameterError: Door.open has no argument 'wde'; did you mean 'wide'?
    """
    parameters = [*inspect.signature(method).parameters][1:]
    known = frozenset(parameters)

    @functools.wraps(method)
    def checked(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        if not kwargs.keys() <= known:
            owner = args[0] if isinstance(args[0], type) else type(args[0])
            check_names(kwargs, parameters, of=f"{owner.__name__}.{method.__name__}")
        return method(*args, **kwargs)

    return checked


def agreed_namespace(argument: Any, requested: Any) -> str | None:
    """Return the namespace that a call or its surrounding request names, or None.

    Raises
    ------
    ParameterError
        If they differ, since the request may be another tenant's.

    Examples
    --------
    >>> agreed_namespace("anna", None), agreed_namespace(None, 7)
    ('anna', '7')
    """
    if argument is None or requested is None:
        namespace = requested if argument is None else argument
        return None if namespace is None else str(namespace)
    if str(argument) != str(requested):
        raise ParameterError(
            f"the call names namespace {argument!r:.80}, and its request {requested!r:.80}; "
            "name one"
        )
    return str(argument)


def one_of(**spellings: Any) -> Any:
    """Return the value of an argument that has several spellings, or None.

    Raises
    ------
    ParameterError
        If two spellings were used.

    Examples
    --------
    >>> one_of(embedder=None, embedding="E")
    'E'
    """
    values = {name: value for name, value in spellings.items() if value is not None}
    if len(values) > 1:
        raise ParameterError(f"{' and '.join(values)} are one argument; give it once")
    return next(iter(values.values()), None)


def check_str(value: object, what: str) -> None:
    """Raise ParameterError unless it is a str."""
    if not isinstance(value, str):
        raise ParameterError(f"{what} is a str, got {value!r:.80}")


def check_actor(actor: object) -> None:
    """Raise ParameterError unless it may be the name of an actor."""
    if not (
        isinstance(actor, str) and actor.strip() and actor.isprintable() and len(actor) <= MAX_ID
    ):
        raise ParameterError(
            f"an actor is a printable str of at most {MAX_ID} characters, got {actor!r:.80}"
        )


def check_ids(ids: Iterable[str], what: str) -> list[str]:
    """Return ids as a list; raise ParameterError for an invalid one."""
    if not isinstance(ids, Iterable):
        raise ParameterError(f"{what} is a str, got {ids!r:.80}")
    checked = [ids] if isinstance(ids, str) else list(ids)
    for id_ in checked:
        if not (isinstance(id_, str) and id_.isprintable()):
            raise ParameterError(f"{what} is a printable str, got {id_!r:.80}")
        if len(id_) > MAX_ID:
            raise ParameterError(f"{what} has at most {MAX_ID} characters, got {len(id_)}")
    return checked
