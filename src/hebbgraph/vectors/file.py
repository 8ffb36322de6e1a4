"""The vectors of a namespace in memory-mapped files.

They are derived and append-only. Opening maps them instead of reading every vector from the
database, all processes of a machine share one copy in the page cache, and new vectors are written
behind those that others have mapped. A manifest, written last, names the commit and how much of
the files counts: what a killed process appended is ignored.
"""

from __future__ import annotations

import contextlib
import os
import uuid
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hebbgraph.artifacts import DamagedPartError, is_missing, remove
from hebbgraph.manifest import Manifest
from hebbgraph.store.embeddings import EmbeddingState
from hebbgraph.store.history import Commit
from hebbgraph.vectors.scattered import ScatteredVectors

__all__ = ["MANIFEST", "VectorFile"]

MANIFEST = "vectors.manifest.json"
_VERSION = 3
_BLOCK = 1 << 14  # vectors
_ROW_BYTES, _NUMBER_BYTES = 8, 4
#: Up to this size, opening compares the checksum of vectors. ``doctor`` compares larger ones.
_MAX_BYTES_TO_CHECK = 256_000_000


class VectorFile:
    """Rows of the truth, ascending, and their vectors.

    Writers must hold the lock on the folder.

    Parameters
    ----------
    directory : Path
    state : EmbeddingState
        Files of another model are ignored.
    knows : callable
        Returns whether a commit led to the present truth; files of other commits are ignored.
        The commit may be later than the caller's, as another process may have written the files.

    Attributes
    ----------
    name : str
        The name of the files, or empty. Files of one name only grow.
    rows : ndarray of int64, shape (n,)
    matrix : ndarray of float32, shape (n, dimension)
    scattered : ScatteredVectors or None
        The same for random access; None if there are none.
    last_row : int
        The highest row read so far, with or without a vector.
    problem : str or None
        Why files were ignored, if any were.
    """

    def __init__(
        self, directory: Path, state: EmbeddingState, knows: Callable[[Commit], bool]
    ) -> None:
        self._directory = directory
        self._state = state
        self._knows = knows
        self.problem: str | None = None
        self._reset()
        self.refresh()

    def _reset(self, problem: str | None = None) -> None:
        self.problem = problem
        self.name = ""
        self._checksums = [0, 0]
        self.last_row = -1
        self.rows: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self.matrix: NDArray[np.float32] = np.empty((0, self._state.dimension), dtype=np.float32)
        self.scattered: ScatteredVectors | None = None

    @staticmethod
    def discard(directory: Path) -> None:
        """Remove the files."""
        remove(directory / MANIFEST)
        _remove(directory, "vectors-*")

    def refresh(self) -> None:
        """Map what other processes have appended.

        If :attr:`name` changes, read all rows that :attr:`rows` lacks again.
        """
        try:
            manifest = Manifest.read(self._directory / MANIFEST, _VERSION)
            if manifest is None or manifest.facts["state"] != list(self._state):
                return self._reset()
            if not self._knows(Commit(*manifest.facts["commit"])):
                return self._reset("not of this database")
            (size, *_), *_ = files = list(manifest.files.values())
            n, name = size // _ROW_BYTES, Path(next(iter(manifest.files))).stem
            if name != self.name or n < len(self.rows):
                self._reset()
            if n > len(self.rows):
                self._map_more(name, n, [checksum for _, checksum in files])
            self.problem = None
            self.name, self.last_row = name, manifest.facts["last_row"]
        except (OSError, ValueError) as error:
            is_damage = isinstance(error, DamagedPartError | ValueError) or is_missing(error)
            if not is_damage:  # the file system, or the database that knows commits, failed
                raise
            self._reset(f"damaged ({error})")
        return None

    def _map_more(self, name: str, n: int, expected: list[int]) -> None:
        """Map the first n vectors, and verify the new ones among them."""
        known, checksums = len(self.rows), list(self._checksums)
        self._map(name, n)
        checksums[0] = _checksum(self.rows[known:], checksums[0])
        if self.matrix[known:].nbytes <= _MAX_BYTES_TO_CHECK:
            checksums[1] = _checksum(self.matrix[known:], checksums[1])
        else:
            checksums[1] = expected[1]
        if checksums != expected:
            raise ValueError("a checksum differs")
        self._checksums = checksums

    def _map(self, name: str, n: int) -> None:
        dimension = self._state.dimension
        rows: Any = np.memmap(self._directory / f"{name}.rows", np.int64, "r", shape=(n,))
        vectors = self._directory / f"{name}.f32"
        matrix: Any = np.memmap(vectors, np.float32, "r", shape=(n, dimension))
        self.rows, self.matrix = np.asarray(rows), np.asarray(matrix)
        self.scattered = ScatteredVectors(vectors, (n, dimension))

    def append(
        self,
        rows: NDArray[np.int64],
        vectors: NDArray[np.float32],
        *,
        last_row: int,
        commit: Commit,
    ) -> None:
        """Append rows above all present ones; call :meth:`refresh` first.

        Raises
        ------
        OSError
            If they cannot be written; nothing has changed.
        """
        if self.name and self._is_longer_than_manifest():
            copy = self.rewritten(self.rows, self.matrix, last_row=self.last_row, commit=commit)
            self.name, self._checksums = copy.name, copy._checksums
            self.rows, self.matrix, self.scattered = copy.rows, copy.matrix, copy.scattered
        if not self.name:
            self.discard(self._directory)
        name = self.name or _new_name()
        n = len(self.rows)
        checksums = self._write(name, n, rows, vectors, self._checksums)
        n += len(rows)
        self._record(name, n, checksums, last_row, commit)
        if n:
            self._map(name, n)
        self.name, self._checksums, self.last_row = name, checksums, last_row

    def _is_longer_than_manifest(self) -> bool:
        """Return whether the files hold more than the manifest says.

        The rest must not be overwritten: if an older manifest was put back, another process may
        have mapped it. Otherwise a killed process left it.
        """
        path = self._directory / f"{self.name}.rows"
        return path.stat().st_size > self.rows.nbytes

    def _write(
        self,
        name: str,
        n: int,
        rows: NDArray[np.int64],
        vectors: NDArray[np.float32],
        checksums: list[int],
    ) -> list[int]:
        """Write behind the first n vectors; return the new checksums."""
        for suffix, values in ((".rows", rows), (".f32", vectors)):
            path = self._directory / f"{name}{suffix}"
            with path.open("r+b" if path.exists() else "w+b") as file:
                file.seek(n * values[:1].nbytes if len(values) else 0)
                if len(values):
                    file.write(np.ascontiguousarray(values).data)
                file.flush()
                os.fsync(file.fileno())
        return [_checksum(rows, checksums[0]), _checksum(vectors, checksums[1])]

    def _record(
        self, name: str, n: int, checksums: list[int], last_row: int, commit: Commit
    ) -> None:
        sizes = n * _ROW_BYTES, n * self._state.dimension * _NUMBER_BYTES
        names = f"{name}.rows", f"{name}.f32"
        facts = {"state": list(self._state), "commit": list(commit), "last_row": last_row}
        files = dict(zip(names, zip(sizes, checksums, strict=True), strict=True))
        Manifest(facts, files).write(self._directory / MANIFEST, _VERSION)

    def rewritten(
        self,
        rows: NDArray[np.int64],
        matrix: NDArray[np.float32],
        *,
        last_row: int,
        commit: Commit,
    ) -> VectorFile:
        """Replace the files by new ones with these vectors.

        Processes that have mapped the old files can still read them. The manifest names the new
        ones when they are complete: an error changes nothing.
        """
        name, checksums = _new_name(), [0, 0]
        try:
            for start in range(0, max(len(rows), 1), _BLOCK):
                block = slice(start, start + _BLOCK)
                checksums = self._write(name, start, rows[block], matrix[block], checksums)
            self._record(name, len(rows), checksums, last_row, commit)
        except BaseException:
            _remove(self._directory, f"{name}.*")
            raise
        _remove(self._directory, "vectors-*", except_for=name)
        return VectorFile(self._directory, self._state, self._knows)


def _remove(directory: Path, pattern: str, except_for: str = "") -> None:
    for path in directory.glob(pattern):
        if path.stem != except_for:
            with contextlib.suppress(OSError):  # Windows keeps files that are mapped
                remove(path)


def _new_name() -> str:
    return f"vectors-{uuid.uuid4().hex[:12]}"


def _checksum(values: NDArray[Any], checksum: int) -> int:
    """Continue a CRC-32 over an array."""
    for start in range(0, len(values), _BLOCK):
        checksum = zlib.crc32(np.ascontiguousarray(values[start : start + _BLOCK]).data, checksum)
    return checksum
