"""The vectors of one namespace, and the model that made them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from hebbgraph.errors import DamagedIndexError, SettingsMismatchError
from hebbgraph.held_json import read_json
from hebbgraph.store.chunks import MINE_BY_ROW, ChunkReader, pages
from hebbgraph.store.database import Connection, marks, retried
from hebbgraph.store.history import Commit, new_mark
from hebbgraph.store.texts import vector_key

__all__ = ["EmbeddingState", "Embeddings", "parse_embedding"]

#: One statement, as that is one view; an index answers it without reading chunks.
_COUNT = """
    SELECT generation, mark,
        (SELECT count(*) FROM chunks WHERE namespace = ? AND vector_epoch = ?)
    FROM namespaces WHERE namespace = ?
"""
_LACKS = "(vector_epoch IS NULL OR vector_epoch <> ?)"


class EmbeddingState(NamedTuple):
    """The model of a namespace's vectors.

    ``epoch`` grows when another model takes over, ``revision`` also when vectors are filled
    in: vectors of another revision are read again. A new ``mark`` is drawn with each, as a
    restored old copy may reach the same numbers.
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


@lru_cache(maxsize=64)  # every recall asks for it
def parse_embedding(saved: str | None) -> EmbeddingState | None:
    """Parse what :meth:`EmbeddingState.saved` returned."""
    if saved is None:
        return None
    try:
        return EmbeddingState(**read_json(saved, dict, "the state of the vectors"))
    except TypeError as error:
        raise DamagedIndexError(f"the state of the vectors cannot be read: {error}") from error


class Embeddings(ChunkReader):
    """Reads and writes vectors."""

    def _state(self, connection: Connection, *, writing: bool = False) -> EmbeddingState | None:
        # For writing: it is written back changed.
        end = self.database.driver.for_update if writing else ""
        row = connection.execute(
            f"SELECT embedding FROM namespaces WHERE namespace = ?{end}", (self.namespace,)
        ).fetchone()
        return parse_embedding(row[0] if row else None)

    def settle(self, connection: Connection, wanted: EmbeddingState) -> None:
        """Check, within a transaction, that the vectors are of this model, or set it."""
        held = self._state(connection)
        if held is None:
            self._save(connection, wanted._replace(mark=new_mark()))
        elif (held.name, held.epoch, held.dimension) != (
            wanted.name,
            wanted.epoch,
            wanted.dimension,
        ):
            raise SettingsMismatchError(
                f"{self.database.place}: vectors are of {held.name!r} ({held.dimension} "
                f"numbers), got {wanted.name!r} ({wanted.dimension}); open the index again"
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
            held = self._state(connection, writing=True)
            if held is not None:
                state = state._replace(epoch=held.epoch + 1, revision=held.revision + 1)
            state = state._replace(mark=new_mark())
            self._save(connection, state)
        return state

    def rows_to_embed(self, epoch: int, limit: int, *, after: int = 0) -> list[int]:
        """Return rows above ``after`` that have no vector of this epoch, ascending."""
        query = f"SELECT row FROM chunks WHERE {MINE_BY_ROW} AND row > ? AND {_LACKS} ORDER BY row"
        rows = self.database.ask(f"{query} LIMIT ?", (self.namespace, after, epoch, limit))
        return [row for (row,) in rows]

    def without_vector(self, rows: Iterable[int], epoch: int) -> set[int]:
        """Return which of these rows have no vector of this epoch."""
        lacking: set[int] = set()
        query = f"SELECT row FROM chunks WHERE {MINE_BY_ROW} AND {_LACKS} AND row IN"
        for page in pages(rows):
            found = self.database.ask(f"{query} ({marks(page)})", (self.namespace, epoch, *page))
            lacking.update(row for (row,) in found)
        return lacking

    @retried
    def by_content(self, ids: Iterable[str], epoch: int) -> dict[bytes, bytes]:
        """Return the vectors of this epoch of some chunks, by the key of their content."""
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
        """Return how many rows have no vector of this epoch."""
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
            held = self._state(connection, writing=True)
            if held is None or held.epoch != epoch:
                raise SettingsMismatchError(
                    f"{self.database.place}: another model took over meanwhile; open it again"
                )
            connection.executemany(
                "UPDATE chunks SET vector = ?, vector_epoch = ? WHERE row = ?",
                [(vector, epoch, row) for row, vector in vectors.items()],
            )
            self._save(connection, held._replace(revision=held.revision + 1, mark=new_mark()))

    def count_vectors(self, epoch: int, at: Commit) -> int | None:
        """Return the number of vectors of this epoch; None if another commit came since."""
        bound = (self.namespace, epoch, self.namespace)
        ((generation, mark, count),) = self.database.ask(_COUNT, bound)
        return int(count) if (generation, mark) == at else None

    def vectors(self, rows: Iterable[int], epoch: int) -> Iterator[tuple[int, bytes]]:
        """Yield (row, vector) of this epoch, ascending; rows without one are omitted."""
        for page in self._select(rows, "vector, vector_epoch"):
            for row, vector, held in page:
                if held == epoch and vector is not None:
                    yield row, vector
