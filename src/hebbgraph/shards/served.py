"""A shard that ``hebbgraph serve --shard`` keeps elsewhere.

Its chunks lie there: each read and each write is one message (:mod:`.calls`). What is derived from
them lies with the coordinator, as it does where the database is PostgreSQL. So a recall asks it
for its state and for the chunks of the hits, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa
from pydantic import TypeAdapter

from hebbgraph.errors import (
    ConnectionLostError,
    HebbgraphError,
    ParameterError,
    SettingsMismatchError,
    StorageError,
)
from hebbgraph.records import Finding
from hebbgraph.shards.calls import CALLS, MOST_ROWS, Opened, Opening, Request, is_row
from hebbgraph.shards.message import VERSION, pack, unpack
from hebbgraph.shards.plan import ROWS, ShardPlace
from hebbgraph.store.chunks import Dated, Named, pages, row_of
from hebbgraph.store.database import Database
from hebbgraph.store.embeddings import Embeddings, EmbeddingState
from hebbgraph.store.history import Commit, History
from hebbgraph.store.truth import (
    Changes,
    ChunkWrite,
    Outcome,
    OvertakenError,
    Standing,
    State,
    Truth,
)
from hebbgraph.wire import Wire

__all__ = ["MESSAGE", "ROUTE", "ServedSource"]

#: The media type of messages, and where they go.
MESSAGE = "application/vnd.hebbgraph.shard"
ROUTE = "shard"
#: Of one message. The longest answers say which rows there are: eight bytes a chunk.
_MOST_BYTES = 256_000_000
#: How long a call may take that reads or rewrites all that the shard holds.
_LASTING_SECONDS = 3600.0

_OPENED: TypeAdapter[Opened] = TypeAdapter(Opened)


class _Line:
    """Messages to one shard, of one namespace."""

    def __init__(self, place: ShardPlace, namespace: str) -> None:
        assert place.url is not None
        self.url = place.url
        self._rows = range(place.number * ROWS, (place.number + 1) * ROWS)
        self._namespace = namespace
        self._wire = Wire(place.url, token=place.token(), timeout_seconds=place.timeout_seconds)
        #: The id of the database there, once it was opened.
        self.database: str | None = None

    def open(self, opening: Opening) -> Opened:
        told = self._sent("open", opening._asdict(), _OPENED)
        opened: Opened = told
        self.database = opened.database
        return opened

    def ask(self, call: str, **given: Any) -> Any:
        """Send a call, and return its answer as the truth there returned it.

        Raises
        ------
        StorageError
            If there is no answer, or none that fits: the shard is down then.
        """
        known = CALLS[call]
        return self._sent(call, given, known.answer, once=known.writes, lasts=known.lasts)

    def check(self, rows: Iterable[int]) -> None:
        """Raise ConnectionLostError unless rows ascend and are those of this shard."""
        before = self._rows.start
        for row in rows:
            if not before < row < self._rows.stop:
                raise ConnectionLostError(f"{self.url} answered with rows of another shard")
            before = row

    def _sent(
        self,
        call: str,
        given: Mapping[str, Any],
        answer: TypeAdapter[Any],
        *,
        once: bool = False,
        lasts: bool = False,
    ) -> Any:
        try:
            message = pack(Request(VERSION, call, self.database, dict(given)))
        except UnicodeEncodeError as error:
            raise ParameterError(
                f"{error.object!r:.80} holds half a surrogate pair, which no database can hold"
            ) from error
        if len(message) > _MOST_BYTES:  # the shard would refuse it, and be taken for down
            raise ParameterError(
                f"{self.url}: {len(message) / 1e6:,.0f} MB in one message, at most "
                f"{_MOST_BYTES / 1e6:,.0f}; lower Settings(batch_size=...), or split long texts"
            )
        try:
            held = self._wire.send(
                ROUTE,
                message,
                kind=MESSAGE,
                namespace=self._namespace,
                most_bytes=_MOST_BYTES,
                once=once,
                within_seconds=_LASTING_SECONDS if lasts else None,
            )
        except (StorageError, SettingsMismatchError):
            raise
        except HebbgraphError as error:
            if isinstance(error, ParameterError) and call == "open":
                raise  # it cannot be this shard at all
            raise StorageError(f"{self.url} refuses: {error}") from error
        try:
            return answer.validate_python(unpack(held))
        except ValueError as error:
            raise ConnectionLostError(
                f"{self.url} answered with nothing that fits ({type(error).__name__}); run the "
                "same version of hebbgraph at both ends"
            ) from error

    def close(self) -> None:
        self._wire.close()


class _ServedDatabase(Database):
    """Stands for the database at the other end: its name and id, and no connection."""

    def __init__(self, line: _Line, opened: Opened, *, wait_seconds: float) -> None:
        self._line = line
        self.place = line.url
        self.read_only = opened.read_only
        self.belongs_to = None
        self.wait_seconds = wait_seconds
        self.id = opened.database

    def vacuum(self) -> None:
        self._line.ask("vacuum")

    def dispose(self) -> None:
        self._line.close()


class _ServedHistory(History):
    """Which commits led to the truth at the other end."""

    def __init__(self, database: Database, namespace: str, line: _Line) -> None:
        super().__init__(database, namespace)
        self._line = line

    def knows(self, commit: Commit) -> bool:
        known: bool = self._line.ask("knows", commit=commit)
        return known


class _OverLine:
    """Reads chunks by messages; before a ChunkReader, it replaces what reads the database."""

    _line: _Line

    def _select(self, rows: Iterable[int], *columns: sa.Column[Any]) -> Iterator[Sequence[Any]]:
        names = [column.name for column in columns]
        for page in pages(map(int, rows), MOST_ROWS):
            found = self._line.ask("select", rows=np.array(page, dtype=np.int64), columns=names)
            if not all(is_row(held, names) for held in found):
                raise ConnectionLostError(f"{self._line.url} answered with rows of other columns")
            numbers = [held[0] for held in found]
            if sorted(set(page).intersection(numbers)) != numbers:
                raise ConnectionLostError(f"{self._line.url} answered with other rows than asked")
            yield found

    def _by_id(self, ids: Iterable[str], column: sa.Column[Any]) -> dict[str, Any]:
        wanted = list(ids)
        found = dict(self._line.ask("by_id", ids=wanted, column=column.name)) if wanted else {}
        if column.name == "row":
            self._line.check(sorted(found.values()))
        return found

    def count(self) -> int:
        counted: int = self._line.ask("count")
        return counted

    def rows_of_versions(self, ids: Iterable[str]) -> list[int]:
        rows: list[int] = self._line.ask("rows_of_versions", ids=list(ids))
        return rows

    def documents_held(self, names: Iterable[str]) -> set[str]:
        wanted = list(names)
        held: set[str] = self._line.ask("documents_held", names=wanted) if wanted else set()
        return held

    def ids_of_document(self, document_id: str) -> set[str]:
        ids: set[str] = self._line.ask("ids_of_document", document_id=document_id)
        return ids

    def ids_after(self, last: str, limit: int) -> list[tuple[str, int]]:
        page: list[tuple[str, int]] = self._line.ask("ids_after", last=last, limit=limit)
        return page

    def named_after(self, row: int, limit: int) -> list[Named]:
        page: list[Named] = self._line.ask("named_after", row=row, limit=limit)
        return page

    def dated(self, after: int, last: int) -> list[Dated]:
        found: list[Dated] = self._line.ask("dated", after=after, last=last)
        return found

    def addresses(self) -> Iterator[tuple[str, list[str]]]:
        yield from self._line.ask("addresses")

    def fingerprints(self) -> dict[str, str]:
        return dict(self._line.ask("fingerprints"))


class _ServedEmbeddings(_OverLine, Embeddings):
    """The vectors at the other end."""

    def __init__(self, database: Database, namespace: str, line: _Line) -> None:
        super().__init__(database, namespace)
        self._line = line

    def begin_epoch(self, state: EmbeddingState) -> EmbeddingState:
        begun: EmbeddingState = self._line.ask("begin_epoch", embedding=state)
        return begun

    def rows_to_embed(self, epoch: int, limit: int, *, after: int = 0) -> list[int]:
        rows: list[int] = self._line.ask("rows_to_embed", epoch=epoch, limit=limit, after=after)
        return rows

    def without_vector(self, rows: Iterable[int], epoch: int) -> set[int]:
        asked = np.array(list(rows), dtype=np.int64)
        lacking: set[int] = self._line.ask("without_vector", rows=asked, epoch=epoch)
        return lacking

    def by_content(self, ids: Iterable[str], epoch: int) -> dict[bytes, bytes]:
        held: dict[bytes, bytes] = {}
        for page in pages(ids, MOST_ROWS):
            held |= dict(self._line.ask("by_content", ids=page, epoch=epoch))
        return held

    def count_to_embed(self, epoch: int) -> int:
        counted: int = self._line.ask("count_to_embed", epoch=epoch)
        return counted

    def write_vectors(self, epoch: int, vectors: Mapping[int, bytes]) -> None:
        rows = np.array(list(vectors), dtype=np.int64)
        self._line.ask("write_vectors", epoch=epoch, rows=rows, vectors=list(vectors.values()))

    def count_vectors(self, epoch: int, at: Commit) -> int | None:
        counted: int | None = self._line.ask("count_vectors", epoch=epoch, at=at)
        return counted


class ServedTruth(_OverLine, Truth):
    """One namespace of a shard elsewhere.

    Parameters
    ----------
    database : Database
        Stands for that at the other end.
    namespace : str
    line : _Line
    """

    def __init__(self, database: Database, namespace: str, line: _Line) -> None:
        super().__init__(database, namespace)
        self._line = line
        self.embeddings = _ServedEmbeddings(database, namespace, line)
        self.history = _ServedHistory(database, namespace, line)

    def state(self) -> State:
        told: State = self._line.ask("state")
        return told

    def changes_since(self, commit: Commit) -> Changes:
        changes = Changes(*self._line.ask("changes_since", commit=commit))
        self._line.check(changes.added.tolist())
        self._line.check(changes.removed.tolist())
        return changes

    def apply(
        self,
        writes: Sequence[ChunkWrite] = (),
        *,
        delete_ids: Iterable[str] = (),
        delete_documents: Iterable[str] = (),
        fingerprints: Mapping[str, str] | None = None,
        embedding: EmbeddingState | None = None,
        instead_of: Mapping[str, int] | None = None,
        standing: Standing | None = None,
    ) -> Outcome:
        """Write, replace and delete in one transaction; see :meth:`Truth.apply`."""
        outcome: Outcome | None = self._line.ask(
            "apply",
            rows=[row_of(one.chunk, one.candidates, one.digest, self.text_store) for one in writes],
            vectors=[one.vector for one in writes],
            delete_ids=list(delete_ids),
            delete_documents=list(delete_documents),
            fingerprints=list((fingerprints or {}).items()),
            embedding=embedding,
            instead_of=None if instead_of is None else list(instead_of.items()),
            standing=standing,
        )
        if outcome is None:
            raise OvertakenError
        return outcome

    def drop_tombstones(self) -> None:
        self._line.ask("drop_tombstones")

    def problems(self) -> Iterator[Finding]:
        yield from self._line.ask("problems")


class ServedSource:
    """A shard behind a URL.

    Parameters
    ----------
    place : ShardPlace
        With a URL.
    namespace : str
    coordinator : str
        The id of the coordinator's database.
    home : Path
        Where the coordinator keeps what is derived from it.
    build, before : mapping
        The build settings of the namespace, and what those were that older versions did not save.
    wait_seconds : float
    """

    def __init__(
        self,
        place: ShardPlace,
        namespace: str,
        coordinator: str,
        *,
        home: Path,
        build: Mapping[str, Any],
        before: Mapping[str, Any],
        wait_seconds: float,
    ) -> None:
        self.home = home
        self._place, self._namespace, self._coordinator = place, namespace, coordinator
        self._build, self._before = dict(build), dict(before)
        self._wait_seconds = wait_seconds

    def open(self, known: str | None) -> Truth:
        """Have the server open it; see :meth:`ShardSource.open`."""
        line = _Line(self._place, self._namespace)
        try:
            opened = line.open(
                Opening(
                    self._place.number,
                    self._place.name,
                    known,
                    self._coordinator,
                    self._build,
                    self._before,
                )
            )
        except BaseException:
            line.close()
            raise
        database = _ServedDatabase(line, opened, wait_seconds=self._wait_seconds)
        return ServedTruth(database, self._namespace, line)
