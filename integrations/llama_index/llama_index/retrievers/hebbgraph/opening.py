"""Opening an index, with an embedding model of LlamaIndex, and closing it."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from llama_index.core.base.embeddings.base import BaseEmbedding

from hebbgraph import HebbianIndex, protocols
from hebbgraph.access import OpenOptions
from hebbgraph.embedders import in_parts
from hebbgraph.errors import ParameterError

__all__ = ["OPENING", "Closing", "NodeEmbedder", "check_names", "open_index"]

_HINTS = {
    **dict.fromkeys(("top_k", "k"), "write similarity_top_k=3, for example"),
    **dict.fromkeys(("embedding", "embedder", "embeddings"), "write embed_model="),
    **dict.fromkeys(("location", "persist_dir", "uri"), "write path="),
    "storage_context": "the index stores its nodes itself; write path=",
    "where": "write filters=MetadataFilters(...)",
}


class NodeEmbedder:
    """Embeds what comes without an embedding; ``model_name`` is stored with the vectors."""

    def __init__(self, embed_model: BaseEmbedding) -> None:
        if not isinstance(embed_model, BaseEmbedding):
            raise ParameterError(
                f"embed_model is a BaseEmbedding, got {embed_model!r:.80}; pass the model itself"
            )
        self.embed_model = embed_model
        name, kind = embed_model.model_name, type(embed_model)
        is_named = name not in ("", "unknown")
        self.model_name = name if is_named else f"{kind.__module__}.{kind.__qualname__}"
        self.embed_query = embed_model.get_query_embedding
        self._local = threading.local()

    @contextmanager
    def knowing(self, vectors: Mapping[str, list[list[float]]]) -> Iterator[None]:
        """Use these embeddings of texts, of equal ones in order, in the block and this thread."""
        self._local.vectors = vectors
        try:
            yield
        finally:
            self._local.vectors = {}

    def embed_documents(self, texts: list[str], /) -> list[list[float]]:
        """Embed passages; those that are known are not embedded again."""
        known: Mapping[str, list[list[float]]] = getattr(self._local, "vectors", {})
        unknown = [text for text in texts if not known.get(text)]
        made = iter(in_parts(self.embed_model, self.embed_model.get_text_embedding_batch, unknown))
        return [known[text].pop(0) if known.get(text) else next(made) for text in texts]


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
        raise ParameterError(f"index is a HebbianIndex, got {type(index).__name__}; or write path=")
    if index is None:
        embedder = NodeEmbedder(embed_model) if embed_model is not None else None
        place = ":memory:" if path is None else path
        return HebbianIndex.open(place, embedder=embedder, **options), True
    if path is not None or embed_model is not None or options:
        raise ParameterError("an open index takes no path, embed_model or options of opening")
    return index, False


class Closing(protocols.Closing):
    """Closed at the end of a ``with`` block, and by an error of another."""

    @contextmanager
    def closed_on_error(self) -> Iterator[None]:
        """Close if the block fails."""
        try:
            yield
        except BaseException:
            self.close()
            raise


def check_names(given: Iterable[str], known: Iterable[str], where: str) -> None:
    """Raise ParameterError for an argument that nobody would read."""
    for name in sorted({*given} - {*known}):
        hint = _HINTS.get(name, f"known are {', '.join(sorted(known))}")
        raise ParameterError(f"{where} takes no {name!r}; {hint}")
