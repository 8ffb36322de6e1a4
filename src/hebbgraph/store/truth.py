"""One namespace of the truth: its state, writes and changes."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import IntArray
from hebbgraph.errors import ConnectionLostError
from hebbgraph.records import Chunk
from hebbgraph.store.build_settings import BuildSettings
from hebbgraph.store.chunk_rows import INSERT_CHUNK, PLACE, digest, row_of
from hebbgraph.store.chunks import MINE_BY_ROW, ChunkReader, pages
from hebbgraph.store.database import Connection, Database, marks, retried
from hebbgraph.store.embeddings import Embeddings, EmbeddingState
from hebbgraph.store.history import Commit, History, deleted_meanwhile, new_mark
from hebbgraph.store.read_files import ReadFiles
from hebbgraph.store.schema import TABLES
from hebbgraph.store.state import STATE, Changes, State, read_state
from hebbgraph.store.tag_answers import TagAnswers
from hebbgraph.store.tag_corrections import TagCorrections
from hebbgraph.store.texts import TextStore

__all__ = [
    "ChunkWrite",
    "OvertakenError",
    "StoredRows",
    "Truth",
    "WriteResult",
]


@dataclass(frozen=True, slots=True)
class ChunkWrite:
    """A chunk to write, with its tag candidates by kind, and its digest if known."""

    chunk: Chunk
    candidates: Mapping[str, Sequence[str]]
    vector: bytes | None = None
    digest: bytes | None = None


class _Batch(NamedTuple):
    """The arguments of :meth:`Truth.apply`."""

    writes: Sequence[ChunkWrite]
    ids: Sequence[str]
    documents: Sequence[str]
    fingerprints: Mapping[str, str]
    embedding: EmbeddingState | None
    instead_of: Mapping[str, int] | None
    expected_rows: StoredRows | None


class StoredRows(NamedTuple):
    """Ids of chunks, and the rows in which they and their old versions were read."""

    ids: frozenset[str]
    rows: frozenset[int]


class OvertakenError(Exception):
    """Another writer changed versions after they were read, and before the dependent write."""


class WriteResult(NamedTuple):
    """How many chunks one transaction added, replaced and deleted."""

    added: int
    replaced: int
    deleted: int
    generation: int


class Truth(ChunkReader):
    """One namespace of the database.

    Every write is one transaction and one generation; one that changes nothing is neither.
    """

    def __init__(
        self, database: Database, namespace: str, text_store: TextStore | None = None
    ) -> None:
        super().__init__(database, namespace, text_store)
        self.settings = BuildSettings(database, namespace)
        self.embeddings = Embeddings(database, namespace, self.text_store)
        self.tag_answers = TagAnswers(database, namespace)
        self.files = ReadFiles(database, namespace)
        self.history = History(database, namespace)
        self.corrections = TagCorrections(database, namespace, self._advance)
        #: The generations that an open call of this thread wrote.
        self._call = threading.local()
        #: The marks of generations that open calls wrote.
        self._unacknowledged: dict[int, int] = {}
        self._lock = threading.Lock()

    # -- the namespace --------------------------------------------------------------

    @retried
    def drop(self) -> None:
        """Delete every row of the namespace."""
        with self.database.write() as connection:
            self.database.driver.exclude_others(connection)
            for table in TABLES.keys() - {"meta"}:
                connection.execute(f"DELETE FROM {table} WHERE namespace = ?", (self.namespace,))

    def namespaces(self) -> list[str]:
        """Return the names of all namespaces of the database, sorted."""
        rows = self.database.ask("SELECT namespace FROM namespaces ORDER BY namespace")
        return [name for (name,) in rows]

    def generation(self) -> int:
        """Return the number of the last commit."""
        return self.state().commit.generation

    def state(self) -> State:
        """Return the state of the namespace."""
        return read_state(self._ask(STATE))

    def _state(self, connection: Connection) -> State:
        return read_state(connection.execute(STATE, (self.namespace,)).fetchall())

    # -- writing --------------------------------------------------------------------

    @contextlib.contextmanager
    def acknowledging_at_the_end(self) -> Iterator[None]:
        """Acknowledge the writes of a call at its end; until then readers need not see them.

        This covers only writes that remove nothing: a reader cannot continue with deleted chunks.
        """
        generations: list[int] = []
        self._call.generations = generations
        try:
            yield
        finally:
            self._call.generations = None
            self._acknowledge(generations)

    def _acknowledge(self, generations: Iterable[int]) -> None:
        with self._lock:
            for generation in generations:
                self._unacknowledged.pop(generation, None)

    def acknowledged(self, commit: Commit) -> int:
        """Return the newest generation up to this commit that no open call wrote."""
        generation = commit.generation
        with self._lock:
            if self._unacknowledged.get(generation) == commit.mark:
                while generation in self._unacknowledged:
                    generation -= 1
        return generation

    def _note(self, commit: Commit) -> None:
        """Leave a commit unacknowledged while a call of this thread is open."""
        generations: list[int] | None = getattr(self._call, "generations", None)
        if generations is not None:
            with self._lock:
                generations.append(commit.generation)
                self._unacknowledged[commit.generation] = commit.mark

    def apply(
        self,
        writes: Sequence[ChunkWrite] = (),
        *,
        delete_ids: Iterable[str] = (),
        delete_documents: Iterable[str] = (),
        fingerprints: Mapping[str, str] | None = None,
        embedding: EmbeddingState | None = None,
        instead_of: Mapping[str, int] | None = None,
        expected_rows: StoredRows | None = None,
    ) -> WriteResult:
        """Write, replace and delete in one transaction.

        Parameters
        ----------
        writes : sequence of ChunkWrite
            With distinct ids; a stored id is replaced.
        delete_ids, delete_documents : iterables of str
            Unknown ones are ignored. Deleting a document deletes its fingerprint.
        fingerprints : mapping of document id to fingerprint
        embedding : EmbeddingState, optional
            The model of the vectors of ``writes``.
        instead_of : mapping of chunk id to row, optional
            Skip chunks of ``writes`` that are no longer in their row, because they were
            replaced or deleted meanwhile.
        expected_rows : StoredRows, optional
            The versions that ``writes`` depend on.

        Raises
        ------
        OvertakenError
            If ``expected_rows`` is outdated; nothing was written.
        SettingsMismatchError
            If the namespace holds vectors of another model by now.
        """
        batch = _Batch(
            writes,
            list(delete_ids),
            list(delete_documents),
            fingerprints or {},
            embedding,
            instead_of,
            expected_rows,
        )
        outcomes: list[WriteResult] = []

        def attempt() -> WriteResult:
            mark = new_mark()
            try:
                with self.database.write() as connection:
                    outcomes.append(self._write(connection, mark, batch))
                    if not (outcomes[-1].replaced or outcomes[-1].deleted):
                        self._note(Commit(outcomes[-1].generation, mark))
            except BaseException as error:
                # Another process may commit this generation next.
                self._acknowledge(outcome.generation for outcome in outcomes)
                # If the connection broke during the commit, look whether it was applied.
                is_unknown = isinstance(error, ConnectionLostError) and error.maybe_kept
                if not (is_unknown and self._is_applied(batch)):
                    raise
            return outcomes[-1]

        return self.database.retrying(attempt)

    def insert_new(
        self,
        rows: Sequence[Sequence[Any]],
        *,
        vectors: Sequence[bytes | None] | None = None,
        embedding: EmbeddingState | None = None,
        fingerprints: Mapping[str, str] | None = None,
    ) -> NDArray[np.int64] | None:
        """Write new chunks in one transaction, without looking them up.

        Parameters
        ----------
        rows : sequence of :data:`~hebbgraph.store.chunk_rows.ROW_FIELDS`
        vectors : sequence of bytes or None, optional
            The vector of each.
        embedding : EmbeddingState, optional
            Their model.
        fingerprints : mapping of document id to fingerprint

        Returns
        -------
        ndarray of int64, or None
            The row numbers, in order; None if some id exists, and nothing was written.
        """
        epoch = embedding.epoch if embedding else None
        vectors = [None] * len(rows) if vectors is None else vectors
        epochs = [epoch if vector else None for vector in vectors]
        columns = list(zip(*rows, strict=True))

        def attempt() -> NDArray[np.int64] | None:
            mark = new_mark()
            with self.database.write() as connection:
                generation = self._advance(connection, mark)
                if embedding is not None:
                    self.embeddings.settle(connection, embedding)
                written = (
                    repeat(self.namespace, len(rows)),
                    *columns[:PLACE],
                    repeat(generation, len(rows)),
                    *columns[PLACE:],
                    epochs,
                    vectors,
                )
                for page in pages(zip(*written, strict=True)):
                    added = connection.executemany(f"{INSERT_CHUNK} ON CONFLICT DO NOTHING", page)
                    if added.rowcount < len(page):
                        connection.rollback()
                        return None
                self.files.write(connection, (), fingerprints or {})
                numbers = self._rows_of_generation(connection, generation)
            self._note(Commit(generation, mark))
            return numbers

        return self.database.retrying(attempt)

    def _rows_of_generation(self, connection: Connection, generation: int) -> NDArray[np.int64]:
        """Return the rows that one commit wrote, ascending: in the order of writing."""
        source = "FROM chunks WHERE namespace = ? AND generation = ?"
        bound = (self.namespace, generation)
        first, last, count = connection.execute(
            f"SELECT min(row), max(row), count(*) {source}", bound
        ).fetchone()
        if count and last - first + 1 == count:  # no other namespace wrote in between
            return np.arange(first, last + 1)
        rows = connection.execute(f"SELECT row {source} ORDER BY row", bound)
        return np.array([row for (row,) in rows], dtype=np.int64)

    def _write(self, connection: Connection, mark: int, batch: _Batch) -> WriteResult:
        """Run a batch within its transaction."""
        # The counter comes first: its row lock makes generations follow commit order.
        generation = self._advance(connection, mark)
        if batch.embedding is not None:
            self.embeddings.settle(connection, batch.embedding)
        if (expected_rows := batch.expected_rows) is not None:
            rows = self._values_where(connection, "row", "id", expected_rows.ids)
            rows |= self._values_where(connection, "row", "version_of", expected_rows.ids)
            if rows != expected_rows.rows:
                raise OvertakenError
        writes, replaced = self._writes_to_do(connection, batch)
        deleted = self._rows_to_delete(connection, batch) - replaced
        removed = replaced | deleted
        if removed:
            self.tag_answers.forget(connection, removed, [write.chunk for write in writes])
        touched = self._values_where(connection, "document_id", "row", deleted)
        self._remove(connection, removed, generation)
        for page in pages(writes):
            written = [self._values(write, generation, batch.embedding) for write in page]
            connection.executemany(INSERT_CHUNK, written)
        self.text_store.remember([write.chunk for write in writes], generation)
        # A document without chunks keeps neither name nor fingerprint.
        emptied = touched - self._values_where(connection, "document_id", "document_id", touched)
        self.files.write(connection, [*batch.documents, *emptied], batch.fingerprints)
        if not (writes or deleted or batch.documents or batch.fingerprints):
            connection.rollback()
            generation -= 1
        return WriteResult(len(writes) - len(replaced), len(replaced), len(deleted), generation)

    def _writes_to_do(
        self, connection: Connection, batch: _Batch
    ) -> tuple[Sequence[ChunkWrite], set[int]]:
        """Return the writes that are not to be skipped, and the rows that they replace."""
        ids = [write.chunk.id for write in batch.writes]
        replaced = self._values_where(connection, "row", "id", ids)
        if (rows := batch.instead_of) is None:
            return batch.writes, replaced
        writes = [write for write in batch.writes if rows[write.chunk.id] in replaced]
        return writes, {rows[write.chunk.id] for write in writes}

    def _rows_to_delete(self, connection: Connection, batch: _Batch) -> set[int]:
        """Return the rows of a batch's ids and documents, and of their old versions."""
        rows = self._values_where(connection, "row", "id", batch.ids)
        rows |= self._values_where(connection, "row", "document_id", batch.documents)
        ids = {*batch.ids, *self._values_where(connection, "id", "row", rows)}
        return rows | self._values_where(connection, "row", "version_of", ids)

    def _is_applied(self, batch: _Batch) -> bool:
        """Return whether the truth is in the state that a batch leads to."""
        if batch.instead_of is not None:  # it writes the same chunks to new rows
            rows = self.rows_of(write.chunk.id for write in batch.writes)
            return all(batch.instead_of[id_] != row for id_, row in rows.items())
        expected = {write.chunk.id: digest(write.chunk) for write in batch.writes}
        stored = self.digests([*expected, *batch.ids])
        return stored == expected and not any(
            self.ids_of_document(document) - expected.keys() for document in batch.documents
        )

    def _advance(self, connection: Connection, mark: int) -> int:
        """Begin a commit, and return its generation."""
        connection.execute(
            "UPDATE namespaces SET generation = generation + 1, mark = ? WHERE namespace = ?",
            (mark, self.namespace),
        )
        query = "SELECT generation FROM namespaces WHERE namespace = ?"
        row = connection.execute(query, (self.namespace,)).fetchone()
        if row is None:
            raise deleted_meanwhile(self.namespace)
        generation = int(row[0])
        self.history.record(connection, Commit(generation, mark))
        return generation

    def _values_where(
        self, connection: Connection, wanted: str, column: str, values: Iterable[Any]
    ) -> set[Any]:
        """Return the values of one column where another one has some values."""
        results: set[Any] = set()
        mine = MINE_BY_ROW if column == "row" else "namespace = ?"
        query = f"SELECT DISTINCT {wanted} FROM chunks WHERE {mine} AND {column} IN"
        for page in pages(sorted(values)):
            rows = connection.execute(f"{query} ({marks(page)})", (self.namespace, *page))
            results.update(value for (value,) in rows)
        return results - {None}

    def _remove(self, connection: Connection, rows: set[int], generation: int) -> None:
        for page in pages(sorted(rows)):
            connection.execute(f"DELETE FROM chunks WHERE row IN ({marks(page)})", page)
            connection.executemany(
                "INSERT INTO tombstones VALUES (?, ?, ?)",
                [(row, self.namespace, generation) for row in page],
            )

    def _values(
        self, write: ChunkWrite, generation: int, embedding: EmbeddingState | None
    ) -> tuple[Any, ...]:
        """Return a row for :data:`~hebbgraph.store.chunk_rows.INSERT_CHUNK`."""
        row = row_of(write.chunk, write.candidates, write.digest, self.text_store)
        epoch = embedding.epoch if embedding and write.vector else None
        return (self.namespace, *row[:PLACE], generation, *row[PLACE:], epoch, write.vector)

    @retried
    def drop_tombstones(self) -> None:
        """Delete tombstones; derived parts of older commits will start from nothing."""
        with self.database.write() as connection:
            mine = (self.namespace,)
            connection.execute("UPDATE namespaces SET floor = generation WHERE namespace = ?", mine)
            connection.execute("DELETE FROM tombstones WHERE namespace = ?", mine)

    # -- reading --------------------------------------------------------------------

    @retried
    def changes_since(self, commit: Commit) -> Changes:
        """Return the rows added and removed after a commit."""
        with self.database.read() as connection:
            state = self._state(connection)
            nothing = np.empty(0, dtype=np.int64)
            if commit == state.commit:
                return Changes(state, nothing, nothing)
            complete = state.floor <= commit.generation <= state.commit.generation and (
                self.history.knew(connection, commit)
            )
            if not complete:
                return Changes(state, self._rows_since(connection, "chunks", -1), nothing, False)
            added, removed = (
                self._rows_since(connection, table, commit.generation)
                for table in ("chunks", "tombstones")
            )
            return Changes(state, added, removed)

    def _rows_since(self, connection: Connection, table: str, generation: int) -> IntArray:
        """Return the rows that a table got after a generation, ascending."""
        query = f"SELECT row FROM {table} WHERE namespace = ? AND generation > ? ORDER BY row"
        rows = [row for (row,) in connection.execute(query, (self.namespace, generation))]
        self.check_order(rows)
        return np.array(rows, dtype=np.int64)
