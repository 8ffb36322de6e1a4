"""Recent recalls, to be found by id: bounded, best effort, apart from the truth.

Late feedback may come from another process that knows only a recall's id. Losing this
file loses nothing else; a failure here is logged and never fails a recall.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import threading
from collections.abc import Iterable
from pathlib import Path

from hebbgraph.records import Recall
from hebbgraph.storage.forking import leave_to_parent

__all__ = ["RecallStore"]

logger = logging.getLogger(__name__)

_SCHEMA = """
CREATE TABLE IF NOT EXISTS recalls (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace TEXT NOT NULL,
    id TEXT NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (namespace, id)
)
"""
_PRUNE_EVERY = 64


class RecallStore:
    """The last recalls of an index directory.

    Parameters
    ----------
    path : Path, optional
        A file of its own; None keeps them in memory.
    keep : int
        How many, over all namespaces; 0 keeps none.
    """

    def __init__(self, path: Path | None, keep: int) -> None:
        self._keep = keep
        self._lock = threading.Lock()
        self._since_pruning = 0
        self._connection: sqlite3.Connection | None = None
        leave_to_parent(self)
        if keep:
            with self._best_effort("opened"):
                self._connection = sqlite3.connect(
                    path or ":memory:", timeout=1.0, isolation_level=None, check_same_thread=False
                )
                self._connection.execute("PRAGMA journal_mode=WAL")
                self._connection.execute("PRAGMA synchronous=OFF")
                self._connection.execute("PRAGMA secure_delete=ON")
                self._connection.execute(_SCHEMA)

    @contextlib.contextmanager
    def _best_effort(self, verb: str):  # type: ignore[no-untyped-def]
        try:
            yield
        except (sqlite3.Error, OSError, ValueError) as error:
            logger.warning("the store of recent recalls could not be %s: %s", verb, error)

    def put(self, recall: Recall) -> None:
        """Keep a recall; the oldest beyond the bound go."""
        if self._connection is None:
            return
        with self._lock, self._best_effort("written"):
            self._connection.execute(
                "INSERT OR REPLACE INTO recalls (namespace, id, body) VALUES (?, ?, ?)",
                (recall.namespace, recall.id, recall.model_dump_json()),
            )
            self._since_pruning += 1
            if self._since_pruning >= min(_PRUNE_EVERY, self._keep):
                self._since_pruning = 0
                self._connection.execute(
                    "DELETE FROM recalls WHERE number <= (SELECT MAX(number) FROM recalls) - ?",
                    (self._keep,),
                )

    def get(self, namespace: str, recall_id: str) -> Recall | None:
        """Return a recall, or None if it is not, or no longer, there."""
        if self._connection is None:
            return None
        with self._lock, self._best_effort("read"):
            row = self._connection.execute(
                "SELECT body FROM recalls WHERE namespace = ? AND id = ?", (namespace, recall_id)
            ).fetchone()
            return None if row is None else Recall.model_validate_json(row[0])
        return None

    def discard(self, namespace: str, recall_ids: Iterable[str]) -> None:
        """Forget some recalls."""
        if self._connection is not None:
            with self._lock, self._best_effort("changed"):
                self._connection.executemany(
                    "DELETE FROM recalls WHERE namespace = ? AND id = ?",
                    [(namespace, recall_id) for recall_id in recall_ids],
                )

    def clear(self) -> None:
        """Forget all recalls."""
        if self._connection is not None:
            with self._lock, self._best_effort("cleared"):
                self._connection.execute("DELETE FROM recalls")
                self._connection.execute("VACUUM")

    def close(self) -> None:
        """Let go of the file."""
        if self._connection is not None:
            with self._lock, self._best_effort("closed"):
                self._connection.close()
            self._connection = None
