"""Vectors that another store keeps, read for one question for the chunks its ranking meets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import FloatArray, IntArray, evenly_chosen
from hebbgraph.errors import ParameterError
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.protocols import VectorSource
from hebbgraph.store.truth import Truth

__all__ = ["VectorsElsewhere"]

#: Vectors that one recall reads at most; it usually meets some 300 chunks.
_MOST = 2_000
#: Chunks whose mean cosine stands for that of all.
_SAMPLE = 100


class VectorsElsewhere:
    """Cosines of chunks with one question, as far as they are known.

    A ranking asks for cosines while the graph is locked and misses are recorded; :meth:`read`
    then fetches the missing vectors from the store, with nothing locked.

    Parameters
    ----------
    vector : ndarray of float32, shape (dimension,), unit length
        The question's.
    source : VectorSource
    """

    def __init__(self, vector: NDArray[np.float32], source: VectorSource) -> None:
        self._vector = vector
        self._source = source
        self._cosines: dict[int, float] = {}  # by row; NaN for chunks unknown to the store
        self._missing: dict[int, None] = {}
        self._sample: list[int] = []

    def cosines(self, rows: IntArray) -> FloatArray:
        """Return the cosine of each row; NaN, and recorded as missing, where it is unknown."""
        known = self._cosines
        self._missing.update((row, None) for row in rows.tolist() if row not in known)
        return np.array([known.get(row, np.nan) for row in rows.tolist()], np.float64)

    def background(self, graph: TagGraph) -> float | None:
        """Return the mean cosine of chunks in general; None if it is not known."""
        if not self._sample:
            self._sample = graph.rows[evenly_chosen(graph.alive, _SAMPLE)].tolist()
        sample = self.cosines(np.array(self._sample, np.int64))
        known = sample[~np.isnan(sample)]
        return float(known.mean()) if len(known) else None

    def read(self, truth: Truth) -> None:
        """Read the missing vectors from the store."""
        rows = list(self._missing)[: _MOST - len(self._cosines)]
        self._missing.clear()
        if not rows:
            return
        ids = truth.ids(rows)
        response = self._source(list(ids.values()))
        if not isinstance(response, Mapping):
            raise ParameterError(
                f"vectors(ids) returns a dict from id to vector, got {type(response).__name__}"
            )
        vectors = {
            row: vector for row, id_ in ids.items() if (vector := response.get(id_)) is not None
        }
        self._cosines.update(dict.fromkeys(rows, np.nan))
        self._cosines.update(zip(vectors, self._cosines_of(vectors.values()), strict=True))

    def _cosines_of(self, vectors: Iterable[object]) -> list[float]:
        try:
            matrix = np.array(list(vectors), np.float32)
        except (TypeError, ValueError) as error:
            raise ParameterError(f"vectors(ids) returns a vector for each id: {error}") from error
        if not len(matrix):
            return []
        if matrix.ndim != 2 or matrix.shape[1] != len(self._vector):
            raise ParameterError(
                f"vectors(ids) returned vectors of shape {matrix.shape[1:]}, and the question's "
                f"has {len(self._vector)} numbers; both are of one model"
            )
        lengths = np.linalg.norm(matrix, axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):  # zero and infinite vectors give NaN
            cosines: list[float] = (matrix @ self._vector / lengths).tolist()
        return cosines
