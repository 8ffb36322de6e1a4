"""One database: its connections, transactions, version, and errors in our own words."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.pool import StaticPool

from hebbgraph.errors import (
    DamagedIndexError,
    DiskFullError,
    IndexLockedError,
    MissingExtraError,
    NewerVersionError,
    NotAnIndexError,
    ParameterError,
    ReadOnlyIndexError,
    StorageError,
)
from hebbgraph.storage import schema

__all__ = ["DATABASE_NAME", "Database"]

DATABASE_NAME = "truth.sqlite3"
_APPLICATION = "hebbgraph"


class Database:
    """Connections and transactions over SQLite or any SQLAlchemy URL.

    Parameters
    ----------
    url : sqlalchemy.URL
    place : str
        What error messages call it.
    read_only : bool
    wait_seconds : float
        How long a writer waits for another one.
    """

    def __init__(self, url: sa.URL, *, place: str, read_only: bool, wait_seconds: float) -> None:
        self.place = place
        self.read_only = read_only
        self.wait_seconds = wait_seconds
        self._is_sqlite = url.get_backend_name() == "sqlite"
        in_memory = self._is_sqlite and not url.database
        options: dict[str, Any] = {}
        if self._is_sqlite:
            options["connect_args"] = {"timeout": wait_seconds, "check_same_thread": False}
        if in_memory:
            options["poolclass"] = StaticPool
        self.engine = sa.create_engine(url, **options)
        # One connection serves every thread of an in-memory database.
        self._serialise = threading.RLock() if in_memory else contextlib.nullcontext()
        if self._is_sqlite:
            event.listen(self.engine, "connect", self._configure_sqlite)
            event.listen(self.engine, "begin", self._begin_sqlite)

    @classmethod
    def in_directory(cls, directory: Path, *, wait_seconds: float, create: bool = True) -> Database:
        """Open the SQLite database of an index directory, creating both if need be."""
        path = directory / DATABASE_NAME
        try:
            exists = _found(directory, path)
            if not exists and not create:
                raise NotAnIndexError(f"there is no hebbgraph index at {directory}")
            directory.mkdir(parents=True, exist_ok=True)
        except StorageError:
            raise
        except OSError as error:
            raise _translate_os(error, str(directory)) from error
        read_only = exists and not _writable(directory, path)
        if not exists and not os.access(directory, os.W_OK):
            raise ReadOnlyIndexError(f"{directory} is read-only; an index cannot be made there")
        if read_only:
            # Without its -wal file a database in a directory that cannot be written is
            # readable only as immutable: SQLite would have to create shared memory.
            query = {"mode": "ro", "uri": "true"}
            if not path.with_name(path.name + "-wal").exists():
                query["immutable"] = "1"
            name = quote(str(path.absolute()))  # a URI: ? and # would end the path
            url = sa.URL.create("sqlite", database=f"file:{name}", query=query)
        else:
            url = sa.URL.create("sqlite", database=str(path))
        database = cls(url, place=str(directory), read_only=read_only, wait_seconds=wait_seconds)
        return database._prepared()

    @classmethod
    def in_memory(cls) -> Database:
        """Open a database that ends with the process."""
        url = sa.URL.create("sqlite")
        return cls(url, place=":memory:", read_only=False, wait_seconds=0.0)._prepared()

    @classmethod
    def at_url(cls, url: str, *, wait_seconds: float) -> Database:
        """Open the database that an SQLAlchemy URL names."""
        try:
            parsed = sa.make_url(url)
            place = parsed.render_as_string(hide_password=True)
            database = cls(parsed, place=place, read_only=False, wait_seconds=wait_seconds)
        except ArgumentError as error:
            raise ParameterError(f"not the URL of a database: {error}") from error
        except ModuleNotFoundError as error:
            raise MissingExtraError(
                f"the driver for {parsed.drivername} is not installed: {error}"
            ) from error
        return database._prepared()

    def _prepared(self) -> Database:
        try:
            self._bring_up_to_date()
        except BaseException:
            self.dispose()
            raise
        return self

    def _configure_sqlite(self, connection: Any, record: Any) -> None:
        connection.isolation_level = None  # transactions are begun by _begin_sqlite
        cursor = connection.cursor()
        if not self.read_only:
            cursor.execute("PRAGMA journal_mode=WAL")
            # An acknowledged batch survives a power cut, not only a killed process.
            cursor.execute("PRAGMA synchronous=FULL")
        cursor.execute("PRAGMA cache_size=-32768")
        cursor.execute("PRAGMA secure_delete=ON")  # deleting erases
        cursor.close()

    def _begin_sqlite(self, connection: sa.Connection) -> None:
        writing = connection.get_execution_options().get("writing", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")

    @contextlib.contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """One consistent view of the database."""
        with self._serialise, self._translated(), self.engine.connect() as connection:
            yield connection

    @contextlib.contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """One transaction: committed as a whole on leaving, undone on an error."""
        if self.read_only:
            raise ReadOnlyIndexError(
                f"{self.place} is read-only; reading works, writing needs a writable directory"
            )
        with self._serialise, self._translated(), self.engine.connect() as connection:
            connection = connection.execution_options(writing=True)
            with connection.begin():
                yield connection

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as error:
            raise self._translate(error) from error

    def _translate(self, error: SQLAlchemyError) -> StorageError:
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
        return StorageError(f"{self.place}: {message}")

    def _bring_up_to_date(self) -> None:
        with self.read() as connection:
            version = self._version(connection)
        if version == schema.SCHEMA_VERSION:
            return
        with self.write() as connection:
            self._migrate(connection)

    def _version(self, connection: sa.Connection) -> int | None:
        """Return the schema version, or None for an empty database."""
        tables = sa.inspect(connection).get_table_names()
        if schema.meta.name not in tables:
            if tables and self._is_sqlite:
                raise NotAnIndexError(f"{self.place} holds another application's database")
            return None
        query = sa.select(schema.meta.c.key, schema.meta.c.value)
        found = dict(connection.execute(query).all())
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
        # Looked up again: another process may have done it while we waited.
        version = self._version(connection)
        if version is None:
            schema.METADATA.create_all(connection)
            connection.execute(
                sa.insert(schema.meta),
                [
                    {"key": "application", "value": _APPLICATION},
                    {"key": "schema_version", "value": str(schema.SCHEMA_VERSION)},
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

    def vacuum(self) -> None:
        """Give the space of deleted rows back."""
        if self._is_sqlite:
            with self._serialise, self._translated(), self.engine.connect() as connection:
                raw = connection.connection.driver_connection
                assert raw is not None
                try:
                    raw.execute("VACUUM")
                    raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                except sqlite3.Error as error:
                    raise self._translate(DBAPIError("VACUUM", None, error)) from error

    def dispose(self) -> None:
        """Close every connection."""
        self.engine.dispose()


def _found(directory: Path, path: Path) -> bool:
    """Tell whether a database is there; something else in its place is an error."""
    if directory.exists() and not directory.is_dir():
        raise NotAnIndexError(f"{directory} is a file; an index is a directory, name another place")
    if path.exists():
        return True
    if directory.exists() and any(directory.iterdir()):
        raise NotAnIndexError(
            f"{directory} holds other files and no hebbgraph index; name an empty or new directory"
        )
    return False


def _writable(directory: Path, path: Path) -> bool:
    """Try it: permission bits say nothing on a read-only mount."""
    if not (os.access(directory, os.W_OK) and os.access(path, os.W_OK)):
        return False
    probe = directory / f".write-probe-{os.getpid()}-{threading.get_ident()}"
    try:
        probe.touch()
        probe.unlink()
    except OSError as error:
        return error.errno == errno.ENOSPC  # full, yet deleting must stay possible
    return True


def _translate_os(error: OSError, place: str) -> StorageError:
    if error.errno == errno.ENOSPC:
        return DiskFullError(errno.ENOSPC, f"{place}: no space left")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return ReadOnlyIndexError(f"{place} cannot be written: {error.strerror}")
    return StorageError(f"{place}: {error}")
