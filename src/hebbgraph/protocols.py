"""Extension points. Any object with the right methods fits; no base class is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import BoolArray, FloatArray, IntArray
from hebbgraph.records import Chunk, Hit, TaggingReport

__all__ = [
    "AnswerStore",
    "BatchTagger",
    "CueModel",
    "Embedder",
    "Judge",
    "Progress",
    "Reranker",
    "SavedVectorSearch",
    "Search",
    "Tagger",
    "TextSource",
    "VectorSearch",
    "VectorSearchFactory",
    "VectorSearchName",
    "VectorSource",
]


@runtime_checkable
class Embedder(Protocol):
    """Maps text to vectors. Any LangChain ``Embeddings`` fits."""

    def embed_documents(self, texts: list[str], /) -> Any:
        """Embed passages; return one vector each, in order, as lists or an array."""
        ...

    def embed_query(self, text: str, /) -> Any:
        """Embed one query."""
        ...


class Reranker(Protocol):
    """Maps a question and texts to one score each; higher is better, on any scale."""

    def __call__(self, question: str, texts: list[str], /) -> Any: ...


class Judge(Protocol):
    """Maps a question and its first hits, with their paths, to the hits that are needed.

    Returns the ids of the needed hits, the most needed first; or one score per hit, higher is
    better, on any scale.
    """

    def __call__(self, question: str, hits: list[Hit], /) -> Any: ...


class Tagger(Protocol):
    """Maps a chunk to tags, which are added to those found without a model."""

    def __call__(self, chunk: Chunk, /) -> Iterable[str]: ...


class AnswerStore(Protocol):
    """Stores the answers of taggers, by the tagger's name and the chunk's content."""

    def get(self, tagger: str, wanted: Sequence[Chunk], /) -> dict[int, tuple[str, ...]]:
        """Return the stored answers by position."""
        ...

    def put(self, tagger: str, answers: Mapping[int, tuple[Chunk, Sequence[str]]], /) -> None:
        """Store answers."""
        ...


@runtime_checkable
class BatchTagger(Protocol):
    """A tagger that tags many chunks at once and reports the cost."""

    def tag_chunks(
        self,
        chunks: Sequence[Chunk],
        /,
        *,
        store: AnswerStore | None = None,
        on_progress: Callable[[int], object] | None = None,
    ) -> tuple[list[tuple[str, ...]], TaggingReport]:
        """Return tags by position, empty where tagging failed, and a report."""
        ...


class CueModel(Protocol):
    """Maps a question to the concepts from which a recall should start."""

    def __call__(self, query: str, /) -> Iterable[str]: ...


class Search(Protocol):
    """A custom search: maps a question to (chunk id, score) pairs; higher is better."""

    def __call__(self, query: str, /) -> Iterable[tuple[str, float]]: ...


class VectorSearch(Protocol):
    """Proposes the vectors that may be nearest to a query (``Settings(vector_search=...)``).

    A search is built from the existing vectors, ``factory(vectors)``, and extended with
    later ones. It refers to a vector by its position, in the order of arrival.
    A deleted vector keeps its position, and is never allowed again, until the search is rebuilt:
    by ``compact()``, when the index is opened, or when the number of vectors has quadrupled.

    A search only chooses candidates: their cosines, and so the ranking, are computed from the
    vectors themselves. Exceptions and invalid results are reported as
    :class:`~hebbgraph.ParameterError`.
    """

    def __len__(self) -> int:
        """Return the number of vectors in the search."""
        ...

    def extend(self, vectors: NDArray[np.float32], /) -> None:
        """Add vectors; never called while another thread asks for candidates."""
        ...

    def candidates(
        self,
        query: NDArray[np.float32],
        limit: int,
        allowed: BoolArray,
        cosines: Callable[[IntArray], FloatArray],
        /,
    ) -> NDArray[np.int64]:
        """Return positions that should include the nearest allowed vectors.

        Parameters
        ----------
        query : ndarray of float32, shape (dimension,), unit length
        limit : int, positive
            Number of nearest vectors wanted; more candidates are welcome.
        allowed : ndarray of bool, shape (n,)
            Only these positions may be returned.
        cosines : callable
            Maps positions to their cosines with the query, computed from whole vectors.

        Returns
        -------
        ndarray of int64, shape (m,)
            In any order.
        """
        ...


@runtime_checkable
class SavedVectorSearch(VectorSearch, Protocol):
    """A vector search that is slow to build, and is therefore saved beside the vectors.

    Its class also has ``load(directory, dimension, fits, rows)``, which reads what :meth:`save`
    wrote, or returns None if ``fits`` rejects its facts or the rows differ.
    """

    @property
    def n_fitted(self) -> int:
        """Approximate number of vectors the search was fitted to."""
        ...

    def save(self, directory: Path, facts: dict[str, Any], rows: IntArray, /) -> None:
        """Save the search to a directory, with the rows of its vectors; write the facts last."""
        ...


VectorSearchFactory: TypeAlias = Callable[[NDArray[np.float32]], VectorSearch]
"""Builds a search from unit vectors, shape (n, dimension)."""

VectorSearchName: TypeAlias = Literal["exact", "quantized", "ivf"]


class TextSource(Protocol):
    """Maps ids to texts in an external store (``Settings(keep_text=False)``).

    Called with many ids at once: all hits of a recall, or up to 500 chunks to match again.
    Returns a mapping from id to text, or to a :class:`~hebbgraph.Chunk` with that text;
    unknown ids are omitted or map to None. A text that differs in any character from the added
    one counts as changed.

    May be called from several threads at once. An exception it raises is reported as a
    :class:`~hebbgraph.TextSourceError`.
    """

    def __call__(self, ids: Sequence[str], /) -> Mapping[str, str | Chunk | None]: ...


class VectorSource(Protocol):
    """Maps ids to vectors in an external store, for ``recall(vectors=...)``.

    Called once per recall, with a few hundred ids, while nothing is locked. Unknown ids are omitted
    or map to None. Vectors come from the model of ``recall(vector=...)`` and may have any length.
    """

    def __call__(self, ids: Sequence[str], /) -> Mapping[str, Any]: ...


class Progress(Protocol):
    """Receives the progress of a long call."""

    def __call__(self, done: int, total: int | None, /) -> Any: ...
