"""One shard: opened when it answers, and down while it does not."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import sqlalchemy as sa

from hebbgraph.errors import (
    DiskFullError,
    IndexLockedError,
    ParameterError,
    ReadOnlyIndexError,
    ShardDownError,
    StorageError,
    TextSourceError,
)
from hebbgraph.shards.plan import ShardPlace
from hebbgraph.store.database import Database
from hebbgraph.store.history import NOTHING
from hebbgraph.store.schema import meta
from hebbgraph.store.truth import FeedbackState, State, Truth

__all__ = ["NOT_DOWN", "Shard", "ShardSource", "open_shards"]

logger = logging.getLogger(__name__)

#: Errors that say nothing about whether a shard can be read.
NOT_DOWN = (
    DiskFullError,
    IndexLockedError,
    ReadOnlyIndexError,
    ShardDownError,
    TextSourceError,
)
#: A shard that is down is tried again after so long.
_TRY_AGAIN_SECONDS = 2.0
#: One that answers, and then again takes too long, is tried ever less often, up to this.
_LONGEST_PAUSE_SECONDS = 60.0
#: Of what a shard elsewhere says is wrong, so much is shown: it may say anything.
_MOST_TOLD = 500


class ShardSource(Protocol):
    """Where the chunks of a shard lie, and how they are reached.

    Attributes
    ----------
    home : Path
        The directory below which what is derived from the chunks lies.
    """

    home: Path

    def open(self, known: str | None) -> Truth:
        """Return the chunks.

        Parameters
        ----------
        known : str, optional
            The id of the database, if it was opened before: another one is not this shard. None
            makes it, if there is none.

        Raises
        ------
        StorageError
            If it does not answer, or is not this shard.
        """


class Shard:
    """One shard of one namespace.

    Parameters
    ----------
    place : ShardPlace
    known : str, optional
        The id of its database, if it was opened before: another one is not this shard.
    source : ShardSource
    """

    def __init__(self, place: ShardPlace, known: str | None, source: ShardSource) -> None:
        self.place = place
        self._known = known
        self._source = source
        self._truth: Truth | None = None
        self._last = State(NOTHING, None, FeedbackState(), 0)
        self._try_again_at = self._up_since = 0.0
        self._pause = _TRY_AGAIN_SECONDS
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
    def home(self) -> Path:
        """The directory below which what is derived from it lies."""
        return self._source.home

    @property
    def is_served(self) -> bool:
        """Whether it lies elsewhere, so that each question to it travels."""
        return self.place.url is not None

    @property
    def last(self) -> State:
        """Its state when it last answered."""
        return self._last

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
            self.problem, self._up_since = None, time.monotonic()
        return self._last

    def _asked(self) -> State:
        if self._truth is not None:
            try:
                return self._truth.state()
            except StorageError:
                if self.problem is None:
                    raise
        # Its files may have come back as other files.
        opened = self._source.open(self._known)
        self._known = opened.database.id
        self.close()
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
        except NOT_DOWN:
            raise
        except (StorageError, OSError) as error:
            raise self._error(self.goes_down(error)) from error

    def goes_down(self, error: Exception) -> str:
        """Take part in nothing until it answers again; return why."""
        now, problem = time.monotonic(), _reason(error)
        if self.problem is None:
            logger.warning("%s", self._down(problem))
            slow_again = (
                isinstance(error.__cause__, TimeoutError)
                and now - self._up_since < _LONGEST_PAUSE_SECONDS
            )
            # Each time it comes back, some recall waits for the whole time limit.
            longer = min(2 * self._pause, _LONGEST_PAUSE_SECONDS)
            self._pause = longer if slow_again else _TRY_AGAIN_SECONDS
        self.problem = problem
        self._try_again_at = now + self._pause
        return problem

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
        return f"shard {self.name!r} at {self.place.where} is down: {problem}"

    @property
    def known(self) -> str | None:
        """The id of its database, if it was ever opened."""
        return self._known

    def close(self) -> None:
        """Close its database, if it was ever opened."""
        if self._truth is not None:
            self._truth.database.dispose()


def _reason(error: Exception) -> str:
    """Return what an error says, in one line of printable characters."""
    told = " ".join(str(error)[: 2 * _MOST_TOLD].split()) or type(error).__name__
    return "".join(one for one in told if one.isprintable())[:_MOST_TOLD]


def open_shards(
    places: Sequence[ShardPlace],
    listed: int,
    coordinator: Database,
    source_of: Callable[[ShardPlace], ShardSource],
) -> list[Shard]:
    """Open shards and remember in the coordinator's database which they are.

    Parameters
    ----------
    places : sequence of ShardPlace
        Those of one namespace.
    listed : int
        How many the file lists for all.
    coordinator : Database
    source_of : callable

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
        shards.append(Shard(place, known, source_of(place)))
    try:
        for shard in shards:
            shard.state()
        _remember(coordinator, shards, held)
    except BaseException:
        for shard in shards:
            shard.close()
        raise
    return shards


def _remember(coordinator: Database, shards: Sequence[Shard], held: Mapping[str, Any]) -> None:
    """Write down the shards that were opened for the first time."""
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
