"""The log of corrections to tags, in commit order.

Each change of the log is a commit of its namespace, so that every process reads its graph
through the same corrections as soon as it sees the generation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import sqlalchemy as sa

from hebbgraph.held_json import read_json
from hebbgraph.inspection import TagCorrection
from hebbgraph.store.chunks import as_json
from hebbgraph.store.database import Database, retried
from hebbgraph.store.history import new_mark
from hebbgraph.store.schema import tag_corrections as log

__all__ = ["TagCorrections"]

_Advance: TypeAlias = Callable[[sa.Connection, int], int]


class TagCorrections:
    """The log of one namespace.

    Parameters
    ----------
    database : Database
    namespace : str
    advance : callable
        Begins a commit: counts the generation, with a mark.
    """

    def __init__(self, database: Database, namespace: str, advance: _Advance) -> None:
        self.database = database
        self._mine = log.c.namespace == namespace
        self._namespace = namespace
        self._advance = advance

    @retried
    def append(self, correction: TagCorrection) -> None:
        """Add a correction; one that was added before, by its id, is left as it is."""
        with self.database.write() as connection:
            self._advance(connection, new_mark())
            same = sa.select(log.c.seq).where(self._mine, log.c.id == correction.id)
            if connection.execute(same).first() is not None:  # the answer to a commit was lost
                connection.rollback()
                return
            connection.execute(
                sa.insert(log).values(
                    namespace=self._namespace,
                    id=correction.id,
                    kind=correction.kind,
                    actor=correction.actor,
                    created_at=correction.created_at,
                    body=as_json(correction.model_dump(include={"tags", "into", "chunks"})),
                )
            )

    @retried
    def remove(self, correction_id: str) -> bool:
        """Delete a correction; return whether it was there."""
        with self.database.write() as connection:
            self._advance(connection, new_mark())
            done = connection.execute(sa.delete(log).where(self._mine, log.c.id == correction_id))
            if not done.rowcount:
                connection.rollback()
            return bool(done.rowcount)

    @retried
    def all(self) -> tuple[TagCorrection, ...]:
        """Return all corrections, the oldest first."""
        with self.database.read() as connection:
            query = sa.select(log).where(self._mine).order_by(log.c.seq)
            return tuple(map(_read, connection.execute(query).all()))


def _read(row: sa.Row[Any]) -> TagCorrection:
    body = read_json(row.body, dict, "a correction of tags")
    # It was validated when it was added.
    return TagCorrection.model_construct(
        id=row.id,
        kind=row.kind,
        tags=tuple(body["tags"]),
        into=body["into"],
        chunks=tuple(body["chunks"]),
        actor=row.actor,
        created_at=row.created_at,
    )
