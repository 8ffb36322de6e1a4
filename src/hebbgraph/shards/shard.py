"""One shard: opened when it answers, and down while it does not."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import sqlalchemy as sa

from hebbgraph.errors import (
    DamagedIndexError,
    DiskFullError,
    IndexLockedError,
    ParameterError,
    ReadOnlyIndexError,
    ShardDownError,
    StorageError,
    TextSourceError,
)
from hebbgraph.shards.plan import ROWS, ShardPlace
from hebbgraph.store.database import Database
from hebbgraph.store.history import NOTHING
from hebbgraph.store.schema import chunks, meta, tombstones
from hebbgraph.store.truth import FeedbackState, State, Truth

__all__ = ["COORDINATOR_KEY", "Shard", "leave_to_coordinator", "open_shards"]

logger = logging.getLogger(__name__)

#: Errors that say nothing about whether a shard can be read.
_NOT_DOWN = (
    DiskFullError,
    IndexLockedError,
    ReadOnlyIndexError,
    ShardDownError,
    TextSourceError,
)
#: Under this key of its database, a shard says whose it is.
COORDINATOR_KEY = "coordinator"
#: A shard that is down is tried again after so long.
_TRY_AGAIN_SECONDS = 2.0


class Shard:
    """One shard of one namespace.

    Parameters
    ----------
    place : ShardPlace
    known : str, optional
        The id of its database, if it was opened before: another one is not this shard.
    open_database : callable
        Opens the database of a place; ``create=True`` makes it.
    open_truth : callable
        Reads a namespace of it, and checks its settings.
    coordinator : str
        The id of the coordinator's database. A shard belongs to one: it would know nothing of
        what another one was taught.
    """

    def __init__(
        self,
        place: ShardPlace,
        known: str | None,
        open_database: Callable[[ShardPlace, bool], Database],
        open_truth: Callable[[Database], Truth],
        coordinator: str,
    ) -> None:
        self.place = place
        self._known = known
        self._coordinator = coordinator
        self._open_database, self._open_truth = open_database, open_truth
        self._truth: Truth | None = None
        self._last = State(NOTHING, None, FeedbackState(), 0)
        self._try_again_at = 0.0
        self._trying = threading.Lock()
        #: Why it is down; None if it answers.
        self.problem: str | None = None

    @property
    def number(self) -> int:
        """Its number, by which rows tell it."""
        return self.place.number

    @property
    def name(self) -> str:
        """Its name."""
        return self.place.name

    @property
    def opened(self) -> Truth | None:
        """Its chunks, if it was ever opened, down or not."""
        return self._truth

    @property
    def is_up(self) -> bool:
        """Whether it answered when it was last asked."""
        return self.problem is None

    @property
    def truth(self) -> Truth:
        """Its chunks.

        Raises
        ------
        ShardDownError
        """
        if self.problem is not None or self._truth is None:
            raise self._error(self.problem or "it was not opened")
        return self._truth

    def state(self) -> State:
        """Return its state; the last known one while it is down."""
        if self.is_up:
            return self._noted()
        if time.monotonic() < self._try_again_at or not self._trying.acquire(blocking=False):
            return self._last
        try:  # one thread: several would open it as often, and close what the others hold
            return self._noted()
        finally:
            self._trying.release()

    def _noted(self) -> State:
        """Ask for its state, and note whether it answers."""
        try:
            self._last = self._asked()
        except IndexLockedError:
            raise  # it is there, and busy
        except (StorageError, OSError) as error:
            self.goes_down(error)
            return self._last
        if self.problem is not None:
            logger.warning("shard %r answers again", self.name)
            self.problem = None
        return self._last

    def _asked(self) -> State:
        if self._truth is not None:
            try:
                return self._truth.state()
            except StorageError:
                if self.problem is None:
                    raise
        # Its files may have come back as other files.
        opened = self._open()
        if self._truth is not None:
            self._truth.database.dispose()
        self._truth = opened
        return opened.state()

    @contextmanager
    def watched(self) -> Iterator[Truth]:
        """Yield its chunks; what fails meanwhile takes it down.

        Raises
        ------
        ShardDownError
        """
        truth = self.truth
        try:
            yield truth
        except _NOT_DOWN:
            raise
        except (StorageError, OSError) as error:
            self.goes_down(error)
            raise self._error(str(error)) from error

    def goes_down(self, error: Exception) -> None:
        """Take part in nothing until it answers again."""
        if self.problem is None:
            logger.warning("%s", self._down(str(error)))
        self.problem = " ".join(str(error).split()) or type(error).__name__
        self._try_again_at = time.monotonic() + _TRY_AGAIN_SECONDS

    def _error(self, problem: str) -> ShardDownError:
        return ShardDownError(
            f"{self._down(problem)}; recalls go on without it, and what has to read or write it "
            "works again when it is back"
        )

    @property
    def told(self) -> str | None:
        """That it is down, and why; None while it answers."""
        return None if self.problem is None else self._down(self.problem)

    def _down(self, problem: str) -> str:
        return f"shard {self.name!r} at {self.place.path} is down: {problem}"

    def _open(self) -> Truth:
        database = self._open_database(self.place, self._known is None)
        try:
            if self._known is not None and database.id != self._known:
                raise DamagedIndexError(
                    f"{self.place.path} holds another database than shard {self.name!r} had"
                )
            self._known = database.id
            _settle_rows(database, self.place)
            _settle_coordinator(database, self.place, self._coordinator)
            return self._open_truth(database)
        except BaseException:
            database.dispose()
            raise

    @property
    def known(self) -> str | None:
        """The id of its database, if it was ever opened."""
        return self._known


def open_shards(
    places: Sequence[ShardPlace],
    listed: int,
    coordinator: Database,
    open_database: Callable[[ShardPlace, bool], Database],
    open_truth: Callable[[Database], Truth],
) -> list[Shard]:
    """Open shards and remember in the coordinator's database which they are.

    Parameters
    ----------
    places : sequence of ShardPlace
        Those of one namespace.
    listed : int
        How many the file lists for all.
    coordinator : Database
    open_database, open_truth : callable
        See :class:`Shard`.

    Raises
    ------
    ParameterError
        If the file lists a shard at the place of another one, or one of before no more.
    """
    with coordinator.read() as connection:
        query = sa.select(meta.c.key, meta.c.value).where(meta.c.key.startswith("shard:"))
        held = {key: json.loads(value) for key, value in connection.execute(query)}
    known_names = {int(key.partition(":")[2]): name for key, (name, _) in held.items()}
    if lost := [name for number, name in sorted(known_names.items()) if number >= listed]:
        raise ParameterError(
            f"the shard {lost[0]!r} is listed no more, and its chunks would be gone without a "
            "word; put it back"
        )
    shards = []
    for place in places:
        name, known = held.get(f"shard:{place.number}", (place.name, None))
        if name != place.name:
            raise ParameterError(
                f"the shard in place {place.number + 1} was {name!r}, and is {place.name!r} now; "
                "keep names and order, and add new shards at the end"
            )
        shards.append(Shard(place, known, open_database, open_truth, coordinator.id))
    for shard in shards:
        shard.state()
    new = {
        f"shard:{shard.number}": json.dumps([shard.name, shard.known])
        for shard in shards
        if shard.known is not None and f"shard:{shard.number}" not in held
    }
    if new and not coordinator.read_only:
        with coordinator.write() as connection:
            coordinator.dialect.exclude_others(connection)
            connection.execute(sa.delete(meta).where(meta.c.key.in_(list(new))))
            connection.execute(
                sa.insert(meta), [{"key": key, "value": value} for key, value in new.items()]
            )
    return shards


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
    query = sa.select(meta.c.value).where(meta.c.key == COORDINATOR_KEY)
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
                mine = {"key": COORDINATOR_KEY, "value": coordinator}
                connection.execute(sa.insert(meta), [mine])
    if held not in (None, coordinator):
        raise DamagedIndexError(
            f"{place.path} belongs to a coordinator that is not there: the folder beside the file "
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
    with database.read() as connection:
        for table in (chunks, tombstones):
            query = sa.select(sa.func.min(table.c.row), sa.func.max(table.c.row))
            lowest, highest = connection.execute(query).one()
            if lowest is not None and not first <= lowest <= highest <= last:
                raise ParameterError(
                    f"shard {place.name!r}: the rows of {place.path} are not those of a shard in "
                    f"place {place.number + 1}; an index that was built alone can be the first "
                    "shard only: add its chunks to a new one instead"
                )
        numbered = "SELECT 1 FROM sqlite_sequence WHERE name = 'chunks'"
        is_numbered = connection.exec_driver_sql(numbered).first() is not None
    if place.number == 0 or is_numbered or database.read_only:
        return
    with database.write() as connection:
        connection.exec_driver_sql(
            "INSERT INTO sqlite_sequence (name, seq) SELECT 'chunks', ? "
            f"WHERE NOT EXISTS ({numbered})",
            (first - 1,),
        )
