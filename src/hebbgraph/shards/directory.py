"""A shard in a directory of this machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import sqlalchemy as sa

from hebbgraph.errors import DamagedIndexError, ParameterError
from hebbgraph.shards.plan import ROWS, ShardPlace
from hebbgraph.store.database import Database
from hebbgraph.store.schema import chunks, meta, tombstones
from hebbgraph.store.truth import Truth

__all__ = ["DirectorySource", "leave_to_coordinator", "settle_shard"]

#: Under this key of its database, a shard says whose it is.
_COORDINATOR = "coordinator"


class DirectorySource:
    """A shard whose database lies in a directory.

    Parameters
    ----------
    place : ShardPlace
    coordinator : str
        The id of the coordinator's database. A shard belongs to one: it would know nothing of
        what another one was taught.
    open_truth : callable
        Reads a namespace of a database, and checks its settings.
    wait_seconds : float
        How long a writer waits for another one.
    """

    def __init__(
        self,
        place: ShardPlace,
        coordinator: str,
        open_truth: Callable[[Database], Truth],
        *,
        wait_seconds: float,
    ) -> None:
        assert place.path is not None
        self.home: Path = place.path
        self._place, self._coordinator = place, coordinator
        self._open_truth, self._wait_seconds = open_truth, wait_seconds

    def open(self, known: str | None) -> Truth:
        """Open the database; see :meth:`ShardSource.open`."""
        place = self._place
        database = Database.in_directory(
            self.home, wait_seconds=self._wait_seconds, create=known is None
        )
        try:
            settle_shard(database, place, known, self._coordinator)
            return self._open_truth(database)
        except BaseException:
            database.dispose()
            raise


def settle_shard(
    database: Database, place: ShardPlace, known: str | None, coordinator: str
) -> None:
    """Check that a database is a shard, and have it number rows and say whose it is.

    Raises
    ------
    DamagedIndexError
        If it is another database, or belongs to another coordinator.
    ParameterError
        If rows of it lie elsewhere: it is the shard in another place, or was built alone.
    """
    if known is not None and database.id != known:
        raise DamagedIndexError(
            f"{place.where} holds another database than shard {place.name!r} had"
        )
    _settle_rows(database, place)
    _settle_coordinator(database, place, coordinator)


def leave_to_coordinator(database: Database) -> None:
    """Have a database that was opened alone refuse writes if it is a shard.

    What was added would be in none of the coordinator's counts, and might lie in two shards.
    """
    if _coordinator_of(database) is not None:
        database.belongs_to = (
            "is a shard of another index, and can be read alone; write to it through the "
            "shards.toml that lists it"
        )


def _coordinator_of(database: Database) -> str | None:
    with database.read() as connection:
        return _named_coordinator(connection)


def _named_coordinator(connection: sa.Connection) -> str | None:
    query = sa.select(meta.c.value).where(meta.c.key == _COORDINATOR)
    held: str | None = connection.execute(query).scalar()
    return held


def _settle_coordinator(database: Database, place: ShardPlace, coordinator: str) -> None:
    """Have the database say whose shard it is.

    Raises
    ------
    DamagedIndexError
        If it belongs to another coordinator.
    """
    held = _coordinator_of(database)
    if held is None and not database.read_only:
        with database.write() as connection:
            held = _named_coordinator(connection)  # another process may have been faster
            if held is None:
                mine = {"key": _COORDINATOR, "value": coordinator}
                connection.execute(sa.insert(meta), [mine])
    if held not in (None, coordinator):
        raise DamagedIndexError(
            f"{place.where} belongs to a coordinator that is not there: the folder beside the file "
            "of shards, with all feedback, was lost or is another one; put it back, or restore "
            "its backup"
        )


def _settle_rows(database: Database, place: ShardPlace) -> None:
    """Have the database number rows in the range of its shard.

    Raises
    ------
    ParameterError
        If rows of it lie elsewhere.
    """
    first, last = place.number * ROWS + 1, (place.number + 1) * ROWS - 1
    counted = "SELECT seq FROM sqlite_sequence WHERE name = 'chunks'"
    with database.read() as connection:
        for table in (chunks, tombstones):
            query = sa.select(sa.func.min(table.c.row), sa.func.max(table.c.row))
            lowest, highest = connection.execute(query).one()
            if lowest is not None and not first <= lowest <= highest <= last:
                raise _elsewhere(place)
        given: int | None = connection.exec_driver_sql(counted).scalar()
    if given is None and not database.read_only:
        with database.write() as connection:
            connection.exec_driver_sql(
                "INSERT INTO sqlite_sequence (name, seq) SELECT 'chunks', ? "
                f"WHERE NOT EXISTS ({counted})",
                (first - 1,),
            )
            given = connection.exec_driver_sql(counted).scalar()  # or of who was faster
    if given is not None and not first - 1 <= given <= last:
        raise _elsewhere(place)


def _elsewhere(place: ShardPlace) -> ParameterError:
    return ParameterError(
        f"shard {place.name!r}: the rows of {place.where} are not those of a shard in place "
        f"{place.number + 1}; one database can be one shard only, and an index that was built "
        "alone the first shard only: add its chunks to a new one instead"
    )
