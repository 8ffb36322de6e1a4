"""Nodes into an index, and what the classes here share."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import wraps
from typing import Any, Self, TypeVar

from llama_index.core.schema import BaseNode

from hebbgraph import Chunk, HebbianIndex
from hebbgraph.errors import InvalidChunkError, ParameterError
from llama_index.retrievers.hebbgraph.embedding import NodeEmbedder
from llama_index.retrievers.hebbgraph.nodes import listed, text_of, to_chunk

__all__ = ["Closing", "check_names", "in_order", "in_thread", "write_nodes"]

logger = logging.getLogger(__name__)

R = TypeVar("R")
_HINTS = {
    **dict.fromkeys(("top_k", "k"), "write similarity_top_k=3, for example"),
    **dict.fromkeys(("embedding", "embedder", "embeddings"), "write embed_model="),
    **dict.fromkeys(("location", "persist_dir", "uri"), "write path="),
    "storage_context": "the index stores its nodes itself; write path=",
    "where": "write filters=MetadataFilters(...)",
}


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


def in_thread(method: Callable[..., R]) -> Callable[..., Coroutine[Any, Any, R]]:
    """Return the async twin of a method, which never blocks the event loop."""

    @wraps(method)
    async def twin(*args: Any, **kwargs: Any) -> R:
        return await asyncio.to_thread(method, *args, **kwargs)

    return twin


def check_names(given: Iterable[str], known: Iterable[str], where: str) -> None:
    """Raise ParameterError for an argument that nobody would read."""
    for name in sorted({*given} - {*known}):
        hint = _HINTS.get(name, f"known are {', '.join(sorted(known))}")
        raise ParameterError(f"{where} takes no {name!r}; {hint}")


def write_nodes(
    index: HebbianIndex,
    nodes: Sequence[BaseNode],
    *,
    replace: bool = False,
    show_progress: bool = False,
    batch_size: int | None = None,
) -> None:
    """Write nodes, and the embeddings that they carry; the same id replaces.

    ``replace`` deletes what else their documents have. Blank nodes are left out with a warning in
    the log.
    """
    if batch_size is not None and (not isinstance(batch_size, int) or batch_size < 1):
        raise ParameterError(f"insert_batch_size is a whole number from 1, got {batch_size!r:.80}")
    chunks, vectors, seen = list[Chunk](), dict[str, list[float]](), Counter[tuple[str, str]]()
    for at, node in enumerate(listed(nodes)):
        if not text_of(node).strip():
            continue
        try:
            chunks.append(to_chunk(node, seen))
        except InvalidChunkError as error:
            raise InvalidChunkError(f"nodes[{at}]: {error}") from error
        if node.embedding:
            vectors["\n".join(filter(None, (chunks[-1].title, chunks[-1].text)))] = node.embedding
    if n_blank := len(nodes) - len(chunks):
        logger.warning("%d of %d nodes have no text and were left out", n_blank, len(nodes))
    embedder = index.embedder
    if vectors and embedder is None:
        logger.warning("embeddings of nodes are left out: the index has no embed_model")
    with embedder.knowing(vectors) if isinstance(embedder, NodeEmbedder) else nullcontext():
        if replace:
            index.refresh(chunks)
            return
        size = batch_size or max(1, len(chunks))
        for start in range(0, len(chunks), size):
            index.add(chunks[start : start + size], show_progress=show_progress)


def in_order(index: HebbianIndex, where: Any = None) -> list[Chunk]:
    """Return chunks that pass a filter in the order in which they came."""
    passing = index.ids(where)
    with index._database.read() as session:
        rows = dict(session.rows("SELECT id, row FROM $chunk WHERE id = ANY(?)", passing))
    return index.get(sorted(rows, key=lambda id_: rows[id_]))
