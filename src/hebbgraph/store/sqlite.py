"""A namespace as one SQLite file in WAL mode, or in memory.

``synchronous`` is NORMAL: a commit survives a kill of the process at any instant. After a power
cut the last commits may be missing, but the file is intact.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from hebbgraph.errors import (
    ClosedIndexError,
    DamagedIndexError,
    DiskFullError,
    IndexBusyError,
    NotAnIndexError,
    NotFoundError,
    ReadOnlyIndexError,
    StorageError,
)
from hebbgraph.store.database import Session, create_statements, one_writer
from hebbgraph.store.forks import GATE

_TYPES = {
    "id": "INTEGER PRIMARY KEY AUTOINCREMENT",
    "blob": "BLOB",
    "exact": "TEXT",
    "number": "NUMERIC",
}
_PRAGMAS = (
    "page_size=8192",
    "synchronous=NORMAL",
    "secure_delete=ON",
    "cache_size=-16384",
    "temp_store=MEMORY",
)
_MOST_IDLE = 4  # connections that are kept open
_LARGE_LOG = 64 << 20  # bytes; a longer write-ahead log is emptied
_BUSY = IndexBusyError, "is locked: another process has been writing for too long; try again"
_ERRORS: dict[int, tuple[type[StorageError], str]] = {
    sqlite3.SQLITE_BUSY: _BUSY,
    sqlite3.SQLITE_LOCKED: _BUSY,
    sqlite3.SQLITE_FULL: (DiskFullError, "cannot grow, so nothing was written"),
    sqlite3.SQLITE_READONLY: (ReadOnlyIndexError, "is read-only"),
    sqlite3.SQLITE_NOTADB: (NotAnIndexError, "is not a database"),
    sqlite3.SQLITE_CANTOPEN: (StorageError, "cannot be opened"),
    sqlite3.SQLITE_IOERR: (StorageError, "cannot be read or written"),
}


@lru_cache(maxsize=512)
def _translated(sql: str) -> str:
    return sql.replace("$", "").replace("= ANY(?)", "IN (SELECT value FROM json_each(?))")


def _bound(value: Any) -> Any:
    if not isinstance(value, list | tuple):
        return value
    dumped = json.dumps(value)
    if "\\u0000" in dumped:  # SQLite would compare what stands before it
        dumped = json.dumps([item for item in value if "\0" not in str(item)])
    return dumped


def _error(error: Exception, path: str) -> Exception:
    """Return the hebbgraph error for one of SQLite."""
    kind, message = _ERRORS.get(
        _code(error), (DamagedIndexError, "may be damaged; restore a backup")
    )
    return kind(f"{path} {message} ({error})")


def _code(error: Exception) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


class SQLiteSession(Session):
    """See :class:`hebbgraph.store.database.Session`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        # The first read fixes the state that the transaction sees.
        self.meta: dict[str, str] = dict(self.rows("SELECT key, value FROM $meta"))

    def many(self, sql: str, parameters: Iterable[Sequence[Any]]) -> None:
        self._connection.executemany(_translated(sql), parameters)

    def execute(self, sql: str, parameters: Sequence[Any]) -> sqlite3.Cursor:
        return self._connection.execute(_translated(sql), list(map(_bound, parameters)))


class SQLiteDatabase:
    """See :class:`hebbgraph.store.database.Database`; without a path it is in memory.

    A writer waits ``wait`` seconds for another.
    """

    def __init__(self, path: Path | None, *, wait: float, read_only: bool = False) -> None:
        self._path = path
        self._name = ":memory:" if path is None else str(path)
        self._wait = wait
        self._read_only = read_only
        self._idle: list[sqlite3.Connection] = []
        self._closed = False
        self._file: tuple[int, ...] | None = None  # that was opened first
        self._writing = threading.RLock()
        # All threads of an index in memory share its connection.
        self._turn = nullcontext() if path is not None else threading.RLock()
        self._memory: sqlite3.Connection | None = None
        self.folder = None if path is None else path.parent
        self.cache_key = self._name if path is None else str(path.absolute())
        if path is None:
            self._memory = self._connect(":memory:")
        elif not path.exists() and read_only:
            raise NotFoundError(f"there is no index at {path}; check the path, or open it to write")
        GATE.databases.add(self)
        self._create()

    # -- connections ----------------------------------------------------------------

    def _connect(self, uri: str) -> sqlite3.Connection:
        connection = sqlite3.connect(
            uri,
            uri=True,
            isolation_level=None,
            check_same_thread=False,
            timeout=self._wait,
            cached_statements=256,
        )
        try:
            for pragma in _PRAGMAS if self._read_only else (*_PRAGMAS, "journal_mode=WAL"):
                connection.execute(f"PRAGMA {pragma}")
        except BaseException:
            connection.close()
            raise
        return connection

    def _frozen(self) -> tuple[int, int, int] | None:
        """Identify the state of a file without a log on a read-only device; else None."""
        # SQLite can read it only as a file that never changes, but others may write to the device.
        if os.access(os.path.dirname(self._name) or ".", os.W_OK) or self._log_size():
            return None
        found = os.stat(self._name)
        return found.st_ino, found.st_size, found.st_mtime_ns

    def _log_size(self) -> int:
        with suppress(FileNotFoundError):
            return os.stat(f"{self._name}-wal").st_size
        return 0

    def _check_file(self) -> None:
        """Refuse to continue with a file that others can no longer open."""
        file = None
        with suppress(FileNotFoundError):
            file = os.stat(self._name)[1:3]  # inode and device
        self._file = self._file or file
        if file != self._file:
            raise StorageError(
                f"{self._name} was removed or replaced while it was open; open the index again"
            )

    def close_idle(self) -> None:
        while self._idle:
            self._idle.pop().close()

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection; one on which anything failed is never used again."""
        try:
            with self._turn, GATE.passed():
                if self._closed:
                    raise ClosedIndexError("the index is closed; open it again")
                yield from self._lent()
        except (sqlite3.Error, UnicodeDecodeError) as error:  # of a message that quotes damage
            if _code(error) == sqlite3.SQLITE_CANTOPEN and os.path.exists(self._name):
                raise self._unopened(error) from error
            raise _error(error, self._name) from error

    def _lent(self) -> Iterator[sqlite3.Connection]:
        if self._memory is not None:
            if self._memory.in_transaction:  # an interruption has left it open
                self._memory.execute("ROLLBACK")
            yield self._memory
            return
        self._check_file()
        uri = f"file:{quote(os.path.abspath(self._name))}{'?mode=ro' if self._read_only else ''}"
        is_frozen = self._read_only and self._frozen() is not None
        if is_frozen:  # such a connection never learns of changes, so it is used once
            uri += "&immutable=1"
        try:
            connection = ([] if is_frozen else self._idle).pop()
        except IndexError:
            connection = self._connect(uri)
        healthy = False
        try:
            yield connection
            healthy = not is_frozen
        finally:
            if healthy and len(self._idle) < _MOST_IDLE and not self._closed:
                self._idle.append(connection)
            else:
                connection.close()

    def _unopened(self, error: Exception) -> Exception:
        """Return why an existing file cannot be opened."""
        if self._read_only and self._log_size():
            return StorageError(
                f"{self._name}-wal holds changes that cannot be read without write access; "
                "open the index once with write access, and close it"
            )
        if not os.access(os.path.dirname(self._name) or ".", os.W_OK):
            return ReadOnlyIndexError(
                f"{self.folder} cannot be written; open the index with read_only=True"
            )
        return _error(error, self._name)

    # -- transactions ---------------------------------------------------------------

    @contextmanager
    def read(self) -> Iterator[SQLiteSession]:
        state = self._frozen() if self._read_only else None
        with self._connection() as connection:
            try:  # a signal may arrive as soon as the transaction has begun
                connection.execute("BEGIN")
                yield SQLiteSession(connection)
            finally:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
        if state is not None and self._frozen() != state:
            raise IndexBusyError(f"{self._name} changed while it was read; ask again")

    @contextmanager
    def write(self) -> Iterator[SQLiteSession]:
        if self._read_only:
            raise ReadOnlyIndexError(f"{self._name} was opened with read_only=True")
        turn = one_writer(self._writing, self._wait, self._name)
        with self._connection() as connection, turn, _committed(connection):
            yield SQLiteSession(connection)
        # Overlapping readers may have let the log grow.
        if self._path is not None and self._log_size() > _LARGE_LOG:
            self.erase_log(0.0)

    def _create(self) -> None:
        with self._connection() as connection:
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
            if "meta" in tables and "posting" in tables:
                return
            if tables or self._read_only:
                raise NotAnIndexError(f"{self._name} is empty, or not a hebbgraph database")
            with _committed(connection):
                if not connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall():
                    for statement in create_statements(**_TYPES):
                        connection.execute(statement.replace("$$", "").replace("$", ""))

    # -- upkeep -----------------------------------------------------------------------

    def erase_log(self, wait: float) -> bool:
        if self._path is None:
            return True
        deadline = time.monotonic() + wait
        while True:
            with self._connection() as connection:
                connection.execute("PRAGMA busy_timeout = 100")
                # While a reader is active, this returns a flag instead of raising.
                busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                connection.execute(f"PRAGMA busy_timeout = {int(1000 * self._wait)}")
            if not busy or time.monotonic() >= deadline:
                return not busy
            time.sleep(0.02)

    def check(self) -> list[str]:
        with self._connection() as connection:
            found = [text for (text,) in connection.execute("PRAGMA integrity_check(20)")]
        return [] if found == ["ok"] else found

    def backup(self, path: Path) -> None:
        with self._connection() as source:
            if path.exists():
                raise StorageError(f"{path} exists; name a new file")
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                source.execute("VACUUM INTO ?", (str(path.absolute()),))  # leaves out what is gone
                with path.open("rb+") as file:  # SQLite does not synchronise it
                    os.fsync(file.fileno())
            except BaseException:
                path.unlink(missing_ok=True)
                raise

    def close(self) -> None:
        self._closed = True
        self.close_idle()
        if self._memory is not None:
            with self._turn:
                self._memory.close()


@contextmanager
def _committed(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
