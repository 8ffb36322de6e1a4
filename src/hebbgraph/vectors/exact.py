"""Exact search, the simplest :class:`~hebbgraph.protocols.VectorSearch`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import BoolArray, FloatArray, IntArray

__all__ = ["ExactSearch"]


class ExactSearch:
    """Names every allowed vector, so that the cosine of each is computed."""

    def __init__(self, vectors: NDArray[np.float32]) -> None:
        self._size = len(vectors)

    def __len__(self) -> int:
        return self._size

    def extend(self, vectors: NDArray[np.float32]) -> None:
        self._size += len(vectors)

    def candidates(
        self,
        query: NDArray[np.float32],
        limit: int,
        allowed: BoolArray,
        cosines: Callable[[IntArray], FloatArray],
    ) -> NDArray[np.int64]:
        return np.flatnonzero(allowed)
