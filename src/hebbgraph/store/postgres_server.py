"""How a process reaches a PostgreSQL server: addresses, connections, errors; SQL and values."""

from __future__ import annotations

import os
import re
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from functools import lru_cache
from typing import Any
from weakref import WeakSet

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.types.numeric import FloatDumper, NumericBinaryLoader

from hebbgraph.errors import (
    ConnectionLostError,
    DamagedIndexError,
    DiskFullError,
    IndexBusyError,
    NotAnIndexError,
    ParameterError,
    ReadOnlyIndexError,
    StorageError,
)
from hebbgraph.store.database import Session

#: Connections of a process to one database, whatever the number of namespaces.
_MOST = 16
_SECONDS = 30.0  # to wait for one
#: More rows than this are copied into a table.
_INSERT, _FEW = re.compile(r"INSERT INTO (\$\w+\([\w, ]+\)) VALUES \([?, ]+\)"), 8
_DEFAULTS = {
    "application_name": "hebbgraph",
    "client_encoding": "UTF8",
    "connect_timeout": "10",
    # A server that vanished is noticed after a minute, not after two hours.
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
}


def parsed(url: str) -> tuple[str, str]:
    """Return what to connect with, and the same for people: without password and defaults."""
    try:
        options = conninfo_to_dict(url)
    except psycopg.ProgrammingError:  # the message of which quotes the URL
        raise ParameterError(
            "not a PostgreSQL URL; write postgresql://user@host:5432/database"
        ) from None
    public = {name: v for name, v in options.items() if name not in ("password", "sslpassword")}
    return make_conninfo("", **{**_DEFAULTS, **options}), make_conninfo("", **public)


# -- connections ----------------------------------------------------------------------------


class Server:
    """What all namespaces in one database share within one process."""

    def __init__(self, conninfo: str) -> None:
        self._conninfo = conninfo
        self._idle: list[psycopg.Connection[Any]] = []
        self._room = threading.BoundedSemaphore(_MOST)
        #: By schema. A thread that waits for its turn to write holds no connection.
        self.turns: defaultdict[str, threading.RLock] = defaultdict(threading.RLock)
        #: The namespaces that are open.
        self.users: WeakSet[Any] = WeakSet()

    def connect(self) -> psycopg.Connection[Any]:
        # Prepared statements outlive a transaction, which poolers do not allow.
        connection = psycopg.connect(self._conninfo, autocommit=True, prepare_threshold=None)
        connection.adapters.register_dumper(float, _FloatDumper)
        connection.adapters.register_loader("numeric", _NumberLoader)
        return connection

    @contextmanager
    def lend(self, first: str) -> Iterator[tuple[psycopg.Connection[Any], psycopg.Cursor[Any]]]:
        """Lend a connection after its first statement; it is closed if anything fails."""
        if not self._room.acquire(timeout=_SECONDS):
            raise IndexBusyError(f"more than {_MOST} threads use the database; try again")
        try:
            connection, cursor = self._begun(first.encode())
            try:
                yield connection, cursor
            except BaseException:
                connection.close()
                raise
            self._idle.append(connection)
            if not self.users:
                self.close()
        finally:
            self._room.release()

    def _begun(self, first: bytes) -> tuple[psycopg.Connection[Any], psycopg.Cursor[Any]]:
        while True:
            try:
                connection, is_new = self._idle.pop(), False
            except IndexError:
                connection, is_new = self.connect(), True
            try:
                return connection, connection.execute(first)
            except BaseException as error:
                connection.close()
                if is_new or not is_lost(error):
                    raise
                # An idle connection had been cut.

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()


#: By process: the child of a fork neither uses nor closes connections of its parent.
_servers: dict[tuple[int, str], Server] = {}


def shared(conninfo: str, user: object) -> Server:
    """Return what this process shares; it stays, so that nobody must wait for a lock."""
    key = os.getpid(), conninfo
    server = _servers.get(key) or _servers.setdefault(key, Server(conninfo))
    server.users.add(user)
    return server


def leave(conninfo: str, user: object) -> None:
    """Close the connections if no other namespace is open."""
    server = shared(conninfo, user)
    server.users.discard(user)
    if not server.users:
        server.close()


# -- errors ---------------------------------------------------------------------------------


def is_lost(error: BaseException) -> bool:
    """Return whether an error means that the connection is gone, or a replica has moved on."""
    if state := getattr(error, "sqlstate", None):
        return str(state).startswith(("08", "57P", "53300", "25P03", "40001"))
    return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)


def error_of(error: psycopg.Error, place: str, outcome: str = "") -> Exception:
    """Return the hebbgraph error for one of PostgreSQL; the outcome is that of a lost write.

    See https://www.postgresql.org/docs/current/errcodes-appendix.html.
    """
    state, message = error.sqlstate or "", f"{place}: {str(error).strip()}"
    if is_lost(error):
        return ConnectionLostError(message + outcome)
    if state in ("55P03", "40P01"):
        return IndexBusyError(f"{message}: another process has been writing for too long")
    if state == "53100":
        return DiskFullError(f"{message}; nothing was written")
    if state in ("25006", "42501"):
        return ReadOnlyIndexError(message)
    if state in ("42P01", "3F000"):
        return NotAnIndexError(message)
    if state.startswith(("23", "XX")):
        return DamagedIndexError(f"{message}; restore a backup")
    if state == "54000" or (not state and isinstance(error, psycopg.DataError)):
        return ParameterError(f"{message}; PostgreSQL cannot store this")
    return StorageError(message)


#: What no text in PostgreSQL can hold, so that no row equals it.
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


@lru_cache(maxsize=4096)
def translated(sql: str, schema: str) -> bytes:
    """Return a statement of :mod:`hebbgraph.store.database` for the tables of a schema."""
    return sql.replace("%", "%%").replace("?", "%s").replace("$", f'"{schema}".').encode()


def _bound(value: Any) -> Any:
    if not isinstance(value, list | tuple):
        return value
    types = set(map(type, value))
    if types == {str}:
        return [text for text in value if not _UNSTORABLE.search(text)]
    # An array has one type.
    return list(map(_exact, value)) if float in types else list(value)


class PostgresSession(Session):
    """See :class:`hebbgraph.store.database.Session`."""

    def __init__(
        self, connection: psycopg.Connection[Any], schema: str, meta: dict[str, str]
    ) -> None:
        self._connection = connection
        self._schema = schema
        self.meta = meta

    def many(self, sql: str, parameters: Iterable[Sequence[Any]]) -> None:
        cursor, rows = self._connection.cursor(), list(parameters)
        insert = _INSERT.fullmatch(sql)
        if insert is None or len(rows) < _FEW:
            cursor.executemany(translated(sql, self._schema), rows)
            return
        with cursor.copy(translated(f"COPY {insert[1]} FROM STDIN", self._schema)) as copy:
            for row in rows:
                copy.write_row(row)

    def execute(self, sql: str, parameters: Sequence[Any]) -> psycopg.Cursor[Any]:
        bound = [_bound(value) for value in parameters]
        return self._connection.execute(translated(sql, self._schema), bound, binary=True)


def _exact(number: float) -> Decimal:
    """Return a number as PostgreSQL keeps it."""
    return Decimal(number if number % 1 == 0 else repr(number))


class _FloatDumper(FloatDumper):
    oid = psycopg.adapters.types["numeric"].oid

    def dump(self, obj: float) -> bytes:
        return str(_exact(obj)).encode()


class _NumberLoader(NumericBinaryLoader):
    """Returns what SQLite would: an int, or a float for a fraction or beyond 64 bits."""

    def load(self, data: Any) -> Any:
        number = super().load(data)
        is_int = number == number.to_integral_value() and abs(number) < 2**63
        return int(number) if is_int else float(number)
