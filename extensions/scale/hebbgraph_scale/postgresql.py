"""PostgreSQL as the database of an index: connections, transactions and errors.

It runs the statements of SQLite (:mod:`hebbgraph.store`). Every write first locks the row of its
namespace, so writers of one namespace take turns, and different namespaces are written in
parallel. A writer draws rows, sequence numbers and generations afterwards, so these follow commit
order.
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
#: The most connections that a process opens, and that it keeps idle.
_MOST, _KEPT = 32, 16
_POOL_SECONDS = 30.0
_DEFAULTS = {
    # Notice a vanished peer after a minute, not two hours.
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
#: FATAL errors that pass.
_PASSES = (
    "the database system is",
    "terminating connection",
    "too many",
    "connection slots",
    "Connection refused",
)
_NO_ADDRESS = ("failed to resolve host", "could not translate host name")


class PostgresConnection:
    """A connection that takes SQLite's parameter marks ``?``."""

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
    """The connections of this process to one database, shared by its open namespaces."""

    def __init__(self) -> None:
        self.idle: list[PostgresConnection] = []
        self.room = threading.BoundedSemaphore(_MOST)
        #: Open drivers; without any, no connection is kept idle.
        self.users: weakref.WeakSet[PostgresDriver] = weakref.WeakSet()


_connections: weakref.WeakValueDictionary[str, _Connections] = weakref.WeakValueDictionary()
_connections_lock = threading.Lock()

if hasattr(os, "register_at_fork"):  # a child may not use connections of its parent
    os.register_at_fork(after_in_child=_connections.clear)


class PostgresDriver:
    """See :class:`hebbgraph.store.database.DatabaseDriver`.

    Parameters
    ----------
    url : Url
    place : str
        Its name in messages.
    wait_seconds : float
        How long a writer waits for another writer.
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
            # Without its text, which quotes the URL.
            raise ParameterError(
                f"{place}: the driver refuses this URL; write "
                "postgresql+psycopg://user@host:5432/database"
            ) from None
        with _connections_lock:
            self._shared = _connections.setdefault(self._conninfo, _Connections())
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
                if is_new or not self._is_lost(error):
                    raise
                # An idle connection may have died: try the next one, and at last a new one.

    def disconnect(self) -> None:
        """Close the connections that are not in use."""
        while self._shared.idle:
            self._shared.idle.pop().raw.close()

    def dispose(self) -> None:
        """Close connections unless another driver uses them; those in use close when returned."""
        self._shared.users.discard(self)
        if not self._shared.users:
            self.disconnect()

    # -- transactions ---------------------------------------------------------------

    def transaction(
        self, *, writing: bool
    ) -> contextlib.AbstractContextManager[PostgresConnection]:
        """Begin a transaction; without a commit, it is rolled back at the end.

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
        """Commit the transaction, unless it was rolled back."""
        connection.raw.commit()

    def ask(self, sql: str, values: Sequence[Any]) -> list[Any]:
        """Return all rows of a query; a single statement needs no transaction."""
        with self._lent(sql, values) as (_, cursor):
            return cursor.fetchall()

    def exclude_others(self, connection: PostgresConnection) -> None:
        """Keep other transactions from creating tables or namespaces until this one ends."""
        connection.execute("SELECT pg_advisory_xact_lock(?)", (_ADVISORY_KEY,))

    @contextlib.contextmanager
    def alone(self, work: str) -> Iterator[bool]:
        """Yield whether no other session does this work; locks of dead processes are released."""
        key = int.from_bytes(hashlib.blake2b(work.encode(), digest_size=8).digest(), signed=True)
        with self._connection("SELECT 1") as connection:
            row = connection.execute("SELECT pg_try_advisory_lock(?)", (key,)).fetchone()
            is_alone = bool(row and row[0])
            yield is_alone
            if is_alone:  # an error closes the connection, and so unlocks
                connection.execute("SELECT pg_advisory_unlock(?)", (key,))

    def check_place(self, *, written: bool = False) -> None:
        """Do nothing: the server checks its files (``initdb --data-checksums``)."""

    def vacuum(self, tables: Sequence[str]) -> None:
        """Remove deleted rows if the server permits it; otherwise autovacuum does later.

        Rows that an open transaction may still see remain, and so do the server's write-ahead
        log and replicas.
        """
        try:
            # Outside a transaction; its lock blocks neither readers nor writers.
            with self._connection("SELECT 1") as connection:
                connection.execute(f"VACUUM {', '.join(tables)}")
        except psycopg.Error as error:
            logger.warning("%s: deleted rows wait for autovacuum: %s", self.place, error)

    @staticmethod
    def problems(connection: PostgresConnection) -> list[str]:
        """Return nothing: the server checks its pages (pg_amcheck)."""
        return []

    # -- errors ---------------------------------------------------------------------

    def translate(self, error: Exception) -> StorageError | None:
        """Return the corresponding error of hebbgraph, if there is one."""
        state = getattr(error, "sqlstate", None) or ""
        message = str(error).strip()
        if state in _LOCK_NOT_AVAILABLE:
            return IndexLockedError(
                f"{self.place}: another writer locked the namespace for more than "
                f"{self.wait_seconds:g} s; try again, or raise write_wait_seconds"
            )
        if state in _DISK_FULL:
            return DiskFullError(
                errno.ENOSPC, f"{self.place}: no space left; nothing of this batch was kept"
            )
        if state in _READ_ONLY:
            return ReadOnlyIndexError(f"{self.place} is read-only: {message}")
        if self._is_lost(error):
            return ConnectionLostError(f"{self.place}: no connection to the database: {message}")
        return None

    @staticmethod
    def _is_lost(error: BaseException) -> bool:
        """Return whether an error means that the connection is gone; a query may fail alone."""
        if state := getattr(error, "sqlstate", None):
            return str(state).startswith(_LOST)
        return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)

    def is_refused(self, error: ConnectionLostError) -> bool:
        """Return whether the server refuses the connection for good, so that waiting will not help.

        Failed connections have no SQLSTATE, so this reads the message. Servers that start, stop,
        or lack a slot report FATAL, too.
        """
        message = str(error)
        will_pass = any(text in message for text in _PASSES)
        return any(text in message for text in _NO_ADDRESS) or (
            "FATAL" in message and not will_pass
        )
