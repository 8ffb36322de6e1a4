"""Many namespaces with few of them open, for applications with a namespace per tenant."""

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
class _Entry:
    """An index of the pool, and how many callers use it now."""

    users: int = 0
    index: HebbianIndex | None = None
    opening: threading.Lock = field(default_factory=threading.Lock)


class IndexPool(Closing):
    """Indexes of the namespaces of one location, opened on first use.

    At most ``max_open`` stay open; the least recently used one is closed first. An index in use is
    never closed, so more are open while more are in use at once.

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
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._closed = False
        #: Namespaces whose recalls are kept, even after their index was closed and reopened.
        self._keeping: set[str] = set()
        #: All callers of a namespace share one object, so that learners recognise it.
        self._pooled: weakref.WeakValueDictionary[str, PooledIndex] = weakref.WeakValueDictionary()

    def __getitem__(self, namespace: str) -> PooledIndex:
        """Return the index of a namespace, which opens when it is used."""
        if not isinstance(namespace, str):
            raise ParameterError(
                f"a namespace is named by a str, got {namespace!r:.80}; write pool[str(tenant)]"
            )
        with self._lock:
            index = self._pooled.get(namespace)
            if index is None:
                index = self._pooled[namespace] = PooledIndex(self, namespace)
            return index

    #: Not iterable; :meth:`namespaces` lists the namespaces.
    __iter__ = None
    __contains__ = None

    def __len__(self) -> int:
        """Return how many indexes are open."""
        with self._lock:
            return len(self._entries)

    def __repr__(self) -> str:
        return f"IndexPool({str(self.location)!r}, max_open={self.max_open})"

    def namespaces(self) -> list[str]:
        """Return the sorted names of all namespaces at the location, without opening any."""
        settings = self._options.get("settings")
        settings = settings if isinstance(settings, Settings) else Settings()
        return namespaces_at(self.location, settings.write_wait_seconds)

    @contextmanager
    def lend(self, namespace: str) -> Iterator[HebbianIndex]:
        """Yield the open index of a namespace; it stays open within the block."""
        if not namespace:
            raise ParameterError("no namespace is named; pool['anna'] is the index of one tenant")
        entry = self._take(namespace)
        try:
            with entry.opening:
                if entry.index is None or entry.index.is_closed:  # its namespace was dropped
                    entry.index = HebbianIndex.open(
                        self.location, namespace=namespace, **self._options
                    )
                    if namespace in self._keeping:
                        entry.index.keep_recalls()
            yield entry.index
        except NamespaceNotFoundError as error:
            if not error.existing:
                raise
            # The caller may be a tenant, who must not learn of others.
            raise NamespaceNotFoundError.of(error.namespace) from None
        finally:
            self._give_back(namespace, entry)

    def _take(self, namespace: str) -> _Entry:
        with self._lock:
            if self._closed:
                raise ClosedIndexError(f"{self!r} is closed; make another one")
            entry = self._entries.setdefault(namespace, _Entry())
            self._entries.move_to_end(namespace)
            entry.users += 1
        return entry

    def _give_back(self, namespace: str, entry: _Entry) -> None:
        with self._lock:
            entry.users -= 1
            if entry.index is None and not entry.users:  # opening failed
                self._entries.pop(namespace, None)
            surplus = self._surplus()
        _close(surplus)

    def _surplus(self) -> list[_Entry]:
        """Remove and return idle indexes beyond the limit, the least recently used first."""
        most = 0 if self._closed else self.max_open
        idle = [name for name, entry in self._entries.items() if not entry.users]
        return [self._entries.pop(name) for name in idle[: max(0, len(self._entries) - most)]]

    def close(self) -> None:
        """Close all indexes; one in use closes when its last user returns it."""
        with self._lock:
            self._closed = True
            surplus = self._surplus()
        _close(surplus)


def _close(surplus: list[_Entry]) -> None:
    for entry in surplus:
        if entry.index is not None:
            entry.index.close()


class PooledIndex(HebbianIndex):
    """An index of an :class:`IndexPool`, usable wherever a HebbianIndex is.

    Each call borrows the open index from the pool, so this object stays valid as long as the pool,
    for a learner for example. Closing it does nothing, since the pool closes its indexes.
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
    """Add all other public members of HebbianIndex to PooledIndex."""
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
