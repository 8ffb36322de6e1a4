"""The vectors of one namespace, and the model that made them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

import sqlalchemy as sa

from hebbgraph.errors import DamagedIndexError, SettingsMismatchError
from hebbgraph.held_json import read_json
from hebbgraph.store.chunks import ChunkReader, pages
from hebbgraph.store.database import retried
from hebbgraph.store.history import Commit, new_mark
from hebbgraph.store.schema import chunks, namespaces
from hebbgraph.store.texts import content_key_of

__all__ = ["EmbeddingState", "Embeddings", "parse_embedding"]

_MINE: sa.BindParameter[str] = sa.bindparam("mine")
#: One statement, as that is one view; an index answers it without reading chunks.
_COUNT = sa.select(
    namespaces.c.generation,
    namespaces.c.mark,
    sa.select(sa.func.count())
    .select_from(chunks)
    .where(chunks.c.namespace == _MINE, chunks.c.vector_epoch == sa.bindparam("epoch"))
    .scalar_subquery(),
).where(namespaces.c.namespace == _MINE)


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

    def _state(self, connection: sa.Connection, *, writing: bool = False) -> EmbeddingState | None:
        query = sa.select(namespaces.c.embedding).where(namespaces.c.namespace == self.namespace)
        if writing:  # it is written back changed
            query = query.with_for_update()
        return parse_embedding(connection.execute(query).scalar())

    def settle(self, connection: sa.Connection, wanted: EmbeddingState) -> None:
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

    def _save(self, connection: sa.Connection, state: EmbeddingState) -> None:
        connection.execute(
            sa.update(namespaces)
            .where(namespaces.c.namespace == self.namespace)
            .values(embedding=state.saved())
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

    @retried
    def rows_to_embed(self, epoch: int, limit: int, *, after: int = 0) -> list[int]:
        """Return rows above ``after`` that have no vector of this epoch, ascending."""
        with self.database.read() as connection:
            query = (
                sa.select(chunks.c.row)
                .where(
                    self.mine_by_row(),
                    chunks.c.row > after,
                    chunks.c.vector_epoch.is_distinct_from(epoch),
                )
                .order_by(chunks.c.row)
                .limit(limit)
            )
            return list(connection.execute(query).scalars())

    def without_vector(self, rows: Iterable[int], epoch: int) -> set[int]:
        """Return which of these rows have no vector of this epoch."""
        lacking: set[int] = set()
        for page in pages(rows):
            query = sa.select(chunks.c.row).where(
                self.mine_by_row(),
                chunks.c.row.in_(page),
                chunks.c.vector_epoch.is_distinct_from(epoch),
            )
            lacking.update(row for (row,) in self._ask(query))
        return lacking

    @retried
    def by_content(self, ids: Iterable[str], epoch: int) -> dict[bytes, bytes]:
        """Return the vectors of this epoch of some chunks, by the key of their content."""
        held: dict[bytes, bytes] = {}
        columns = (chunks.c.title, chunks.c.text, chunks.c.imprint, chunks.c.vector)
        with self.database.read() as connection:
            for page in pages(ids):
                query = sa.select(*columns).where(
                    self._mine(), chunks.c.id.in_(page), chunks.c.vector_epoch == epoch
                )
                for title, text, imprint, vector in connection.execute(query):
                    held[content_key_of(title, text, imprint)] = bytes(vector)
        return held

    @retried
    def count_to_embed(self, epoch: int) -> int:
        """Return how many rows have no vector of this epoch."""
        with self.database.read() as connection:
            query = (
                sa.select(sa.func.count())
                .select_from(chunks)
                .where(self._mine(), chunks.c.vector_epoch.is_distinct_from(epoch))
            )
            return connection.execute(query).scalar_one()

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
            connection.execute(
                sa.update(chunks)
                .where(chunks.c.row == sa.bindparam("at"))
                .values(vector=sa.bindparam("new"), vector_epoch=epoch),
                [{"at": row, "new": vector} for row, vector in vectors.items()],
            )
            self._save(connection, held._replace(revision=held.revision + 1, mark=new_mark()))

    def count_vectors(self, epoch: int, at: Commit) -> int | None:
        """Return the number of vectors of this epoch; None if another commit came since."""
        bound = {"mine": self.namespace, "epoch": epoch}
        ((generation, mark, count),) = self.database.ask(_COUNT, bound)
        return int(count) if (generation, mark) == at else None

    def vectors(self, rows: Iterable[int], epoch: int) -> Iterator[tuple[int, bytes]]:
        """Yield (row, vector) of this epoch, ascending; rows without one are omitted."""
        for page in self._select(rows, chunks.c.vector, chunks.c.vector_epoch):
            for row, vector, held in page:
                if held == epoch and vector is not None:
                    yield row, vector
