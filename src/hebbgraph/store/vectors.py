"""Exact vector search over a file that maps the embeddings, made from the database.

The database holds the truth. The file is disposable: its records are the newest state of the
table ``embedding`` at the time it was written. Embeddings that came later are read from the
database and kept in memory, until they are numerous enough to rewrite the file. Records whose
chunk is gone are recognised when they would be hits, by their stamp: a random number that the
database knows.

A file is used only if the last embedding it holds is one that the database has or had, and if it
holds all that the database has up to there. Otherwise an older copy of the database was put back,
and the file is made again.
"""

from __future__ import annotations

import json
import logging
import os
import tempfile
import threading
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hebbgraph.arrays import BoolArray, Float32Array, FloatArray, IntArray, highest, places_in
from hebbgraph.errors import DamagedIndexError
from hebbgraph.store.database import Database, Session, pages
from hebbgraph.store.forks import GATE
from hebbgraph.store.meta import read_counts, read_json
from hebbgraph.store.nearest import Nearest, update_nearest

logger = logging.getLogger(__name__)

_HEADER = 4096  # bytes
_MAGIC = "hebbgraph vectors 1"
#: The file is rewritten when more embeddings than this, and than a share, lie outside of it.
_FEW, _SHARE = 2000, 8


class _Records(NamedTuple):
    """Embeddings in the order of their rows; the arrays may be mapped."""

    rows: IntArray
    stamps: IntArray
    vectors: Float32Array


class _State(NamedTuple):
    """What is known up to an embedding: records of the file, and later ones."""

    head: tuple[int, int]  # number and stamp of the embedding
    base: _Records
    later: _Records


class ExactSearch:
    """Exact search for one recall, in the state that its transaction sees.

    With ``all_alive``, every record is of a chunk that the transaction sees. With an approximate
    search beside it, that chooses among the records of the file where no filter does.
    """

    def __init__(
        self, session: Session, state: _State, near: Nearest | None, *, all_alive: bool
    ) -> None:
        self._session = session
        self._all_alive = all_alive
        self._near = near
        self._parts = state.base, state.later

    def nearest(
        self,
        vector: Float32Array,
        limit: int,
        allowed: Callable[[IntArray], BoolArray] | None = None,
    ) -> tuple[IntArray, FloatArray]:
        """Return the nearest rows and their cosines, nearest first, with all ties of the last."""
        base, later = self._parts
        if self._near is not None and allowed is None:
            at = self._near.positions(vector, limit + 40)
            base = _Records(base.rows[at], base.stamps[at], base.vectors[at])
        parts = base, later
        rows = np.concatenate([part.rows for part in parts])
        stamps = np.concatenate([part.stamps for part in parts])
        # One row at a time, so that no order matters, and nothing is copied.
        scores = np.concatenate([np.vecdot(part.vectors, vector) for part in parts])
        if allowed is not None:
            keep = np.flatnonzero(allowed(rows))
            rows, scores, stamps = rows[keep], scores[keep], stamps[keep]
        wanted = limit if self._all_alive else limit + 40
        while True:
            at = highest(scores, wanted)
            alive = self._alive(rows[at], stamps[at])
            if int(np.count_nonzero(alive)) >= limit or len(at) == len(rows):
                at = at[alive]
                break
            wanted *= 4
        last = scores[at[limit - 1]] if len(at) > limit else -np.inf
        at = at[scores[at] >= last]
        return rows[at].astype(np.int64), scores[at].astype(np.float64)

    def cosines(self, vector: Float32Array, rows: IntArray) -> FloatArray:
        """Return the cosine of each live row; NaN for rows without a vector."""
        result = np.full(len(rows), np.nan)
        for part in self._parts:
            at, known = places_in(part.rows, rows)
            result[known] = np.vecdot(part.vectors[at[known]], vector)
        return result

    def _alive(self, rows: IntArray, stamps: IntArray) -> BoolArray:
        if self._all_alive:
            return np.ones(len(rows), np.bool_)
        sql = "SELECT row, stamp FROM $embedding WHERE row = ANY(?)"
        known = dict(self._session.rows(sql, rows.tolist()))
        pairs = zip(rows.tolist(), stamps.tolist(), strict=True)
        return np.array([known.get(row) == stamp for row, stamp in pairs], np.bool_)


class VectorCache:
    """Keeps the embeddings of one namespace in step with its database.

    Without a folder, where the file may be written, vectors stay in memory.
    """

    def __init__(
        self, database: Database, folder: Path | None, *, approximate: bool = False
    ) -> None:
        self._database = database
        self._approximate = approximate
        self._near: Nearest | None = None
        self._lock = threading.Lock()
        self._state: _State | None = None
        self._changes = -1
        self._path: Path | None = None
        if folder is not None:
            name = blake2b(database.cache_key.encode(), digest_size=8).hexdigest()
            self._path = folder / f"{name}.vectors"

    def search(self, session: Session) -> ExactSearch | None:
        """Return the search over the state that a transaction sees; None without vectors."""
        counts = read_counts(session)
        if not counts.vectors:
            return None
        with self._lock:
            if self._state is None or counts.changes > self._changes:
                self._state = self._synchronised(session, self._state)
                self._changes = counts.changes
            state, is_same = self._state, self._changes == counts.changes
            near = self._nearest(*state.base[1:])
        n = len(state.base.rows) + len(state.later.rows)
        return ExactSearch(session, state, near, all_alive=is_same and n == counts.vectors)

    def _nearest(self, stamps: IntArray, vectors: Float32Array) -> Nearest | None:
        if not self._approximate or self._path is None:
            return None
        if self._near is None or self._near.stamps is not stamps:
            self._near = Nearest(self._path.with_suffix(".nearest"), stamps, vectors.shape[1])
        return self._near

    def synchronise(self) -> None:
        """Write the files now if many embeddings lie outside of them, so that no question waits."""
        with self._database.read() as session:
            self.search(session)
        if self._approximate and self._path is not None and (state := self._state) is not None:
            near = self._path.with_suffix(".nearest")
            if update_nearest(near, *state.base[1:]):
                self._near = None

    def erase(self, rows: Sequence[int]) -> None:
        """Overwrite vectors of deleted chunks in the file: of ``rows``; if it is empty, of all."""
        with GATE.passed():  # a fork would leave the lock to the child
            with self._lock:
                self._state = None
                if self._path is None:
                    return
                # Of a process that was killed while it wrote, or that read an older state.
                near = self._path.with_suffix(".nearest")
                for unfinished in self._path.parent.glob(f"{self._path.stem}.*"):
                    if unfinished not in (self._path, near):
                        unfinished.unlink(missing_ok=True)
                opened = _open(self._path, writable=True)
                if opened is None:
                    self._path.unlink(missing_ok=True)
                    near.unlink(missing_ok=True)
                    return
            is_gone = np.isin(opened.base.rows, rows)
            if not rows:  # asked again, since a process was killed before it came here
                with self._database.read() as session:  # recalls wait for the lock in theirs
                    held = [row for (row,) in session.rows("SELECT row FROM $embedding")]
                is_gone = ~np.isin(opened.base.rows, held)
            _overwrite(opened.base, np.flatnonzero(is_gone))
            if near.exists():
                update_nearest(near, opened.base.stamps, opened.base.vectors)

    # -- keeping in step --------------------------------------------------------------

    def _synchronised(self, session: Session, state: _State | None) -> _State:
        dimension = int(read_json(session, "embedder")["dimension"])
        if state is None or not self._is_history(session, state):
            state = self._load(session, dimension)
        later = session.rows(
            "SELECT seq, row, stamp, data FROM $embedding WHERE seq > ? ORDER BY seq",
            state.head[0],
        )
        if later:
            seq, _, stamp, _ = later[-1]
            state = _State((seq, stamp), state.base, _joined(state.later, later))
        if len(state.later.rows) > max(_FEW, len(state.base.rows) // _SHARE):
            state = self._written(session, dimension)
        return state

    @staticmethod
    def _is_history(session: Session, state: _State) -> bool:
        """Return whether the database has, or had, the newest embedding of a state."""
        seq, stamp = state.head
        sql = (
            "SELECT stamp FROM $embedding WHERE seq = ? UNION SELECT stamp FROM $gone WHERE seq = ?"
        )
        return not seq or session.rows(sql, seq, seq) == [(stamp,)]

    def _load(self, session: Session, dimension: int) -> _State:
        """Return the state of the file; an empty one if that does not hold what it should."""
        empty = _State((0, 0), _empty(dimension), _empty(dimension))
        path = self._path
        state = None if path is None else _open(path)
        if path is None or state is None or state.base.vectors.shape[1] != dimension:
            return empty
        known = np.array(session.rows("SELECT row, stamp, seq FROM $embedding"), np.int64)
        rows, stamps, _ = known[known[:, 2] <= state.head[0]].T
        at, held = places_in(state.base.rows, rows)
        is_same = held.all() and (state.base.stamps[at] == stamps).all()
        if not (is_same and self._is_history(session, state)):
            return empty
        if len(rows) < len(state.base.rows):  # who deleted the others may not have come to it
            dead = np.delete(np.arange(len(state.base.rows)), at)
            if (writable := _open(path, writable=True)) is not None:
                _overwrite(writable.base, dead)
        return state

    def _written(self, session: Session, dimension: int) -> _State:
        """Return all embeddings, from a new file if one can be written."""
        head = session.rows("SELECT seq, stamp FROM $embedding ORDER BY seq DESC LIMIT 1")[0]
        n = int(session.rows("SELECT count(*) FROM $embedding")[0][0])
        if self._path is not None:
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                _write(self._path, session, head, n, dimension)
                if (state := _open(self._path)) is not None:  # not erased meanwhile
                    return state
            except FileNotFoundError:  # erased while it was written
                pass
            except OSError as error:
                logger.info("vectors stay in memory, since %s", error)
                self._path = None
        records = _Records(
            np.empty(n, np.int64), np.empty(n, np.int64), np.empty((n, dimension), np.float32)
        )
        _fill(records, session)
        return _State(head, records, _empty(dimension))


def _empty(dimension: int) -> _Records:
    nothing = np.empty(0, np.int64)
    return _Records(nothing, nothing, np.empty((0, dimension), np.float32))


def _joined(records: _Records, later: list[tuple[int, int, int, bytes]]) -> _Records:
    _, rows, stamps, data = zip(*later, strict=True)
    new = np.array(rows), np.array(stamps), _decoded(data, records.vectors.shape[1])
    pairs: Iterable[Any] = zip(records, new, strict=True)
    both = list(map(np.concatenate, pairs))
    order = np.argsort(both[0], kind="stable")
    return _Records(*(column[order] for column in both))


def _decoded(vectors: Sequence[bytes], dimension: int) -> Float32Array:
    if set(map(len, vectors)) - {4 * dimension}:
        raise DamagedIndexError("a vector in the database has a wrong size; add its chunk again")
    return np.frombuffer(b"".join(vectors), "<f4").reshape(-1, dimension)


def _fill(records: _Records, session: Session) -> None:
    """Read all embeddings in the order of their rows."""
    at, dimension = 0, records.vectors.shape[1]
    sql = "SELECT row, stamp, data FROM $embedding WHERE row > ? ORDER BY row"
    for page in pages(session, sql, 4000):
        part = slice(at, at + len(page))
        records.rows[part] = [row for row, _, _ in page]
        records.stamps[part] = [stamp for _, stamp, _ in page]
        records.vectors[part] = _decoded([data for *_, data in page], dimension)
        at = part.stop


def _mapped(path: Path, n: int, dimension: int, mode: str) -> _Records:
    return _Records(
        np.memmap(path, "<i8", mode, _HEADER, (n,)),  # type: ignore[call-overload]
        np.memmap(path, "<i8", mode, _HEADER + 8 * n, (n,)),  # type: ignore[call-overload]
        np.memmap(path, "<f4", mode, _HEADER + 16 * n, (n, dimension)),  # type: ignore[call-overload]
    )


def _write(path: Path, session: Session, head: tuple[int, int], n: int, dimension: int) -> None:
    """Write a new file next to the old one, then replace that."""
    header = {"magic": _MAGIC, "head": head, "n": n, "dimension": dimension}
    descriptor, name = tempfile.mkstemp(prefix=path.name, dir=path.parent)
    try:
        with os.fdopen(descriptor, "r+b") as file:
            file.write(json.dumps(header).encode().ljust(_HEADER))
            file.truncate(_HEADER + n * (16 + 4 * dimension))
            # Mapping a file on a full disk would end the process, so it is reserved first.
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, _HEADER + n * (16 + 4 * dimension))
        records = _mapped(Path(name), n, dimension, "r+")
        _fill(records, session)
        for column in records:
            if isinstance(column, np.memmap):
                column.flush()
        os.replace(name, path)
    finally:
        Path(name).unlink(missing_ok=True)


def _open(path: Path, *, writable: bool = False) -> _State | None:
    """Return what a file holds; None if it is not there, or cannot be used and is made again."""
    try:
        with path.open("rb") as file:
            header = json.loads(file.read(_HEADER))
        magic, head, n, dimension = (header[name] for name in ("magic", "head", "n", "dimension"))
        if magic != _MAGIC or path.stat().st_size != _HEADER + n * (16 + 4 * dimension):
            raise ValueError("it is of another version, or its size is wrong")
        records = _mapped(path, n, dimension, "r+" if writable else "r")
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        logger.info("%s cannot be used: %s", path, error)
        return None
    if not writable:  # plain arrays over the same pages: indexing a memmap is slow
        records = _Records._make(map(np.asarray, records))
    return _State(tuple(head), records, _empty(dimension))


def _overwrite(records: _Records, at: IntArray) -> None:
    """Overwrite some records of a file; no embedding has their stamp then."""
    for column in (records.vectors, records.stamps):
        column[at] = 0
        if isinstance(column, np.memmap):
            column.flush()
