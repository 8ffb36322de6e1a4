"""Short codes of vectors, which say what whole vectors need to be looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import BoolArray, FloatArray, IntArray

__all__ = ["Codes", "principal_directions"]

_SAMPLE = 10_000


class Codes(Protocol):
    """Codes of vectors, in the order in which they were added."""

    def __len__(self) -> int: ...

    def extend(self, vectors: NDArray[np.float32], /) -> None:
        """Add vectors."""
        ...

    def may_be_nearest(
        self,
        query: NDArray[np.float32],
        limit: int,
        allowed: BoolArray,
        cosines: Callable[[IntArray], FloatArray],
    ) -> NDArray[np.int64]:
        """Return positions that hold the nearest among those allowed, and some others.

        Parameters
        ----------
        query : ndarray of float32, shape (dimension,), unit length
        limit : int, positive
            How many of the nearest are wanted.
        allowed : ndarray of bool, shape (n,)
        cosines : callable
            The cosine of the vectors at some positions, from whole vectors.

        Returns
        -------
        ndarray of int64, ascending
        """
        ...


def principal_directions(
    vectors: NDArray[np.float32],
) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    """Return the directions that vectors lie along, from the one that says most.

    The eigenvectors of the second moments of every n-th of them.

    Returns
    -------
    shares : ndarray of float64, shape (dimension,), descending
        Of the squared length, along each direction.
    directions : ndarray of float32, shape (dimension, dimension)
        One a column.

    Examples
    --------
    >>> shares, directions = principal_directions(np.array([[3.0, 0.0], [0.0, 1.0]], np.float32))
    >>> shares.round(1).tolist(), np.abs(directions[:, 0]).tolist()
    ([0.9, 0.1], [1.0, 0.0])
    """
    sample = vectors[:: max(1, len(vectors) // _SAMPLE)]
    values, directions = np.linalg.eigh(sample.T.astype(np.float64) @ sample)
    values = np.maximum(values[::-1], 0.0)
    shares: NDArray[np.float64] = values / max(float(values.sum()), 1e-12)
    return shares, np.ascontiguousarray(directions[:, ::-1], dtype=np.float32)
