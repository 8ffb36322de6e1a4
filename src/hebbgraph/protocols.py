"""What users may plug in. A plain object with these methods fits; no base class."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, runtime_checkable

from hebbgraph.records import Chunk

__all__ = ["Embedder", "Progress", "Tagger"]


@runtime_checkable
class Embedder(Protocol):
    """Text to vectors. Any LangChain ``Embeddings`` fits as it is."""

    def embed_documents(self, texts: list[str], /) -> Any:
        """Embed passages, in order: one vector each, as lists or an array."""
        ...

    def embed_query(self, text: str, /) -> Any:
        """Embed one query."""
        ...


class Tagger(Protocol):
    """A chunk to tags, beside those that are found without any model."""

    def __call__(self, chunk: Chunk, /) -> Iterable[str]: ...


class Progress(Protocol):
    """Told how far a long call has come."""

    def __call__(self, done: int, total: int | None, /) -> Any: ...
