"""Agreement of two partitions of the same nodes."""

from __future__ import annotations

import numpy as np
from hebbgraph.arrays import IntArray

__all__ = ["adjusted_rand_index"]


def adjusted_rand_index(first: IntArray, second: IntArray) -> float:
    """Return the adjusted Rand index of two partitions of the same nodes [1]_.

    1 for equal partitions, about 0 for agreement by chance.

    References
    ----------
    .. [1] Hubert and Arabie (1985), Comparing partitions, J. of Classification 2.

    Examples
    --------
    >>> adjusted_rand_index(np.array([0, 0, 1, 1]), np.array([5, 5, 3, 3]))
    1.0
    >>> round(adjusted_rand_index(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])), 9)
    -0.5
    """
    n = len(first)
    _, rows = np.unique(first, return_inverse=True)
    _, columns = np.unique(second, return_inverse=True)
    _, cells = np.unique(rows * (columns.max(initial=0) + 1) + columns, return_counts=True)
    together = _pairs(cells)
    in_one, in_other = _pairs(np.bincount(rows)), _pairs(np.bincount(columns))
    every = n * (n - 1) / 2
    expected = in_one * in_other / every if every else 0.0
    highest = (in_one + in_other) / 2
    return 1.0 if highest == expected else float((together - expected) / (highest - expected))


def _pairs(counts: IntArray) -> float:
    sizes = counts.astype(np.float64)
    return float((sizes * (sizes - 1) / 2).sum())
