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
from hebbgraph.store.forks import ForkSafeConnection, identity

__all__ = ["SqliteDriver", "translate_sqlite"]

#: Idle connections: rarely do more threads ask at once.
_MOST_IDLE = 5


class SqliteDriver:
    """See :class:`hebbgraph.store.database.DatabaseDriver`.

    Parameters
    ----------
    path : Path, optional
        The file; None is a database in memory, with one connection.
    place : str
        Names the database in messages.
    read_only : bool
    wait_seconds : float
        How long a writer waits for another one.
    """

    name = "sqlite"
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
        self._idle: list[ForkSafeConnection] = []

    # -- connections ----------------------------------------------------------------

    def _connect(self) -> ForkSafeConnection:
        self.check_place()  # SQLite would make a new file
        name, uri = self._file_name or ":memory:", False
        if self.path is not None and self.read_only:
            # In a read-only directory, a database without a -wal file can only be read as
            # immutable: SQLite would have to create shared memory.
            has_log = self.path.with_name(f"{self.path.name}-wal").exists()
            # Quoted, since ? and # would end the path.
            name = f"file:{quote(str(self.path.absolute()))}?mode=ro"
            name, uri = name + ("" if has_log else "&immutable=1"), True
        connection = ForkSafeConnection(
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
                # An acknowledged batch survives a power cut too.
                connection.execute("PRAGMA synchronous=FULL")
            connection.execute("PRAGMA cache_size=-32768")
            connection.execute("PRAGMA secure_delete=ON")  # deleting erases
        except BaseException:
            connection.close()
            raise
        if self._file is None:
            self._file = self._file_identity()
        connection.log = self._log_identity()
        return connection

    def _take(self) -> ForkSafeConnection:
        try:
            return self._idle.pop()
        except IndexError:
            return self._connect()

    def _give_back(self, connection: ForkSafeConnection) -> None:
        if self._is_closed or len(self._idle) >= _MOST_IDLE:
            connection.close()
        else:
            self._idle.append(connection)

    def _discard(self, connection: ForkSafeConnection) -> None:
        """Roll back, and close a connection to a file: it may be what failed."""
        if self.path is not None:
            connection.close()
        else:
            connection.rollback()
            self._give_back(connection)

    def disconnect(self) -> None:
        """Close idle connections to a file."""
        while self.path is not None and self._idle:
            self._idle.pop().close()

    def dispose(self) -> None:
        """Close every connection, those in use when they are returned."""
        self._is_closed = True
        while self._idle:
            self._idle.pop().close()

    @contextlib.contextmanager
    def _lend(self) -> Iterator[ForkSafeConnection]:
        connection = self._take()
        try:
            yield connection
        except BaseException:
            self._discard(connection)
            raise
        self._give_back(connection)

    # -- transactions ---------------------------------------------------------------

    @contextlib.contextmanager
    def transaction(self, *, writing: bool) -> Iterator[ForkSafeConnection]:
        """Run a transaction; unless it was committed, it is rolled back at the end."""
        with self._lend() as connection:
            connection.execute("BEGIN IMMEDIATE" if writing else "BEGIN")
            yield connection
            connection.rollback()

    def commit(self, connection: ForkSafeConnection) -> None:
        """Commit, unless it was rolled back.

        Raises
        ------
        StorageError
            If it went to a write-ahead log that was removed: it is lost.
        """
        connection.commit()
        if not self._has_log:
            return
        log = self._log_identity()
        if connection.log is None:
            connection.log = log
        elif log != connection.log:
            raise self._gone("removed")

    def ask(self, sql: str, values: Sequence[Any]) -> list[Any]:
        """Return all rows of one query; one statement sees one state without a transaction."""
        connection = self._take()  # by hand, since entering a generator takes longer
        try:
            rows = connection.execute(sql, values).fetchall()
        except BaseException:
            self._discard(connection)
            raise
        self._give_back(connection)
        return rows

    def exclude_others(self, connection: ForkSafeConnection) -> None:
        """Do nothing: SQLite has one writer at a time."""

    # -- the file -------------------------------------------------------------------

    def _file_identity(self) -> tuple[int, int] | None:
        return None if self._file_name is None else identity(self._file_name)

    def _log_identity(self) -> tuple[int, int] | None:
        if not self._has_log or self._file_name is None:
            return None
        # SQLite keeps the log beside the target of a link.
        return identity(f"{os.path.realpath(self._file_name)}-wal")

    def check_place(self, *, written: bool = False) -> None:
        """Raise StorageError if the open file was removed: writes to it are lost."""
        if self.path is None or self._file is None:
            return
        if (file := self._file_identity()) != self._file:
            raise self._gone("removed" if file is None else "replaced")
        if written and self._has_log and self._log_identity() is None:
            raise self._gone("removed")

    def _gone(self, what: str) -> StorageError:
        return StorageError(
            f"{self.place}: the database was {what} while it was open; this call does not "
            "count: open the index again"
        )

    def translate(self, error: Exception) -> StorageError | None:
        """Return the error of this library for one of SQLite, if there is one."""
        translated = translate_sqlite(error, self.place, self.wait_seconds)
        if isinstance(translated, ReadOnlyIndexError) and not self.read_only:
            # If opening for writing fails, for lack of file descriptors, say, SQLite opens for
            # reading: such a connection would refuse writes for ever.
            self.disconnect()
        return translated

    def is_refused(self, error: Exception) -> bool:
        """Return False: there is no server."""
        return False

    def vacuum(self, tables: Sequence[str]) -> None:
        """Free the space of deleted rows, and leave no byte of them.

        ``secure_delete`` overwrites deleted bytes in the newest version of a page only; the log
        keeps older versions, and so does the database until a checkpoint. ``VACUUM`` rewrites
        every page from live rows, and a truncating checkpoint empties the log. The checkpoint
        needs a moment in which no connection reads an older state.

        Raises
        ------
        IndexLockedError
            If a connection reads an older state for too long.
        """
        with self._lend() as connection:
            connection.execute("VACUUM")
            busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy and self.path is not None:
            raise IndexLockedError(
                f"{self.path}: what was deleted is still in {self.path.name}-wal, since an older "
                f"state has been read for more than {self.wait_seconds:g} s (lsof or fuser on that "
                "file tells by which process); let that end, and call compact(), which erases it"
            )

    @staticmethod
    def problems(connection: ForkSafeConnection) -> list[str]:
        """Check pages, and indexes against their tables."""
        messages = connection.execute("PRAGMA integrity_check(20)").fetchall()
        return [message for (message,) in messages if message != "ok"]


def translate_sqlite(
    error: Exception,
    place: str,
    wait_seconds: float,
    *,
    advice: str = "or raise write_wait_seconds",
) -> StorageError | None:
    """Return the error of this library for one of SQLite, if there is one."""
    message = str(error)
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return IndexLockedError(
            f"{place}: another writer held the index for more than {wait_seconds:g} s; try again, "
            f"{advice}"
        )
    if name == "SQLITE_FULL" or "disk is full" in message:
        return DiskFullError(
            errno.ENOSPC, f"{place}: no space left; nothing of this batch was kept"
        )
    if name.startswith("SQLITE_READONLY"):
        return ReadOnlyIndexError(f"{place} is read-only: {message}")
    if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")) or "decode to UTF-8" in message:
        return DamagedIndexError(
            f"{place}: the database cannot be read ({message}); restore a backup"
        )
    return None
