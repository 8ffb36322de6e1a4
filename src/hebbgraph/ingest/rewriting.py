"""Tag or embed all chunks of an index again, batch by batch."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from hebbgraph.embedders import embed_question, embedder_name
from hebbgraph.errors import ParameterError
from hebbgraph.ingest.candidates import Tagging, propose_candidates
from hebbgraph.ingest.progress import OnProgress, part_of, progress
from hebbgraph.ingest.vectors import embed_stored
from hebbgraph.namespace import Namespace, tagger_name
from hebbgraph.protocols import Embedder, Tagger
from hebbgraph.records import AddReport
from hebbgraph.store.chunks import pages
from hebbgraph.store.embeddings import EmbeddingState
from hebbgraph.store.texts import TextState
from hebbgraph.store.truth import ChunkWrite

__all__ = ["reembed", "retag"]


def retag(
    namespace: Namespace, tagger: Tagger | None, *, show_progress: bool, on_progress: OnProgress
) -> AddReport:
    """See :meth:`hebbgraph.inspect.maintenance.Maintenance.retag`."""
    truth, tagging = namespace.truth, Tagging(namespace)
    try:
        namespace.make()
        if tagger is not None:
            namespace.tagger = tagger
            truth.settings.settle_tagger(tagger_name(tagger), replace=True)
        started = time.perf_counter()
        report = AddReport(generation=truth.generation())
        total, done = truth.count(), 0
        with progress(show_progress, on_progress) as notify:
            for rows in pages(truth.rows_by_id(), namespace.settings.batch_size):
                report += _retag_batch(namespace, rows, tagging, part_of(notify, done, total))
                done += len(rows)
                notify(done, max(total, done))
        return report.model_copy(update={"seconds": time.perf_counter() - started})
    finally:
        namespace.bring_up_to_date()


def _retag_batch(
    namespace: Namespace,
    rows: Sequence[int],
    tagging: Tagging,
    on_progress: Callable[[int], object],
) -> AddReport:
    truth = namespace.truth
    # A chunk whose external text has changed keeps its tags until it is added again: writing it
    # now would make the loss permanent.
    chunks = {
        row: chunk for row, chunk, text in truth.fetch_checked(rows) if text is TextState.same
    }
    tags, tagging_report = tagging.tags(list(chunks.values()), on_progress)
    state = truth.state().embedding
    vectors = dict(truth.embeddings.vectors(chunks, state.epoch) if state else ())
    stored = {row: candidates for row, _, candidates in truth.candidates(chunks)}
    proposed = propose_candidates(namespace.settings, list(chunks.values()), tags)
    writes = [
        ChunkWrite(chunk, candidates, vectors.get(row))
        for (row, chunk), candidates in zip(chunks.items(), proposed, strict=True)
        if _sorted(candidates) != _sorted(stored.get(row, {}))
    ]
    rows_by_id = {chunk.id: row for row, chunk in chunks.items()}
    outcome = truth.apply(writes, embedding=state, instead_of=rows_by_id)
    return AddReport(
        added=outcome.added,
        replaced=outcome.replaced,
        unchanged=len(chunks) - len(writes),
        batches=1,
        generation=outcome.generation,
        tagging=tagging_report,
    )


def _sorted(by_kind: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    return {kind: sorted(phrases) for kind, phrases in by_kind.items()}


def reembed(
    namespace: Namespace,
    embedder: Embedder | None,
    *,
    show_progress: bool,
    on_progress: OnProgress,
) -> int:
    """See :meth:`hebbgraph.inspect.maintenance.Maintenance.reembed`."""
    embedder = embedder or namespace.embedder
    if embedder is None:
        raise ParameterError("reembed takes an embedder; the index was opened without one")
    namespace.make()
    truth, settings = namespace.truth, namespace.settings
    state = truth.state().embedding
    if state is None or state.name != embedder_name(embedder):
        dimension = len(embed_question(embedder, "dimension"))
        state = truth.embeddings.begin_epoch(
            EmbeddingState(embedder_name(embedder), dimension, settings.vector_dtype)
        )
    namespace.embedder = embedder
    total, done, last = truth.embeddings.count_to_embed(state.epoch), 0, 0
    with progress(show_progress, on_progress) as notify:
        while rows := truth.embeddings.rows_to_embed(state.epoch, settings.batch_size, after=last):
            last = rows[-1]
            if embedded := _embed_rows(namespace, embedder, state, rows):
                done += embedded
                notify(done, max(total, done))
    namespace.derived.load_vectors()
    namespace.bring_up_to_date()
    return done


def _embed_rows(
    namespace: Namespace, embedder: Embedder, state: EmbeddingState, rows: Sequence[int]
) -> int:
    """Embed and write these rows; return how many have a text to embed."""
    truth = namespace.truth
    chunks = {
        row: chunk
        for row, chunk, text in truth.fetch_checked(rows)
        if text is not TextState.missing
    }
    if not chunks:
        return 0
    dtype = namespace.settings.vector_dtype
    if (failure := embed_stored(truth, embedder, chunks, state, dtype)) is not None:
        raise failure
    return len(chunks)
