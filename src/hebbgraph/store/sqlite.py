"""What is particular to SQLite: pragmas, transactions, erasing and errors."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

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
from hebbgraph.store.forks import Connection

__all__ = ["SqliteDialect", "scrub"]


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

    #: A file with tables of another application is refused.
    owns_whole_database = True

    def __init__(self, place: str, *, read_only: bool, wait_seconds: float) -> None:
        self.place = place
        self.read_only = read_only
        self.wait_seconds = wait_seconds
        self._path: Path | None = None
        self._file_name: str | None = None
        self._file: tuple[int, int] | None = None  # device and inode
        self._has_log = False
        #: A connection for :meth:`ask`, two if threads asked at once: taking one from the pool
        #: and giving it back would take longer than most answers.
        self._idle: list[sa.PoolProxiedConnection] = []

    def engine(self, url: sa.URL) -> sa.Engine:
        """Create the engine."""
        options: dict[str, Any] = {
            "connect_args": {
                "timeout": self.wait_seconds,
                "check_same_thread": False,
                "factory": Connection,
            },
            "execution_options": {"compiled_cache": _COMPILED},
        }
        if url.database:
            name = url.database.removeprefix("file:")
            self._path = Path(name if name is url.database else unquote(name))
            self._file_name = str(self._path)  # a Path spells itself out at each use
        else:
            options["poolclass"] = StaticPool
        engine = sa.create_engine(url.set(drivername="sqlite+hebbgraph"), **options)
        event.listen(engine, "connect", self._configure)
        event.listen(engine, "begin", self._begin)
        event.listen(engine, "engine_disposed", self._disposed)
        return engine

    def reading(self, engine: sa.Engine) -> sa.Engine:
        """Return the engine for readers: in WAL mode any transaction is one view."""
        return engine

    def _configure(self, connection: Any, record: Any) -> None:
        connection.isolation_level = None  # transactions are begun by _begin
        cursor = connection.cursor()
        if not self.read_only:
            self._has_log = cursor.execute("PRAGMA journal_mode=WAL").fetchone() == ("wal",)
            # An acknowledged batch survives a power cut, not only a kill.
            cursor.execute("PRAGMA synchronous=FULL")
        cursor.execute("PRAGMA cache_size=-32768")
        cursor.execute("PRAGMA secure_delete=ON")  # deleting erases
        cursor.close()
        if self._file is None:
            self._file = self._file_there()

    def _disposed(self, engine: sa.Engine) -> None:
        while self._idle:
            self._idle.pop().invalidate()

    def _file_there(self) -> tuple[int, int] | None:
        if self._file_name is None:
            return None
        try:
            found = os.stat(self._file_name)
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def check_place(self, *, written: bool = False) -> None:
        """Raise StorageError if the files that are open are no longer there.

        Whatever is written to files that are gone is lost; what is read is what once was.

        Parameters
        ----------
        written : bool
            Whether something was, so that there is a write-ahead log.
        """
        if self._path is None or self._file is None:
            return
        there = self._file_there()
        # SQLite keeps its log beside the file that a link leads to.
        gone = (
            written and self._has_log and not os.path.exists(f"{os.path.realpath(self._path)}-wal")
        )
        if there != self._file or gone:
            what = "removed" if there is None or gone else "replaced"
            raise StorageError(
                f"{self.place}: the database was {what} while it was open; this call does not "
                "count: open the index again"
            )

    def _begin(self, connection: sa.Connection) -> None:
        writing = connection.get_execution_options().get("writing", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")

    def ask(
        self, engine: sa.Engine, query: sa.Select[Any], bound: Mapping[str, Any]
    ) -> Sequence[Any]:
        """Return all rows of one query, by the driver directly: a tenth of the time.

        One statement is one view without a transaction.
        """
        prepared = _PREPARED.get(query)
        if prepared is None:
            compiled: Any = query.compile(engine)
            prepared = _PREPARED[query] = (str(compiled), tuple(compiled.positiontup))
        statement, names = prepared
        values = [bound[name] for name in names]
        try:
            try:
                connection = self._idle.pop()
            except IndexError:
                connection = engine.raw_connection()
            try:
                raw: Any = connection.driver_connection
                held: list[Any] = raw.execute(statement, values).fetchall()
            except BaseException:
                connection.close()
                raise
            if self._idle:
                connection.close()
            else:
                self._idle.append(connection)
        except sqlite3.Error as error:
            raise DBAPIError(statement, None, error) from error
        return held

    def begin_writing(self, connection: sa.Connection) -> None:
        """Do nothing: BEGIN IMMEDIATE has waited for other writers."""

    def exclude_others(self, connection: sa.Connection) -> None:
        """Do nothing: there is one writer at a time."""

    def translate(self, error: Exception) -> StorageError | None:
        """Return our error for it, if there is one."""
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
        if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")) or "decode to UTF-8" in message:
            return DamagedIndexError(
                f"{self.place}: the database cannot be read ({message}); restore a backup"
            )
        return None

    def vacuum(self, engine: sa.Engine) -> None:
        """Free the space of deleted rows, and leave no byte of them."""
        path = Path(engine.url.database) if engine.url.database else None
        with engine.connect() as connection:
            raw = connection.connection.driver_connection
            assert isinstance(raw, sqlite3.Connection)
            try:
                scrub(raw, path, self.wait_seconds)
            except sqlite3.Error as error:
                raise DBAPIError("VACUUM", None, error) from error

    def is_refused(self, error: Exception) -> bool:
        """Return False: there is no server."""
        return False

    @staticmethod
    def ask_quick_check(connection: sa.Connection) -> list[str]:
        """Return what SQLite's check finds: of pages, and of indexes against their tables."""
        with contextlib.closing(connection.exec_driver_sql("PRAGMA integrity_check(20)")) as found:
            return [message for (message,) in found if message != "ok"]


def scrub(connection: sqlite3.Connection, path: Path | None, wait_seconds: float) -> None:
    """Leave no byte of what was deleted in a database and its write-ahead log.

    ``secure_delete`` overwrites deleted bytes in the newest version of a page only; the log
    keeps older versions, and so does the database until a checkpoint. ``VACUUM`` rewrites
    every page from live rows, however and by whomever others were deleted, and a truncating
    checkpoint empties the log. That takes a moment in which no connection reads an older state.

    Parameters
    ----------
    connection : sqlite3.Connection
        It has no open transaction.
    path : Path, optional
        The database; None if it is in memory.
    wait_seconds : float
        How long to wait for writers, and for readers of an older state.

    Raises
    ------
    IndexLockedError
        If a reader goes on for too long.
    sqlite3.Error
    """
    (before,) = connection.execute("PRAGMA busy_timeout").fetchone()
    connection.execute(f"PRAGMA busy_timeout={round(wait_seconds * 1000)}")
    try:
        connection.execute("VACUUM")
        busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    finally:
        connection.execute(f"PRAGMA busy_timeout={before}")
    if busy and path is not None:
        raise IndexLockedError(
            f"{path}: what was deleted is still in {path.name}-wal, since an older state has been "
            f"read for more than {wait_seconds:g} s (lsof or fuser on that file tells by which "
            "process); let that end, and call compact(), which erases it"
        )
