"""One database: connections, transactions, version, and errors in our own words."""

from __future__ import annotations

import contextlib
import errno
import functools
import logging
import os
import random
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from hebbgraph.errors import (
    ConnectionLostError,
    DiskFullError,
    HebbgraphError,
    MissingExtraError,
    NewerVersionError,
    NotAnIndexError,
    ParameterError,
    ReadOnlyIndexError,
    StorageError,
)
from hebbgraph.interrupts import Uninterrupted
from hebbgraph.store import schema
from hebbgraph.store.forks import connection_in_use, disconnect_before_forks
from hebbgraph.store.places import masked, parse_url
from hebbgraph.store.postgresql import PostgresDialect
from hebbgraph.store.sqlite import SqliteDialect

__all__ = ["DATABASE_NAME", "Database", "retried", "translate_os", "translated_os"]

logger = logging.getLogger(__name__)

DATABASE_NAME = "truth.sqlite3"
_APPLICATION = "hebbgraph"
_FULL = (errno.ENOSPC, errno.EDQUOT)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)
_FIRST_PAUSE_SECONDS = 0.05
_LONGEST_PAUSE_SECONDS = 2.0

_DATABASE_ID = sa.select(schema.meta.c.value).where(schema.meta.c.key == sa.bindparam("wanted"))

_P = ParamSpec("_P")
_R = TypeVar("_R")


class Dialect(Protocol):
    """What differs between database systems."""

    owns_whole_database: bool

    def engine(self, url: sa.URL) -> sa.Engine: ...
    def reading(self, engine: sa.Engine) -> sa.Engine: ...
    def ask(
        self, engine: sa.Engine, query: sa.Select[Any], bound: Mapping[str, Any]
    ) -> Sequence[Any]: ...
    def begin_writing(self, connection: sa.Connection) -> None: ...
    def exclude_others(self, connection: sa.Connection) -> None: ...
    def translate(self, error: Exception) -> StorageError | None: ...
    def vacuum(self, engine: sa.Engine) -> None: ...
    def ask_quick_check(self, connection: sa.Connection) -> list[str]: ...
    def is_refused(self, error: ConnectionLostError) -> bool: ...
    def check_place(self, *, written: bool = False) -> None: ...


class _HasDatabase(Protocol):
    database: Database


_Self = TypeVar("_Self", bound=_HasDatabase)


def retried(
    method: Callable[Concatenate[_Self, _P], _R],
) -> Callable[Concatenate[_Self, _P], _R]:
    """Retry a method that runs one transaction when the connection is lost.

    For methods that may run twice, or that handle :attr:`ConnectionLostError.maybe_kept`.
    """

    @functools.wraps(method)
    def persistent(self: _Self, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        return self.database.retrying(lambda: method(self, *args, **kwargs))

    return persistent


class Database:
    """Connections and transactions over SQLite or any SQLAlchemy URL.

    Parameters
    ----------
    url : sqlalchemy.URL
    place : str
        Its name in messages.
    read_only : bool
    wait_seconds : float
        How long a writer waits for another one.
    """

    def __init__(self, url: sa.URL, *, place: str, read_only: bool, wait_seconds: float) -> None:
        self.place = place
        self.read_only = read_only
        self.wait_seconds = wait_seconds
        self._id: str | None = None
        #: Whether the connection was lost and not found again.
        self._is_away = False
        name = url.get_backend_name()
        if name not in _DIALECTS:
            raise ParameterError(
                f"{place}: an index lies in SQLite or PostgreSQL, got {name!r}; "
                "write postgresql+psycopg://user@host/database"
            )
        self.dialect = _DIALECTS[name](place, read_only=read_only, wait_seconds=wait_seconds)
        self.engine = self.dialect.engine(url)
        self._reading = self.dialect.reading(self.engine)
        in_memory = name == "sqlite" and not url.database
        self._memory_lock = threading.RLock() if in_memory else None
        disconnect_before_forks(self)

    @classmethod
    def in_directory(cls, directory: Path, *, wait_seconds: float, create: bool = True) -> Database:
        """Open the SQLite database of an index directory, creating both if necessary."""
        path = directory / DATABASE_NAME
        try:
            exists = _found(directory, path)
            if not exists and not create:
                raise NotAnIndexError(f"there is no hebbgraph index at {directory}")
            directory.mkdir(parents=True, exist_ok=True)
        except StorageError:
            raise
        except OSError as error:
            raise translate_os(error, str(directory)) from error
        read_only = exists and not _writable(directory, path)
        if not exists and not os.access(directory, os.W_OK):
            raise ReadOnlyIndexError(f"{directory} is read-only; an index cannot be made there")
        if read_only:
            # In a read-only directory, a database without a -wal file can only be read as
            # immutable: SQLite would have to create shared memory.
            query = {"mode": "ro", "uri": "true"}
            if not path.with_name(path.name + "-wal").exists():
                query["immutable"] = "1"
            name = quote(str(path.absolute()))  # in a URI, ? and # would end the path
            url = sa.URL.create("sqlite", database=f"file:{name}", query=query)
        else:
            # Earlier versions kept a checksum here, which would no longer fit.
            path.with_name(f"{DATABASE_NAME}.sum").unlink(missing_ok=True)
            url = sa.URL.create("sqlite", database=str(path))
        database = cls(url, place=str(directory), read_only=read_only, wait_seconds=wait_seconds)
        return database._prepared()

    @classmethod
    def in_memory(cls) -> Database:
        """Open a database in memory."""
        url = sa.URL.create("sqlite")
        return cls(url, place=":memory:", read_only=False, wait_seconds=0.0)._prepared()

    @classmethod
    def at_url(cls, url: str, *, wait_seconds: float) -> Database:
        """Open the database that an SQLAlchemy URL names."""
        parsed = parse_url(url)
        place = masked(parsed)
        if parsed.drivername == "postgresql":  # the driver that the extra brings
            parsed = parsed.set(drivername="postgresql+psycopg")
        try:
            database = cls(parsed, place=place, read_only=False, wait_seconds=wait_seconds)
            return database._prepared()
        except HebbgraphError:
            raise
        except ModuleNotFoundError as error:
            raise MissingExtraError(
                f"the driver for {parsed.drivername} is not installed ({error}); "
                "pip install 'hebbgraph[postgres]'"
            ) from error
        except (NoSuchModuleError, ArgumentError, ValueError, TypeError) as error:
            # Without its text: drivers quote what they were given.
            raise ParameterError(
                f"{place}: the driver refuses this URL ({type(error).__name__}); write "
                "postgresql+psycopg://user@host:5432/database"
            ) from None

    def _prepared(self) -> Database:
        try:
            self.retrying(self._bring_up_to_date, unless=self.dialect.is_refused)
        except BaseException:
            self.dispose()
            raise
        return self

    @contextlib.contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """One consistent view of the database."""
        with (
            connection_in_use(),
            self._serialised(),
            self._translated(),
            self._reading.connect() as connection,
        ):
            self.dialect.check_place()
            yield connection

    def ask(self, query: sa.Select[Any], bound: Mapping[str, Any]) -> Sequence[Any]:
        """Return all rows of one query, with minimal overhead.

        Parameters
        ----------
        query : sqlalchemy.Select
            A module constant: its SQL is cached.
        bound : mapping
            All of its parameters.
        """

        def work() -> Sequence[Any]:
            self.dialect.check_place()
            with connection_in_use(), self._serialised():
                try:  # twice a recall: entering a generator would take longer
                    return self.dialect.ask(self._reading, query, bound)
                except (SQLAlchemyError, UnicodeEncodeError) as error:
                    with self._translated():
                        raise error from error.__cause__

        return self.retrying(work)

    @contextlib.contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """One transaction: committed on leaving, rolled back on an error."""
        if self.read_only:
            raise ReadOnlyIndexError(
                f"{self.place} is read-only; reading works, writing needs a writable directory"
            )
        committing = False
        try:
            with (
                Uninterrupted(),  # else the lock may outlive the call
                connection_in_use(),
                self._serialised(),
                self._translated(),
                self.engine.connect() as connection,
            ):
                connection = connection.execution_options(writing=True)
                with connection.begin():
                    self.dialect.check_place()
                    self.dialect.begin_writing(connection)
                    yield connection
                    committing = True
                self.dialect.check_place(written=True)
        except ConnectionLostError as error:
            error.maybe_kept = committing
            raise

    def insert(
        self,
        connection: sa.Connection,
        table: sa.Table,
        columns: tuple[str, ...],
        rows: Sequence[tuple[Any, ...]],
    ) -> None:
        """Insert many rows, with minimal overhead.

        Parameters
        ----------
        connection : sqlalchemy.Connection
            In a writing transaction.
        table : sqlalchemy.Table
        columns : tuple of str
            In the order of the table; rows hold their values in that order.
        rows : sequence of tuple
            Numbers, strings, bytes and None, which the driver takes as they are.
        """
        sql, by_position = _insert_sql(self.engine.dialect, table, columns)
        if by_position:
            connection.exec_driver_sql(sql, list(rows))
        else:
            named = [dict(zip(columns, row, strict=True)) for row in rows]
            connection.exec_driver_sql(sql, named)

    def retrying(
        self, work: Callable[[], _R], *, unless: Callable[[ConnectionLostError], bool] | None = None
    ) -> _R:
        """Run a transaction; if the connection is lost, retry for as long as a writer waits.

        Parameters
        ----------
        work : callable
        unless : callable, optional
            Whether an error will not pass by itself, and is raised at once.
        """
        deadline = time.monotonic() + self.wait_seconds
        pause = _FIRST_PAUSE_SECONDS
        while True:
            try:
                done = work()
            except ConnectionLostError as error:
                if time.monotonic() + pause > deadline or (unless is not None and unless(error)):
                    raise
                if not self._is_away:  # said once, however often and by however many it is tried
                    self._is_away = True
                    logger.warning("%s: trying again for %g s", error, self.wait_seconds)
            else:
                if self._is_away:
                    self._is_away = False
                    logger.warning("%s: the database answers again", self.place)
                return done
            # With jitter, as many may have lost it together.
            time.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    def _serialised(self) -> contextlib.AbstractContextManager[object]:
        return _NOTHING if self._memory_lock is None else _whole(self._memory_lock)

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as error:
            translated = self.translate(error)
            if isinstance(translated, ReadOnlyIndexError) and not self.read_only:
                # SQLite opens a file for reading if opening it for writing failed, for lack of
                # file descriptors, say; kept, that connection would refuse writes for ever.
                self.engine.dispose()
            raise translated from error
        except UnicodeEncodeError as error:
            raise ParameterError(
                f"{error.object!r:.80} holds half a surrogate pair, which no database can hold"
            ) from error

    def translate(self, error: SQLAlchemyError) -> StorageError:
        """Translate an error of the database into ours."""
        cause = getattr(error, "orig", None) or error
        return self.dialect.translate(error) or StorageError(f"{self.place}: {cause}")

    def _bring_up_to_date(self) -> None:
        with self.read() as connection:
            version = self._version(connection)
        if version == schema.SCHEMA_VERSION:
            return
        with self.write() as connection:
            self._migrate(connection)

    def _version(self, connection: sa.Connection) -> int | None:
        """Return the schema version, or None for an empty database."""
        inspector = sa.inspect(connection)
        tables = inspector.get_table_names()
        if schema.meta.name not in tables:
            if tables and self.dialect.owns_whole_database:
                raise NotAnIndexError(f"{self.place} holds another application's database")
            if taken := sorted(schema.METADATA.tables.keys() & tables):
                raise NotAnIndexError(
                    f"{self.place} has tables of another application under the names that "
                    f"hebbgraph needs: {', '.join(taken)}; give the index a schema of its own: "
                    "?options=-csearch_path%3DSCHEMA"
                )
            return None
        columns = {column["name"] for column in inspector.get_columns(schema.meta.name)}
        query = sa.select(schema.meta.c.key, schema.meta.c.value)
        found = dict(connection.execute(query).all()) if {"key", "value"} <= columns else {}
        if found.get("application") != _APPLICATION:
            raise NotAnIndexError(f"{self.place} holds another application's database")
        version = int(found["schema_version"])
        if version > schema.SCHEMA_VERSION:
            raise NewerVersionError(
                f"{self.place} was written by a newer hebbgraph (schema {version}, this one "
                f"reads up to {schema.SCHEMA_VERSION}); upgrade hebbgraph to open it"
            )
        return version

    def _migrate(self, connection: sa.Connection) -> None:
        self.dialect.exclude_others(connection)
        # Again, as another process may have migrated while we waited.
        version = self._version(connection)
        if version is None:
            for statement in schema.creation(connection.dialect):
                connection.exec_driver_sql(statement)
            connection.execute(
                sa.insert(schema.meta),
                [
                    {"key": "application", "value": _APPLICATION},
                    {"key": "schema_version", "value": str(schema.SCHEMA_VERSION)},
                    {"key": "database_id", "value": schema.new_database_id()},
                    {"key": "recall_key", "value": secrets.token_hex(32)},
                ],
            )
            return
        for step in range(version, schema.SCHEMA_VERSION):
            schema.MIGRATIONS[step](connection)
        connection.execute(
            sa.update(schema.meta)
            .where(schema.meta.c.key == "schema_version")
            .values(value=str(schema.SCHEMA_VERSION))
        )

    @property
    def id(self) -> str:
        """The random id of this database."""
        if self._id is None:
            ((value,),) = self.ask(_DATABASE_ID, {"wanted": "database_id"})
            self._id = str(value)
        return self._id

    @property
    def recall_key(self) -> bytes | None:
        """The key that recalls are sealed with; None if it can be neither read nor made."""
        query = sa.select(schema.meta.c.value).where(schema.meta.c.key == "recall_key")
        with self.read() as connection:
            held = connection.execute(query).scalar()
        if held is None and not self.read_only:
            made = {"key": "recall_key", "value": secrets.token_hex(32)}
            with self.write() as connection:
                # Another process may have been first.
                self.dialect.exclude_others(connection)
                if (held := connection.execute(query).scalar()) is None:
                    connection.execute(sa.insert(schema.meta), [made])
                    held = made["value"]
        return None if held is None else bytes.fromhex(held)

    def vacuum(self) -> None:
        """Free the space of deleted rows.

        In SQLite no byte of them remains, or IndexLockedError is raised.
        """
        with connection_in_use(), self._serialised(), self._translated():
            self.dialect.vacuum(self.engine)

    def disconnect(self) -> None:
        """Close the connections to a file that are not in use; the next use connects again."""
        if self.dialect.owns_whole_database and self._memory_lock is None:
            self.engine.dispose()

    def dispose(self) -> None:
        """Close every connection, though one in memory only when no thread uses it."""
        with connection_in_use(), self._serialised():
            self.engine.dispose()


_NOTHING = contextlib.nullcontext()


@contextlib.contextmanager
def _whole(lock: threading.RLock) -> Iterator[None]:
    """Use the one connection to a database in memory: interrupted, it would be closed for good."""
    with Uninterrupted(), lock:
        yield


_DIALECTS: dict[str, Callable[..., Dialect]] = {
    "sqlite": SqliteDialect,
    "postgresql": PostgresDialect,
}


@functools.lru_cache(maxsize=64)
def _insert_sql(dialect: sa.Dialect, table: sa.Table, columns: tuple[str, ...]) -> tuple[str, bool]:
    """Return the SQL of an insert, and whether its parameters go by position."""
    statement = sa.insert(table).inline()  # nobody asks for the numbers of the rows
    compiled: Any = statement.compile(dialect=dialect, column_keys=columns)
    if compiled.positional and tuple(compiled.positiontup) != columns:
        raise ValueError(f"columns of {table.name} in another order: {columns}")
    return str(compiled), bool(compiled.positional)


def _found(directory: Path, path: Path) -> bool:
    """Return whether there is a database; anything else in its place is an error."""
    if directory.exists() and not directory.is_dir():
        raise NotAnIndexError(f"{directory} is a file; an index is a directory, name another place")
    if path.exists():
        return True
    if directory.exists() and any(directory.iterdir()) and not path.exists():
        # Checked again, as another process may have created it meanwhile.
        raise NotAnIndexError(
            f"{directory} holds other files and no hebbgraph index; name an empty or new directory"
        )
    return path.exists()


def _writable(directory: Path, path: Path) -> bool:
    """Try to write, as permission bits say nothing on a read-only mount."""
    if not (os.access(directory, os.W_OK) and os.access(path, os.W_OK)):
        return False
    probe = directory / f".write-probe-{os.getpid()}-{threading.get_ident()}"
    try:
        probe.touch()
        probe.unlink()
    except OSError as error:
        if error.errno in _FULL:
            return True  # reading is possible, and so is making room
        if error.errno in _FORBIDDEN:
            return False
        raise translate_os(error, str(directory)) from error
    return True


def translate_os(error: OSError, place: str) -> StorageError:
    """Translate an error of the file system into ours."""
    if isinstance(error, StorageError):
        return error
    if error.errno in _FULL:
        return DiskFullError(errno.ENOSPC, f"{place}: no space left")
    if error.errno in _FORBIDDEN:
        named = f" ({error.filename})" if error.filename else ""
        return ReadOnlyIndexError(f"{place} cannot be written: {error.strerror}{named}")
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return StorageError(
            error.errno, f"{place}: too many open files; raise the limit (ulimit -n)"
        )
    told = f"{place}: {error}"
    if error.errno == errno.EIO:
        told += "; if that stays, hebbgraph doctor --repair builds anew what can be derived"
    return StorageError(error.errno, told) if error.errno else StorageError(told)


@contextlib.contextmanager
def translated_os(place: str) -> Iterator[None]:
    """Raise errors of the file system as ours; see :func:`translate_os`."""
    try:
        yield
    except OSError as error:
        if isinstance(error, HebbgraphError):
            raise
        raise translate_os(error, place) from error
