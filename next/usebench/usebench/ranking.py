"""From scores to ids; ties break by id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["best", "best_rows", "unit"]


def best(scores: Mapping[str, float], k: int) -> list[str]:
    """Return the ``k`` ids with the highest scores above 0.

    Examples
    --------
    >>> best({"b": 1.0, "a": 1.0, "c": 2.0, "d": 0.0}, 3)
    ['c', 'a', 'b']
    """
    positive = [id_ for id_, score in scores.items() if score > 0]
    return sorted(positive, key=lambda id_: (-scores[id_], id_))[:k]


def best_rows(ids: Sequence[str], scores: NDArray[np.floating], k: int) -> list[str]:
    """Return the ids of the ``k`` highest scores; ``ids`` are sorted, ties break by row.

    Examples
    --------
    >>> best_rows(["a", "b", "c"], np.array([1.0, 2.0, 1.0]), 2)
    ['b', 'a']
    """
    if k < scores.size:
        threshold = np.partition(scores, scores.size - k)[scores.size - k]
        rows = np.flatnonzero(scores >= threshold)
    else:
        rows = np.arange(scores.size)
    return [ids[row] for row in rows[np.argsort(-scores[rows], kind="stable")][:k]]


def unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scale vectors to length 1; those of length 0 stay."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: NDArray[np.float32] = (vectors / np.where(length > 0, length, 1)).astype(np.float32)
    return scaled
