"""Reading and writing one namespace of the truth."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from itertools import islice
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
import sqlalchemy as sa
from pydantic_core import from_json, to_json

from hebbgraph.errors import InvalidChunkError, SettingsMismatchError
from hebbgraph.records import Chunk
from hebbgraph.storage.database import Database
from hebbgraph.storage.schema import chunks, documents, namespaces, tombstones
from hebbgraph.tagging import Candidate
from hebbgraph.typing import IntArray

__all__ = ["Changes", "ChunkWrite", "EmbeddingState", "FeedbackState", "Outcome", "Truth"]

_T = TypeVar("_T")
_PAGE = 500  # bound parameters a statement; every database allows as many


#: Statements of the hot path are built once.
_STATE = sa.select(
    namespaces.c.generation,
    namespaces.c.floor,
    namespaces.c.embedding,
    namespaces.c.feedback_added,
    namespaces.c.feedback_removed,
).where(namespaces.c.namespace == sa.bindparam("namespace"))


@cache
def _by_row(*columns: sa.Column[Any]) -> sa.Select[Any]:
    return (
        sa.select(chunks.c.row, *columns)
        .where(
            chunks.c.namespace == sa.bindparam("namespace"),
            chunks.c.row.in_(sa.bindparam("rows", expanding=True)),
        )
        .order_by(chunks.c.row)
    )


class FeedbackState(NamedTuple):
    """How often feedback was added to a namespace's log, and how often taken away."""

    added: int = 0
    removed: int = 0


class EmbeddingState(NamedTuple):
    """Which model the vectors of a namespace are of.

    ``epoch`` grows when another model takes over, ``revision`` also when vectors are
    filled in: whoever holds vectors of another revision reads them again.
    """

    name: str
    dimension: int
    dtype: str
    epoch: int = 1
    revision: int = 1

    @classmethod
    def read(cls, saved: str | None) -> Self | None:
        """Read what :meth:`saved` wrote."""
        return None if saved is None else cls(**json.loads(saved))

    def saved(self) -> str:
        """Return the state as JSON."""
        return json.dumps(self._asdict())


@dataclass(frozen=True, slots=True)
class Changes:
    """What happened after a generation.

    Attributes
    ----------
    generation : int
        The state that these changes lead to.
    added, removed : ndarray of int64
        Rows, ascending. A row that came and went is in neither.
    complete : bool
        False if the log no longer reaches back that far: start from nothing.
    embedding : EmbeddingState, optional
    feedback : FeedbackState
        How far the feedback log has come.
    """

    generation: int
    added: IntArray
    removed: IntArray
    complete: bool = True
    embedding: EmbeddingState | None = None
    feedback: FeedbackState = FeedbackState()


@dataclass(frozen=True, slots=True)
class ChunkWrite:
    """A chunk on its way into the database, with what pass 1 of the tagger found."""

    chunk: Chunk
    candidates: Sequence[Candidate]
    vector: bytes | None = None


class Outcome(NamedTuple):
    """What one transaction did."""

    added: int
    replaced: int
    deleted: int
    generation: int


class Truth:
    """One namespace of the database.

    Every write is one transaction and one new generation; a write that changes nothing
    makes none.
    """

    def __init__(self, database: Database, namespace: str) -> None:
        self.database = database
        self.namespace = namespace

    # -- settings and state ---------------------------------------------------------

    def settle(self, build_settings: Mapping[str, Any]) -> None:
        """Save the build settings of a new namespace, or compare them with those saved.

        Raises
        ------
        SettingsMismatchError
            If the namespace was built with others.
        """
        saved = self._saved_settings()
        if saved is None and not self.database.read_only:
            with self.database.write() as connection:
                held = connection.execute(
                    sa.select(namespaces.c.build_settings).where(
                        namespaces.c.namespace == self.namespace
                    )
                ).scalar()
                if held is None:
                    connection.execute(
                        sa.insert(namespaces).values(
                            namespace=self.namespace,
                            generation=0,
                            floor=0,
                            build_settings=json.dumps(dict(build_settings), sort_keys=True),
                        )
                    )
            saved = self._saved_settings()
        if saved is None:
            return
        for name, value in build_settings.items():
            if saved.get(name, value) != value:
                raise SettingsMismatchError(
                    f"{self.database.place} (namespace {self.namespace!r}) was built with "
                    f"{name}={saved[name]!r}, got {name}={value!r}; open it with the saved "
                    "value, or build a new index"
                )

    def _saved_settings(self) -> dict[str, Any] | None:
        with self.database.read() as connection:
            saved = connection.execute(
                sa.select(namespaces.c.build_settings).where(
                    namespaces.c.namespace == self.namespace
                )
            ).scalar()
        return None if saved is None else json.loads(saved)

    def generation(self) -> int:
        """Return the number of the last committed batch."""
        with self.database.read() as connection:
            return connection.execute(self._generation_query()).scalar() or 0

    def _generation_query(self) -> sa.Select[Any]:
        return sa.select(namespaces.c.generation).where(namespaces.c.namespace == self.namespace)

    def count(self) -> int:
        """Return how many chunks there are."""
        with self.database.read() as connection:
            query = sa.select(sa.func.count()).select_from(chunks).where(self._mine())
            return connection.execute(query).scalar_one()

    def _mine(self) -> sa.ColumnElement[bool]:
        return chunks.c.namespace == self.namespace

    # -- writing --------------------------------------------------------------------

    def apply(
        self,
        writes: Sequence[ChunkWrite] = (),
        *,
        delete_ids: Iterable[str] = (),
        delete_documents: Iterable[str] = (),
        fingerprints: Mapping[str, str] | None = None,
        embedding: EmbeddingState | None = None,
    ) -> Outcome:
        """Write, replace and delete in one transaction.

        Parameters
        ----------
        writes : sequence of ChunkWrite
            Ids must differ from each other; a held id is replaced.
        delete_ids, delete_documents : iterables of str
            Unknown ones are passed over. Deleting a document forgets its fingerprint.
        fingerprints : mapping of document id to fingerprint
        embedding : EmbeddingState, optional
            What the vectors of ``writes`` are of.

        Raises
        ------
        SettingsMismatchError
            If vectors of another model are here by now.
        """
        new_ids = [write.chunk.id for write in writes]
        doomed_documents = list(delete_documents)
        with self.database.write() as connection:
            # First the counter: its row lock makes generations follow commit order.
            generation = self._advance(connection)
            if embedding is not None:
                self._settle_embedding(connection, embedding)
            replaced = self._rows_where(connection, chunks.c.id, new_ids)
            deleted = self._rows_where(connection, chunks.c.id, delete_ids)
            deleted |= self._rows_where(connection, chunks.c.document_id, doomed_documents)
            deleted -= replaced
            self._remove(connection, replaced | deleted, generation)
            for page in _pages(writes):
                rows = [self._values(write, generation, embedding) for write in page]
                connection.execute(sa.insert(chunks), rows)
            self._write_fingerprints(connection, doomed_documents, fingerprints or {})
            if not (writes or deleted or doomed_documents or fingerprints):
                connection.rollback()
                generation -= 1
        return Outcome(len(writes) - len(replaced), len(replaced), len(deleted), generation)

    def _advance(self, connection: sa.Connection) -> int:
        connection.execute(
            sa.update(namespaces)
            .where(namespaces.c.namespace == self.namespace)
            .values(generation=namespaces.c.generation + 1)
        )
        return int(connection.execute(self._generation_query()).scalar_one())

    def _rows_where(
        self, connection: sa.Connection, column: sa.Column[Any], values: Iterable[str]
    ) -> set[int]:
        rows: set[int] = set()
        for page in _pages(values):
            query = sa.select(chunks.c.row).where(self._mine(), column.in_(page))
            rows.update(connection.execute(query).scalars())
        return rows

    def _remove(self, connection: sa.Connection, rows: set[int], generation: int) -> None:
        for page in _pages(sorted(rows)):
            connection.execute(sa.delete(chunks).where(chunks.c.row.in_(page)))
            connection.execute(
                sa.insert(tombstones),
                [
                    {"row": row, "namespace": self.namespace, "generation": generation}
                    for row in page
                ],
            )

    def _values(
        self, write: ChunkWrite, generation: int, embedding: EmbeddingState | None
    ) -> dict[str, Any]:
        chunk = write.chunk
        by_kind: dict[str, list[str]] = {}
        for candidate in write.candidates:
            by_kind.setdefault(candidate.kind, []).append(candidate.key)
        return {
            "namespace": self.namespace,
            "id": chunk.id,
            "document_id": chunk.document_id,
            "title": chunk.title,
            "text": chunk.text,
            "metadata": _json(chunk.metadata),
            "tags": _json(chunk.tags),
            "candidates": _json(by_kind),
            "digest": digest(chunk),
            "generation": generation,
            "vector_epoch": embedding.epoch if embedding and write.vector else None,
            "vector": write.vector,
        }

    # -- vectors --------------------------------------------------------------------

    def embedding(self) -> EmbeddingState | None:
        """Return which model the vectors are of; None before the first."""
        with self.database.read() as connection:
            return self._embedding(connection)

    def _embedding(self, connection: sa.Connection) -> EmbeddingState | None:
        query = sa.select(namespaces.c.embedding).where(namespaces.c.namespace == self.namespace)
        return EmbeddingState.read(connection.execute(query).scalar())

    def _settle_embedding(self, connection: sa.Connection, wanted: EmbeddingState) -> None:
        held = self._embedding(connection)
        if held is None:
            self._save_embedding(connection, wanted)
        elif (held.name, held.epoch, held.dimension) != (
            wanted.name,
            wanted.epoch,
            wanted.dimension,
        ):
            raise SettingsMismatchError(
                f"{self.database.place}: vectors are of {held.name!r} ({held.dimension} "
                f"numbers), got {wanted.name!r} ({wanted.dimension}); open the index again"
            )

    def _save_embedding(self, connection: sa.Connection, state: EmbeddingState) -> None:
        connection.execute(
            sa.update(namespaces)
            .where(namespaces.c.namespace == self.namespace)
            .values(embedding=state.saved())
        )

    def begin_epoch(self, state: EmbeddingState) -> EmbeddingState:
        """Let another model take over; the vectors of the one before no longer count."""
        with self.database.write() as connection:
            held = self._embedding(connection)
            if held is not None:
                state = state._replace(epoch=held.epoch + 1, revision=held.revision + 1)
            self._save_embedding(connection, state)
        return state

    def rows_to_embed(self, epoch: int, limit: int) -> list[int]:
        """Return rows that have no vector of this epoch."""
        with self.database.read() as connection:
            query = (
                sa.select(chunks.c.row)
                .where(self._mine(), chunks.c.vector_epoch.is_distinct_from(epoch))
                .order_by(chunks.c.row)
                .limit(limit)
            )
            return list(connection.execute(query).scalars())

    def count_to_embed(self, epoch: int) -> int:
        """Return how many rows have no vector of this epoch."""
        with self.database.read() as connection:
            query = (
                sa.select(sa.func.count())
                .select_from(chunks)
                .where(self._mine(), chunks.c.vector_epoch.is_distinct_from(epoch))
            )
            return connection.execute(query).scalar_one()

    def write_vectors(self, epoch: int, vectors: Mapping[int, bytes]) -> None:
        """Give vectors to rows, in one transaction; rows that are gone are passed over.

        Raises
        ------
        SettingsMismatchError
            If another model has taken over meanwhile.
        """
        with self.database.write() as connection:
            held = self._embedding(connection)
            if held is None or held.epoch != epoch:
                raise SettingsMismatchError(
                    f"{self.database.place}: another model took over meanwhile; open it again"
                )
            connection.execute(
                sa.update(chunks)
                .where(chunks.c.row == sa.bindparam("at"))
                .values(vector=sa.bindparam("new"), vector_epoch=epoch),
                [{"at": row, "new": vector} for row, vector in vectors.items()],
            )
            self._save_embedding(connection, held._replace(revision=held.revision + 1))

    def vectors(self, rows: Iterable[int], epoch: int) -> Iterator[tuple[int, bytes]]:
        """Yield (row, vector) of this epoch, ascending; rows without one are left out."""
        for page in self._select(rows, chunks.c.vector, chunks.c.vector_epoch):
            for row, vector, held in page:
                if held == epoch and vector is not None:
                    yield row, vector

    def _write_fingerprints(
        self, connection: sa.Connection, doomed: Sequence[str], fingerprints: Mapping[str, str]
    ) -> None:
        for page in _pages([*doomed, *fingerprints]):
            connection.execute(
                sa.delete(documents).where(
                    documents.c.namespace == self.namespace, documents.c.document_id.in_(page)
                )
            )
        if fingerprints:
            connection.execute(
                sa.insert(documents),
                [
                    {"namespace": self.namespace, "document_id": key, "fingerprint": value}
                    for key, value in fingerprints.items()
                ],
            )

    def drop_tombstones(self) -> None:
        """Forget which rows are gone; copies older than now will start from nothing."""
        with self.database.write() as connection:
            connection.execute(
                sa.delete(tombstones).where(tombstones.c.namespace == self.namespace)
            )
            connection.execute(
                sa.update(namespaces)
                .where(namespaces.c.namespace == self.namespace)
                .values(floor=namespaces.c.generation)
            )

    # -- reading --------------------------------------------------------------------

    def changes_since(self, generation: int) -> Changes:
        """Return the rows that came and went after ``generation``."""
        with self.database.read() as connection:
            state = connection.execute(_STATE, {"namespace": self.namespace}).one_or_none()
            nothing = np.empty(0, dtype=np.int64)
            if state is None:
                return Changes(0, nothing, nothing, complete=generation == 0)
            embedding = EmbeddingState.read(state.embedding)
            feedback = FeedbackState(state.feedback_added, state.feedback_removed)
            if state.generation == generation:
                return Changes(generation, nothing, nothing, embedding=embedding, feedback=feedback)
            complete = state.floor <= generation <= state.generation
            since = generation if complete else -1
            added = connection.execute(
                sa.select(chunks.c.row)
                .where(self._mine(), chunks.c.generation > since)
                .order_by(chunks.c.row)
            ).scalars()
            gone = connection.execute(
                sa.select(tombstones.c.row)
                .where(
                    tombstones.c.namespace == self.namespace,
                    tombstones.c.generation > since,
                )
                .order_by(tombstones.c.row)
            ).scalars()
            return Changes(
                state.generation,
                np.fromiter(added, dtype=np.int64),
                np.fromiter(gone, dtype=np.int64) if complete else nothing,
                complete,
                embedding,
                feedback,
            )

    def _select(self, rows: Iterable[int], *columns: sa.Column[Any]) -> Iterator[Sequence[Any]]:
        query = _by_row(*columns)
        for page in _pages(int(row) for row in rows):
            with self.database.read() as connection:
                bound = {"namespace": self.namespace, "rows": page}
                yield connection.execute(query, bound).all()

    def candidates(self, rows: Iterable[int]) -> Iterator[tuple[int, str, dict[str, list[str]]]]:
        """Yield (row, id, candidate keys by kind), ascending; rows that are gone are left out."""
        for page in self._select(rows, chunks.c.id, chunks.c.candidates):
            for row, id_, held in page:
                yield row, id_, from_json(held)

    def texts(self, rows: Iterable[int]) -> Iterator[tuple[int, str, str]]:
        """Yield (row, title, text), ascending; rows that are gone are left out."""
        for page in self._select(rows, chunks.c.title, chunks.c.text):
            for row in page:
                yield tuple(row)

    def metadata(self, rows: Iterable[int]) -> Iterator[tuple[int, str, str | None, str]]:
        """Yield (row, id, document_id, metadata as JSON), ascending."""
        for page in self._select(rows, chunks.c.id, chunks.c.document_id, chunks.c.metadata):
            for row in page:
                yield tuple(row)

    def ids(self, rows: Iterable[int]) -> dict[int, str]:
        """Return the id of each row that is there."""
        return {row: held for page in self._select(rows, chunks.c.id) for row, held in page}

    def fetch(self, rows: Iterable[int]) -> dict[int, Chunk]:
        """Return the chunk of each row that is there."""
        columns = (
            chunks.c.id,
            chunks.c.document_id,
            chunks.c.title,
            chunks.c.text,
            chunks.c.metadata,
            chunks.c.tags,
        )
        found = {}
        for page in self._select(rows, *columns):
            for row, id_, document_id, title, text, metadata, tags in page:
                # The database holds what was validated on its way in.
                found[row] = Chunk.model_construct(
                    id=id_,
                    document_id=document_id,
                    title=title,
                    text=text,
                    metadata=from_json(metadata),
                    tags=tuple(from_json(tags)),
                )
        return found

    def rows_of(self, ids: Iterable[str]) -> dict[str, int]:
        """Return the row of each id that is there."""
        found: dict[str, int] = {}
        with self.database.read() as connection:
            for page in _pages(ids):
                query = sa.select(chunks.c.id, chunks.c.row).where(
                    self._mine(), chunks.c.id.in_(page)
                )
                found.update(connection.execute(query).all())
        return found

    def changed(self, candidates: Iterable[Chunk]) -> list[Chunk]:
        """Return those chunks that are not held, or held with another content."""
        by_id = {chunk.id: chunk for chunk in candidates}
        held: dict[str, bytes] = {}
        with self.database.read() as connection:
            for page in _pages(by_id):
                query = sa.select(chunks.c.id, chunks.c.digest).where(
                    self._mine(), chunks.c.id.in_(page)
                )
                held.update(connection.execute(query).all())
        return [chunk for id_, chunk in by_id.items() if held.get(id_) != digest(chunk)]

    def ids_of_document(self, document_id: str) -> set[str]:
        """Return the ids of a document's chunks."""
        with self.database.read() as connection:
            query = sa.select(chunks.c.id).where(self._mine(), chunks.c.document_id == document_id)
            return set(connection.execute(query).scalars())

    def rows_by_id(self) -> Iterator[int]:
        """Yield all rows in the order of their ids, a page at a time."""
        last = ""
        while True:
            with self.database.read() as connection:
                query = sa.select(chunks.c.row, chunks.c.id).where(self._mine(), chunks.c.id > last)
                page = connection.execute(query.order_by(chunks.c.id).limit(_PAGE)).all()
            if not page:
                return
            yield from (row for row, _ in page)
            last = page[-1][1]

    def fingerprints(self) -> dict[str, str]:
        """Return the fingerprint of each document that was read from a file."""
        with self.database.read() as connection:
            query = sa.select(documents.c.document_id, documents.c.fingerprint).where(
                documents.c.namespace == self.namespace
            )
            return dict(connection.execute(query).all())


def _pages(values: Iterable[_T]) -> Iterator[list[_T]]:
    remaining = iter(values)
    while page := list(islice(remaining, _PAGE)):
        yield page


def digest(chunk: Chunk) -> bytes:
    """Return 16 bytes that differ when any field of the chunk differs."""
    metadata = dict(sorted(chunk.metadata.items()))
    fields = [chunk.document_id, chunk.title, chunk.text, metadata, chunk.tags]
    return blake2b(_json(fields).encode(), digest_size=16).digest()


def _json(value: object) -> str:
    try:
        text = to_json(value).decode()
        if "NaN" in text or "Infinity" in text:  # as a number, or as a word of some text
            json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidChunkError(f"metadata must be JSON: {error}") from error
    return text
