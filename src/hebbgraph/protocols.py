"""Extension points. Any object with the right methods fits; no base class is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from hebbgraph.records import Chunk, TaggingReport

__all__ = [
    "AnswerStore",
    "BatchTagger",
    "CueModel",
    "Embedder",
    "Progress",
    "Search",
    "Tagger",
    "TextSource",
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


class Tagger(Protocol):
    """Maps a chunk to tags, in addition to those found without a model."""

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
    """Maps a question to the concepts that a recall should start from."""

    def __call__(self, query: str, /) -> Iterable[str]: ...


class Search(Protocol):
    """A custom search: maps a question to (chunk id, score) pairs; higher is better."""

    def __call__(self, query: str, /) -> Iterable[tuple[str, float]]: ...


class TextSource(Protocol):
    """Maps ids to texts that an external store keeps (``Settings(keep_text=False)``).

    Called with many ids at once: all hits of a recall, or up to 500 chunks to match again.
    Returns a mapping from id to text, or to a :class:`~hebbgraph.Chunk` with that text;
    unknown ids are omitted or map to None. A text must equal the one that was added,
    character by character, or it counts as changed.

    May be called from several threads at once. An exception it raises is reported as a
    :class:`~hebbgraph.TextSourceError`.
    """

    def __call__(self, ids: Sequence[str], /) -> Mapping[str, str | Chunk | None]: ...


class Progress(Protocol):
    """Receives the progress of a long call."""

    def __call__(self, done: int, total: int | None, /) -> Any: ...
