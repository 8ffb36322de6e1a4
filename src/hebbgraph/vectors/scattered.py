"""Vectors here and there in a mapped file, which may be larger than memory.

Who touches a page of a mapped file that is on disk alone waits for it, and the system reads on
from there: for a thousand vectors that lie anywhere, a thousand waits, and most of the file.
So they are read through a mapping of their own, in which the system is told not to read on, and
as soon as some turn out to be on disk, all are asked for together.
"""

from __future__ import annotations

import mmap
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import IntArray

if sys.platform == "linux":  # elsewhere threads do not know how often they waited
    from resource import RUSAGE_THREAD, getrusage

__all__ = ["ScatteredVectors"]

#: So many are touched first, to see whether any are on disk alone.
_TRIED = 8


class ScatteredVectors:
    """The vectors of a file, mapped to be read in no order.

    Parameters
    ----------
    path : Path
    shape : (n, dimension)
        Of the float32 matrix at the start of the file; n is positive.

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
        """Have the system read vectors that are on disk alone, all at once.

        Parameters
        ----------
        at : ndarray of int, shape (m,), in [0, n)
        """
        if sys.platform != "linux" or len(at) <= _TRIED:
            return
        at = np.asarray(at, np.int64)  # numbers of 32 bits would overflow as places
        before = getrusage(RUSAGE_THREAD).ru_majflt
        self.matrix[at[:: len(at) // _TRIED], 0].sum()  # touches them
        if getrusage(RUSAGE_THREAD).ru_majflt == before:
            return
        length = self.matrix.strides[0]
        starts = at * length
        pages = starts - starts % mmap.PAGESIZE
        advise, needed = self._mapped.madvise, mmap.MADV_WILLNEED
        for start, size in zip(pages.tolist(), (starts - pages + length).tolist(), strict=True):
            advise(needed, start, size)
