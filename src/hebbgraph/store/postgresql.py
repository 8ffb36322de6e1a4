"""What is particular to PostgreSQL: one view per reader, lost connections, errors.

The first statement of every write locks the row of its namespace, so writers of one namespace
take turns, while different namespaces are written in parallel. Rows, sequence numbers and
generations, which a writer draws afterwards, therefore follow commit order.
"""

from __future__ import annotations

import errno
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from hebbgraph.errors import (
    ConnectionLostError,
    DiskFullError,
    IndexLockedError,
    ReadOnlyIndexError,
    StorageError,
)
from hebbgraph.store.schema import METADATA

__all__ = ["PostgresDialect"]

logger = logging.getLogger(__name__)

#: Locked while tables or a namespace are created; any constant.
_ADVISORY_KEY = 0x6865_6262
_POOL_SIZE = 16
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


class PostgresDialect:
    """See :class:`hebbgraph.store.database.Dialect`."""

    #: Other applications may keep tables beside ours.
    owns_whole_database = False

    def __init__(self, place: str, *, read_only: bool, wait_seconds: float) -> None:
        self.place = place
        self.wait_seconds = wait_seconds

    def engine(self, url: sa.URL) -> sa.Engine:
        """Create the engine; the URL overrides our defaults."""
        arguments = {name: value for name, value in _DEFAULTS.items() if name not in url.query}
        return sa.create_engine(
            url,
            connect_args=arguments,
            pool_pre_ping=True,  # replaces connections that died in the pool
            pool_size=_POOL_SIZE,
            max_overflow=_POOL_SIZE,
            isolation_level="READ COMMITTED",  # whatever the server's default
        )

    def reading(self, engine: sa.Engine) -> sa.Engine:
        """Return the engine for readers: all statements of a transaction see one state."""
        return engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)

    def ask(
        self, engine: sa.Engine, query: sa.Select[Any], bound: Mapping[str, Any]
    ) -> Sequence[Any]:
        """Return all rows of one query."""
        with engine.connect() as connection:
            return connection.execute(query, bound).all()

    def begin_writing(self, connection: sa.Connection) -> None:
        """Limit the wait for other writers."""
        milliseconds = max(1, round(self.wait_seconds * 1000))
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = {milliseconds:d}")

    def exclude_others(self, connection: sa.Connection) -> None:
        """Keep other transactions from creating tables or namespaces until this one ends."""
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_ADVISORY_KEY)))

    def translate(self, error: Exception) -> StorageError | None:
        """Return our error for it, if there is one."""
        if not isinstance(error, DBAPIError):
            return None
        cause: Any = error.orig
        state = getattr(cause, "sqlstate", None) or ""
        message = str(cause).strip()
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
        stateless = not state and isinstance(error, OperationalError | InterfaceError)
        if error.connection_invalidated or state.startswith(_LOST) or stateless:
            return ConnectionLostError(f"{self.place}: no connection to the database: {message}")
        return None

    def vacuum(self, engine: sa.Engine) -> None:
        """Have the server remove deleted rows if it permits; otherwise autovacuum does later.

        Rows that an open transaction may still see remain; so does what the server keeps in
        its write-ahead log and replicas.
        """
        tables = ", ".join(table.name for table in METADATA.sorted_tables)
        try:
            # Outside a transaction; it takes no lock that blocks readers or writers.
            with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                connection.exec_driver_sql(f"VACUUM {tables}")
        except DBAPIError as error:
            logger.warning("%s: deleted rows wait for autovacuum: %s", self.place, error.orig)

    def check_place(self, *, written: bool = False) -> None:
        """Do nothing: a server holds its files, and checks them (``initdb --data-checksums``)."""

    def is_refused(self, error: ConnectionLostError) -> bool:
        """Return whether the server answered, and does not want us: waiting will not help.

        A connection that is not made has no SQLSTATE, so what the server says is read. While
        it starts or stops, or has no slot left, it says FATAL too.
        """
        said = str(error)
        if any(text in said for text in _NO_ADDRESS):
            return True
        return "FATAL" in said and not any(text in said for text in _PASSES)

    @staticmethod
    def ask_quick_check(connection: sa.Connection) -> list[str]:
        """Return nothing: checking pages is up to the server (pg_amcheck)."""
        return []
