"""One namespace of the truth: its settings, its changes, and how it is written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa

from hebbgraph.errors import SettingsMismatchError
from hebbgraph.records import Chunk
from hebbgraph.storage.database import Database
from hebbgraph.storage.embedding import Embeddings, EmbeddingState
from hebbgraph.storage.reading import ChunkReader, as_json, digest, pages
from hebbgraph.storage.schema import chunks, documents, namespaces, tombstones
from hebbgraph.tagging import Candidate
from hebbgraph.typing import IntArray

__all__ = ["Changes", "ChunkWrite", "FeedbackState", "Outcome", "Truth"]

#: Statements of the hot path are built once.
_STATE = sa.select(
    namespaces.c.generation,
    namespaces.c.floor,
    namespaces.c.embedding,
    namespaces.c.feedback_added,
    namespaces.c.feedback_removed,
).where(namespaces.c.namespace == sa.bindparam("namespace"))


class FeedbackState(NamedTuple):
    """How often feedback was added to a namespace's log, and how often taken away."""

    added: int = 0
    removed: int = 0


_NO_FEEDBACK = FeedbackState()


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
    feedback: FeedbackState = _NO_FEEDBACK


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


class Truth(ChunkReader):
    """One namespace of the database.

    Every write is one transaction and one new generation; a write that changes nothing
    makes none.
    """

    def __init__(self, database: Database, namespace: str) -> None:
        super().__init__(database, namespace)
        self.embeddings = Embeddings(database, namespace)

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
                self.embeddings.settle(connection, embedding)
            replaced = self._rows_where(connection, chunks.c.id, new_ids)
            deleted = self._rows_where(connection, chunks.c.id, delete_ids)
            deleted |= self._rows_where(connection, chunks.c.document_id, doomed_documents)
            deleted -= replaced
            self._remove(connection, replaced | deleted, generation)
            for page in pages(writes):
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
        for page in pages(values):
            query = sa.select(chunks.c.row).where(self._mine(), column.in_(page))
            rows.update(connection.execute(query).scalars())
        return rows

    def _remove(self, connection: sa.Connection, rows: set[int], generation: int) -> None:
        for page in pages(sorted(rows)):
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
            "metadata": as_json(chunk.metadata),
            "tags": as_json(chunk.tags),
            "candidates": as_json(by_kind),
            "digest": digest(chunk),
            "generation": generation,
            "vector_epoch": embedding.epoch if embedding and write.vector else None,
            "vector": write.vector,
        }

    def _write_fingerprints(
        self, connection: sa.Connection, doomed: Sequence[str], fingerprints: Mapping[str, str]
    ) -> None:
        for page in pages([*doomed, *fingerprints]):
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
