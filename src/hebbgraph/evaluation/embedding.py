"""One embedding of each text for all systems of a run, and what it cost."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

from hebbgraph.protocols import Embedder

__all__ = ["CachingEmbedder"]


class CachingEmbedder:
    """An embedder that embeds each text once and clocks the time that this takes.

    Systems that share it are compared on the same vectors, and their own time is what
    remains when the growth of ``seconds`` is taken away. Other attributes (a model's
    name, say) are those of the wrapped embedder.

    Parameters
    ----------
    inner : Embedder

    Attributes
    ----------
    seconds : float
        Spent in ``inner`` so far.

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

    def __init__(self, inner: Embedder) -> None:
        self.inner = inner
        self.seconds = 0.0
        self._documents: dict[str, Sequence[float]] = {}
        self._queries: dict[str, Sequence[float]] = {}

    def __getattr__(self, name: str) -> Any:
        if name == "inner":  # not set yet, as while unpickling
            raise AttributeError(name)
        return getattr(self.inner, name)

    def embed_documents(self, texts: list[str], /) -> Sequence[Sequence[float]]:
        """Embed those passages that are new; equal texts once."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._documents]
        if missing:
            began = perf_counter()
            vectors = self.inner.embed_documents(missing)
            self.seconds += perf_counter() - began
            self._documents.update(zip(missing, vectors, strict=True))
        return [self._documents[text] for text in texts]

    def embed_query(self, text: str, /) -> Sequence[float]:
        """Embed a question unless it is known."""
        if text not in self._queries:
            began = perf_counter()
            self._queries[text] = self.inner.embed_query(text)
            self.seconds += perf_counter() - began
        return self._queries[text]
