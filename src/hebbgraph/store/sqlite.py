"""SQLite: connections, pragmas, transactions, erasing and errors."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from hebbgraph.errors import (
    DamagedIndexError,
    DiskFullError,
    IndexLockedError,
    ReadOnlyIndexError,
    StorageError,
)
from hebbgraph.store.forks import Connection, identity

__all__ = ["SqliteDriver", "scrub"]

#: Connections that wait to be used again: as many threads as seldom ask at once.
_KEPT = 5


class SqliteDriver:
    """See :class:`hebbgraph.store.database.Driver`.

    Parameters
    ----------
    path : Path, optional
        The file; None is a database in memory, over one connection.
    place : str
        Its name in messages.
    read_only : bool
    wait_seconds : float
        How long a writer waits for another one.
    """

    name = "sqlite"
    #: A file with tables of another application is refused.
    owns_whole_database = True
    errors: tuple[type[Exception], ...] = (sqlite3.Error,)
    types: Mapping[str, str] = {
        "row": "INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT",
        "bytes": "BLOB",
        "real": "DOUBLE",
        "bytewise": "",
        "compact": "WITHOUT ROWID",
    }
    tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    last_number = "SELECT last_insert_rowid()"
    for_update = ""

    def __init__(
        self, path: Path | None, *, place: str, read_only: bool, wait_seconds: float
    ) -> None:
        self.place = place
        self.read_only = read_only
        self.wait_seconds = wait_seconds
        self.path = path
        self._file_name = None if path is None else str(path)
        self._file: tuple[int, int] | None = None  # device and inode
        self._has_log = False
        self._is_closed = False
        self._idle: list[Connection] = []

    # -- connections ----------------------------------------------------------------

    def _connect(self) -> Connection:
        self.check_place()  # or SQLite would make another file
        name, uri = self._file_name or ":memory:", False
        if self.path is not None and self.read_only:
            # In a read-only directory, a database without a -wal file can only be read as
            # immutable: SQLite would have to create shared memory.
            has_log = self.path.with_name(f"{self.path.name}-wal").exists()
            # In a URI, ? and # would end the path.
            name = f"file:{quote(str(self.path.absolute()))}?mode=ro"
            name, uri = name + ("" if has_log else "&immutable=1"), True
        connection = Connection(
            name,
            timeout=self.wait_seconds,
            isolation_level=None,  # transactions are begun by hand
            check_same_thread=False,
            uri=uri,
        )
        try:
            if not self.read_only:
                journal = connection.execute("PRAGMA journal_mode=WAL").fetchone()
                self._has_log = journal == ("wal",)
                # An acknowledged batch survives a power cut, not only a kill.
                connection.execute("PRAGMA synchronous=FULL")
            connection.execute("PRAGMA cache_size=-32768")
            connection.execute("PRAGMA secure_delete=ON")  # deleting erases
        except BaseException:
            connection.close()
            raise
        if self._file is None:
            self._file = self._file_there()
        connection.log = self._log_there()
        return connection

    def _take(self) -> Connection:
        try:
            return self._idle.pop()
        except IndexError:
            return self._connect()

    def _give_back(self, connection: Connection) -> None:
        if self._is_closed or len(self._idle) >= _KEPT:
            connection.close()
        else:
            self._idle.append(connection)

    def _discard(self, connection: Connection) -> None:
        """Undo what a connection began. One to a file is not used again: it may be what broke."""
        if self.path is not None:
            connection.close()
        else:
            connection.rollback()
            self._give_back(connection)

    def disconnect(self) -> None:
        """Close the connections to a file that are not in use."""
        while self.path is not None and self._idle:
            self._idle.pop().close()

    def dispose(self) -> None:
        """Close every connection, those in use when they are given back."""
        self._is_closed = True
        while self._idle:
            self._idle.pop().close()

    # -- transactions ---------------------------------------------------------------

    @contextlib.contextmanager
    def transaction(self, *, writing: bool) -> Iterator[Connection]:
        """Begin a transaction; unless it was committed, it is rolled back in the end."""
        connection = self._take()
        try:
            connection.execute("BEGIN IMMEDIATE" if writing else "BEGIN")
            yield connection
            connection.rollback()
        except BaseException:
            self._discard(connection)
            raise
        self._give_back(connection)

    def commit(self, connection: Connection) -> None:
        """Commit, unless it was rolled back.

        Raises
        ------
        StorageError
            If that went to a write-ahead log that was removed: nobody will find it.
        """
        connection.commit()
        if (there := self._log_there()) is None and not self._has_log:
            return
        if connection.log is None:
            connection.log = there
        elif there != connection.log:
            raise self._gone("removed")

    def ask(self, sql: str, values: Sequence[Any]) -> list[Any]:
        """Return all rows of one query: one statement is one view without a transaction."""
        connection = self._take()
        try:
            rows = connection.execute(sql, values).fetchall()
        except BaseException:
            self._discard(connection)
            raise
        self._give_back(connection)
        return rows

    def exclude_others(self, connection: Connection) -> None:
        """Do nothing: there is one writer at a time."""

    # -- the file -------------------------------------------------------------------

    def _file_there(self) -> tuple[int, int] | None:
        return None if self._file_name is None else identity(self._file_name)

    def _log_there(self) -> tuple[int, int] | None:
        """SQLite keeps its log beside the file that a link leads to."""
        if not self._has_log or self._file_name is None:
            return None
        return identity(f"{os.path.realpath(self._file_name)}-wal")

    def check_place(self, *, written: bool = False) -> None:
        """Raise StorageError if the file that is open is no longer there.

        Whatever is written to a file that is gone is lost; what is read is what once was.
        """
        if self.path is None or self._file is None:
            return
        if (there := self._file_there()) != self._file:
            raise self._gone("removed" if there is None else "replaced")
        if written and self._has_log and self._log_there() is None:
            raise self._gone("removed")

    def _gone(self, what: str) -> StorageError:
        return StorageError(
            f"{self.place}: the database was {what} while it was open; this call does not "
            "count: open the index again"
        )

    def translate(self, error: Exception) -> StorageError | None:
        """Return our error for it, if there is one."""
        message = str(error)
        name = getattr(error, "sqlite_errorname", "")
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
            if not self.read_only:
                # SQLite opens a file for reading if opening it for writing failed, for lack of
                # file descriptors, say; kept, such connections would refuse writes for ever.
                self.disconnect()
            return ReadOnlyIndexError(f"{self.place} is read-only: {message}")
        if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")) or "decode to UTF-8" in message:
            return DamagedIndexError(
                f"{self.place}: the database cannot be read ({message}); restore a backup"
            )
        return None

    def is_refused(self, error: Exception) -> bool:
        """Return False: there is no server."""
        return False

    def vacuum(self, tables: Sequence[str]) -> None:
        """Free the space of deleted rows, and leave no byte of them."""
        connection = self._take()
        try:
            scrub(connection, self.path, self.wait_seconds)
        except BaseException:
            self._discard(connection)
            raise
        self._give_back(connection)

    @staticmethod
    def problems(connection: Connection) -> list[str]:
        """Return what SQLite's check finds: of pages, and of indexes against their tables."""
        messages = connection.execute("PRAGMA integrity_check(20)").fetchall()
        return [message for (message,) in messages if message != "ok"]


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
