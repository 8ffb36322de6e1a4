"""What both databases offer: transactions, tables, and one dialect of SQL for both.

SQL is written for PostgreSQL, with ``?`` for parameters, ``= ANY(?)`` for lists, and ``$name`` for
a table of the namespace. Each driver translates it once.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol, TypeVar

from hebbgraph.errors import IndexBusyError

_CACHED_BYTES = 64 << 20
_Key = TypeVar("_Key", int, str)
_Value = TypeVar("_Value")


class Session(Protocol):
    """One transaction, used by one thread."""

    #: The table of this name, in the state that the transaction sees.
    meta: dict[str, str]

    def execute(self, sql: str, parameters: Sequence[Any]) -> Any:
        """Run a statement; return its cursor."""

    def rows(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query; a parameter of ``= ANY(?)`` is a list."""
        return list(self.execute(sql, parameters).fetchall())

    def run(self, sql: str, *parameters: Any) -> int:
        """Run a statement; return how many rows it changed."""
        return int(self.execute(sql, parameters).rowcount)

    def many(self, sql: str, parameters: Iterable[Sequence[Any]]) -> None:
        """Run a statement once for each row of parameters."""


class Database(Protocol):
    """A namespace in SQLite or PostgreSQL."""

    #: Identifies the namespace on this machine, for files in a cache folder.
    cache_key: str
    #: Where files can be put next to the database.
    folder: Path | None

    def read(self) -> AbstractContextManager[Session]:
        """Open a transaction that sees one state of the database and changes nothing."""

    def write(self) -> AbstractContextManager[Session]:
        """Open a transaction that commits at the end, or changes nothing if it raises."""

    def erase_log(self, wait: float) -> bool:
        """Overwrite what was deleted, waiting for readers; return whether nothing of it is left."""

    def check(self) -> list[str]:
        """Return what the database itself finds damaged."""

    def backup(self, path: Path) -> None:
        """Write a copy of one state of the namespace to a new file."""

    def close(self) -> None:
        """Release all connections."""


@contextmanager
def one_writer(lock: threading.RLock, wait: float, name: str) -> Iterator[None]:
    """Let the writers of this process take turns, which is fairer than a database's polling."""
    try:
        if not lock.acquire(timeout=max(wait, 0.001)):
            raise IndexBusyError(f"{name}: another thread is writing; try again")
        yield
    finally:
        # A signal may arrive between acquiring and knowing it, but the lock knows its owner.
        with suppress(RuntimeError):
            lock.release()


class Cache:
    """What was read of one state, by table and key; the state is a value of the change counter."""

    def __init__(self, changes: int = -1) -> None:
        self.changes = changes
        self.size = 0
        self.tables: defaultdict[str, dict[Any, Any]] = defaultdict(dict)

    def known(
        self,
        table: str,
        keys: Iterable[_Key],
        read: Callable[[list[_Key]], Mapping[_Key, _Value]],
        size: int | Callable[[_Value], int],
    ) -> dict[_Key, _Value]:
        """Return what is known of keys; what is not known yet is read, of some bytes each."""
        held, wanted = self.tables[table], list(keys)
        with suppress(KeyError):  # mostly all is known
            return {key: held[key] for key in wanted}
        held.update(found := read([key for key in wanted if key not in held]))
        self.size += sum(map(size, found.values())) if callable(size) else size * len(found)
        return {key: held[key] for key in wanted}


class Caches:
    """The cache of the newest state that anybody has read."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._newest = Cache()

    def at(self, changes: int) -> Cache:
        """Return the cache of a state; one that nobody else sees for an older state."""
        with self._lock:
            is_full = changes == self._newest.changes and self._newest.size > _CACHED_BYTES
            if changes > self._newest.changes or is_full:
                self._newest = Cache(changes)
            return self._newest if changes == self._newest.changes else Cache(changes)


def pages(session: Session, sql: str, size: int) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the rows of a query that asks for the first column ``> ?``, in its order."""
    last = -1
    while page := session.rows(f"{sql} LIMIT ?", last, size):
        last = page[-1][0]
        yield page


SCHEMA_VERSION = 2
#: The rules by which texts become terms. Increase it with each rule that changes.
TEXT_VERSION = 8
#: Characters of a text in metadata. Longer ones are not indexed: PostgreSQL cannot.
LONG = 300


def create_statements(**types: str) -> list[str]:
    """Return the statements of ``schema.sql``, which make the tables, with names of types."""
    filled = files(__package__).joinpath("schema.sql").read_text("utf-8").partition("\n\n")[2]
    for name, sql in {"LONG": str(LONG), **types}.items():
        filled = filled.replace(f"{{{name}}}", sql)
    return [statement.strip() for statement in filled.split(";") if statement.strip()]
