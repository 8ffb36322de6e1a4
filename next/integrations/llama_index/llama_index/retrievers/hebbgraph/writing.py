"""Nodes into an index, and back in order."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Coroutine, Sequence
from contextlib import nullcontext
from functools import wraps
from typing import Any, TypeVar

from llama_index.core.schema import BaseNode

from hebbgraph import Chunk, HebbianIndex
from hebbgraph.errors import InvalidChunkError, ParameterError
from llama_index.retrievers.hebbgraph.nodes import listed, text_of, to_chunk
from llama_index.retrievers.hebbgraph.opening import NodeEmbedder

__all__ = ["in_order", "in_thread", "write_nodes"]

logger = logging.getLogger(__name__)

R = TypeVar("R")


def in_thread(method: Callable[..., R]) -> Callable[..., Coroutine[Any, Any, R]]:
    """Return the async twin of a method, which never blocks the event loop."""

    @wraps(method)
    async def twin(*args: Any, **kwargs: Any) -> R:
        return await asyncio.to_thread(method, *args, **kwargs)

    return twin


def write_nodes(
    index: HebbianIndex,
    nodes: Sequence[BaseNode],
    *,
    replace: bool = False,
    show_progress: bool = False,
    batch_size: int | None = None,
) -> None:
    """Write nodes with their embeddings; ``replace`` deletes what else their documents have."""
    if batch_size is not None and (not isinstance(batch_size, int) or batch_size < 1):
        raise ParameterError(f"insert_batch_size is a whole number from 1, got {batch_size!r:.80}")
    chunks, seen = list[Chunk](), Counter[tuple[str, str]]()
    vectors = defaultdict[str, list[list[float]]](list)
    for at, node in enumerate(listed(nodes)):
        if not text_of(node).strip():
            continue
        try:
            chunks.append(to_chunk(node, seen))
        except InvalidChunkError as error:
            raise InvalidChunkError(f"nodes[{at}]: {error}") from error
        if node.embedding:
            text = "\n".join(filter(None, (chunks[-1].title, chunks[-1].text)))
            vectors[text].append(node.embedding)
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
