"""Vectors that another store keeps: read for one question, by id, for the chunks it comes to."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import FloatArray, IntArray, evenly_chosen
from hebbgraph.errors import ParameterError
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.protocols import VectorSource
from hebbgraph.store.truth import Truth

__all__ = [
    "EmbeddedTexts",
    "NumberedVectors",
    "SeedVectors",
    "VectorsElsewhere",
    "check_seed_vectors",
    "included_vectors",
]

SeedVectors: TypeAlias = VectorSource | Literal["embed"] | None
"""A callable from ids to vectors, ``"embed"``, or None: read from the store if it gives them."""

#: Vectors that one recall asks for at most; a recall comes to some 300 chunks.
_MOST = 2_000
#: Chunks whose mean cosine stands for that of all.
_SAMPLE = 100


class VectorsElsewhere:
    """Cosines of chunks with one question, as far as they are known.

    A ranking asks for cosines while the graph is locked, and missing ones are noted; :meth:`read`
    then asks the store for them, with nothing locked.

    Parameters
    ----------
    vector : ndarray of float32, shape (dimension,), unit length
        The question's.
    source : VectorSource
    """

    def __init__(self, vector: NDArray[np.float32], source: VectorSource) -> None:
        self._vector = vector
        self._source = source
        self._cosines: dict[int, float] = {}  # by row; NaN for what the store does not know
        self._wanted: dict[int, None] = {}
        self._sample: list[int] = []

    def cosines(self, rows: IntArray) -> FloatArray:
        """Return the cosine of each row, NaN where it is not known; then it is noted."""
        known = self._cosines
        self._wanted.update((row, None) for row in rows.tolist() if row not in known)
        return np.array([known.get(row, np.nan) for row in rows.tolist()], np.float64)

    def background(self, graph: TagGraph) -> float | None:
        """Return the mean cosine of chunks in general; None if it is not known."""
        if not self._sample:
            self._sample = graph.rows[evenly_chosen(graph.alive, _SAMPLE)].tolist()
        sample = self.cosines(np.array(self._sample, np.int64))
        known = sample[~np.isnan(sample)]
        return float(known.mean()) if len(known) else None

    def read(self, truth: Truth) -> None:
        """Ask the store for what is missing."""
        rows = list(self._wanted)[: _MOST - len(self._cosines)]
        self._wanted.clear()
        if not rows:
            return
        ids = truth.ids(rows)
        vectors = self._source(list(ids.values()))
        if not isinstance(vectors, Mapping):
            raise ParameterError(
                f"vectors(ids) returns a dict from id to vector, got {type(vectors).__name__}"
            )
        given = {
            row: vector for row, id_ in ids.items() if (vector := vectors.get(id_)) is not None
        }
        self._cosines.update(dict.fromkeys(rows, np.nan))
        self._cosines.update(zip(given, self._cosines_of(given.values()), strict=True))

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
        # A vector without a direction, or that is not finite, tells nothing.
        with np.errstate(divide="ignore", invalid="ignore"):
            cosines: list[float] = (matrix @ self._vector / lengths).tolist()
        return cosines


class EmbeddedTexts:
    """Vectors of texts whose store gives none back: embedded when first wanted, then kept.

    Parameters
    ----------
    texts : callable
        From ids to texts, by id.
    embed : callable
        From texts to one vector each, as the store embeds them.
    most : int
        How many texts one call embeds at most; the others have no vector until the next.
    kept : int
        How many vectors are kept, those that were wanted last.

    Examples
    --------
    >>> passages = {"petrel": "Built by Ida Moss.", "twin": "Built by Ida Moss."}
    >>> def embed(texts):
    ...     print("embedding", texts)
    ...     return [[3.0, 4.0] for _ in texts]
    >>> vectors = EmbeddedTexts(lambda ids: {id_: passages[id_] for id_ in ids}, embed)
    >>> vectors(["petrel", "twin"]) == vectors(["petrel", "twin"])
    embedding ['Built by Ida Moss.']
    True
    """

    def __init__(
        self,
        texts: Callable[[Sequence[str]], Mapping[str, str]],
        embed: Callable[[list[str]], Sequence[Any]],
        *,
        most: int = 500,
        kept: int = 50_000,
    ) -> None:
        self._texts = texts
        self._embed = embed
        self._most = most
        self._kept = kept
        self._lock = threading.Lock()
        self._cache: dict[bytes, Any] = {}

    def __call__(self, ids: Sequence[str], /) -> dict[str, Any]:
        """Return the vectors of these ids."""
        texts = self._texts(ids)
        keys = {text: blake2b(text.encode(), digest_size=16).digest() for text in texts.values()}
        new = [text for text, key in keys.items() if key not in self._cache][: self._most]
        embedded = self._embed(new) if new else ()
        with self._lock:
            cache = self._cache
            cache.update(zip(map(keys.__getitem__, new), embedded, strict=True))
            for key in keys.values():  # wanted last
                if (vector := cache.pop(key, None)) is not None:
                    cache[key] = vector
            vectors = {id_: cache.get(keys[text]) for id_, text in texts.items()}
            while len(cache) > self._kept:
                del cache[next(iter(cache))]
        return vectors


class NumberedVectors:
    """Vectors of a store that knows them by number, as FAISS does.

    Parameters
    ----------
    ids : callable
        Returns the id of each number, as it is now; a store that deletes numbers anew.
    read : callable
        From a number to its vector.
    """

    def __init__(self, ids: Callable[[], Mapping[Any, str]], read: Callable[[int], Any]) -> None:
        self._ids = ids
        self._read = read
        self._known: Mapping[Any, str] = {}
        self._numbers: dict[str, int] = {}

    def __call__(self, ids: Sequence[str], /) -> dict[str, Any]:
        """Return the vectors of these ids."""
        of, numbers = self._ids(), self._numbers
        if of is not self._known or len(of) != len(numbers):
            numbers = {id_: int(number) for number, id_ in of.items()}
            self._known, self._numbers = of, numbers
        return {id_: self._read(numbers[id_]) for id_ in ids if id_ in numbers}


def included_vectors(get: Callable[..., Mapping[str, Any]]) -> VectorSource:
    """Read vectors by ``get(ids=..., include=["embeddings"])``, as Chroma gives them."""

    def vectors(ids: Sequence[str], /) -> dict[str, Any]:
        found = get(ids=list(ids), include=["embeddings"])
        return dict(zip(found["ids"], found["embeddings"], strict=True))

    return vectors


def check_seed_vectors(way: SeedVectors) -> None:
    """Check where an adapter is to read the vectors of somebody's store.

    Raises
    ------
    ParameterError
        For anything but a callable, ``"embed"`` and None.
    """
    if not (way is None or way == "embed" or callable(way)):
        raise ParameterError(
            'seed_vectors is a callable from ids to vectors, or "embed" for a store that gives '
            f"none back; got {way!r:.80}"
        )
