"""Vector searches by name, and a caller's own with its answers checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import BoolArray, FloatArray, IntArray, unique
from hebbgraph.errors import HebbgraphError, ParameterError
from hebbgraph.extras import load_plugin
from hebbgraph.protocols import VectorSearch, VectorSearchFactory, VectorSearchName

__all__ = ["search_factory"]

_R = TypeVar("_R")

#: The group of entry points by which other distributions offer searches.
_GROUP = "hebbgraph.vector_searches"
_OTHERWISE = 'open the index with Settings(vector_search="exact")'


def search_factory(search: VectorSearchName | VectorSearchFactory) -> VectorSearchFactory:
    """Return what builds a search other than the exact one from a matrix.

    Raises
    ------
    ParameterError
        If there is no search of that name.
    MissingExtraError
        If its distribution, or the library that it needs, is not installed.
    """
    if callable(search):
        return lambda vectors: _CheckedSearch(search, vectors)
    if search not in get_args(VectorSearchName):
        raise ParameterError(
            f"vector_search is one of {', '.join(get_args(VectorSearchName))}, or a callable "
            f"that makes a search, got {search!r}"
        )
    factory: VectorSearchFactory = load_plugin(
        _GROUP, search, extra=search, purpose=f'vector_search="{search}"', otherwise=_OTHERWISE
    )
    return factory


class _CheckedSearch:
    """A caller's search. Its errors and invalid answers become ParameterErrors."""

    def __init__(self, factory: VectorSearchFactory, vectors: NDArray[np.float32]) -> None:
        self._name = getattr(factory, "__name__", type(factory).__name__)
        self._size = 0
        self._search: VectorSearch = self._call("building", lambda: factory(vectors))
        self._count(len(vectors))

    def __len__(self) -> int:
        return self._size

    def extend(self, vectors: NDArray[np.float32]) -> None:
        self._call("extend", lambda: self._search.extend(vectors))
        self._count(len(vectors))

    def candidates(
        self,
        query: NDArray[np.float32],
        limit: int,
        allowed: BoolArray,
        cosines: Callable[[IntArray], FloatArray],
    ) -> NDArray[np.int64]:
        answer: Any = self._call(
            "candidates",
            lambda: np.asarray(self._search.candidates(query, limit, allowed, cosines)),
        )
        if answer.ndim != 1 or (answer.size and answer.dtype.kind not in "iu"):
            raise self._error(
                "candidates must be a one-dimensional array of integers, "
                f"got {answer.dtype} of shape {answer.shape}"
            )
        positions: NDArray[np.int64] = unique(answer).astype(np.int64)
        if positions.size and not 0 <= positions[0] <= positions[-1] < self._size:
            raise self._error(
                f"positions must lie in [0, {self._size}), got {positions[0]} to {positions[-1]}"
            )
        if not allowed[positions].all():
            raise self._error("it named vectors that the filter excludes; name allowed ones only")
        return positions

    def _count(self, more: int) -> None:
        self._size += more
        size = self._call("len", lambda: len(self._search))
        if size != self._size:
            raise self._error(f"it holds {size} vectors, and was given {self._size}")

    def _call(self, what: str, call: Callable[[], _R]) -> _R:
        try:
            return call()
        except HebbgraphError:
            raise
        except Exception as error:
            raise self._error(f"{what} raised {type(error).__name__}: {error}") from error

    def _error(self, problem: str) -> ParameterError:
        return ParameterError(f"vector_search={self._name}: {problem}")
