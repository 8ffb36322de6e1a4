"""One database: connections, transactions, schema version, and errors of this library."""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from hebbgraph.errors import (
    ConnectionLostError,
    DamagedIndexError,
    HebbgraphError,
    NewerVersionError,
    NotAnIndexError,
    ParameterError,
    ReadOnlyIndexError,
    StorageError,
)
from hebbgraph.extras import load_plugin
from hebbgraph.fork_gate import no_fork
from hebbgraph.interrupts import Uninterrupted
from hebbgraph.store import schema
from hebbgraph.store.driver import Connection, DatabaseDriver
from hebbgraph.store.forks import disconnect_before_forks
from hebbgraph.store.os_errors import is_forbidden, is_full, translate_os, translated_os
from hebbgraph.store.places import Url, masked, parse_url
from hebbgraph.store.sqlite import SqliteDriver

__all__ = [
    "DATABASE_NAME",
    "Connection",
    "Database",
    "DatabaseDriver",
    "is_full",
    "marks",
    "retried",
    "translate_os",
    "translated_os",
]

logger = logging.getLogger(__name__)

DATABASE_NAME = "truth.sqlite3"
_APPLICATION = "hebbgraph"
_LEAST_BYTES = 512  # one page: no SQLite database is smaller
_FIRST_PAUSE_SECONDS = 0.05
_LONGEST_PAUSE_SECONDS = 2.0

_META = "SELECT value FROM meta WHERE key = ?"
_ADD_META = "INSERT INTO meta VALUES (?, ?)"

_P = ParamSpec("_P")
_R = TypeVar("_R")


class _HasDatabase(Protocol):
    database: Database


_Self = TypeVar("_Self", bound=_HasDatabase)


def marks(values: Sequence[Any]) -> str:
    """Return one parameter mark per value.

    Examples
    --------
    >>> marks(["a", "b", "c"])
    '?, ?, ?'
    """
    return ", ".join("?" * len(values))


def retried(
    method: Callable[Concatenate[_Self, _P], _R],
) -> Callable[Concatenate[_Self, _P], _R]:
    """Retry a method that runs one transaction if the connection is lost.

    The method must be safe to run twice.
    """

    @functools.wraps(method)
    def persistent(self: _Self, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        return self.database.retrying(lambda: method(self, *args, **kwargs))

    return persistent


class Database:
    """Connections and transactions over SQLite or PostgreSQL.

    Parameters
    ----------
    driver : DatabaseDriver
    """

    def __init__(self, driver: DatabaseDriver) -> None:
        self.driver = driver
        self.place = driver.place
        self.read_only = driver.read_only
        self._id: str | None = None
        self._errors: tuple[type[Exception], ...] = (*driver.errors, UnicodeEncodeError)
        #: Whether the connection is lost, so this is logged once.
        self._is_away = False
        in_memory = isinstance(driver, SqliteDriver) and driver.path is None
        self._memory_lock = threading.RLock() if in_memory else None
        disconnect_before_forks(self)
        try:
            self.retrying(self._bring_up_to_date, unless=driver.is_refused)
        except BaseException:
            self.dispose()
            raise

    @classmethod
    def in_directory(cls, directory: Path, *, wait_seconds: float) -> Database:
        """Open the SQLite database of an index directory, creating both if necessary."""
        path = directory / DATABASE_NAME
        with translated_os(str(directory)):
            exists = _exists(directory, path)
            directory.mkdir(parents=True, exist_ok=True)
        read_only = exists and not _writable(directory, path)
        if not exists and not os.access(directory, os.W_OK):
            raise ReadOnlyIndexError(f"{directory} is read-only; an index cannot be made there")
        database = cls(
            SqliteDriver(path, place=str(directory), read_only=read_only, wait_seconds=wait_seconds)
        )
        if not exists:
            logger.info("made a new index at %s", directory)
        return database

    @classmethod
    def in_memory(cls) -> Database:
        """Open a database in memory."""
        return cls(SqliteDriver(None, place=":memory:", read_only=False, wait_seconds=0.0))

    @classmethod
    def at_url(cls, location: str, *, wait_seconds: float) -> Database:
        """Open the database at a URL."""
        return cls(_driver(parse_url(location), wait_seconds))

    @contextlib.contextmanager
    def read(self) -> Iterator[Connection]:
        """Run a transaction that reads one consistent state."""
        with (
            no_fork(),
            self._serialised(),
            self._translated(),
            self.driver.transaction(writing=False) as connection,
        ):
            self.driver.check_place()
            yield connection

    def ask(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return all rows of one query; ``values`` has one value for each mark."""

        def query() -> list[Any]:
            self.driver.check_place()
            with no_fork(), self._serialised():
                try:  # a recall asks several times, and entering a generator would take longer
                    return self.driver.ask(sql, values)
                except self._errors as error:
                    raise self._translate(error) from error

        return self.retrying(query)

    @contextlib.contextmanager
    def write(self) -> Iterator[Connection]:
        """Run a transaction that is committed at the end, and rolled back on an error."""
        with self._writing() as connection:
            version = connection.execute(_META, ("schema_version",)).fetchone()
            if version is not None:
                self._check_version(int(version[0]))
            yield connection

    @contextlib.contextmanager
    def _writing(self) -> Iterator[Connection]:
        if self.read_only:
            raise ReadOnlyIndexError(
                f"{self.place} is read-only; reading works, writing needs a writable directory"
            )
        committing = False
        try:
            with (
                Uninterrupted(),  # an interruption could leave the lock behind
                no_fork(),
                self._serialised(),
                self._translated(),
                self.driver.transaction(writing=True) as connection,
            ):
                self.driver.check_place()
                yield connection
                committing = True
                self.driver.commit(connection)
                self.driver.check_place(written=True)
        except ConnectionLostError as error:
            error.maybe_kept = committing
            raise

    def retrying(
        self, work: Callable[[], _R], *, unless: Callable[[ConnectionLostError], bool] | None = None
    ) -> _R:
        """Run a transaction, and retry for ``wait_seconds`` if the connection is lost.

        Parameters
        ----------
        work : callable
        unless : callable, optional
            Returns whether waiting cannot help: the error is raised at once.
        """
        deadline = time.monotonic() + self.driver.wait_seconds
        pause = _FIRST_PAUSE_SECONDS
        while True:
            try:
                result = work()
            except ConnectionLostError as error:
                if time.monotonic() + pause > deadline or (unless is not None and unless(error)):
                    raise
                if not self._is_away:
                    self._is_away = True
                    logger.warning("%s: trying again for %g s", error, self.driver.wait_seconds)
            else:
                if self._is_away:
                    self._is_away = False
                    logger.warning("%s: the database answers again", self.place)
                return result
            # With jitter: many may have lost the connection together.
            time.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    def _serialised(self) -> contextlib.AbstractContextManager[object]:
        """Take turns with other threads if there is one connection to a database in memory."""
        if self._memory_lock is None:
            return _NOTHING
        return _locked_uninterrupted(self._memory_lock)

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except self._errors as error:
            raise self._translate(error) from error

    def _translate(self, error: Exception) -> HebbgraphError:
        if isinstance(error, UnicodeEncodeError):
            return ParameterError(
                f"{error.object!r:.80} holds half a surrogate pair, which no database can hold"
            )
        return self.driver.translate(error) or StorageError(f"{self.place}: {error}")

    def _bring_up_to_date(self) -> None:
        with self.read() as connection:
            version = self._version(connection)
        if version == schema.SCHEMA_VERSION:
            return
        if self.read_only:
            raise ReadOnlyIndexError(
                f"{self.place} is of an earlier hebbgraph (schema {version}, this one needs "
                f"{schema.SCHEMA_VERSION}) and read-only; open it once where it can be written, "
                "such as in a copy"
            )
        with self._writing() as connection:
            self._migrate(connection)

    def _check_version(self, version: int) -> None:
        if version > schema.SCHEMA_VERSION:
            raise NewerVersionError(
                f"{self.place} was written by a newer hebbgraph (schema {version}, this one "
                f"knows up to {schema.SCHEMA_VERSION}); upgrade hebbgraph to open it"
            )

    def _version(self, connection: Connection) -> int | None:
        """Return the schema version, or None for an empty database."""
        tables = {name for (name,) in connection.execute(self.driver.tables).fetchall()}
        if "meta" not in tables:
            if tables and self.driver.owns_whole_database:
                raise NotAnIndexError(f"{self.place} holds another application's database")
            if taken := sorted(schema.TABLES.keys() & tables):
                raise NotAnIndexError(
                    f"{self.place} has tables of another application under the names that "
                    f"hebbgraph needs: {', '.join(taken)}; give the index a schema of its own: "
                    "?options=-csearch_path%3DSCHEMA"
                )
            return None
        cursor: Any = connection.execute("SELECT * FROM meta")
        names = {column[0] for column in cursor.description}
        rows = cursor.fetchall()
        meta = dict(rows) if names == {"key", "value"} else {}
        if meta.get("application") != _APPLICATION:
            raise NotAnIndexError(f"{self.place} holds another application's database")
        version = int(meta["schema_version"])
        self._check_version(version)
        return version

    def _migrate(self, connection: Connection) -> None:
        self.driver.exclude_others(connection)
        # Another process may have migrated while this one waited.
        version = self._version(connection)
        if version is None:
            for statement in schema.creation(self.driver.types):
                connection.execute(statement)
            connection.executemany(
                _ADD_META,
                [
                    ("application", _APPLICATION),
                    ("schema_version", str(schema.SCHEMA_VERSION)),
                    ("database_id", schema.new_database_id()),
                ],
            )
            return
        for step in range(version, schema.SCHEMA_VERSION):
            schema.MIGRATIONS[step](connection, self.driver.types)
        connection.execute(
            "UPDATE meta SET value = ? WHERE key = 'schema_version'", (str(schema.SCHEMA_VERSION),)
        )

    @property
    def id(self) -> str:
        """The random id of this database."""
        if self._id is None:
            ((value,),) = self.ask(_META, ("database_id",))
            self._id = str(value)
        return self._id

    def vacuum(self) -> None:
        """Free the space of deleted rows.

        With SQLite no byte of them remains, or IndexLockedError is raised.
        """
        with no_fork(), self._serialised(), self._translated():
            self.driver.vacuum(sorted(schema.TABLES))

    def disconnect(self) -> None:
        """Close idle connections; the next use connects again."""
        self.driver.disconnect()

    def dispose(self) -> None:
        """Close every connection; one to memory when no thread uses it."""
        with no_fork(), self._serialised():
            self.driver.dispose()


_NOTHING = contextlib.nullcontext()


@contextlib.contextmanager
def _locked_uninterrupted(lock: threading.RLock) -> Iterator[None]:
    """Hold a lock without interruptions: one would close a database in memory for good."""
    with Uninterrupted(), lock:
        yield


def _driver(url: Url, wait_seconds: float) -> DatabaseDriver:
    place = masked(url)
    if url.backend == "sqlite":
        if url.query:
            raise ParameterError(
                f"{place}: an SQLite URL takes no parameters; write sqlite:///FILE"
            )
        path = Path(url.database) if url.database not in ("", ":memory:") else None
        return SqliteDriver(path, place=place, read_only=False, wait_seconds=wait_seconds)
    if url.backend != "postgresql" or url.scheme not in ("postgresql", "postgresql+psycopg"):
        raise ParameterError(
            f"{place}: an index lies in SQLite or PostgreSQL, got {url.scheme!r}; "
            "write postgresql+psycopg://user@host/database"
        )
    connect: Callable[..., DatabaseDriver] = load_plugin(
        "hebbgraph.databases", "postgresql", extra="postgres", purpose="an index in PostgreSQL"
    )
    return connect(url, place=place, wait_seconds=wait_seconds)


def _exists(directory: Path, path: Path) -> bool:
    """Return whether there is a database; anything else in its place is an error."""
    if directory.exists() and not directory.is_dir():
        raise NotAnIndexError(f"{directory} is a file; an index is a directory, name another place")
    if path.exists():
        # SQLite would treat it as an empty database, which it may be where nothing was derived yet.
        size = path.stat().st_size
        if 0 < size < _LEAST_BYTES or (not size and (directory / "derived").exists()):
            raise DamagedIndexError(f"{path} is no database any more; restore a backup")
        return True
    if directory.exists() and any(directory.iterdir()) and not path.exists():
        # Another process may have created it meanwhile.
        raise NotAnIndexError(
            f"{directory} holds other files and no hebbgraph index; name an empty or new directory"
        )
    return path.exists()


def _writable(directory: Path, path: Path) -> bool:
    """Return whether writing works; permission bits say nothing about a read-only mount."""
    if not (os.access(directory, os.W_OK) and os.access(path, os.W_OK)):
        return False
    probe = directory / f".write-probe-{os.getpid()}-{threading.get_ident()}"
    try:
        probe.touch()
        probe.unlink()
    except OSError as error:
        if is_full(error):
            return True  # the user can still read, and delete to make room
        if is_forbidden(error):
            return False
        raise translate_os(error, str(directory)) from error
    return True
