"""The vectors of one namespace, and the model that made them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from hebbgraph.errors import DamagedIndexError, SettingsMismatchError
from hebbgraph.store.chunks import MINE_BY_ROW, ChunkReader, pages
from hebbgraph.store.database import Connection, marks, retried
from hebbgraph.store.history import Commit, new_mark
from hebbgraph.store.texts import vector_key
from hebbgraph.stored_json import read_json

__all__ = ["EmbeddingState", "Embeddings", "parse_embedding"]

#: One statement, so it sees one state; an index answers it without reading chunks.
_COUNT = """
    SELECT generation, mark,
        (SELECT count(*) FROM chunks WHERE namespace = ? AND vector_epoch = ?)
    FROM namespaces WHERE namespace = ?
"""
_LACKS = "(vector_epoch IS NULL OR vector_epoch <> ?)"


class EmbeddingState(NamedTuple):
    """The model of a namespace's vectors.

    ``epoch`` grows when the model is replaced, ``revision`` also when missing vectors are added:
    vectors of another revision are read again. Both draw a new random ``mark``, because a
    restored copy may reach the same numbers.
    """

    name: str
    dimension: int
    dtype: str
    epoch: int = 1
    revision: int = 1
    mark: int = 0

    def saved(self) -> str:
        """Return the state as JSON."""
        return json.dumps(self._asdict())


@lru_cache(maxsize=64)  # every recall parses it
def parse_embedding(saved: str | None) -> EmbeddingState | None:
    """Return the state that :meth:`EmbeddingState.saved` returned as JSON."""
    if saved is None:
        return None
    try:
        return EmbeddingState(**read_json(saved, dict, "the state of the vectors"))
    except TypeError as error:
        raise DamagedIndexError(f"the state of the vectors cannot be read: {error}") from error


class Embeddings(ChunkReader):
    """Reads and writes vectors."""

    def _state(self, connection: Connection, *, lock: bool = False) -> EmbeddingState | None:
        """Return the state, with ``lock`` locked against other writers."""
        end = self.database.driver.for_update if lock else ""
        row = connection.execute(
            f"SELECT embedding FROM namespaces WHERE namespace = ?{end}", (self.namespace,)
        ).fetchone()
        return parse_embedding(row[0] if row else None)

    def settle(self, connection: Connection, model: EmbeddingState) -> None:
        """Save the model within a transaction, or raise if another one is saved."""
        saved = self._state(connection)
        if saved is None:
            self._save(connection, model._replace(mark=new_mark()))
        elif (saved.name, saved.epoch, saved.dimension) != (
            model.name,
            model.epoch,
            model.dimension,
        ):
            raise SettingsMismatchError(
                f"{self.database.place}: vectors are of {saved.name!r} ({saved.dimension} "
                f"numbers), got {model.name!r} ({model.dimension}); open the index again"
            )

    def _save(self, connection: Connection, state: EmbeddingState) -> None:
        connection.execute(
            "UPDATE namespaces SET embedding = ? WHERE namespace = ?",
            (state.saved(), self.namespace),
        )

    @retried
    def begin_epoch(self, state: EmbeddingState) -> EmbeddingState:
        """Switch to another model; vectors of the former one no longer count."""
        with self.database.write() as connection:
            former = self._state(connection, lock=True)
            if former is not None:
                state = state._replace(epoch=former.epoch + 1, revision=former.revision + 1)
            state = state._replace(mark=new_mark())
            self._save(connection, state)
        return state

    def rows_to_embed(self, epoch: int, limit: int, *, after: int = 0) -> list[int]:
        """Return the next rows after one that lack a vector of this epoch, ascending."""
        query = f"SELECT row FROM chunks WHERE {MINE_BY_ROW} AND row > ? AND {_LACKS} ORDER BY row"
        rows = self.database.ask(f"{query} LIMIT ?", (self.namespace, after, epoch, limit))
        return [row for (row,) in rows]

    def without_vector(self, rows: Iterable[int], epoch: int) -> set[int]:
        """Return which of these rows lack a vector of this epoch."""
        lacking: set[int] = set()
        query = f"SELECT row FROM chunks WHERE {MINE_BY_ROW} AND {_LACKS} AND row IN"
        for page in pages(rows):
            answer = self.database.ask(f"{query} ({marks(page)})", (self.namespace, epoch, *page))
            lacking.update(row for (row,) in answer)
        return lacking

    @retried
    def by_content(self, ids: Iterable[str], epoch: int) -> dict[bytes, bytes]:
        """Return vectors of this epoch of some chunks by the key of their content."""
        vectors: dict[bytes, bytes] = {}
        query = (
            "SELECT title, text, imprint, context, vector FROM chunks "
            "WHERE namespace = ? AND vector_epoch = ? AND id IN"
        )
        with self.database.read() as connection:
            for page in pages(ids):
                bound = (self.namespace, epoch, *page)
                for *embedded, vector in connection.execute(f"{query} ({marks(page)})", bound):
                    vectors[vector_key(*embedded)] = vector
        return vectors

    def count_to_embed(self, epoch: int) -> int:
        """Return how many rows lack a vector of this epoch."""
        query = f"SELECT count(*) FROM chunks WHERE namespace = ? AND {_LACKS}"
        ((count,),) = self.database.ask(query, (self.namespace, epoch))
        return int(count)

    @retried
    def write_vectors(self, epoch: int, vectors: Mapping[int, bytes]) -> None:
        """Set the vectors of rows in one transaction; deleted rows are skipped.

        Raises
        ------
        SettingsMismatchError
            If another model has taken over meanwhile.
        """
        with self.database.write() as connection:
            state = self._state(connection, lock=True)
            if state is None or state.epoch != epoch:
                raise SettingsMismatchError(
                    f"{self.database.place}: another model took over meanwhile; open it again"
                )
            connection.executemany(
                "UPDATE chunks SET vector = ?, vector_epoch = ? WHERE row = ?",
                [(vector, epoch, row) for row, vector in vectors.items()],
            )
            self._save(connection, state._replace(revision=state.revision + 1, mark=new_mark()))

    def count_vectors(self, epoch: int, at: Commit) -> int | None:
        """Return the number of vectors of this epoch; None if ``at`` is not the last commit."""
        bound = (self.namespace, epoch, self.namespace)
        ((generation, mark, count),) = self.database.ask(_COUNT, bound)
        return int(count) if (generation, mark) == at else None

    def vectors(self, rows: Iterable[int], epoch: int) -> Iterator[tuple[int, bytes]]:
        """Yield (row, vector) of this epoch, ascending; rows without one are omitted."""
        for page in self._select(rows, "vector, vector_epoch"):
            for row, vector, vector_epoch in page:
                if vector_epoch == epoch and vector is not None:
                    yield row, vector
