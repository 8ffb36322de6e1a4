"""What is particular to PostgreSQL: one view a reader, lost connections, its errors.

Writers of one namespace take turns at the lock on its row, which is the first statement
of every write; those of different namespaces go on side by side. Numbers that a writer
draws afterwards (rows, sequence numbers, generations) therefore follow commit order.
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

#: Held while tables or a namespace are made; any number will do, if it is always the same.
_ADVISORY_KEY = 0x6865_6262
_POOL_SIZE = 16
_DEFAULTS = {
    # So that a peer that vanished is noticed in a minute, not in two hours.
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


class PostgresDialect:
    """See :class:`hebbgraph.store.database.Dialect`."""

    #: Other applications may keep tables beside ours.
    owns_whole_database = False

    def __init__(self, place: str, *, read_only: bool, wait_seconds: float) -> None:
        self.place = place
        self.wait_seconds = wait_seconds

    def engine(self, url: sa.URL) -> sa.Engine:
        """Make the engine; what the URL says goes before our defaults."""
        arguments = {name: value for name, value in _DEFAULTS.items() if name not in url.query}
        return sa.create_engine(
            url,
            connect_args=arguments,
            pool_pre_ping=True,  # a connection that died in the pool is replaced, not used
            pool_size=_POOL_SIZE,
            max_overflow=_POOL_SIZE,
            isolation_level="READ COMMITTED",  # whatever the server's default is
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
        """Bound the wait for other writers."""
        milliseconds = max(1, round(self.wait_seconds * 1000))
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = {milliseconds:d}")

    def exclude_others(self, connection: sa.Connection) -> None:
        """Wait until no other transaction makes tables or namespaces, until this one ends."""
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_ADVISORY_KEY)))

    def translate(self, error: Exception) -> StorageError | None:
        """Say it in our words; None if there are none for it."""
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
        """Have the server clear away deleted rows, if it lets us; else autovacuum does later.

        Rows that an open transaction may still see are left, and what the server keeps for
        itself (write-ahead log, replicas) is its own affair.
        """
        tables = ", ".join(table.name for table in METADATA.sorted_tables)
        try:
            # Outside of a transaction; no lock that readers or writers would notice.
            with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                connection.exec_driver_sql(f"VACUUM {tables}")
        except DBAPIError as error:
            logger.warning("%s: deleted rows wait for autovacuum: %s", self.place, error.orig)

    @staticmethod
    def ask_quick_check(connection: sa.Connection) -> list[str]:
        """Return nothing: checksums of pages are the server's affair (pg_amcheck)."""
        return []
