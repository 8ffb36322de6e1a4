"""The vectors of a batch of chunks: none is paid for twice, none is lost to a failure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from hebbgraph.embedders import embed_in_batches, embedder_name
from hebbgraph.errors import EmbeddingError, SettingsMismatchError
from hebbgraph.protocols import Embedder
from hebbgraph.records import Chunk
from hebbgraph.store.embeddings import EmbeddingState
from hebbgraph.store.texts import vector_key

__all__ = ["Embedded", "embed_chunks"]


@dataclass
class Embedded:
    """Vectors as they are stored, by the key of their content.

    Attributes
    ----------
    vectors : dict of bytes to bytes
    state : EmbeddingState, optional
        The model; None before the first vector of the index.
    failure : EmbeddingError, optional
        Why some vectors are missing, with the ids of the chunks.
    """

    vectors: dict[bytes, bytes]
    state: EmbeddingState | None
    failure: EmbeddingError | None = None

    def of(self, chunk: Chunk) -> bytes | None:
        """Return the vector of a chunk's content."""
        if not self.vectors:
            return None
        return self.vectors.get(_key(chunk))


def embed_chunks(
    embedder: Embedder,
    chunks: Sequence[Chunk],
    into: Embedded,
    *,
    dtype: str = "float16",
    tell: Callable[[int], object] | None = None,
) -> None:
    """Embed what has no vector yet, equal content once; keep what came before a failure.

    Parameters
    ----------
    embedder : Embedder
    chunks : sequence of Chunk
    into : Embedded
        What is there, and what is added.
    dtype : str
        How the first vectors of an index are stored.
    tell : callable, optional
        Told how many chunks have their vector.

    Raises
    ------
    SettingsMismatchError
        If the vectors have another dimension than those of the index.
    """
    missing = {key: chunk for chunk in chunks if (key := _key(chunk)) not in into.vectors}
    keys, done = iter(missing), len(chunks) - len(missing)
    try:
        for matrix in embed_in_batches(embedder, list(missing.values())):
            dimension = matrix.shape[1]
            into.state = into.state or EmbeddingState(embedder_name(embedder), dimension, dtype)
            if dimension != into.state.dimension:
                raise SettingsMismatchError(
                    f"the index holds vectors of {into.state.dimension} numbers, the embedder "
                    f"gave {dimension}; index.maintenance.reembed() changes the model"
                )
            rows = map(np.ndarray.tobytes, matrix.astype(into.state.dtype))
            into.vectors.update(zip(islice(keys, len(matrix)), rows, strict=True))
            if tell is not None:
                tell(done := done + len(matrix))
    except EmbeddingError as error:
        left = [chunk.id for chunk in chunks if into.of(chunk) is None]
        into.failure = EmbeddingError(
            f"{error}; {len(left)} of {len(chunks)} chunks have no vector, the first is "
            f"{left[0]!r}. What has one is kept: do the same again to go on"
        )
        into.failure.chunks = tuple(left)
        into.failure.__cause__ = error.__cause__


def _key(chunk: Chunk) -> bytes:
    return vector_key(chunk.title, chunk.text, None, chunk.context)
