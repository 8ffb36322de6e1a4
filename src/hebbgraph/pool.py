"""Many namespaces, few of them open: for applications with a namespace for each tenant."""

from __future__ import annotations

import functools
import inspect
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hebbgraph.arguments import check_names
from hebbgraph.calling import Closing, in_thread
from hebbgraph.errors import ClosedIndexError, NamespaceNotFoundError, ParameterError
from hebbgraph.hebbian_index import HebbianIndex, public_members
from hebbgraph.inspect.log import Log
from hebbgraph.inspect.maintenance import Maintenance
from hebbgraph.inspect.tags import Tags
from hebbgraph.inspect.view import Inspection
from hebbgraph.opening import namespaces_at
from hebbgraph.settings import Settings

__all__ = ["IndexPool", "PooledIndex"]

_ROOMS = {"tags": Tags, "log": Log, "inspect": Inspection, "maintenance": Maintenance}


@dataclass(eq=False)
class _Held:
    """An index of the pool, and how many use it now."""

    users: int = 0
    index: HebbianIndex | None = None
    opening: threading.Lock = field(default_factory=threading.Lock)


class IndexPool(Closing):
    """Indexes of the namespaces of one location, opened when they are asked.

    At most ``max_open`` stay open; whichever was used least recently closes. An index that is in
    use is never closed, so there can be more for as long as more are in use at once.

    Parameters
    ----------
    location : str or Path
        A directory or a database URL.
    max_open : int, at least 1
    **options
        For :meth:`HebbianIndex.open`: ``embedder``, ``settings``, ``tagger``, ...

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, IndexPool(folder, max_open=2) as pool:
    ...     for tenant in ("anna", "bert", "cleo"):
    ...         report = pool[tenant].add([f"A note of {tenant}."])
    ...     print(pool["anna"].recall("Whose note is it?").hits[0].chunk.text, len(pool))
    A note of anna. 2
    """

    def __init__(self, location: str | Path, *, max_open: int = 32, **options: Any) -> None:
        if str(location) == ":memory:":
            raise ParameterError(
                "an index in memory is gone when it closes, and a pool closes indexes; give the "
                "pool a directory or a database URL"
            )
        if not isinstance(max_open, int) or isinstance(max_open, bool) or max_open < 1:
            raise ParameterError(f"max_open is a whole number of at least 1, got {max_open!r}")
        known = set(inspect.signature(HebbianIndex.open).parameters) - {"location", "namespace"}
        check_names(
            options,
            sorted(known),
            of="IndexPool",
            instead={"namespace": 'ask for it: pool["tenant"]'},
        )
        self.location = location
        self.max_open = max_open
        self._options = options
        self._lock = threading.Lock()
        self._held: OrderedDict[str, _Held] = OrderedDict()
        self._closed = False
        #: Whose recalls are to be kept, however often their index closes.
        self._keeping: set[str] = set()
        #: Whoever asks for a namespace gets one object, so that it is known again.
        self._lent: weakref.WeakValueDictionary[str, PooledIndex] = weakref.WeakValueDictionary()

    def __getitem__(self, namespace: str) -> PooledIndex:
        """Return the index of a namespace, which opens when it is used."""
        if not isinstance(namespace, str):
            raise ParameterError(
                f"a namespace is named by a str, got {namespace!r:.80}; write pool[str(tenant)]"
            )
        with self._lock:
            index = self._lent.get(namespace)
            if index is None:
                index = self._lent[namespace] = PooledIndex(self, namespace)
            return index

    #: A pool is asked by name: which namespaces there are, :meth:`namespaces` says.
    __iter__ = None
    __contains__ = None

    def __len__(self) -> int:
        """Return how many indexes are open."""
        with self._lock:
            return len(self._held)

    def __repr__(self) -> str:
        return f"IndexPool({str(self.location)!r}, max_open={self.max_open})"

    def namespaces(self) -> list[str]:
        """Return the names of all namespaces at the location, sorted; none of them is opened."""
        settings = self._options.get("settings")
        waited = settings if isinstance(settings, Settings) else Settings()
        return namespaces_at(self.location, waited.write_wait_seconds)

    @contextmanager
    def lend(self, namespace: str) -> Iterator[HebbianIndex]:
        """Yield the open index of a namespace; it stays open within the block."""
        held = self._take(namespace)
        try:
            with held.opening:
                if held.index is None or held.index.is_closed:  # its namespace was dropped
                    held.index = HebbianIndex.open(
                        self.location, namespace=namespace, **self._options
                    )
                    if namespace in self._keeping:
                        held.index.keep_recalls()
            yield held.index
        except NamespaceNotFoundError as error:
            if not error.existing:
                raise
            # Who asks may be a tenant, and is told of no other.
            raise NamespaceNotFoundError.of(error.namespace) from None
        finally:
            self._give_back(namespace, held)

    def _take(self, namespace: str) -> _Held:
        with self._lock:
            if self._closed:
                raise ClosedIndexError(f"{self!r} is closed; make another one")
            held = self._held.setdefault(namespace, _Held())
            self._held.move_to_end(namespace)
            held.users += 1
        return held

    def _give_back(self, namespace: str, held: _Held) -> None:
        with self._lock:
            held.users -= 1
            if held.index is None and not held.users:  # it could not be opened
                self._held.pop(namespace, None)
            surplus = self._surplus()
        _close(surplus)

    def _surplus(self) -> list[_Held]:
        """Take out what is beyond the bound and not in use, the least recently used first."""
        most = 0 if self._closed else self.max_open
        idle = [name for name, held in self._held.items() if not held.users]
        return [self._held.pop(name) for name in idle[: max(0, len(self._held) - most)]]

    def close(self) -> None:
        """Close all indexes; those in use as soon as they no longer are."""
        with self._lock:
            self._closed = True
            surplus = self._surplus()
        _close(surplus)


def _close(surplus: list[_Held]) -> None:
    for held in surplus:
        if held.index is not None:
            held.index.close()


class PooledIndex(HebbianIndex):
    """An index of an :class:`IndexPool`; it fits wherever a HebbianIndex does.

    Each call borrows the open index from the pool, so this object can be kept for as long as the
    pool lives, by a learner for example. Closing it does nothing: the pool closes.
    """

    def __init__(self, pool: IndexPool, namespace: str) -> None:
        self._pool = pool
        self._namespace = namespace

    @property
    def pool(self) -> IndexPool:
        """The pool that it borrows from."""
        return self._pool

    @property
    def namespace(self) -> str:
        """The namespace that this object reads and writes."""
        return self._namespace

    def keep_recalls(self) -> None:
        """Keep recent recalls from now on; see :meth:`hebbgraph.HebbianIndex.keep_recalls`."""
        with self._pool.lend(self.namespace) as index:
            self._pool._keeping.add(self.namespace)
            index.keep_recalls()

    def close(self) -> None:
        """Do nothing: the pool closes its indexes."""

    async def aclose(self) -> None:
        """Do nothing: the pool closes its indexes."""

    def __repr__(self) -> str:
        return f"PooledIndex({str(self._pool.location)!r}, namespace={self.namespace!r})"


def _borrowing(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(self: PooledIndex, *args: Any, **kwargs: Any) -> Any:
        with self._pool.lend(self.namespace) as index:
            return getattr(index, name)(*args, **kwargs)

    return call


def _borrowed(name: str, value: property) -> property:
    def read(self: PooledIndex) -> Any:
        with self._pool.lend(self.namespace) as index:
            return getattr(index, name)

    return property(read, doc=value.__doc__)


def _borrowed_room(room: str, kind: type) -> property:
    """Return a room of a pooled index: each call of a method borrows the index."""

    def method(name: str) -> Callable[..., Any]:
        @functools.wraps(getattr(kind, name))
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            with self.pool.lend(self.namespace) as index:
                return getattr(getattr(index, room), name)(*args, **kwargs)

        return call

    def open_room(self: Any, pooled: PooledIndex) -> None:
        self.pool, self.namespace = pooled._pool, pooled.namespace

    members: dict[str, Any] = {"__init__": open_room, "__doc__": kind.__doc__}
    for name, value in vars(kind).items():
        if name.startswith("_") and name != "__call__":
            continue
        if inspect.iscoroutinefunction(value):
            members[name] = in_thread(method(name.removeprefix("a")))
        else:
            members[name] = method(name)
    borrowed = type(kind.__name__, (), members)
    return property(borrowed, doc=kind.__doc__)


def _complete() -> None:
    """Give PooledIndex whatever else a HebbianIndex has in public."""
    for name, value in public_members().items():
        if name in vars(PooledIndex):
            continue
        if name in _ROOMS:
            setattr(PooledIndex, name, _borrowed_room(name, _ROOMS[name]))
        elif isinstance(value, property):
            setattr(PooledIndex, name, _borrowed(name, value))
        elif inspect.iscoroutinefunction(value):
            twin = name.removeprefix("a")
            setattr(PooledIndex, name, in_thread(_borrowing(twin, getattr(HebbianIndex, twin))))
        elif inspect.isfunction(value):
            setattr(PooledIndex, name, _borrowing(name, value))


_complete()
