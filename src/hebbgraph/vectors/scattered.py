"""Random access to vectors in a mapped file, which may be larger than memory.

Touching a page that is not in memory blocks, and makes the system read ahead: a thousand scattered
vectors would block a thousand times and read most of the file. This mapping turns read-ahead off.
If a few pages turn out to be on disk, it asks the system to read all needed pages at once.
"""

from __future__ import annotations

import mmap
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import IntArray

if sys.platform == "linux":  # other systems do not count page faults by thread
    from resource import RUSAGE_THREAD, getrusage

__all__ = ["ScatteredVectors"]

#: So many vectors are touched first, to see whether any are on disk.
_SAMPLE = 8


class ScatteredVectors:
    """The vectors of a file, mapped for random access.

    Parameters
    ----------
    path : Path
    shape : (n, dimension)
        The shape of the float32 matrix at the start of the file; n is positive.

    Attributes
    ----------
    matrix : ndarray of float32, shape (n, dimension)
    """

    def __init__(self, path: Path, shape: tuple[int, int]) -> None:
        size = shape[0] * shape[1] * np.dtype(np.float32).itemsize
        with path.open("rb") as file:
            self._mapped = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
        if sys.platform == "linux":
            self._mapped.madvise(mmap.MADV_RANDOM)
        self.matrix: NDArray[np.float32] = np.frombuffer(self._mapped, np.float32).reshape(shape)

    def fetch(self, at: IntArray) -> None:
        """Have the system read vectors that are on disk, all at once.

        Parameters
        ----------
        at : ndarray of int, shape (m,), in [0, n)
        """
        if sys.platform != "linux" or len(at) <= _SAMPLE:
            return
        at = np.asarray(at, np.int64)  # offsets in bytes would overflow 32 bits
        before = getrusage(RUSAGE_THREAD).ru_majflt
        self.matrix[at[:: len(at) // _SAMPLE], 0].sum()
        if getrusage(RUSAGE_THREAD).ru_majflt == before:
            return
        length = self.matrix.strides[0]
        starts = at * length
        pages = starts - starts % mmap.PAGESIZE
        advise, needed = self._mapped.madvise, mmap.MADV_WILLNEED
        for start, size in zip(pages.tolist(), (starts - pages + length).tolist(), strict=True):
            advise(needed, start, size)
