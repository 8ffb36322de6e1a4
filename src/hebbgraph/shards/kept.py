"""The other end of a shard elsewhere: a directory, and what coordinators ask of it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

from pydantic import TypeAdapter

from hebbgraph.errors import DamagedIndexError, NotFoundError, ParameterError, StorageError
from hebbgraph.shards.calls import CALLS, Opened, Opening, Request
from hebbgraph.shards.directory import settle_shard
from hebbgraph.shards.message import VERSION, pack, unpack
from hebbgraph.shards.plan import ShardPlace
from hebbgraph.shards.shard import NOT_DOWN
from hebbgraph.store.database import DATABASE_NAME, Database
from hebbgraph.store.truth import Truth

__all__ = ["KeptShard"]

_REQUEST: TypeAdapter[Request] = TypeAdapter(Request)
_OPENING: TypeAdapter[Opening] = TypeAdapter(Opening)


class KeptShard:
    """A directory that is a shard of an index elsewhere, for ``hebbgraph serve --shard``.

    It derives nothing from its chunks: the coordinator does. So it takes the memory of a
    database, and answers at once after a restart.

    Parameters
    ----------
    directory : str or Path
        Made when a coordinator first opens it.
    wait_seconds : float
        How long a writer waits for another one.

    Notes
    -----
    Safe to use from many threads.
    """

    def __init__(self, directory: str | Path, *, wait_seconds: float = 30.0) -> None:
        self.directory = Path(directory)
        self._wait_seconds = wait_seconds
        self._opening = threading.Lock()
        self._database: Database | None = None

    @staticmethod
    def asked(content: bytes) -> Request:
        """Return what a message asks for.

        Raises
        ------
        ParameterError
            If it is none of ours.
        pydantic.ValidationError
            If it does not say what it asks for.
        StorageError
            If it is of another version.
        """
        try:
            told = unpack(content)
        except ValueError as error:
            raise ParameterError(str(error)) from error
        if isinstance(told, list) and told and told[0] != VERSION:
            raise StorageError(
                f"messages of version {told[0]!r:.20} arrived, this server knows version "
                f"{VERSION}; run the same version of hebbgraph at both ends"
            )
        return _REQUEST.validate_python(told)

    def answer(self, request: Request, namespace: str) -> bytes:
        """Answer a message.

        Raises
        ------
        NotFoundError
            If there is no such call.
        pydantic.ValidationError
            If its arguments are wrong.
        StorageError
            If it is meant for another database, or this one fails.
        """
        if request.call == "open":
            return pack(self._open(_OPENING.validate_python(request.given), namespace))
        call = CALLS.get(request.call)
        if call is None:
            raise NotFoundError(f"a shard knows no call {request.call!r:.80}")
        with self._watched(create=False) as database:
            if database.id != request.database:
                raise DamagedIndexError(
                    f"{self.directory} holds another database than the coordinator opened"
                )
            return pack(call.run(Truth(database, namespace), **request.given))

    def check(self) -> None:
        """Raise StorageError if there is a database and it does not answer."""
        if (self.directory / DATABASE_NAME).exists():  # else no coordinator has opened it yet
            with self._watched(create=False) as database:
                Truth(database, "").namespaces()

    def close(self) -> None:
        """Close the database."""
        with self._opening:
            held, self._database = self._database, None
        if held is not None:
            held.dispose()

    def _open(self, asked: Opening, namespace: str) -> Opened:
        place = ShardPlace(asked.number, asked.name, self.directory)
        with self._watched(create=asked.known is None) as database:
            settle_shard(database, place, asked.known, asked.coordinator)
            Truth(database, namespace).settle(asked.build, before=asked.before)
            return Opened(database.id, database.read_only)

    @contextlib.contextmanager
    def _watched(self, *, create: bool) -> Iterator[Database]:
        """Yield the database; one that fails is opened anew by the next message."""
        with self._opening:
            if self._database is None:
                self._database = Database.in_directory(
                    self.directory, wait_seconds=self._wait_seconds, create=create
                )
            database = self._database
        try:
            yield database
        except NOT_DOWN:
            raise
        except StorageError:
            with self._opening:
                if self._database is database:
                    self._database = None
            database.dispose()
            raise
