"""Opening an index, and closing it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self, TypedDict

from llama_index.core.base.embeddings.base import BaseEmbedding

from hebbgraph import HebbianIndex, Settings, Tagger
from hebbgraph.errors import ParameterError
from llama_index.retrievers.hebbgraph.embedding import NodeEmbedder

__all__ = ["OPENING", "Closing", "OpenOptions", "check_names", "open_index"]

_HINTS = {
    **dict.fromkeys(("top_k", "k"), "write similarity_top_k=3, for example"),
    **dict.fromkeys(("embedding", "embedder", "embeddings"), "write embed_model="),
    **dict.fromkeys(("location", "persist_dir", "uri"), "write path="),
    "storage_context": "the index stores its nodes itself; write path=",
    "where": "write filters=MetadataFilters(...)",
}


class OpenOptions(TypedDict, total=False):
    """What :meth:`hebbgraph.HebbianIndex.open` takes beside path and embedder."""

    namespace: str
    tagger: Tagger | None
    settings: Settings | None
    cache_dir: str | Path | None
    read_only: bool


OPENING = frozenset(OpenOptions.__annotations__)


def open_index(
    index: HebbianIndex | None,
    path: str | Path | None,
    embed_model: BaseEmbedding | None,
    options: OpenOptions,
) -> tuple[HebbianIndex, bool]:
    """Return an index, by default one in memory, and whether it was opened here."""
    check_names(options, OPENING, "opening an index")
    if not isinstance(index, HebbianIndex | None):
        raise ParameterError(f"index is a hebbgraph.HebbianIndex, got {type(index).__name__}")
    if index is None:
        embedder = None if embed_model is None else NodeEmbedder(embed_model)
        place = ":memory:" if path is None else path
        return HebbianIndex.open(place, embedder=embedder, **options), True
    if path is not None or embed_model is not None or options:
        raise ParameterError("an open index takes no path, embed_model or options of opening")
    return index, False


class Closing:
    """Closed at the end of a ``with`` block."""

    def close(self) -> None:
        """Close the index, unless it was opened elsewhere."""
        raise NotImplementedError

    @contextmanager
    def closed_on_error(self) -> Iterator[None]:
        """Close if the block fails."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def check_names(given: Iterable[str], known: Iterable[str], where: str) -> None:
    """Raise ParameterError for an argument that nobody would read."""
    for name in sorted({*given} - {*known}):
        hint = _HINTS.get(name, f"known are {', '.join(sorted(known))}")
        raise ParameterError(f"{where} takes no {name!r}; {hint}")
