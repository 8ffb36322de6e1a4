"""Approximate nearest neighbours by usearch (extra ``usearch``), for many vectors.

Chosen by name (``Settings(vector_search="usearch")``), never because the package happens
to be installed. Only the choice of candidates is approximate: their cosines, and so the
ranking, are computed from the vectors themselves.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import IntArray
from hebbgraph.artifacts import Stamp, read_stamped, rows_checksum, write_stamped
from hebbgraph.vectors.searching import library

if TYPE_CHECKING:
    from usearch.index import Index

__all__ = ["ApproximateNeighbours"]

logger = logging.getLogger(__name__)

_FILE = "vectors.usearch"
_EXPANSION = 256  # candidates looked at in a search; recall@200 about .8 on hard clusters
_CONNECTIVITY = 16


class ApproximateNeighbours:
    """An HNSW graph over vectors, keyed by row of the truth.

    Parameters
    ----------
    dimension : int

    Raises
    ------
    MissingExtraError
        If usearch is not installed.
    """

    def __init__(self, dimension: int, index: Index | None = None, last_row: int = -1) -> None:
        self._dimension = dimension
        self._index = index if index is not None else _new_index(dimension)
        self.last_row = last_row
        #: The file that the index is mapped from; None once it lies in memory.
        self._mapped: Path | None = None

    def __len__(self) -> int:
        return len(self._index)

    def add(self, rows: IntArray, vectors: NDArray[np.float32]) -> None:
        """Add rows (ascending, above all that are here)."""
        if len(rows):
            self._take_into_memory()
            self._index.add(rows.astype(np.uint64), vectors)
            self.last_row = int(rows[-1])

    def _take_into_memory(self) -> None:
        """Copy what is mapped: only then can it grow."""
        if self._mapped is not None:
            self._index, self._mapped = self._index.copy(), None

    def search(self, query: NDArray[np.float32], limit: int) -> NDArray[np.int64]:
        """Return about the nearest rows, deleted ones included."""
        found: Any = self._index.search(query, min(limit, len(self._index)))
        return np.asarray(found.keys, dtype=np.int64)

    def save(self, directory: Path, stamp: Stamp, rows: IntArray) -> None:
        """Write it beside the snapshot, unless it is mapped from there; the stamp goes last.

        For vectors of these rows.
        """
        if self._mapped is not None:
            return
        stamp = stamp | {
            "last_row": self.last_row,
            "n": len(self),
            "rows": rows_checksum(rows[: len(self)]),
        }
        write_stamped(directory / _FILE, stamp, lambda path: self._index.save(str(path)))

    @classmethod
    def load(
        cls, directory: Path, dimension: int, fits: Callable[[Stamp], bool], rows: IntArray
    ) -> Self | None:
        """Map what :meth:`save` wrote, or return None if it is not of the same vectors.

        Those of the first of ``rows``, that is; others were added since. ``fits`` looks at
        the rest of the stamp.
        """
        empty = _new_index(dimension)

        def is_of_these(stamp: Stamp) -> bool:
            n = int(stamp["n"])
            return n <= len(rows) and stamp["rows"] == rows_checksum(rows[:n]) and fits(stamp)

        stamp = read_stamped(directory / _FILE, is_of_these)
        if stamp is None:
            return None
        try:
            empty.view(str(directory / _FILE))
            if len(empty) != stamp["n"] or empty.ndim != dimension:
                raise ValueError(f"{len(empty)} vectors, {stamp['n']} expected")
            held = cls(dimension, empty, int(stamp["last_row"]))
            held._mapped = directory / _FILE
            return held
        except (OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
            logger.warning("approximate search at %s is damaged (%s): rebuilding", directory, error)
            return None


def _new_index(dimension: int) -> Index:
    index: Index = library("usearch").Index(
        ndim=dimension,
        metric="ip",
        dtype="f16",
        connectivity=_CONNECTIVITY,
        expansion_search=_EXPANSION,
    )
    return index
