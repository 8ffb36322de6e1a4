"""What users may plug in. A plain object with these methods fits; no base class."""

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


class AnswerStore(Protocol):
    """Keeps what a tagger answered, by its name and the content of the chunk."""

    def get(self, tagger: str, wanted: Sequence[Chunk], /) -> dict[int, tuple[str, ...]]:
        """Return the answers that are kept, by position."""
        ...

    def put(self, tagger: str, answers: Mapping[int, tuple[Chunk, Sequence[str]]], /) -> None:
        """Keep answers."""
        ...


@runtime_checkable
class BatchTagger(Protocol):
    """A tagger that is given many chunks at once, and tells what that took."""

    def tag_chunks(
        self,
        chunks: Sequence[Chunk],
        /,
        *,
        store: AnswerStore | None = None,
        on_progress: Callable[[int], object] | None = None,
    ) -> tuple[list[tuple[str, ...]], TaggingReport]:
        """Return tags by position, none where it failed, and a report."""
        ...


class CueModel(Protocol):
    """A question to the concepts that a recall should start from."""

    def __call__(self, query: str, /) -> Iterable[str]: ...


class Search(Protocol):
    """A search of your own: a question to pairs of chunk id and score, better ones higher."""

    def __call__(self, query: str, /) -> Iterable[tuple[str, float]]: ...


class TextSource(Protocol):
    """Ids to texts, where another store keeps them (``Settings(keep_text=False)``).

    Asked for many ids at once: all hits of a recall, or up to 500 chunks that are matched
    again. It gives a mapping from id to text, or to a :class:`~hebbgraph.Chunk` that has
    it; an id that it does not know is left out, or maps to None. The text must be the one
    that was added, to the letter: another one counts as changed.

    Several threads may call it at once. What it raises becomes a
    :class:`~hebbgraph.TextSourceError`.
    """

    def __call__(self, ids: Sequence[str], /) -> Mapping[str, str | Chunk | None]: ...


class Progress(Protocol):
    """Told how far a long call has come."""

    def __call__(self, done: int, total: int | None, /) -> Any: ...
