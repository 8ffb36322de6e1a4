"""The log of corrections to tags, in commit order.

Each change of the log is a commit of the namespace: every process that sees the generation reads
its graph through the same corrections.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hebbgraph.records import TagCorrection
from hebbgraph.store.chunk_rows import as_json
from hebbgraph.store.database import Connection, Database, retried
from hebbgraph.store.history import new_mark
from hebbgraph.stored_json import read_json

__all__ = ["TagCorrections"]


class TagCorrections:
    """The log of one namespace.

    Parameters
    ----------
    database : Database
    namespace : str
    advance : callable
        Begins a commit with a mark; returns its generation.
    """

    def __init__(
        self, database: Database, namespace: str, advance: Callable[[Connection, int], int]
    ) -> None:
        self.database = database
        self._namespace = namespace
        self._advance = advance

    @retried
    def append(self, correction: TagCorrection) -> None:
        """Add a correction, unless one of its id was added before."""
        with self.database.write() as connection:
            self._advance(connection, new_mark())
            added = connection.execute(
                "INSERT INTO tag_corrections (namespace, id, kind, actor, created_at, body) "
                "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (
                    self._namespace,
                    correction.id,
                    correction.kind,
                    correction.actor,
                    correction.created_at,
                    as_json(correction.model_dump(include={"tags", "into", "chunks"})),
                ),
            )
            if not added.rowcount:  # committed before, but the confirmation was lost
                connection.rollback()

    @retried
    def remove(self, correction_id: str) -> bool:
        """Delete a correction; return whether it was there."""
        with self.database.write() as connection:
            self._advance(connection, new_mark())
            deleted = connection.execute(
                "DELETE FROM tag_corrections WHERE namespace = ? AND id = ?",
                (self._namespace, correction_id),
            )
            if not deleted.rowcount:
                connection.rollback()
            return bool(deleted.rowcount)

    def all(self) -> tuple[TagCorrection, ...]:
        """Return all corrections, oldest first."""
        query = (
            "SELECT id, kind, actor, created_at, body FROM tag_corrections "
            "WHERE namespace = ? ORDER BY seq"
        )
        return tuple(_read(*row) for row in self.database.ask(query, (self._namespace,)))


def _read(id_: str, kind: Any, actor: str | None, created_at: float, text: str) -> TagCorrection:
    body = read_json(text, dict, "a correction of tags")
    # Validated when it was added.
    return TagCorrection.model_construct(
        id=id_,
        kind=kind,
        tags=tuple(body["tags"]),
        into=body["into"],
        chunks=tuple(body["chunks"]),
        actor=actor,
        created_at=created_at,
    )
