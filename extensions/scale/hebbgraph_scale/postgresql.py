"""PostgreSQL as the database of an index: one view per reader, lost connections, errors.

The statements are those of SQLite (:mod:`hebbgraph.store`). The first one of every write locks
the row of its namespace, so writers of one namespace take turns, while different namespaces are
written in parallel. Rows, sequence numbers and generations, which a writer draws afterwards,
therefore follow commit order.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import logging
import os
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import psycopg
from hebbgraph.errors import (
    ConnectionLostError,
    DiskFullError,
    IndexLockedError,
    ParameterError,
    ReadOnlyIndexError,
    StorageError,
)
from hebbgraph.store.places import Url
from psycopg.conninfo import make_conninfo

__all__ = ["PostgresConnection", "PostgresDriver"]

logger = logging.getLogger(__name__)

#: Locked while tables or a namespace are created; any constant.
_ADVISORY_KEY = 0x6865_6262
#: Connections that a process has open at once, and how many wait to be used again.
_MOST, _KEPT = 32, 16
_POOL_SECONDS = 30.0
_DEFAULTS = {
    # A vanished peer is noticed in a minute instead of two hours.
    "keepalives": "1",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "connect_timeout": "10",
    "application_name": "hebbgraph",
}
# https://www.postgresql.org/docs/current/errcodes-appendix.html
_LOCK_NOT_AVAILABLE = ("55P03", "40P01", "40001")
_DISK_FULL = ("53100",)
_READ_ONLY = ("25006",)
_LOST = ("08", "57P", "53300")
#: FATAL, and yet it passes.
_PASSES = (
    "the database system is",
    "terminating connection",
    "too many",
    "connection slots",
    "Connection refused",
)
_NO_ADDRESS = ("failed to resolve host", "could not translate host name")


class PostgresConnection:
    """A connection that takes the same statements as SQLite: ``?`` marks a parameter."""

    def __init__(self, raw: psycopg.Connection[Any]) -> None:
        self.raw = raw

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> psycopg.Cursor[Any]:
        """Run one statement."""
        return self.raw.execute(_placed(sql), values or None)

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]], /) -> psycopg.Cursor[Any]:
        """Run one statement for each row."""
        cursor = self.raw.cursor()
        cursor.executemany(_placed(sql), rows)
        return cursor

    def rollback(self) -> None:
        """Undo the transaction, if one is open."""
        self.raw.rollback()


@lru_cache(maxsize=512)
def _placed(sql: str) -> Any:
    return sql.replace("?", "%s")


class _Connections:
    """The connections of this process to one database: all its open namespaces share them."""

    def __init__(self) -> None:
        self.idle: list[PostgresConnection] = []
        self.room = threading.BoundedSemaphore(_MOST)
        #: Drivers that are open; when none is left, nothing waits to be used again.
        self.users: weakref.WeakSet[PostgresDriver] = weakref.WeakSet()


_of_process: weakref.WeakValueDictionary[str, _Connections] = weakref.WeakValueDictionary()
_finding = threading.Lock()

if hasattr(os, "register_at_fork"):  # what a thread of the parent had in use is not the child's
    os.register_at_fork(after_in_child=_of_process.clear)


class PostgresDriver:
    """See :class:`hebbgraph.store.database.DatabaseDriver`.

    Parameters
    ----------
    url : Url
    place : str
        Its name in messages.
    wait_seconds : float
        How long a writer waits for another one.
    """

    name = "postgresql"
    #: Other applications may keep tables beside ours.
    owns_whole_database = False
    read_only = False
    errors: tuple[type[Exception], ...] = (psycopg.Error,)
    types: Mapping[str, str] = {
        "row": "BIGSERIAL PRIMARY KEY",
        "bytes": "BYTEA",
        "real": "DOUBLE PRECISION",
        "bytewise": 'COLLATE "C"',
        "compact": "",
    }
    tables = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
    last_number = "SELECT lastval()"
    for_update = " FOR UPDATE"

    def __init__(self, url: Url, *, place: str, wait_seconds: float) -> None:
        self.place = place
        self.wait_seconds = wait_seconds
        parts = {
            "user": url.user,
            "password": url.password,
            "host": url.host.strip("[]"),
            "port": url.port,
            "dbname": url.database,
        }
        named = {name: value for name, value in parts.items() if value}
        try:
            self._conninfo = make_conninfo(**{**_DEFAULTS, **named, **url.query})
        except psycopg.ProgrammingError:
            # Without its text: it quotes what it was given.
            raise ParameterError(
                f"{place}: the driver refuses this URL; write "
                "postgresql+psycopg://user@host:5432/database"
            ) from None
        with _finding:
            self._shared = _of_process.setdefault(self._conninfo, _Connections())
            self._shared.users.add(self)

    # -- connections ----------------------------------------------------------------

    @contextlib.contextmanager
    def _connection(self, begin: str) -> Iterator[PostgresConnection]:
        """Lend a connection that ran a first statement; closed if anything goes wrong."""
        with self._lent(begin) as (connection, _):
            yield connection
            connection.rollback()

    @contextlib.contextmanager
    def _lent(
        self, first: str, values: Sequence[Any] = ()
    ) -> Iterator[tuple[PostgresConnection, psycopg.Cursor[Any]]]:
        """Lend a connection and the cursor of its first statement; close it on any error."""
        shared = self._shared
        if not shared.room.acquire(timeout=_POOL_SECONDS):
            raise StorageError(f"{self.place}: more than {_MOST} threads use the database at once")
        try:
            connection, cursor = self._begun(first, values)
            try:
                yield connection, cursor
            except BaseException:
                connection.raw.close()
                raise
            if not shared.users or len(shared.idle) >= _KEPT:
                connection.raw.close()
            else:
                shared.idle.append(connection)
        finally:
            shared.room.release()

    def _begun(
        self, first: str, values: Sequence[Any]
    ) -> tuple[PostgresConnection, psycopg.Cursor[Any]]:
        while True:
            try:
                connection, is_new = self._shared.idle.pop(), False
            except IndexError:
                raw = psycopg.connect(self._conninfo, autocommit=True)  # we begin and commit
                connection, is_new = PostgresConnection(raw), True
            try:
                return connection, connection.execute(first, values)
            except BaseException as error:
                connection.raw.close()
                if is_new or not isinstance(error, psycopg.OperationalError):
                    raise
                # An idle connection may have died: try the next one, and at last a new one.

    def disconnect(self) -> None:
        """Close the connections that are not in use."""
        while self._shared.idle:
            self._shared.idle.pop().raw.close()

    def dispose(self) -> None:
        """Close every connection that no other driver needs, those in use when given back."""
        self._shared.users.discard(self)
        if not self._shared.users:
            self.disconnect()

    # -- transactions ---------------------------------------------------------------

    def transaction(
        self, *, writing: bool
    ) -> contextlib.AbstractContextManager[PostgresConnection]:
        """Begin a transaction; unless it was committed, it is rolled back in the end.

        All statements of a reader see one state. A writer waits for others for a limited time.
        """
        if not writing:
            return self._connection("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        milliseconds = max(1, round(self.wait_seconds * 1000))
        return self._connection(
            "BEGIN ISOLATION LEVEL READ COMMITTED; "  # whatever the server's default
            f"SET LOCAL lock_timeout = {milliseconds:d}"
        )

    def commit(self, connection: PostgresConnection) -> None:
        """Commit, unless it was rolled back."""
        connection.raw.commit()

    def ask(self, sql: str, values: Sequence[Any]) -> list[Any]:
        """Return all rows of one query: one statement sees one state without a transaction."""
        with self._lent(sql, values) as (_, cursor):
            return cursor.fetchall()

    def exclude_others(self, connection: PostgresConnection) -> None:
        """Keep other transactions from creating tables or namespaces until this one ends."""
        connection.execute("SELECT pg_advisory_xact_lock(?)", (_ADVISORY_KEY,))

    @contextlib.contextmanager
    def alone(self, work: str) -> Iterator[bool]:
        """Yield whether no other session does such work; that of a dead process is over."""
        key = int.from_bytes(hashlib.blake2b(work.encode(), digest_size=8).digest(), signed=True)
        with self._connection("SELECT 1") as connection:
            row = connection.execute("SELECT pg_try_advisory_lock(?)", (key,)).fetchone()
            is_alone = bool(row and row[0])
            yield is_alone
            if is_alone:  # an error closes the connection, and so unlocks
                connection.execute("SELECT pg_advisory_unlock(?)", (key,))

    def check_place(self, *, written: bool = False) -> None:
        """Do nothing: a server holds its files, and checks them (``initdb --data-checksums``)."""

    def vacuum(self, tables: Sequence[str]) -> None:
        """Have the server remove deleted rows if it permits; otherwise autovacuum does later.

        Rows that an open transaction may still see remain; so does what the server keeps in
        its write-ahead log and replicas.
        """
        try:
            # Outside a transaction; it takes no lock that blocks readers or writers.
            with self._connection("SELECT 1") as connection:
                connection.execute(f"VACUUM {', '.join(tables)}")
        except psycopg.Error as error:
            logger.warning("%s: deleted rows wait for autovacuum: %s", self.place, error)

    @staticmethod
    def problems(connection: PostgresConnection) -> list[str]:
        """Return nothing: checking pages is up to the server (pg_amcheck)."""
        return []

    # -- errors ---------------------------------------------------------------------

    def translate(self, error: Exception) -> StorageError | None:
        """Return our error for it, if there is one."""
        state = getattr(error, "sqlstate", None) or ""
        message = str(error).strip()
        if state in _LOCK_NOT_AVAILABLE:
            return IndexLockedError(
                f"{self.place}: another writer held the namespace for more than "
                f"{self.wait_seconds:g} s; try again, or raise write_wait_seconds"
            )
        if state in _DISK_FULL:
            return DiskFullError(
                errno.ENOSPC, f"{self.place}: no space left; nothing of this batch was kept"
            )
        if state in _READ_ONLY:
            return ReadOnlyIndexError(f"{self.place} is read-only: {message}")
        broke = not state and isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
        if state.startswith(_LOST) or broke:
            return ConnectionLostError(f"{self.place}: no connection to the database: {message}")
        return None

    def is_refused(self, error: ConnectionLostError) -> bool:
        """Return whether the server answered, and does not want us: waiting will not help.

        A connection that is not made has no SQLSTATE, so what the server says is read. While
        it starts or stops, or has no slot left, it says FATAL too.
        """
        message = str(error)
        will_pass = any(text in message for text in _PASSES)
        return any(text in message for text in _NO_ADDRESS) or (
            "FATAL" in message and not will_pass
        )
