"""What a request may read, and in whose name: one order of precedence for all adapters.

1. **What the application binds in its code** wins, always: the namespace that it opened or
   chooses, its filters, its actor.
2. **The context of the run**, which the application builds, comes next.
3. **The configuration of the request** comes last. A filter in it only narrows those of the
   application; ``user_id`` is the actor where nothing else names one. An empty one, as of users
   who are not signed in, names nobody: the lesson has no actor.

Nothing else has a say: no tracing metadata, no text, no model.
"""

from __future__ import annotations

import threading
import warnings
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias, TypedDict

from hebbgraph.errors import FilterError, NotFoundError, ParameterError
from hebbgraph.index import HebbianIndex
from hebbgraph.protocols import Tagger
from hebbgraph.records import Recall
from hebbgraph.settings import Settings
from hebbgraph.store.forks import GATE

#: The field of a request that names its actor.
USER = "user_id"
#: Fields of a request; any other ``hebbgraph_…`` is a mistake. ``namespace_by`` may read the last.
_KNOWN = [f"hebbgraph_{n}" for n in ("k", "filter", "filters", "score_threshold", "namespace")]
Fields: TypeAlias = Mapping[str, Any]
Actor: TypeAlias = str | Callable[[Fields], str | None] | None


class OpenOptions(TypedDict, total=False):
    """What :meth:`hebbgraph.HebbianIndex.open` takes besides path and embedder."""

    namespace: str
    tagger: Tagger | None
    settings: Settings | None
    cache_dir: str | Path | None
    read_only: bool


def fields_of(context: object, configuration: Fields) -> dict[str, Any]:
    """Return what a request says: its context, a mapping or an object, before its configuration."""
    named = context if isinstance(context, Mapping) else getattr(context, "__dict__", {})
    fields = {name: value for name, value in configuration.items() if not name.startswith("__")}
    fields |= {name: value for name, value in named.items() if value is not None}
    if wrong := [n for n in fields if str(n).startswith("hebbgraph_") and n not in _KNOWN]:
        raise ParameterError(f"a request has no field {wrong[0]!r:.80}; there are {_KNOWN}")
    return fields


def actor_of(bound: Actor, fields: Fields) -> str | None:
    """Return in whose name a request speaks; None if nobody is named."""
    if callable(bound):
        actor = bound(fields)
    elif bound is None:
        actor = fields.get(USER)
    else:
        actor = bound
    return None if actor is None or not str(actor).strip() else str(actor)


def joined(filters: Iterable[Fields]) -> Fields | None:
    """Return one filter that passes what all of these pass; None if they let all pass."""
    parts = [where for where in filters if where]
    if len(parts) > 1:
        return {"$and": parts}
    return parts[0] if parts else None


def ruled(rule: Callable[[Fields], Any], fields: Fields, name: str) -> Any:
    """Return what a rule of the application makes of a request, which must say what it reads."""
    # A field such as {"$ne": "ann"} would open a filter, so no rule sees it.
    try:
        made = rule({field: value for field, value in fields.items() if not _is_condition(value)})
    except KeyError as error:
        raise ParameterError(
            f"{name} finds no {error.args[0]!r:.80} in the request; set it there"
        ) from error
    if made is None:
        raise FilterError(f"{name} returned None; return {{}} to pass everything")
    return made


def _is_condition(value: object) -> bool:
    return isinstance(value, Mapping) and any(str(key).startswith("$") for key in value)


def is_empty(index: HebbianIndex) -> bool:
    """Return whether an index has no chunk."""
    # Hits are filled up to k, and seeds keep the embedder from being asked.
    return not index.recall("?", 1, seeds=())


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
        with GATE.passed(), self._lock:
            if namespace not in self._open and namespace in self.index.namespaces():
                self._open[namespace] = self.index.in_namespace(namespace)
            self._users[namespace] += 1
        try:
            yield self._open.get(namespace)
        finally:
            with GATE.passed(), self._lock:
                self._users -= Counter([namespace])  # drops those without a user
                if namespace in self._open:
                    self._open.move_to_end(namespace)
            self.close(self._most)

    def recall(self, namespace: str, question: str, k: int, **options: Any) -> Recall:
        """Ask a namespace; warn where nothing can be found, as there is nothing of the kind."""
        if not isinstance(namespace, str):
            raise ParameterError(f"namespace_by returned {namespace!r:.80}; return its name")
        recall = Recall(id="", namespace=namespace, question="")
        with self.opened(namespace) as index:
            if index is not None:
                recall = index.recall(question, k, **options)
            notes = () if recall else recall.notes  # names with "_" are an adapter's own
            lacks = [note for note in notes if "has a field" in note and "'_" not in note]
            if not recall and (index is None or is_empty(index)):
                lacks = [f"{index!r} is empty" if index else f"there is no namespace {namespace!r}"]
            for what in lacks:
                hint = "add to it first, or check path, namespace and filter"
                warnings.warn(f"{what}, so nothing can be found; {hint}", UserWarning, stacklevel=4)
        return recall

    def close(self, most: int = 0) -> None:
        """Close namespaces that are not in use until no more than ``most`` are open."""
        with GATE.passed(), self._lock:
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
