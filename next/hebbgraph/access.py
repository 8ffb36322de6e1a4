"""What a request may read, and in whose name: one order of precedence for all adapters.

1. **What the application binds in its code** wins, always: the namespace that it opened or
   chooses, its filters, its actor.
2. **The context of the run**, which the application builds, comes next.
3. **The configuration of the request** comes last. A filter in it only narrows those of the
   application; ``user_id`` is the actor where nothing else names one.

Nothing else has a say: no tracing metadata, no text, no model.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from hebbgraph.errors import FilterError
from hebbgraph.index import HebbianIndex
from hebbgraph.limits import MAX_K
from hebbgraph.recall.hits import where_callable
from hebbgraph.recall.pipeline import Where
from hebbgraph.recall.strategies import Ranking, RankStep, Request
from hebbgraph.records import Chunk

__all__ = ["USER", "Actor", "Fields", "Namespaces", "actor_of", "fields_of", "narrowed"]

#: The field of a request that names its actor.
USER = "user_id"
Fields: TypeAlias = Mapping[str, Any]
Actor: TypeAlias = str | Callable[[Fields], str | None] | None


def fields_of(context: object, configuration: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a request says, by name: its context before its configuration.

    Parameters
    ----------
    context : mapping or object with attributes, optional
    configuration : mapping
        Names that begin with ``__`` are the framework's own, and left out.

    Examples
    --------
    >>> fields_of({"user_id": "ann"}, {"user_id": "ben", "thread_id": "7"})
    {'user_id': 'ann', 'thread_id': '7'}
    """
    named = context if isinstance(context, Mapping) else getattr(context, "__dict__", {})
    fields = {name: value for name, value in configuration.items() if not name.startswith("__")}
    return {**fields, **{name: value for name, value in named.items() if value is not None}}


def actor_of(bound: Actor, fields: Fields) -> str | None:
    """Return in whose name a request speaks; None if nobody is named.

    Examples
    --------
    >>> actor_of(None, {"user_id": 7}), actor_of("editor", {"user_id": 7})
    ('7', 'editor')
    """
    actor = bound(fields) if callable(bound) else bound
    if bound is None:
        actor = fields.get(USER)
    return None if actor is None or not str(actor).strip() else str(actor)


def narrowed(
    filters: Iterable[Where], k: int
) -> tuple[Mapping[str, Any] | None, tuple[RankStep, ...]]:
    """Return ``where`` and ``steps`` of a recall of k hits that pass all of these filters.

    Raises
    ------
    FilterError
        If one is neither a dict nor a callable.

    Examples
    --------
    >>> narrowed([{"owner": "ann"}, None, {"year": 1871}], 4)
    ({'$and': [{'owner': 'ann'}, {'year': 1871}]}, ())
    """
    dicts, functions = list[Mapping[str, Any]](), list[Callable[[Chunk], bool]]()
    for where in filters:
        if isinstance(where, Mapping):
            dicts += [where] if where else []
        elif callable(where):
            functions.append(where)
        elif where is not None:
            raise FilterError(f"a filter is a dict or a callable, got {type(where).__name__}")
    joined = {"$and": dicts} if len(dicts) > 1 else dicts[0] if dicts else None
    return joined, (_Passing(functions, k),) if functions else ()


@dataclass(frozen=True)
class _Passing(RankStep):
    """Cuts what some functions do not pass, so that a dict can filter as well."""

    functions: list[Callable[[Chunk], bool]]
    k: int

    def depth(self, k: int) -> int:
        return MAX_K

    def rank(self, request: Request, ranking: Ranking) -> Ranking:
        def passes(chunk: Chunk) -> bool:
            return all(function(chunk) for function in self.functions)

        return where_callable(request, ranking, passes, self.k)


class Namespaces:
    """Open namespaces of one index; those that were not used for the longest time are closed.

    Parameters
    ----------
    index : HebbianIndex
        Of a directory or a server.
    most : int
        How many others to keep open.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> with HebbianIndex.open(mkdtemp()) as index:
    ...     index.in_namespace("anna").close()
    ...     with Namespaces(index).opened("anna") as anna, Namespaces(index).opened("x") as none:
    ...         anna.namespace, none
    ('anna', None)
    """

    def __init__(self, index: HebbianIndex, *, most: int = 64) -> None:
        self.index = index
        self._most = most
        self._open: OrderedDict[str, HebbianIndex] = OrderedDict()
        self._used: Counter[str] = Counter()
        self._lock = threading.Lock()

    @contextmanager
    def opened(self, namespace: str) -> Iterator[HebbianIndex | None]:
        """Yield a namespace that stays open meanwhile; None if there is none of this name."""
        if namespace == self.index.namespace:
            yield self.index
            return
        with self._lock:
            index = self._open.get(namespace)
            if index is None and namespace in self.index.namespaces():
                index = self._open[namespace] = self.index.in_namespace(namespace)
            self._used[namespace] += 1
        try:
            yield index
        finally:
            with self._lock:
                self._used[namespace] -= 1
                if index is not None:
                    self._open.move_to_end(namespace)
                self._close_unused(self._most)

    def close(self) -> None:
        """Close all but the index itself."""
        with self._lock:
            self._close_unused(0)

    def _close_unused(self, most: int) -> None:
        self._used = +self._used
        unused = [name for name in self._open if name not in self._used]
        for name in unused[: max(len(self._open) - most, 0)]:
            self._open.pop(name).close()
