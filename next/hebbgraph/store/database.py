"""What both databases offer: transactions, and one dialect of SQL for both.

SQL is written for PostgreSQL, with ``?`` for parameters, ``= ANY(?)`` for lists, and ``$name`` for
a table of the namespace. Each driver translates it once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

__all__ = ["Database", "Session", "pages"]


class Session(Protocol):
    """One transaction, used by one thread."""

    #: The table of this name, in the state that the transaction sees.
    meta: dict[str, str]

    def rows(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query; a parameter of ``= ANY(?)`` is a list."""
        ...

    def run(self, sql: str, *parameters: Any) -> int:
        """Run a statement; return how many rows it changed."""
        ...

    def many(self, sql: str, parameters: Iterable[Sequence[Any]]) -> None:
        """Run a statement once for each row of parameters."""
        ...


class Database(Protocol):
    """A namespace in SQLite or PostgreSQL."""

    #: Identifies the namespace on this machine, for files in a cache folder.
    cache_key: str
    #: Where files can be put beside the database.
    folder: Path | None

    def read(self) -> AbstractContextManager[Session]:
        """Open a transaction that sees one state of the database and changes nothing."""
        ...

    def write(self) -> AbstractContextManager[Session]:
        """Open a transaction that commits at the end, or changes nothing if it raises."""
        ...

    def erase_log(self, wait: float) -> bool:
        """Overwrite what was deleted, waiting for readers; return whether nothing of it is left."""
        ...

    def check(self) -> list[str]:
        """Return what the database itself finds damaged."""
        ...

    def backup(self, path: Path) -> None:
        """Write a copy of one state of the namespace to a new file."""
        ...

    def close(self) -> None:
        """Release all connections."""
        ...


def pages(session: Session, sql: str, size: int) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the rows of a query that asks for the first column ``> ?``, in its order."""
    last = -1
    while page := session.rows(f"{sql} LIMIT ?", last, size):
        last = page[-1][0]
        yield page
