"""The vectors of a namespace in files that are mapped into memory.

Derived, and only appended to: opening maps them instead of reading every vector from the
database, all processes of a machine share one copy in the page cache, and what is new is
written behind what others have mapped. A stamp says how much of the files counts; it
goes last, so that what a killed process has left behind it does not.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import uuid
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import BoolArray
from hebbgraph.store.embeddings import EmbeddingState

__all__ = ["VectorFile"]

logger = logging.getLogger(__name__)

VECTOR_FORMAT = 1
_STAMP = "vectors.stamp.json"
_BLOCK = 1 << 14  # vectors
#: Up to so many bytes of vectors, checksums are compared; above, ``doctor`` compares vectors.
_MAX_BYTES_TO_CHECK = 256_000_000


class VectorFile:
    """Rows of the truth and their vectors (float32), rows ascending.

    Whoever writes holds the lock on derived parts.

    Parameters
    ----------
    directory : Path
    state : EmbeddingState
        What the vectors are of; files of anything else are passed over.
    generation : int
        Of the truth: files that are ahead of it belong to another one.

    Attributes
    ----------
    rows : ndarray of int64, shape (n,)
    matrix : ndarray of float32, shape (n, dimension)
    last_row : int
        The highest row that was looked at, with or without a vector.
    """

    def __init__(self, directory: Path, state: EmbeddingState, generation: int) -> None:
        self._directory = directory
        self._state = state
        self._name = ""
        self._checksums = [0, 0]
        self._forget()
        self.refresh(generation)

    def _forget(self) -> None:
        self._name = ""
        self._checksums = [0, 0]
        self.last_row = -1
        self.rows: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self.matrix: NDArray[np.float32] = np.empty((0, self._state.dimension), dtype=np.float32)

    @staticmethod
    def discard(directory: Path) -> None:
        """Let the next one that opens them start from nothing."""
        with contextlib.suppress(FileNotFoundError):
            (directory / _STAMP).unlink()
        for old in directory.glob("vectors-*"):
            with contextlib.suppress(OSError):  # mapped by another process, on some systems
                old.unlink()

    def refresh(self, generation: int) -> None:
        """See what other processes have appended."""
        try:
            stamp = json.loads((self._directory / _STAMP).read_bytes())
            if stamp["format"] != VECTOR_FORMAT or stamp["state"] != list(self._state):
                return self._forget()
            if stamp["generation"] > generation:
                logger.warning("vector files are ahead of the database: reading it again")
                return self._forget()
            n, name = int(stamp["n"]), Path(stamp["name"]).name
            if name == self._name and n == len(self.rows):
                self.last_row = int(stamp["last_row"])
                return None
            known = len(self.rows) if name == self._name else 0
            checksums = list(self._checksums) if known else [0, 0]
            self._map(name, n)
            expected = list(stamp["checksums"])
            checksums[0] = _checksum(self.rows[known:], checksums[0])
            if self.matrix[known:].nbytes <= _MAX_BYTES_TO_CHECK:
                checksums[1] = _checksum(self.matrix[known:], checksums[1])
            else:
                checksums[1] = expected[1]
            if checksums != expected:
                raise ValueError("a checksum differs")
            self._name, self._checksums = name, checksums
            self.last_row = int(stamp["last_row"])
        except FileNotFoundError:
            self._forget()
        except (OSError, ValueError, KeyError, TypeError) as error:
            logger.warning("vector files are damaged (%s): reading the database", error)
            self._forget()
        return None

    def _map(self, name: str, n: int) -> None:
        if not n:
            self._forget()
            return
        dimension = self._state.dimension
        rows: Any = np.memmap(self._directory / f"{name}.rows", np.int64, "r", shape=(n,))
        matrix: Any = np.memmap(
            self._directory / f"{name}.f32", np.float32, "r", shape=(n, dimension)
        )
        self.rows, self.matrix = np.asarray(rows), np.asarray(matrix)

    def append(
        self,
        rows: NDArray[np.int64],
        vectors: NDArray[np.float32],
        *,
        last_row: int,
        generation: int,
    ) -> None:
        """Add rows above all that are here; call :meth:`refresh` first.

        Raises
        ------
        OSError
            If they cannot be written; nothing has changed then.
        """
        n = len(self.rows)
        if not self._name:
            self.discard(self._directory)
        name = self._name or f"vectors-{uuid.uuid4().hex[:12]}"
        for suffix, values in ((".rows", rows), (".f32", vectors)):
            path = self._directory / f"{name}{suffix}"
            with path.open("r+b" if path.exists() else "w+b") as file:
                file.seek(n * values[:1].nbytes if len(values) else 0)
                if len(values):
                    file.write(np.ascontiguousarray(values).data)
                file.flush()
                os.fsync(file.fileno())
        checksums = [_checksum(rows, self._checksums[0]), _checksum(vectors, self._checksums[1])]
        stamp = {
            "format": VECTOR_FORMAT,
            "state": list(self._state),
            "generation": generation,
            "name": name,
            "n": n + len(rows),
            "last_row": last_row,
            "checksums": checksums,
        }
        partial = self._directory / f"{_STAMP}.partial"
        partial.write_text(json.dumps(stamp))
        os.replace(partial, self._directory / _STAMP)
        self._map(name, n + len(rows))
        self._name, self._checksums, self.last_row = name, checksums, last_row

    def rewritten(self, keep: BoolArray, generation: int) -> VectorFile:
        """Write only some of the vectors anew; others that have the old files go on with them."""
        rows, matrix, last_row = self.rows, self.matrix, self.last_row
        self.discard(self._directory)
        fresh = VectorFile(self._directory, self._state, generation)
        kept = np.flatnonzero(keep)
        for start in range(0, max(len(kept), 1), _BLOCK):
            at = kept[start : start + _BLOCK]
            fresh.append(rows[at], matrix[at], last_row=last_row, generation=generation)
        return fresh


def _checksum(values: NDArray[Any], so_far: int) -> int:
    for start in range(0, len(values), _BLOCK):
        so_far = zlib.crc32(np.ascontiguousarray(values[start : start + _BLOCK]).data, so_far)
    return so_far
