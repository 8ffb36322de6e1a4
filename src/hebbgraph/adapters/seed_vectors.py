"""Ways to read the vectors of a wrapped store by chunk id."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Literal, TypeAlias

from hebbgraph.errors import ParameterError
from hebbgraph.protocols import VectorSource

__all__ = [
    "EmbeddedTexts",
    "NumberedVectors",
    "SeedVectors",
    "check_seed_vectors",
    "check_sizes",
    "included_vectors",
]

SeedVectors: TypeAlias = VectorSource | Literal["embed"] | None
"""A callable from ids to vectors, ``"embed"``, or None to ask the store itself if it can."""


def check_seed_vectors(seed_vectors: SeedVectors) -> None:
    """Raise ParameterError unless this is a callable, ``"embed"`` or None."""
    if not (seed_vectors is None or seed_vectors == "embed" or callable(seed_vectors)):
        raise ParameterError(
            'seed_vectors is a callable from ids to vectors, or "embed" for a store that gives '
            f"none back; got {seed_vectors!r:.80}"
        )


def check_sizes(index: Any, vectors: Iterable[Sequence[float]]) -> None:
    """Raise ParameterError for a vector whose size is not that of an index's embedder.

    Examples
    --------
    >>> from hebbgraph import HebbianIndex
    >>> class Small:
    ...     def embed_documents(self, texts): ...
    ...     def embed_query(self, text):
    ...         return [3.0, 4.0]
    >>> with HebbianIndex.open(":memory:", embedder=Small()) as index:
    ...     check_sizes(index, [[1.0, 2.0, 3.0]])
    Traceback (most recent call last):
    hebbgraph.errors.ParameterError: a vector has 3 numbers, and those of the embedder have 2; ...
    """
    sizes = {len(vector) for vector in vectors}
    if not sizes:
        return
    known = index.parts.truth.state().embedding
    # Without any vector in the index, only the model knows.
    size = len(index.parts.embedder.embed_query("size")) if known is None else known.dimension
    if wrong := sorted(sizes - {size}):
        raise ParameterError(
            f"a vector has {wrong[0]} numbers, and those of the embedder have {size}; "
            "open the index with the model that made these vectors"
        )


class EmbeddedTexts:
    """Vectors for a store that returns none: texts are embedded when first needed, then cached.

    Parameters
    ----------
    texts : callable
        Maps ids to a dict from id to text.
    embed : callable
        Maps texts to one vector each, as the store embeds them.
    most : int
        Texts that one call embeds at most; the others have no vector until the next call.
    kept : int
        Size of the cache; the least recently used vectors leave it first.

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
            for key in keys.values():  # move to the end: used most recently
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
        Returns the id of each number as of now; stores renumber when they delete.
    read : callable
        Maps a number to its vector.
    """

    def __init__(self, ids: Callable[[], Mapping[Any, str]], read: Callable[[int], Any]) -> None:
        self._ids = ids
        self._read = read
        self._known: Mapping[Any, str] = {}
        self._numbers: dict[str, int] = {}

    def __call__(self, ids: Sequence[str], /) -> dict[str, Any]:
        """Return the vectors of these ids."""
        ids_by_number, numbers = self._ids(), self._numbers
        if ids_by_number is not self._known or len(ids_by_number) != len(numbers):
            numbers = {id_: int(number) for number, id_ in ids_by_number.items()}
            self._known, self._numbers = ids_by_number, numbers
        return {id_: self._read(numbers[id_]) for id_ in ids if id_ in numbers}


def included_vectors(get: Callable[..., Mapping[str, Any]]) -> VectorSource:
    """Read vectors with ``get(ids=..., include=["embeddings"])``, the interface of Chroma."""

    def vectors(ids: Sequence[str], /) -> dict[str, Any]:
        response = get(ids=list(ids), include=["embeddings"])
        return dict(zip(response["ids"], response["embeddings"], strict=True))

    return vectors
