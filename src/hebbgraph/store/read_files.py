"""The documents of one namespace that were read from files."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from hebbgraph.store.chunks import pages
from hebbgraph.store.database import Connection, Database, marks

__all__ = ["ReadFiles"]


class ReadFiles:
    """The fingerprint of each document's file when it was read, and the time."""

    def __init__(self, database: Database, namespace: str) -> None:
        self._database = database
        self._namespace = namespace

    def fingerprints(self) -> dict[str, str]:
        """Return the fingerprint of each document's file."""
        query = "SELECT document_id, fingerprint FROM documents WHERE namespace = ?"
        return dict(self._database.ask(query, (self._namespace,)))

    def indexed_at(self) -> dict[str, float | None]:
        """Return when each was read, in seconds since 1970; None if an older version read it."""
        query = "SELECT document_id, indexed_at FROM documents WHERE namespace = ?"
        return dict(self._database.ask(query, (self._namespace,)))

    def write(
        self, connection: Connection, doomed: Sequence[str], fingerprints: Mapping[str, str]
    ) -> None:
        """Forget some documents, and save fingerprints of others."""
        for page in pages([*doomed, *fingerprints]):
            connection.execute(
                f"DELETE FROM documents WHERE namespace = ? AND document_id IN ({marks(page)})",
                (self._namespace, *page),
            )
        if fingerprints:
            now = time.time()
            connection.executemany(
                "INSERT INTO documents (namespace, document_id, fingerprint, indexed_at) "
                "VALUES (?, ?, ?, ?)",
                [(self._namespace, *pair, now) for pair in fingerprints.items()],
            )
