"""The vectors of a batch of chunks: nothing is embedded twice, and no vector lost to a failure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from hebbgraph.embedders import embed_in_batches, embedder_name
from hebbgraph.errors import EmbeddingError, SettingsMismatchError
from hebbgraph.namespace import Namespace
from hebbgraph.protocols import Embedder
from hebbgraph.records import Chunk
from hebbgraph.store.embeddings import EmbeddingState
from hebbgraph.store.texts import vector_key
from hebbgraph.store.truth import Truth

__all__ = ["ChunkVectors", "Embedded", "embed_chunks", "embed_stored"]


@dataclass
class Embedded:
    """Vectors in stored form, by the key of their content.

    Attributes
    ----------
    vectors : dict of bytes to bytes
    state : EmbeddingState, optional
        The model; None before the first vector of the index.
    failure : EmbeddingError, optional
        Why some vectors are missing, with the ids of their chunks.
    """

    vectors: dict[bytes, bytes]
    state: EmbeddingState | None
    failure: EmbeddingError | None = None

    def vector_of(self, chunk: Chunk) -> bytes | None:
        """Return the vector of a chunk's content, or None."""
        return self.vectors.get(_key(chunk)) if self.vectors else None

    def by_row(self, chunks: Mapping[int, Chunk]) -> dict[int, bytes]:
        """Return the known vectors of chunks, by row."""
        vectors = ((row, self.vector_of(chunk)) for row, chunk in chunks.items())
        return {row: vector for row, vector in vectors if vector is not None}


def embed_chunks(
    embedder: Embedder,
    chunks: Sequence[Chunk],
    into: Embedded,
    *,
    dtype: str,
    on_progress: Callable[[int], object] | None = None,
) -> None:
    """Embed chunks that have no vector yet, equal content once.

    On an :class:`~hebbgraph.errors.EmbeddingError`, earlier vectors are kept and ``into.failure``
    is set.

    Parameters
    ----------
    embedder : Embedder
    chunks : sequence of Chunk
    into : Embedded
        Holds the known vectors; receives the new ones.
    dtype : str
        Stored type of the first vectors of an index.
    on_progress : callable, optional
        Called with the number of chunks that have their vector.

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
            done += len(matrix)
            if on_progress is not None:
                on_progress(done)
    except EmbeddingError as error:
        missing_ids = [chunk.id for chunk in chunks if into.vector_of(chunk) is None]
        into.failure = EmbeddingError(
            f"{error}; {len(missing_ids)} of {len(chunks)} chunks have no vector, the first is "
            f"{missing_ids[0]!r}. Finished vectors are kept: repeat the call to continue"
        )
        into.failure.chunks = tuple(missing_ids)
        into.failure.__cause__ = error.__cause__


def embed_stored(
    truth: Truth,
    embedder: Embedder,
    chunks: Mapping[int, Chunk],
    state: EmbeddingState | None,
    dtype: str,
) -> EmbeddingError | None:
    """Embed stored chunks, given by row, and write their vectors; return why some failed."""
    embedded = Embedded({}, state)
    embed_chunks(embedder, list(chunks.values()), embedded, dtype=dtype)
    if embedded.state is not None and state is None:
        state = truth.embeddings.begin_epoch(embedded.state)
    vectors = embedded.by_row(chunks)
    if state is not None and vectors:
        truth.embeddings.write_vectors(state.epoch, vectors)
    return embedded.failure


class ChunkVectors:
    """Provides the vectors of the chunks that a namespace writes.

    Attributes
    ----------
    unwritten : Embedded
        Vectors of a write that failed; the next attempt uses them.
    """

    def __init__(self, namespace: Namespace) -> None:
        self._namespace = namespace
        self._truth = namespace.truth
        self.unwritten = Embedded({}, None)

    def embed(
        self,
        chunks: Sequence[Chunk],
        *,
        reusable: Iterable[str] = (),
        on_progress: Callable[[int], object] | None = None,
    ) -> Embedded:
        """Embed chunks, if there is an embedder.

        ``reusable`` names stored chunks whose vectors are reused for equal content.
        """
        embedder = self._namespace.embedder
        if embedder is None or not chunks:
            return Embedded({}, None)
        embedded = self._known([*reusable, *(chunk.id for chunk in chunks)])
        dtype = self._namespace.settings.vector_dtype
        embed_chunks(embedder, chunks, embedded, dtype=dtype, on_progress=on_progress)
        return embedded

    def complete(self, chunks: Sequence[Chunk]) -> EmbeddingError | None:
        """Add the missing vectors of stored chunks; return why some failed."""
        embedder, embeddings = self._namespace.embedder, self._truth.embeddings
        if embedder is None or not chunks:
            return None
        state = self._truth.state().embedding
        rows = self._truth.rows_of(chunk.id for chunk in chunks)
        without = embeddings.without_vector(rows.values(), 0 if state is None else state.epoch)
        lacking = {rows[chunk.id]: chunk for chunk in chunks if rows.get(chunk.id) in without}
        if not lacking:
            return None
        dtype = self._namespace.settings.vector_dtype
        return embed_stored(self._truth, embedder, lacking, state, dtype)

    def _known(self, ids: Iterable[str]) -> Embedded:
        """Return the stored vectors of these chunks, and the unwritten ones."""
        state, unwritten = self._truth.state().embedding, self.unwritten
        if state is None:
            return Embedded(dict(unwritten.vectors), unwritten.state)
        if unwritten.state is None or unwritten.state.epoch != state.epoch:
            unwritten = Embedded({}, state)
        stored = self._truth.embeddings.by_content(dict.fromkeys(ids), state.epoch)
        return Embedded(unwritten.vectors | stored, state)


def _key(chunk: Chunk) -> bytes:
    return vector_key(chunk.title, chunk.text, None, chunk.context)
