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

from hebbgraph.errors import FilterError, NotFoundError
from hebbgraph.index import HebbianIndex
from hebbgraph.limits import MAX_K
from hebbgraph.recall.hits import where_callable
from hebbgraph.recall.pipeline import Where
from hebbgraph.recall.strategies import Ranking, RankStep, Request
from hebbgraph.records import Chunk

__all__ = ["USER", "Actor", "Fields", "Namespaces", "Tenant", "actor_of", "fields_of", "narrowed"]

#: The field of a request that names its actor.
USER = "user_id"
Fields: TypeAlias = Mapping[str, Any]
Actor: TypeAlias = str | Callable[[Fields], str | None] | None
_Passes: TypeAlias = Callable[[Chunk], bool]


def fields_of(context: object, configuration: Fields) -> dict[str, Any]:
    """Return what a request says: its context, a mapping or an object, before its configuration."""
    named = context if isinstance(context, Mapping) else getattr(context, "__dict__", {})
    fields = {name: value for name, value in configuration.items() if not name.startswith("__")}
    return {**fields, **{name: value for name, value in named.items() if value is not None}}


def actor_of(bound: Actor, fields: Fields) -> str | None:
    """Return in whose name a request speaks; None if nobody is named."""
    actor = bound(fields) if callable(bound) else bound
    actor = fields.get(USER) if bound is None else actor
    return None if actor is None or not str(actor).strip() else str(actor)


def narrowed(filters: Iterable[Where], k: int) -> tuple[Fields | None, tuple[RankStep, ...]]:
    """Return ``where`` and ``steps`` of a recall of k hits that pass all of these filters.

    >>> narrowed([{"owner": "ann"}, None, {"year": 1871}], 4)
    ({'$and': [{'owner': 'ann'}, {'year': 1871}]}, ())
    """
    dicts, functions = list[Fields](), list[_Passes]()
    for where in filters:
        if isinstance(where, Mapping):
            dicts += [where] if where else []
        elif callable(where):
            functions.append(where)
        elif where is not None:
            raise FilterError(f"a filter is a dict or a callable, got {type(where).__name__}")
    joined = {"$and": dicts} if len(dicts) > 1 else dicts[0] if dicts else None
    passing = _Passing(lambda chunk: all(passes(chunk) for passes in functions), k)
    return joined, (passing,) if functions else ()


@dataclass(frozen=True)
class _Passing(RankStep):
    """Cuts what a function does not pass, so that a dict can filter as well."""

    passes: _Passes
    k: int

    def depth(self, k: int) -> int:
        return MAX_K

    def rank(self, request: Request, ranking: Ranking) -> Ranking:
        return where_callable(request, ranking, self.passes, self.k)


class Namespaces:
    """Open namespaces of one index; beyond ``most``, those used longest ago are closed."""

    def __init__(self, index: HebbianIndex, *, most: int = 64) -> None:
        self.index = index
        self._most = most
        self._open: OrderedDict[str, HebbianIndex] = OrderedDict()
        self._users: Counter[str] = Counter()
        self._lock = threading.Lock()

    @contextmanager
    def opened(self, namespace: str) -> Iterator[HebbianIndex | None]:
        """Yield a namespace that stays open meanwhile; None if there is none of this name."""
        if namespace == self.index.namespace:
            yield self.index
            return
        with self._lock:
            if namespace not in self._open and namespace in self.index.namespaces():
                self._open[namespace] = self.index.in_namespace(namespace)
            self._users[namespace] += 1
        try:
            yield self._open.get(namespace)
        finally:
            with self._lock:
                self._users -= Counter([namespace])  # drops those without a user
                if namespace in self._open:
                    self._open.move_to_end(namespace)
            self.close(self._most)

    def close(self, most: int = 0) -> None:
        """Close namespaces that are not in use until no more than ``most`` are open."""
        with self._lock:
            unused = [name for name in self._open if name not in self._users]
            for name in unused[: max(len(self._open) - most, 0)]:
                self._open.pop(name).close()


class Tenant:
    """The verbs of an index in one namespace, which is open while one of them runs."""

    def __init__(self, namespaces: Namespaces, namespace: str) -> None:
        self.namespace = namespace
        self._namespaces = namespaces

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            with self._namespaces.opened(self.namespace) as index:
                if index is None:
                    raise NotFoundError(f"there is no namespace {self.namespace!r}")
                return getattr(index, verb)(*args, **options)

        return call
