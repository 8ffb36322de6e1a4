"""Recent recalls by id: bounded, best effort, apart from the truth.

Stored are the question, the chunks found, their order and paths; the content of chunks stays
in the truth alone. So there is no second copy of a text to erase, and a recall that is looked
up shows no text that the index no longer has.

Late feedback may come from another process that knows only the id of a recall. Losing this
file loses nothing else, and a failure is logged but never fails a recall. Only
:meth:`RecallStore.erase` raises: its caller must know whether it succeeded.

Damage is noticed by SQLite or by the checksum of a row, and the file is replaced by an empty
one. A lock keeps others from opening it meanwhile; processes that have it open notice that
another file is in its place, and switch to that.
"""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import sqlite3
import threading
import weakref
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import numpy as np
from pydantic import ValidationError

from hebbgraph.errors import IndexLockedError, StorageError
from hebbgraph.locks import lock_file
from hebbgraph.records import Recall
from hebbgraph.store.forks import Connection, connection_in_use, disconnect_before_forks
from hebbgraph.store.packing import packed, unpacked
from hebbgraph.store.sqlite import scrub

__all__ = ["MOST_KEPT", "RECALLS_NAME", "RecallStore", "remove_recalls"]

logger = logging.getLogger(__name__)

RECALLS_NAME = "recalls.sqlite3"
#: How many are kept if somebody asked for it and did not say how many.
MOST_KEPT = 10_000

_SCHEMA = """
CREATE TABLE IF NOT EXISTS recalls (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    database TEXT NOT NULL,
    namespace TEXT NOT NULL,
    id TEXT NOT NULL,
    body BLOB NOT NULL,
    vector BLOB,
    checksum INTEGER,
    keep INTEGER NOT NULL DEFAULT 10000,
    UNIQUE (database, namespace, id)
)
"""
#: Earlier versions had none.
_ADD_KEEP = "ALTER TABLE recalls ADD COLUMN keep INTEGER NOT NULL DEFAULT 10000"
_BY_AGE = "CREATE INDEX IF NOT EXISTS recalls_by_age ON recalls (database, namespace, number, keep)"
#: The generation from which recalls are accepted: another process may store a recall after
#: the erasing that was answered before it.
_ERASED = """
CREATE TABLE IF NOT EXISTS erased (
    database TEXT NOT NULL,
    namespace TEXT NOT NULL,
    generation INTEGER NOT NULL,
    PRIMARY KEY (database, namespace)
) WITHOUT ROWID
"""
_INSERT = """
INSERT OR REPLACE INTO recalls (database, namespace, id, body, vector, checksum, keep)
SELECT :database, :namespace, :id, :body, :vector, :checksum, :keep
WHERE NOT EXISTS (
    SELECT 1 FROM erased
    WHERE database = :database AND namespace = :namespace AND generation > :generation
)
"""
#: Each recall is kept until so many of its namespace are newer, as whoever stored it wanted. So
#: a process that keeps few drops none that another means to keep longer.
_KEPT = "SELECT DISTINCT keep FROM recalls WHERE database = ? AND namespace = ?"
_PRUNE = """
DELETE FROM recalls
WHERE database = :database AND namespace = :namespace AND keep = :keep AND number <= (
    SELECT number FROM recalls WHERE database = :database AND namespace = :namespace
    ORDER BY number DESC LIMIT 1 OFFSET :keep
)
"""
_PRUNE_EVERY = 256  # the numbers of all recalls of a namespace are read each time
#: The log is copied into the file, which then is synced, once it has so many pages of 4 KB. The
#: usual 1,000 are full after some 200 recalls.
_LOG_PAGES = 4000
_TIMEOUT_SECONDS = 1.0
_LOCK_SECONDS = 5.0
#: The type of stored vectors.
_FLOAT = np.dtype("<f4")
#: Errors that are no damage: the file is in use, or the disk full, failing or read-only.
_NO_DAMAGE = (
    "SQLITE_BUSY",
    "SQLITE_LOCKED",
    "SQLITE_FULL",
    "SQLITE_IOERR",
    "SQLITE_READONLY",
    "SQLITE_CANTOPEN",
    "SQLITE_NOMEM",
    "SQLITE_PERM",
    "SQLITE_AUTH",
    "SQLITE_INTERRUPT",
    "SQLITE_PROTOCOL",
)

_R = TypeVar("_R")


class _DamagedRowError(ValueError):
    """A row differs from what was written."""


class RecallStore:
    """The last recalls of an index directory.

    Parameters
    ----------
    path : Path, optional
        None keeps them in memory.
    keep : int, optional
        Until how many newer ones of its namespace a recall is kept; 0 keeps none. By default none
        either until :meth:`start`, and then :data:`MOST_KEPT`.
    database_id : str
        Several databases may share one file.
    wait_seconds : float
        How long :meth:`erase` waits for other processes.
    """

    def __init__(
        self,
        path: Path | None,
        keep: int | None,
        *,
        database_id: str = "",
        wait_seconds: float = 30.0,
    ) -> None:
        self._path = path
        self._database = database_id
        self._keep = MOST_KEPT if keep is None else keep
        self._keeps = bool(keep)
        self._is_closed = False
        self._waiting: deque[Recall] = deque()  # to be written
        self._wait_seconds = wait_seconds
        self._lock = threading.Lock()
        self._since_pruning: dict[str, int] = {}  # by namespace
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None  # device and inode
        #: What was found broken and replaced.
        self.repairs: list[str] = []
        disconnect_before_forks(self)
        if keep:
            self._best_effort("opened", lambda connection: None)

    @property
    def keeps(self) -> bool:
        """Whether recalls are kept from now on."""
        return self._keeps

    def start(self) -> None:
        """Keep recalls from now on, unless the settings say that none is."""
        self._keeps = self._keep > 0

    # -- the file -------------------------------------------------------------------

    def _best_effort(self, verb: str, work: Callable[[sqlite3.Connection], _R]) -> _R | None:
        """Use the connection; a damaged file is replaced, once, and an error logged."""
        with connection_in_use(), self._lock:
            try:
                return self._repairing(work)
            except (sqlite3.Error, OSError, ValueError) as error:
                logger.warning(
                    "the store of recent recalls could not be %s: %s", verb, _reason(error)
                )
                return None

    def _repairing(self, work: Callable[[sqlite3.Connection], _R]) -> _R | None:
        try:
            connection = self._current()
            # None if no recalls are kept, or another thread has closed it.
            return None if connection is None else work(connection)
        except (sqlite3.Error, _DamagedRowError) as error:
            if self._path is None or not _is_damage(error):
                raise
            return work(self._replace_damaged(error))

    def _current(self) -> sqlite3.Connection | None:
        """Return a connection to the file that is there now."""
        if self._connection is not None and self._file_there() == self._file:
            return self._connection
        if self._is_closed or not (self._keeps or (self._path is not None and self._path.exists())):
            return None
        return self._open()  # for the first time, or another process replaced the file

    def _file_there(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self._path or "")
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _open(self) -> sqlite3.Connection:
        with _alone(self._path):
            return self._connected()

    def _connected(self) -> sqlite3.Connection:
        self._disconnect()
        self._file = self._file_there()
        connection = Connection(
            self._path or ":memory:",
            timeout=_TIMEOUT_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            # The log is synced before a checkpoint and the database after it: a power cut
            # loses the last recalls, not the file.
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute(f"PRAGMA wal_autocheckpoint={_LOG_PAGES}")
            connection.execute("PRAGMA secure_delete=ON")
            columns = {row[1] for row in connection.execute("PRAGMA table_info(recalls)")}
            if columns and not {"database", "checksum"} <= columns:
                # An earlier version, without the database of each recall.
                connection.execute("DROP TABLE recalls")
                columns = set()
            connection.execute(_SCHEMA)
            if columns and "keep" not in columns:
                connection.execute(_ADD_KEEP)
            connection.execute(_BY_AGE)
            connection.execute(_ERASED)
        except BaseException:
            connection.close()
            raise
        self._connection, self._file = connection, self._file_there()
        return connection

    def _replace_damaged(self, reason: Exception) -> sqlite3.Connection:
        """Replace a damaged store by an empty one."""
        assert self._path is not None
        damaged = self._file
        self._disconnect()
        with _alone(self._path):
            if damaged in (None, self._file_there()):  # or another process did it
                why = _reason(reason)
                logger.warning("the store of recent recalls is damaged (%s): replaced", why)
                self.repairs.append(f"the store of recent recalls was damaged: {why}")
                _unlink(self._path)
            return self._connected()

    def disconnect(self) -> None:
        """Close a connection to a file, unless it is in use; the next use connects again."""
        if self._path is None or not self._lock.acquire(blocking=False):
            return
        try:
            self._disconnect()
        finally:
            self._lock.release()

    def _disconnect(self) -> None:
        connection, self._connection, self._file = self._connection, None, None
        if connection is not None:
            with contextlib.suppress(sqlite3.Error):  # it may be what is broken
                connection.close()

    # -- the recalls ----------------------------------------------------------------

    def put(self, recall: Recall) -> None:
        """Keep a recall, if any are kept: a thread writes it soon, with others that wait."""
        if self._keeps:
            self._waiting.append(recall)
            _writer.write_soon(self)

    def flush(self) -> None:
        """Write the recalls that wait, and drop the oldest beyond the bound."""
        batch: list[Recall] = []

        def work(connection: sqlite3.Connection) -> None:
            while self._waiting:
                batch.append(self._waiting.popleft())
            connection.execute("BEGIN IMMEDIATE")
            try:
                for recall in batch:
                    self._insert(connection, recall)
                connection.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):  # what is broken cannot go back
                    connection.execute("ROLLBACK")
                raise

        if self._waiting:
            self._best_effort("written", work)

    def _insert(self, connection: sqlite3.Connection, recall: Recall) -> None:
        body = packed(recall)
        vector = None if recall.vector is None else np.array(recall.vector, _FLOAT).tobytes()
        tenant = {"database": self._database, "namespace": recall.namespace}
        values = {
            **tenant,
            "id": recall.id,
            "body": body,
            "vector": vector,
            "checksum": _checksum(body, vector),
            "generation": recall.generation,
            "keep": self._keep,
        }
        connection.execute(_INSERT, values)
        due = self._since_pruning.get(recall.namespace, 0) + 1
        if due >= min(_PRUNE_EVERY, self._keep):
            due = 0
            for (keep,) in connection.execute(_KEPT, tuple(tenant.values())).fetchall():
                connection.execute(_PRUNE, {**tenant, "keep": keep})
        self._since_pruning[recall.namespace] = due

    def get(self, namespace: str, recall_id: str) -> Recall | None:
        """Return a recall, or None if it is not there.

        Its hits have no texts; :func:`~hebbgraph.store.recall_content.whole` gives them theirs.
        """

        def work(connection: sqlite3.Connection) -> Recall | None:
            row = connection.execute(
                "SELECT body, vector, checksum FROM recalls "
                "WHERE database = ? AND namespace = ? AND id = ?",
                (self._database, namespace, recall_id),
            ).fetchone()
            if row is None:
                return None
            recall = _read(*row)
            if (recall.namespace, recall.id) != (namespace, recall_id):
                raise _DamagedRowError(f"the row of recall {recall_id!r} holds another one")
            return recall

        self.flush()
        return self._best_effort("read", work)

    def discard(self, namespace: str, recall_ids: Iterable[str]) -> None:
        """Forget some recalls."""
        ids = [(self._database, namespace, recall_id) for recall_id in recall_ids]
        self.flush()
        self._best_effort(
            "changed",
            lambda connection: connection.executemany(
                "DELETE FROM recalls WHERE database = ? AND namespace = ? AND id = ?", ids
            ),
        )

    def settle(self, namespace: str, generation: int) -> None:
        """Accept recalls of this generation again: a backup brought the truth back to it."""

        def work(connection: sqlite3.Connection) -> None:
            later = "FROM erased WHERE database = ? AND namespace = ? AND generation > ?"
            bound = (self._database, namespace, generation)
            if connection.execute(f"SELECT 1 {later}", bound).fetchone():
                connection.execute(f"DELETE {later}", bound)

        self._best_effort("read", work)

    def erase(self, namespace: str, generation: int = 0) -> None:
        """Delete all recalls of a namespace, and leave no byte of them in the files.

        Parameters
        ----------
        namespace : str
        generation : int
            Recalls of earlier generations are no longer accepted.

        Raises
        ------
        IndexLockedError
            If another process uses the store for longer than ``wait_seconds``.
        StorageError
        """

        def work(connection: sqlite3.Connection) -> None:
            connection.execute(
                "INSERT OR REPLACE INTO erased VALUES (?, ?, ?)",
                (self._database, namespace, generation),
            )
            connection.execute(
                "DELETE FROM recalls WHERE database = ? AND namespace = ?",
                (self._database, namespace),
            )
            scrub(connection, self._path, self._wait_seconds)

        with connection_in_use(), self._lock:
            self._waiting.clear()
            if self._path is not None and self._path.is_dir():  # no store of ours
                return
            try:
                self._repairing(work)
            except StorageError:
                raise
            except (sqlite3.Error, OSError) as error:
                busy = getattr(error, "sqlite_errorname", "").startswith("SQLITE_BUSY")
                kind = IndexLockedError if busy else StorageError
                raise kind(
                    f"{self._path}: recent recalls were not erased: {_reason(error)}"
                ) from error

    # -- looking after it -------------------------------------------------------------

    def problems(self) -> Iterator[str]:
        """Yield what is wrong with the file, if anything; reads all of it."""
        with connection_in_use(), self._lock:
            try:
                if (connection := self._current()) is None:
                    return
                checked = connection.execute("PRAGMA integrity_check(5)").fetchall()
                if checked != [("ok",)]:
                    yield "; ".join(message for (message,) in checked)
                    return
                rows = connection.execute("SELECT id, body, vector, checksum FROM recalls")
                for id_, *row in rows:
                    try:
                        _read(*row)
                    except ValueError as error:
                        yield f"recall {id_!r}: {_reason(error)}"
                        return
            except (sqlite3.Error, OSError) as error:
                yield f"cannot be read: {_reason(error)}"

    def start_over(self) -> None:
        """Replace the store by an empty one."""
        with connection_in_use(), self._lock:
            if self._current() is not None and self._path is not None:
                self._replace_damaged(ValueError("found by the doctor"))

    def close(self) -> None:
        """Release the file."""
        self.flush()
        with connection_in_use(), self._lock:
            self._is_closed, self._keeps = True, False
            self._disconnect()


class _Writer:
    """One thread that writes what stores were given, behind the answers to questions."""

    def __init__(self) -> None:
        self._stores: queue.SimpleQueue[weakref.ref[RecallStore]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    def write_soon(self, store: RecallStore) -> None:
        self._stores.put(weakref.ref(store))
        with self._starting:
            if self._thread is None:
                thread = threading.Thread(target=self._work, name="hebbgraph-recalls", daemon=True)
                with contextlib.suppress(RuntimeError):  # the program ends; closing writes them
                    thread.start()
                    self._thread = thread

    def _work(self) -> None:
        while True:
            if (store := self._stores.get()()) is not None:
                store.flush()
            del store


_writer = _Writer()


def _after_fork() -> None:
    global _writer
    _writer = _Writer()  # its thread stayed with the parent


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def remove_recalls(directory: Path) -> None:
    """Remove the store of an index directory; open indexes begin a new one."""
    path = directory / RECALLS_NAME
    with _alone(path):
        _unlink(path)


def _alone(path: Path | None) -> contextlib.AbstractContextManager[object]:
    """Keep others from opening the store while its files are replaced."""
    if path is None:
        return contextlib.nullcontext()
    lock = path.with_name("recalls.lock")
    file = lock_file(lock, wait_seconds=_LOCK_SECONDS)
    if file is None:
        raise IndexLockedError(
            f"{lock}: another process used the store of recent recalls for more than "
            f"{_LOCK_SECONDS:g} s; try again"
        )
    return file


def _unlink(path: Path) -> None:
    for suffix in ("-wal", "-shm", ""):  # the log first: alone it means nothing
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _is_damage(error: Exception) -> bool:
    if isinstance(error, sqlite3.ProgrammingError):
        return False
    return not getattr(error, "sqlite_errorname", "").startswith(_NO_DAMAGE)


def _reason(error: Exception) -> str:
    """Describe an error without the content that some messages quote."""
    if isinstance(error, ValidationError):
        return f"{error.error_count()} invalid fields in a recall"
    if isinstance(error, sqlite3.Error) and not getattr(error, "sqlite_errorname", ""):
        return "text that is no UTF-8" if "UTF-8" in str(error) else type(error).__name__
    return str(error)


def _read(body: bytes | str, vector: bytes | None, checksum: int | None) -> Recall:
    if checksum is not None and checksum != _checksum(body, vector):
        raise _DamagedRowError("its checksum differs")
    numbers = None if vector is None else tuple(np.frombuffer(vector, _FLOAT).tolist())
    return unpacked(body, numbers)


def _checksum(body: bytes | str, vector: bytes | None) -> int:
    content = body.encode() if isinstance(body, str) else body
    return zlib.crc32(vector or b"", zlib.crc32(content))
