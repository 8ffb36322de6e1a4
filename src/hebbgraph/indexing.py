"""From chunks to committed batches: checked, tagged, embedded, written.

The writing half of :mod:`hebbgraph.index`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, repeat
from typing import Any, TypeAlias

import numpy as np

from hebbgraph.embedders import embed_passages, embed_question, embedder_name
from hebbgraph.errors import InvalidChunkError, ParameterError, SettingsMismatchError
from hebbgraph.progress import progress
from hebbgraph.protocols import Embedder, Tagger
from hebbgraph.records import AddReport, Chunk
from hebbgraph.settings import Settings
from hebbgraph.storage.embedding import EmbeddingState
from hebbgraph.storage.truth import ChunkWrite, Truth
from hebbgraph.tagging import Candidate, candidates

__all__ = ["ChunkLike", "OnProgress", "Writer"]

ChunkLike: TypeAlias = Chunk | dict[str, Any] | str
OnProgress: TypeAlias = Callable[[int, int | None], Any] | None


class Writer:
    """Writes one namespace of the truth.

    Parameters
    ----------
    truth : Truth
    settings : Settings
    embedder : Embedder, optional
    tagger : Tagger, optional
    """

    def __init__(
        self, truth: Truth, settings: Settings, embedder: Embedder | None, tagger: Tagger | None
    ) -> None:
        self._truth = truth
        self._settings = settings
        self._tagger = tagger
        self.embedder = embedder

    def add(
        self, chunks: Iterable[ChunkLike], *, show_progress: bool, on_progress: OnProgress
    ) -> AddReport:
        """See :meth:`hebbgraph.HebbianIndex.add`."""
        if isinstance(chunks, Chunk | str | bytes | Mapping):
            raise ParameterError(
                f"add takes an iterable of chunks, got one {type(chunks).__name__}; "
                "put it into a list"
            )
        if not isinstance(chunks, Iterable):
            raise ParameterError(f"add takes an iterable of chunks, got {chunks!r}")
        total = len(chunks) if isinstance(chunks, Sequence) else None
        if isinstance(chunks, Sequence):
            chunks = [Chunk.coerce(chunk) for chunk in chunks]
        started = time.perf_counter()
        report = AddReport(generation=self._truth.generation())
        taken = 0
        with progress(show_progress, on_progress) as tell:
            try:
                for batch in _batches(chunks, self._settings.batch_size):
                    report = self._add_batch(batch, report)
                    taken += len(batch)
                    tell(taken, total)
            except Exception as error:
                done = report.added + report.replaced
                error.add_note(f"{done} chunks of earlier batches were committed")
                raise
        return report.model_copy(update={"seconds": time.perf_counter() - started})

    def _add_batch(self, batch: Iterable[ChunkLike], report: AddReport) -> AddReport:
        by_id: dict[str, Chunk] = {}
        for chunk in map(Chunk.coerce, batch):
            if by_id.setdefault(chunk.id, chunk) != chunk:
                raise InvalidChunkError(
                    f"id {chunk.id!r} occurs twice in one batch with different content; "
                    "ids must differ"
                )
        changed = self._truth.changed(by_id.values())
        writes, embedding = self._prepared(changed)
        outcome = self._truth.apply(writes, embedding=embedding)
        return report.model_copy(
            update={
                "added": report.added + outcome.added,
                "replaced": report.replaced + outcome.replaced,
                "unchanged": report.unchanged + len(by_id) - len(changed),
                "batches": report.batches + 1,
                "generation": outcome.generation,
            }
        )

    def _prepared(self, chunks: list[Chunk]) -> tuple[list[ChunkWrite], EmbeddingState | None]:
        """Tag and embed, outside of any transaction."""
        vectors: Iterable[bytes | None] = repeat(None)
        embedding = None
        if self.embedder is not None and chunks:
            matrix = embed_passages(self.embedder, chunks)
            embedding = self._truth.embeddings.state() or EmbeddingState(
                embedder_name(self.embedder), matrix.shape[1], self._settings.vector_dtype
            )
            if matrix.shape[1] != embedding.dimension:
                raise SettingsMismatchError(
                    f"the index holds vectors of {embedding.dimension} numbers, the embedder "
                    f"gave {matrix.shape[1]}; index.reembed() changes the model"
                )
            vectors = map(np.ndarray.tobytes, matrix.astype(embedding.dtype))
        return [
            ChunkWrite(chunk, self._candidates(chunk), vector)
            for chunk, vector in zip(chunks, vectors, strict=False)
        ], embedding

    def _candidates(self, chunk: Chunk) -> list[Candidate]:
        given = list(chunk.tags)
        if self._tagger is not None:
            given += self._tagger(chunk)
        return candidates(chunk.text, chunk.title, given)

    def put_document(
        self, document_id: str, fingerprint: str | None, chunks: Iterable[ChunkLike]
    ) -> AddReport:
        """See :meth:`hebbgraph.HebbianIndex.put_document`."""
        started = time.perf_counter()
        own: dict[str, Chunk] = {}
        for chunk in map(Chunk.coerce, chunks):
            chunk = chunk.model_copy(update={"document_id": document_id})
            if own.setdefault(chunk.id, chunk) != chunk:
                raise InvalidChunkError(f"document {document_id!r}: id {chunk.id!r} occurs twice")
        changed = self._truth.changed(own.values())
        writes, embedding = self._prepared(changed)
        outcome = self._truth.apply(
            writes,
            embedding=embedding,
            delete_ids=self._truth.ids_of_document(document_id) - own.keys(),
            fingerprints=None if fingerprint is None else {document_id: fingerprint},
        )
        return AddReport(
            added=outcome.added,
            replaced=outcome.replaced,
            unchanged=len(own) - len(changed),
            deleted=outcome.deleted,
            batches=1,
            generation=outcome.generation,
            seconds=time.perf_counter() - started,
        )

    def reembed(
        self, embedder: Embedder | None, *, show_progress: bool, on_progress: OnProgress
    ) -> int:
        """See :meth:`hebbgraph.HebbianIndex.reembed`."""
        embedder = embedder or self.embedder
        if embedder is None:
            raise ParameterError("reembed takes an embedder; the index was opened without one")
        state = self._truth.embeddings.state()
        if state is None or state.name != embedder_name(embedder):
            dimension = len(embed_question(embedder, "dimension"))
            state = self._truth.embeddings.begin_epoch(
                EmbeddingState(embedder_name(embedder), dimension, self._settings.vector_dtype)
            )
        self.embedder = embedder
        total = self._truth.embeddings.count_to_embed(state.epoch)
        done = 0
        with progress(show_progress, on_progress) as tell:
            embeddings = self._truth.embeddings
            while rows := embeddings.rows_to_embed(state.epoch, self._settings.batch_size):
                held = self._truth.fetch(rows)
                matrix = embed_passages(embedder, list(held.values())).astype(state.dtype)
                vectors = map(np.ndarray.tobytes, matrix)
                embeddings.write_vectors(state.epoch, dict(zip(held, vectors, strict=True)))
                done += len(held)
                tell(done, max(total, done))
        return done


def _batches(chunks: Iterable[ChunkLike], size: int) -> Iterator[list[ChunkLike]]:
    remaining = iter(chunks)
    while batch := list(islice(remaining, size)):
        yield batch
