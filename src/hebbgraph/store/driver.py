"""What differs between database systems."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

from hebbgraph.errors import ConnectionLostError, StorageError
from hebbgraph.store import schema

__all__ = ["Connection", "Cursor", "DatabaseDriver"]


class Cursor(Protocol):
    """The result of a statement."""

    @property
    def rowcount(self) -> int: ...
    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...


class Connection(Protocol):
    """A connection in a transaction. ``?`` marks a parameter; rows are tuples."""

    def execute(self, sql: str, values: Sequence[Any] = ..., /) -> Cursor: ...
    def executemany(self, sql: str, rows: Iterable[Sequence[Any]], /) -> Cursor: ...
    def rollback(self) -> None: ...


class DatabaseDriver(Protocol):
    """What differs between database systems; the statements are the same.

    Attributes
    ----------
    name : str
        The system.
    place : str
        Names this database in messages.
    owns_whole_database : bool
        Whether tables of other applications are refused.
    errors : tuple of type
        The errors that the driver raises.
    types : mapping
        See :data:`hebbgraph.store.schema.Types`.
    tables, last_number : str
        Queries for the names of all tables, and the number of the row inserted last.
    for_update : str
        Appended to a query, locks its rows against other writers.
    """

    name: str
    place: str
    read_only: bool
    wait_seconds: float
    owns_whole_database: bool
    errors: tuple[type[Exception], ...]
    types: schema.Types
    tables: str
    last_number: str
    for_update: str

    def transaction(self, *, writing: bool) -> contextlib.AbstractContextManager[Any]: ...
    def commit(self, connection: Any) -> None: ...
    def ask(self, sql: str, values: Sequence[Any]) -> list[Any]: ...
    def exclude_others(self, connection: Any) -> None: ...
    def translate(self, error: Exception) -> StorageError | None: ...
    def is_refused(self, error: ConnectionLostError) -> bool: ...
    def check_place(self, *, written: bool = False) -> None: ...
    def vacuum(self, tables: Sequence[str]) -> None: ...
    def problems(self, connection: Any) -> list[str]: ...
    def disconnect(self) -> None: ...
    def dispose(self) -> None: ...
