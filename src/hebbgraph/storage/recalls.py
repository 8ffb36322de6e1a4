"""Recent recalls, to be found by id: bounded, best effort, apart from the truth.

Late feedback may come from another process that knows only a recall's id. Losing this
file loses nothing else; a failure here is logged and never fails a recall.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from hebbgraph.records import Recall
from hebbgraph.storage.forking import leave_to_parent

__all__ = ["RecallStore"]

logger = logging.getLogger(__name__)

_SCHEMA = """
CREATE TABLE IF NOT EXISTS recalls (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    database TEXT NOT NULL,
    namespace TEXT NOT NULL,
    id TEXT NOT NULL,
    body TEXT NOT NULL,
    vector BLOB,
    UNIQUE (database, namespace, id)
)
"""
_PRUNE_EVERY = 64
#: Of vectors, which recalls hold in single precision.
_FLOAT = np.dtype("<f4")


class RecallStore:
    """The last recalls of an index directory.

    Parameters
    ----------
    path : Path, optional
        A file of its own; None keeps them in memory.
    keep : int
        How many, over all namespaces; 0 keeps none.
    database_id : str
        Whose recalls: several databases may keep derived parts in one place.
    """

    def __init__(self, path: Path | None, keep: int, database_id: str = "") -> None:
        self._keep = keep
        self._database = database_id
        self._lock = threading.Lock()
        self._since_pruning = 0
        self._connection: sqlite3.Connection | None = None
        leave_to_parent(self)
        if keep:
            with self._best_effort("opened"):
                try:
                    self._open(path)
                except sqlite3.DatabaseError as error:
                    name = getattr(error, "sqlite_errorname", "")
                    if path is None or not name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
                        raise
                    logger.warning("the store of recent recalls is damaged (%s): begun anew", error)
                    for suffix in ("", "-wal", "-shm"):
                        path.with_name(path.name + suffix).unlink(missing_ok=True)
                    self._open(path)

    def _open(self, path: Path | None) -> None:
        connection = sqlite3.connect(
            path or ":memory:", timeout=1.0, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=OFF")
            connection.execute("PRAGMA secure_delete=ON")
            columns = {row[1] for row in connection.execute("PRAGMA table_info(recalls)")}
            if columns and "database" not in columns:  # nobody knows any more whose they are
                connection.execute("DROP TABLE recalls")
            connection.execute(_SCHEMA)
        except BaseException:
            connection.close()
            raise
        self._connection = connection

    @contextlib.contextmanager
    def _best_effort(self, verb: str) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError, ValueError) as error:
            logger.warning("the store of recent recalls could not be %s: %s", verb, error)

    def put(self, recall: Recall) -> None:
        """Keep a recall; the oldest beyond the bound go."""
        with self._lock, self._best_effort("written"):
            if self._connection is None:  # none is kept, or another thread has closed it
                return
            # As JSON, a vector takes longer than all the rest.
            body = recall.model_dump_json(exclude={"vector"})
            vector = None if recall.vector is None else np.array(recall.vector, _FLOAT).tobytes()
            self._connection.execute(
                "INSERT OR REPLACE INTO recalls (database, namespace, id, body, vector) "
                "VALUES (?, ?, ?, ?, ?)",
                (self._database, recall.namespace, recall.id, body, vector),
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
        with self._lock, self._best_effort("read"):
            if self._connection is None:
                return None
            row = self._connection.execute(
                "SELECT body, vector FROM recalls WHERE database = ? AND namespace = ? AND id = ?",
                (self._database, namespace, recall_id),
            ).fetchone()
            if row is None:
                return None
            recall = Recall.model_validate_json(row[0])
            if row[1] is None:
                return recall
            vector = tuple(np.frombuffer(row[1], _FLOAT).tolist())
            return recall.model_copy(update={"vector": vector})
        return None

    def discard(self, namespace: str, recall_ids: Iterable[str]) -> None:
        """Forget some recalls."""
        with self._lock, self._best_effort("changed"):
            if self._connection is not None:
                self._connection.executemany(
                    "DELETE FROM recalls WHERE database = ? AND namespace = ? AND id = ?",
                    [(self._database, namespace, recall_id) for recall_id in recall_ids],
                )

    def clear(self, namespace: str) -> None:
        """Forget all recalls of a namespace."""
        with self._lock, self._best_effort("cleared"):
            if self._connection is not None:
                self._connection.execute(
                    "DELETE FROM recalls WHERE database = ? AND namespace = ?",
                    (self._database, namespace),
                )
                self._connection.execute("VACUUM")

    def close(self) -> None:
        """Let go of the file."""
        with self._lock, self._best_effort("closed"):
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()
