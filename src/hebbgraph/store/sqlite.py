"""What is particular to SQLite: its pragmas, its transactions, its errors."""

from __future__ import annotations

import contextlib
import errno
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import StaticPool
from sqlalchemy.util import LRUCache

from hebbgraph.errors import (
    DamagedIndexError,
    DiskFullError,
    IndexLockedError,
    ReadOnlyIndexError,
    StorageError,
)
from hebbgraph.store.scrubbing import scrub

__all__ = ["SqliteDialect"]


class _Driver(SQLiteDialect_pysqlite):
    """SQLAlchemy's driver, equal to every other of its kind.

    SQLAlchemy keys compiled statements by driver, and each engine makes one of its own.
    As equals, all engines of the process share them: compiling afresh for each took
    half the time of opening a small index.
    """

    supports_statement_cache = True

    def __eq__(self, other: object) -> bool:
        return type(other) is _Driver

    def __hash__(self) -> int:
        return hash(_Driver)


registry.register("sqlite.hebbgraph", __name__, _Driver.__name__)
_COMPILED: LRUCache[Any, Any] = LRUCache(500)
#: SQL and the order of parameters of queries that are asked again and again.
_PREPARED: dict[sa.Select[Any], tuple[str, tuple[str, ...]]] = {}


class SqliteDialect:
    """See :class:`hebbgraph.store.database.Dialect`."""

    #: Whoever else may own the file: a table of theirs must not be taken for ours.
    owns_whole_database = True

    def __init__(self, place: str, *, read_only: bool, wait_seconds: float) -> None:
        self.place = place
        self.read_only = read_only
        self.wait_seconds = wait_seconds

    def engine(self, url: sa.URL) -> sa.Engine:
        """Make the engine."""
        options: dict[str, Any] = {
            "connect_args": {"timeout": self.wait_seconds, "check_same_thread": False},
            "execution_options": {"compiled_cache": _COMPILED},
        }
        if not url.database:
            options["poolclass"] = StaticPool
        engine = sa.create_engine(url.set(drivername="sqlite+hebbgraph"), **options)
        event.listen(engine, "connect", self._configure)
        event.listen(engine, "begin", self._begin)
        return engine

    def reading(self, engine: sa.Engine) -> sa.Engine:
        """Return the engine for readers: a transaction of WAL mode is one view as it is."""
        return engine

    def _configure(self, connection: Any, record: Any) -> None:
        connection.isolation_level = None  # transactions are begun by _begin
        cursor = connection.cursor()
        if not self.read_only:
            cursor.execute("PRAGMA journal_mode=WAL")
            # An acknowledged batch survives a power cut, not only a killed process.
            cursor.execute("PRAGMA synchronous=FULL")
        cursor.execute("PRAGMA cache_size=-32768")
        cursor.execute("PRAGMA secure_delete=ON")  # deleting erases
        cursor.close()

    def _begin(self, connection: sa.Connection) -> None:
        writing = connection.get_execution_options().get("writing", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")

    def ask(
        self, engine: sa.Engine, query: sa.Select[Any], bound: Mapping[str, Any]
    ) -> Sequence[Any]:
        """Return all rows of one query, by the driver: a tenth of the time of the way round.

        Outside of a transaction, one statement is one view.
        """
        prepared = _PREPARED.get(query)
        if prepared is None:
            compiled: Any = query.compile(engine)
            prepared = _PREPARED[query] = (str(compiled), tuple(compiled.positiontup))
        statement, names = prepared
        values = [bound[name] for name in names]
        try:
            connection = engine.raw_connection()
            try:
                raw: Any = connection.driver_connection
                held: list[Any] = raw.execute(statement, values).fetchall()
            finally:
                connection.close()
        except sqlite3.Error as error:
            raise DBAPIError(statement, None, error) from error
        return held

    def begin_writing(self, connection: sa.Connection) -> None:
        """Do nothing: BEGIN IMMEDIATE has waited for other writers already."""

    def exclude_others(self, connection: sa.Connection) -> None:
        """Do nothing: a writer is alone."""

    def translate(self, error: Exception) -> StorageError | None:
        """Say it in our words; None if there are none for it."""
        cause = error.orig if isinstance(error, DBAPIError) else None
        message = str(cause or error)
        name = getattr(cause, "sqlite_errorname", "")
        if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            return IndexLockedError(
                f"{self.place}: another writer held the index for more than "
                f"{self.wait_seconds:g} s; try again, or raise write_wait_seconds"
            )
        if name == "SQLITE_FULL" or "disk is full" in message:
            return DiskFullError(
                errno.ENOSPC, f"{self.place}: no space left; nothing of this batch was kept"
            )
        if name.startswith("SQLITE_READONLY"):
            return ReadOnlyIndexError(f"{self.place} is read-only: {message}")
        if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
            return DamagedIndexError(
                f"{self.place}: the database cannot be read ({message}); restore a backup"
            )
        return None

    def vacuum(self, engine: sa.Engine) -> None:
        """Give the space of deleted rows back, and leave no byte of them."""
        path = Path(engine.url.database) if engine.url.database else None
        with engine.connect() as connection:
            raw = connection.connection.driver_connection
            assert isinstance(raw, sqlite3.Connection)
            try:
                scrub(raw, path, self.wait_seconds)
            except sqlite3.Error as error:
                raise DBAPIError("VACUUM", None, error) from error

    @staticmethod
    def ask_quick_check(connection: sa.Connection) -> list[str]:
        """Return what SQLite's own check of its pages finds wrong."""
        with contextlib.closing(connection.exec_driver_sql("PRAGMA quick_check(20)")) as found:
            return [message for (message,) in found if message != "ok"]
