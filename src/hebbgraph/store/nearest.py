"""Approximate vector search: an HNSW index by usearch (extra ``ann``) over the mapped vectors.

Its file lies next to that of the vectors, and is as disposable. It stores vectors by their stamps,
rounded to one byte a number. So it never returns a deleted vector. Vectors that it does not have
are compared exactly, and so are those that it finds.
"""

from __future__ import annotations

import logging
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from hebbgraph.arrays import Float32Array, IntArray, places_in
from hebbgraph.errors import MissingExtraError

logger = logging.getLogger(__name__)

_FEWEST = 20_000  # vectors; with fewer, exact search is as fast
_ADDED = 1 << 14  # vectors that are added at once
_OPTIONS = {"metric": "ip", "dtype": "i8", "connectivity": 16, "expansion_add": 128}


def _usearch() -> Any:
    try:
        from usearch.index import Index
    except ModuleNotFoundError as error:
        raise MissingExtraError('approximate=True needs: pip install "hebbgraph[ann]"') from error
    return Index


def _read(path: Path, dimension: int, *, view: bool = False) -> Any:
    """Return the index of a file; None if it is missing, empty, or to be made again."""
    try:
        index = _usearch().restore(str(path), view=view)
        return index if index and index.ndim == dimension else None
    except (RuntimeError, ValueError) as error:
        logger.info("%s cannot be used: %s", path, error)
        return None


class Nearest:
    """The index of a file, for vectors of a dimension with these stamps."""

    def __init__(self, path: Path, stamps: IntArray, dimension: int) -> None:
        self.stamps = stamps
        self._index = _read(path, dimension, view=True)
        self._order = np.argsort(stamps)
        self._sorted = stamps[self._order]
        #: Positions of vectors that it does not have.
        self._unknown = np.flatnonzero(~np.isin(stamps, _keys(self._index)))

    def positions(self, vector: Float32Array, limit: int) -> IntArray:
        """Return the positions of the vectors that may be nearest."""
        if self._index is None:
            return self._unknown
        self._index.expansion_search = 2 * limit
        found = self._index.search(vector, limit).keys.astype(np.int64)
        at, known = places_in(self._sorted, found)
        return np.union1d(self._order[at[known]], self._unknown)


def update_nearest(path: Path, stamps: IntArray, vectors: Float32Array) -> bool:
    """Make a file hold these vectors and no others; return whether it changed."""
    if len(stamps) < _FEWEST and not path.exists():
        return False
    descriptor, name = tempfile.mkstemp(prefix=path.name, dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            index = _read(path, vectors.shape[1]) or _usearch()(ndim=vectors.shape[1], **_OPTIONS)
            known = _keys(index)
            _overwrite(index, np.setdiff1d(known, stamps))
            # Deleted vectors have the stamp 0.
            new = np.flatnonzero(~np.isin(stamps, np.append(known, 0)))
            for start in range(0, len(new), _ADDED):
                at = new[start : start + _ADDED]
                index.add(stamps[at], vectors[at])
            file.write(index.save())
        with suppress(FileNotFoundError):  # erased meanwhile
            os.replace(name, path)
    finally:
        Path(name).unlink(missing_ok=True)
    return len(new) > 0


def _keys(index: Any) -> IntArray:
    return np.array([] if index is None else index.keys[:], np.int64)


def _overwrite(index: Any, stamps: IntArray) -> None:
    """Remove vectors; overwrite them with zeros, which are removed too."""
    for again in (True, False):
        for stamp in stamps.tolist():
            index.remove(stamp)
        if again and len(stamps):
            index.add(stamps, np.zeros((len(stamps), index.ndim), np.float32))
