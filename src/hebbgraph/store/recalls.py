"""Recent recalls by id: rows of the database, kept where somebody asked for it.

Stored are the question, the chunks found, their order and paths; the content of chunks stays
in their own rows. So there is no second copy of a text to erase, and a recall that is looked
up shows no text that the index no longer has.

Late feedback may come from another process that knows only the id of a recall. A thread writes
the rows in batches, behind the answers. A failure to write is logged and never fails a recall.
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
from typing import NamedTuple

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

#: How many are kept if somebody asked for it and did not say how many.
MOST_KEPT = 10_000
#: How long one that is not there is waited for, in steps: it is written behind the answer.
_PAUSES = (0.02, 0.05, 0.1, 0.2, 0.4)
#: Before writing, the thread lets this answer reach whoever asked, and more of them gather.
_GATHER_SECONDS = 0.1
#: A thread that writes ends after so long without work.
_IDLE_SECONDS = 1.0
#: How many are held where none can be written.
_MOST_HELD = 100
#: Old rows go with every so many new ones.
_PRUNE_EVERY = 256
#: The type of stored vectors.
_FLOAT = np.dtype("<f4")

_INSERT = """
INSERT INTO recalls (namespace, id, keep, body, vector, checksum) VALUES (?, ?, ?, ?, ?, ?)
"""
_GET = "SELECT body, vector, checksum FROM recalls WHERE namespace = ? AND id = ?"
_ALL = "SELECT id, body, vector, checksum FROM recalls WHERE namespace = ?"
#: Each recall is kept until so many of its namespace are newer, as whoever stored it wanted. So
#: a process that keeps few drops none that another means to keep longer.
_KEPT = "SELECT DISTINCT keep FROM recalls WHERE namespace = ?"
_PRUNE = """
DELETE FROM recalls WHERE namespace = ? AND keep = ? AND seq <= (
    SELECT seq FROM recalls WHERE namespace = ? ORDER BY seq DESC LIMIT 1 OFFSET ?
)
"""

#: The recalls that this process returned and that are still in use, by database and identity.
_issued: weakref.WeakValueDictionary[tuple[str, int], Recall] = weakref.WeakValueDictionary()


_logs: weakref.WeakSet[RecallLog] = weakref.WeakSet()


class _Row(NamedTuple):
    """A recall as it is written, and the generation that it is of."""

    generation: int
    values: tuple[object, ...]


class RecallLog:
    """The recent recalls of one namespace.

    Parameters
    ----------
    database : Database
    namespace : str
    keep : int, optional
        Until how many newer ones a recall is kept; 0 keeps none. By default none either until
        :meth:`start`, and then :data:`MOST_KEPT`.
    """

    def __init__(self, database: Database, namespace: str, keep: int | None) -> None:
        self.database = database
        self._namespace = namespace
        self._keep = MOST_KEPT if keep is None else keep
        self._keeps = bool(keep) and self._keep > 0
        #: Those to be written; where nothing can be, they stay here.
        self._waiting: dict[str, Recall] = {}
        self._lock = threading.Lock()
        #: Held while recalls are put aside; never while anything is written.
        self._putting = threading.Lock()
        #: The thread that writes what waits, and whether there is more for it.
        self._thread: threading.Thread | None = None
        self._more = threading.Event()
        self._since_pruning = 0
        _logs.add(self)

    @property
    def keeps(self) -> bool:
        """Whether recalls are kept from now on."""
        return self._keeps

    def start(self) -> None:
        """Keep recalls from now on, unless the settings say that none is."""
        self._keeps = self._keep > 0

    # -- recalls of this process ------------------------------------------------------

    def issue(self, recall: Recall) -> Recall:
        """Know a recall as one of this database, as long as somebody holds it; return it."""
        _issued[self.database.id, id(recall)] = recall
        return recall

    def is_issued(self, recall: Recall) -> bool:
        """Return whether it is the very object that was issued; a copy may have been changed."""
        return _issued.get((self.database.id, id(recall))) is recall

    # -- rows -------------------------------------------------------------------------

    def put(self, recall: Recall) -> None:
        """Keep a recall, if any are kept: a thread writes it soon, with others that wait."""
        if not self._keeps:
            return
        read_only = self.database.read_only
        with self._putting:
            self._waiting[recall.id] = recall
            # In a read-only directory none can be written, and a lock may last for long.
            if len(self._waiting) > (min(self._keep, _MOST_HELD) if read_only else self._keep):
                del self._waiting[next(iter(self._waiting))]
            self._more.set()
            if self._thread is None and not read_only:
                self._thread = threading.Thread(
                    target=self._write_soon, name="hebbgraph-recalls", daemon=True
                )
                try:
                    self._thread.start()
                except RuntimeError:  # the program ends, which writes them, or has many threads
                    self._thread = None

    def _write_soon(self) -> None:
        """Write behind the answers; without work, the thread ends."""
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
        """Write the recalls that wait; they go on waiting if that fails."""
        with self._lock:
            with self._putting:
                batch = list(self._waiting.values())
            if not batch or self.database.read_only:
                return
            try:
                self._write([row for recall in batch if (row := self._row(recall)) is not None])
            except (HebbgraphError, OSError) as error:
                logger.warning("recent recalls could not be written: %s", error)
                return
            with self._putting:
                for recall in batch:
                    if self._waiting.get(recall.id) is recall:
                        del self._waiting[recall.id]

    @retried
    def _write(self, batch: list[_Row]) -> None:
        mine = (self._namespace,)
        with self.database.write() as connection:
            # What was erased must not come back with a recall of before; nor any question, once
            # the namespace is deleted, or before it is made.
            found = connection.execute(
                "SELECT floor FROM namespaces WHERE namespace = ?", mine
            ).fetchone()
            rows = [row.values for row in batch if found and found[0] <= row.generation]
            self._delete_from(connection, [str(row[1]) for row in rows])
            connection.executemany(_INSERT, rows)
            self._since_pruning += len(rows)
            if self._since_pruning >= _PRUNE_EVERY or self._keep < _PRUNE_EVERY:
                self._since_pruning = 0
                for (keep,) in connection.execute(_KEPT, mine).fetchall():
                    connection.execute(_PRUNE, (*mine, keep, *mine, keep))

    def _row(self, recall: Recall) -> _Row | None:
        """Return the row of a recall; None if it holds what no row can, as a step's own note."""
        try:
            body = packed(recall)
        except (ValueError, TypeError) as error:
            logger.warning("recall %r cannot be kept: %s", recall.id, error)
            return None
        vector = None if recall.vector is None else np.array(recall.vector, _FLOAT).tobytes()
        row = self._namespace, recall.id, self._keep, body, vector, _checksum(body, vector)
        return _Row(recall.generation, row)

    def get(self, recall_id: str) -> Recall | None:
        """Return a recall, or None if it is not kept.

        Its hits have no texts; :func:`whole` gives them theirs.
        """
        if (waiting := self._waiting_of(recall_id)) is not None:
            return unpacked(packed(waiting), waiting.vector)
        rows = self.database.ask(_GET, (self._namespace, recall_id))
        for pause in () if self.database.place == ":memory:" else _PAUSES:
            if rows:
                break
            time.sleep(pause)  # another process may be about to write it
            rows = self.database.ask(_GET, (self._namespace, recall_id))
        try:
            recall = _read(*rows[0]) if rows else None
        except ValueError as error:
            logger.warning("the row of recall %r is damaged (%s): forgotten", recall_id, error)
            return None
        return recall

    def _waiting_of(self, recall_id: str) -> Recall | None:
        """Return a recall that is not written yet, of this index or another open on the same."""
        for log in list(_logs):
            waiting = log._waiting.get(recall_id)
            if waiting is None or log._namespace != self._namespace:
                continue
            if log is self or log.database.id == self.database.id:
                return waiting
        return None

    def discard(self, recall_ids: Iterable[str]) -> None:
        """Forget some recalls."""
        ids = list(recall_ids)
        with self._lock:
            for recall_id in ids:
                self._waiting.pop(recall_id, None)
            if ids:
                self._delete(ids)

    @retried
    def _delete(self, ids: list[str]) -> None:
        with self.database.write() as connection:
            self._delete_from(connection, ids)

    def _delete_from(self, connection: Connection, ids: Iterable[str]) -> None:
        for page in pages(ids):
            connection.execute(
                f"DELETE FROM recalls WHERE namespace = ? AND id IN ({marks(page)})",
                (self._namespace, *page),
            )

    def erase(self) -> None:
        """Forget all recalls of the namespace; vacuuming the database erases their bytes."""
        with self._lock:
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
    """Write what waits in indexes that nobody has closed."""
    for log in list(_logs):
        log.flush()


if hasattr(os, "register_at_fork"):  # what waits is the parent's to write
    os.register_at_fork(after_in_child=_logs.clear)


def remove_former_recalls(directory: Path) -> None:
    """Remove the file in which earlier versions kept recalls."""
    for suffix in ("-wal", "-shm", ""):  # the log first: alone it means nothing
        remove(directory / f"recalls.sqlite3{suffix}")
    remove(directory / "recalls.lock")


def _read(body: bytes, vector: bytes | None, checksum: int) -> Recall:
    if checksum != _checksum(body, vector):
        raise ValueError("its checksum differs")
    return unpacked(body, None if vector is None else tuple(np.frombuffer(vector, _FLOAT).tolist()))


def _checksum(body: bytes, vector: bytes | None) -> int:
    return zlib.crc32(vector or b"", zlib.crc32(body))


# -- what their chunks hold now -----------------------------------------------------------


def whole(recall: Recall, truth: ChunkReader) -> Recall:
    """Return a stored recall with the present content of its chunks.

    A hit whose chunk was deleted or changed since keeps its place and its id only, and a note
    names it.
    """
    wanted = {hit.chunk.id for hit in recall.hits}
    wanted |= {step.value for hit in recall.hits for step in hit.path if step.kind == "chunk"}
    rows = truth.rows_of(sorted(wanted))
    outlines = truth.outlines(sorted(rows.values()))
    held = {id_: outlines[row] for id_, row in rows.items() if row in outlines}
    same = {hit.chunk.id for hit in recall.hits if _is_unchanged(hit, held.get(hit.chunk.id))}
    hits = tuple(_whole(hit, held, hit.chunk.id in same) for hit in recall.hits)
    if isinstance(store := truth.text_store, TextsElsewhere):
        completed, _ = store.completed(hits)
        # It may have another text by now, or still that of a chunk that was deleted here.
        hits = tuple(
            one if hit.chunk.id in same and one.hash_of_text == hit.hash_of_text else hit
            for one, hit in zip(completed, hits, strict=True)
        )
    gone = [hit.chunk.id for hit in recall.hits if hit.chunk.id not in same]
    notes = (f"deleted or replaced since: {some_of(gone)}",) if gone else ()
    return recall.model_copy(update={"hits": hits, "notes": (*recall.notes, *notes)})


def _whole(hit: Hit, held: dict[str, Outline], same: bool) -> Hit:
    nothing = Chunk.model_construct(
        id=hit.chunk.id, text="", title="", metadata={}, document_id=None, tags=()
    )
    chunk, hash_ = held[hit.chunk.id] if same else (nothing, hit.hash_of_text)
    path = tuple(_titled(step, held) for step in hit.path)
    return hit.model_copy(update={"chunk": chunk, "text_hash": hash_, "path": path})


def _is_unchanged(hit: Hit, outline: Outline | None) -> bool:
    """Return whether a chunk still has the text that was found."""
    if outline is None:
        return False
    known = outline.text_hash or text_hash(outline.chunk.title, outline.chunk.text)
    return known == hit.hash_of_text


def _titled(step: PathStep, held: dict[str, Outline]) -> PathStep:
    if step.kind != "chunk":
        return step
    outline = held.get(step.value)
    return step.model_copy(update={"title": "" if outline is None else outline.chunk.title})
