"""Recent recalls by id: rows of the database, kept only on request.

Late feedback may come from another process that knows only the id of a recall. A row holds the
question, the ids of the chunks found, their order and paths. The content of chunks stays in their
own rows: there is no second copy of a text to erase, and a recall that is looked up shows no text
that was deleted.

A thread writes the rows in batches, after the answers. If writing fails, that is logged, and no
recall fails.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
import weakref
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from hebbgraph.artifacts import remove
from hebbgraph.errors import HebbgraphError
from hebbgraph.records import Chunk, Hit, PathStep, Recall, text_hash
from hebbgraph.store.chunks import ChunkReader, Outline, pages
from hebbgraph.store.database import Connection, Database, marks, retried
from hebbgraph.store.packing import packed, unpacked
from hebbgraph.store.texts import TextsElsewhere, some_of

__all__ = ["MOST_KEPT", "RecallLog", "remove_former_recalls", "whole"]

logger = logging.getLogger(__name__)

#: How many recalls are kept by default.
MOST_KEPT = 10_000
#: Pauses, in seconds, while another process may be about to write a recall.
_PAUSES = (0.02, 0.05, 0.1, 0.2, 0.4)
#: The writer thread waits so long first: the answer goes out, and more recalls gather.
_GATHER_SECONDS = 0.1
#: The writer thread ends after so long without work.
_IDLE_SECONDS = 1.0
#: How many recalls wait in memory if the database is read-only.
_MOST_WAITING = 100
#: Old rows are deleted after so many new ones.
_PRUNE_EVERY = 256
#: The type of stored vectors.
_FLOAT = np.dtype("<f4")

_INSERT = """
INSERT INTO recalls (namespace, id, keep, body, vector, checksum) VALUES (?, ?, ?, ?, ?, ?)
"""
_GET = "SELECT body, vector, checksum FROM recalls WHERE namespace = ? AND id = ?"
_ALL = "SELECT id, body, vector, checksum FROM recalls WHERE namespace = ?"
#: Each recall is kept until ``keep`` recalls of its namespace are newer. The process that stored
#: it chose that number, so one that keeps few deletes none that another keeps longer.
_KEPT = "SELECT DISTINCT keep FROM recalls WHERE namespace = ?"
_PRUNE = """
DELETE FROM recalls WHERE namespace = ? AND keep = ? AND seq <= (
    SELECT seq FROM recalls WHERE namespace = ? ORDER BY seq DESC LIMIT 1 OFFSET ?
)
"""

#: Recalls that this process returned and that are still in use, by database and identity.
_issued: weakref.WeakValueDictionary[tuple[str, int], Recall] = weakref.WeakValueDictionary()
#: The open logs of this process.
_logs: weakref.WeakSet[RecallLog] = weakref.WeakSet()


class RecallLog:
    """The recent recalls of one namespace.

    Parameters
    ----------
    database : Database
    namespace : str
    keep : int, optional
        A recall is deleted when so many are newer; 0 keeps none. By default none are kept until
        :meth:`start`, and then :data:`MOST_KEPT`.
    """

    def __init__(self, database: Database, namespace: str, keep: int | None) -> None:
        self.database = database
        self._namespace = namespace
        self._keep = MOST_KEPT if keep is None else keep
        self._keeps = bool(keep) and self._keep > 0
        #: Recalls to write, by id. They stay here if the database is read-only.
        self._waiting: dict[str, Recall] = {}
        #: Held while rows are written or deleted.
        self._writing = threading.Lock()
        #: Held while ``_waiting`` or ``_thread`` changes, never during a write.
        self._putting = threading.Lock()
        self._thread: threading.Thread | None = None
        #: Tells the writer thread that there is more to write.
        self._more = threading.Event()
        self._since_pruning = 0
        _logs.add(self)

    def start(self) -> None:
        """Keep recalls from now on, unless the settings forbid it."""
        self._keeps = self._keep > 0

    # -- recalls of this process ------------------------------------------------------

    def issue(self, recall: Recall) -> Recall:
        """Recognise a recall as one of this database while it is in use; return it."""
        _issued[self.database.id, id(recall)] = recall
        return recall

    def is_issued(self, recall: Recall) -> bool:
        """Return whether this very object was issued; a copy may have been changed."""
        return _issued.get((self.database.id, id(recall))) is recall

    # -- rows -------------------------------------------------------------------------

    def put(self, recall: Recall) -> None:
        """Have the writer thread store a recall, if recalls are kept."""
        if not self._keeps:
            return
        read_only = self.database.read_only
        with self._putting:
            self._waiting[recall.id] = recall
            if len(self._waiting) > (min(self._keep, _MOST_WAITING) if read_only else self._keep):
                del self._waiting[next(iter(self._waiting))]
            self._more.set()
            if self._thread is None and not read_only:
                self._thread = threading.Thread(
                    target=self._write_soon, name="hebbgraph-recalls", daemon=True
                )
                try:
                    self._thread.start()
                except RuntimeError:  # the program ends, and then writes them; or too many threads
                    self._thread = None

    def _write_soon(self) -> None:
        """Run the writer thread until it has been idle for some time."""
        while True:
            if self._more.wait(_IDLE_SECONDS):
                time.sleep(_GATHER_SECONDS)
                self._more.clear()
                self.flush()
                continue
            with self._putting:
                if not self._more.is_set():
                    self._thread = None
                    return

    def flush(self) -> None:
        """Write the waiting recalls; they go on waiting if that fails."""
        with self._writing:
            with self._putting:
                batch = list(self._waiting.values())
            if not batch or self.database.read_only:
                return
            rows = [(recall.generation, row) for recall in batch if (row := self._row(recall))]
            try:
                self._write(rows)
            except (HebbgraphError, OSError) as error:
                logger.warning("recent recalls could not be written: %s", error)
                return
            with self._putting:
                for recall in batch:
                    if self._waiting.get(recall.id) is recall:
                        del self._waiting[recall.id]

    @retried
    def _write(self, batch: list[tuple[int, tuple[object, ...]]]) -> None:
        """Write rows, each with the generation of its recall."""
        with self.database.write() as connection:
            state = connection.execute(
                "SELECT floor FROM namespaces WHERE namespace = ?", (self._namespace,)
            ).fetchone()
            # A recall from before an erasure would bring erased content back, and a question
            # must not outlive its namespace.
            rows = [row for generation, row in batch if state and generation >= state[0]]
            self._delete_rows(connection, [row[1] for row in rows])
            connection.executemany(_INSERT, rows)
            self._since_pruning += len(rows)
            if self._since_pruning >= _PRUNE_EVERY or self._keep < _PRUNE_EVERY:
                self._since_pruning = 0
                for (keep,) in connection.execute(_KEPT, (self._namespace,)).fetchall():
                    connection.execute(_PRUNE, (self._namespace, keep, self._namespace, keep))

    def _row(self, recall: Recall) -> tuple[object, ...] | None:
        """Return the row of a recall; None if JSON cannot hold it, for example a step's note."""
        try:
            body = packed(recall)
        except (ValueError, TypeError) as error:
            logger.warning("recall %r cannot be kept: %s", recall.id, error)
            return None
        vector = None if recall.vector is None else np.array(recall.vector, _FLOAT).tobytes()
        return self._namespace, recall.id, self._keep, body, vector, _checksum(body, vector)

    def get(self, recall_id: str) -> Recall | None:
        """Return a recall, or None if it is not kept.

        Its hits have no texts; :func:`whole` adds them.
        """
        if (waiting := self._find_waiting(recall_id)) is not None:
            return unpacked(packed(waiting), waiting.vector)
        rows = self.database.ask(_GET, (self._namespace, recall_id))
        for pause in () if self.database.place == ":memory:" else _PAUSES:
            if rows:
                break
            time.sleep(pause)
            rows = self.database.ask(_GET, (self._namespace, recall_id))
        try:
            return _read(*rows[0]) if rows else None
        except ValueError as error:
            logger.warning("the row of recall %r is damaged (%s): forgotten", recall_id, error)
            return None

    def _find_waiting(self, recall_id: str) -> Recall | None:
        """Return a recall that this process has not written yet, in any index of the database."""
        for log in list(_logs):
            recall = log._waiting.get(recall_id)
            if recall is None or log._namespace != self._namespace:
                continue
            if log is self or log.database.id == self.database.id:
                return recall
        return None

    def discard(self, recall_ids: Iterable[str]) -> None:
        """Delete some recalls."""
        ids = list(recall_ids)
        with self._writing:
            for recall_id in ids:
                self._waiting.pop(recall_id, None)
            if ids:
                self._delete(ids)

    @retried
    def _delete(self, ids: list[str]) -> None:
        with self.database.write() as connection:
            self._delete_rows(connection, ids)

    def _delete_rows(self, connection: Connection, ids: Iterable[object]) -> None:
        for page in pages(ids):
            connection.execute(
                f"DELETE FROM recalls WHERE namespace = ? AND id IN ({marks(page)})",
                (self._namespace, *page),
            )

    def erase(self) -> None:
        """Delete all recalls of the namespace; vacuuming the database erases their bytes."""
        with self._writing:
            self._waiting.clear()
            self._delete_all()

    @retried
    def _delete_all(self) -> None:
        with self.database.write() as connection:
            connection.execute("DELETE FROM recalls WHERE namespace = ?", (self._namespace,))

    def problems(self) -> Iterator[str]:
        """Yield the first row that cannot be read."""
        for id_, *row in self.database.ask(_ALL, (self._namespace,)):
            try:
                _read(*row)
            except ValueError as error:
                yield f"recall {id_!r}: {error}"
                return

    def close(self) -> None:
        """Write what waits, and keep nothing from now on."""
        self._keeps = False
        self.flush()
        _logs.discard(self)


@atexit.register
def _write_all() -> None:
    """Write what waits in indexes that were not closed."""
    for log in list(_logs):
        log.flush()


if hasattr(os, "register_at_fork"):  # the parent writes what waits
    os.register_at_fork(after_in_child=_logs.clear)


def remove_former_recalls(directory: Path) -> None:
    """Remove the file in which earlier versions kept recalls."""
    for suffix in ("-wal", "-shm", ""):  # the log first: it means nothing without its database
        remove(directory / f"recalls.sqlite3{suffix}")
    remove(directory / "recalls.lock")


def _read(body: bytes, vector: bytes | None, checksum: int) -> Recall:
    if checksum != _checksum(body, vector):
        raise ValueError("its checksum differs")
    return unpacked(body, None if vector is None else tuple(np.frombuffer(vector, _FLOAT).tolist()))


def _checksum(body: bytes, vector: bytes | None) -> int:
    return zlib.crc32(vector or b"", zlib.crc32(body))


# -- the present content of their chunks ----------------------------------------------------


def whole(recall: Recall, truth: ChunkReader) -> Recall:
    """Return a stored recall with the present content of its chunks.

    If a chunk was deleted or changed since, its hit keeps only place and id, and a note names it.
    """
    ids = {hit.chunk.id for hit in recall.hits}
    ids |= {step.value for hit in recall.hits for step in hit.path if step.kind == "chunk"}
    rows = truth.rows_of(sorted(ids))
    by_row = truth.outlines(sorted(rows.values()))
    outlines = {id_: by_row[row] for id_, row in rows.items() if row in by_row}
    same = {hit.chunk.id for hit in recall.hits if _is_unchanged(hit, outlines.get(hit.chunk.id))}
    hits = tuple(_whole(hit, outlines, hit.chunk.id in same) for hit in recall.hits)
    if isinstance(store := truth.text_store, TextsElsewhere):
        completed, _ = store.completed(hits)
        # The other store may have another text by now, or one of a chunk that was deleted here.
        hits = tuple(
            with_text
            if hit.chunk.id in same and with_text.hash_of_text == hit.hash_of_text
            else hit
            for with_text, hit in zip(completed, hits, strict=True)
        )
    gone = [hit.chunk.id for hit in recall.hits if hit.chunk.id not in same]
    notes = (f"deleted or replaced since: {some_of(gone)}",) if gone else ()
    return recall.model_copy(update={"hits": hits, "notes": (*recall.notes, *notes)})


def _is_unchanged(hit: Hit, outline: Outline | None) -> bool:
    """Return whether a chunk still has the text that was found."""
    if outline is None:
        return False
    known = outline.text_hash or text_hash(outline.chunk.title, outline.chunk.text)
    return known == hit.hash_of_text


def _whole(hit: Hit, outlines: dict[str, Outline], is_unchanged: bool) -> Hit:
    chunk, hash_ = outlines[hit.chunk.id] if is_unchanged else (_empty(hit), hit.hash_of_text)
    path = tuple(_titled(step, outlines) for step in hit.path)
    return hit.model_copy(update={"chunk": chunk, "text_hash": hash_, "path": path})


def _empty(hit: Hit) -> Chunk:
    return Chunk.model_construct(
        id=hit.chunk.id, text="", title="", metadata={}, document_id=None, tags=()
    )


def _titled(step: PathStep, outlines: dict[str, Outline]) -> PathStep:
    if step.kind != "chunk":
        return step
    outline = outlines.get(step.value)
    return step.model_copy(update={"title": "" if outline is None else outline.chunk.title})
