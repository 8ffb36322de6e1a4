"""Extension points. Any object with the right methods fits; no base class is needed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Protocol, Self, TypeAlias, runtime_checkable

from hebbgraph.arrays import Float32Array, FloatArray, IntArray
from hebbgraph.records import Chunk


@runtime_checkable
class Embedder(Protocol):
    """Maps text to vectors. Any LangChain ``Embeddings`` fits."""

    def embed_documents(self, texts: list[str], /) -> Any:
        """Embed passages; return one vector each, in order, as lists or an array."""

    def embed_query(self, text: str, /) -> Any:
        """Embed one question."""


class Tagger(Protocol):
    """Maps chunks to tags, which are added to those found without a model.

    A tagger with ``tag_question`` is asked about questions too.
    """

    def __call__(self, chunks: list[Chunk], /) -> Iterable[Iterable[str]]:
        """Return the tags of each chunk, in order."""


class Closing(ABC):
    """Closed at the end of a ``with`` block."""

    @abstractmethod
    def close(self) -> object:
        """Release what is held."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class VectorSearch(Protocol):
    """Finds the vectors nearest to a question, exactly or almost, in one state of a namespace."""

    def nearest(
        self, vector: Float32Array, limit: int, allowed: Callable[[Any], Any] | None, /
    ) -> tuple[IntArray, FloatArray]:
        """Return up to ``limit`` rows and their cosines, among those that ``allowed`` passes."""

    def cosines(self, vector: Float32Array, rows: Any, /) -> FloatArray:
        """Return the cosine of each row; NaN for rows without a vector."""


Progress: TypeAlias = Callable[[int], Any]
"""Called with the number of chunks that are done."""
