"""Principal directions of vectors, onto which both searches rotate."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["principal_directions"]

#: Vectors sampled to estimate principal directions.
_SAMPLE = 10_000


def principal_directions(
    vectors: NDArray[np.float32],
) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    """Return the eigenvectors of the second moments of a sample of vectors.

    Returns
    -------
    shares : ndarray of float64, shape (dimension,), descending
        The share of the squared length along each direction.
    directions : ndarray of float32, shape (dimension, dimension)
        One direction a column.

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
