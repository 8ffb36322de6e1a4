"""From chunks to committed batches: check, tag, embed, write."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any, TypeAlias

import numpy as np

from hebbgraph.embedders import embed_passages, embed_question, embedder_name
from hebbgraph.errors import InvalidChunkError, ParameterError, SettingsMismatchError
from hebbgraph.graph.references import link_candidates
from hebbgraph.namespace import Namespace, tagger_name
from hebbgraph.nesting import CutMetadata
from hebbgraph.protocols import BatchTagger, Embedder, Tagger
from hebbgraph.records import AddReport, Chunk, TaggingReport
from hebbgraph.store.chunks import pages
from hebbgraph.store.embeddings import EmbeddingState
from hebbgraph.store.texts import TextState
from hebbgraph.store.truth import ChunkWrite, Outcome
from hebbgraph.text.proposer import Proposer

__all__ = ["ChunkLike", "OnProgress", "Writer", "progress"]

ChunkLike: TypeAlias = Chunk | dict[str, Any] | str
OnProgress: TypeAlias = Callable[[int, int | None], Any] | None
#: A long add spends at least this many times as long adding as refreshing readers.
_ADDING_TO_SHOWING = 10.0


class Writer:
    """Writes the chunks of one namespace."""

    def __init__(self, namespace: Namespace) -> None:
        self._namespace = namespace
        self._truth = namespace.truth
        self._settings = namespace.settings
        self._resting: list[Proposer] = []
        self._next_showing = 0.0

    @contextlib.contextmanager
    def _proposer(self) -> Iterator[Proposer]:
        """Lend a proposer, which does pass 1; a thread that finds none creates its own."""
        try:
            proposer = self._resting.pop()
        except IndexError:
            proposer = Proposer()
        yield proposer
        proposer.rest()
        self._resting[:] = [proposer]  # not after an error: it may have come in the middle

    def add(
        self,
        chunks: Iterable[ChunkLike],
        *,
        show_progress: bool,
        on_progress: OnProgress,
    ) -> AddReport:
        """See :meth:`hebbgraph.HebbianIndex.add`."""
        with self._truth.acknowledging_at_the_end():
            try:
                return self._add(chunks, show_progress=show_progress, on_progress=on_progress)
            finally:
                self._namespace.bring_up_to_date()

    def _add(
        self, chunks: Iterable[ChunkLike], *, show_progress: bool, on_progress: OnProgress
    ) -> AddReport:
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
        with progress(show_progress, on_progress) as tell, self._proposer() as proposer:
            try:
                for batch in pages(chunks, self._settings.batch_size):
                    report = self._add_batch(batch, report, proposer, _ahead(tell, taken, total))
                    taken += len(batch)
                    tell(taken, total)
                    self._show_to_readers()
            except Exception as error:
                done = report.added + report.replaced
                error.add_note(f"{done} chunks of earlier batches were committed")
                raise
        return report.model_copy(update={"seconds": time.perf_counter() - started})

    def _show_to_readers(self) -> None:
        """During a long add, refresh what readers of this process see from time to time."""
        if self._namespace.derived.readers_lag and time.monotonic() >= self._next_showing:
            started = time.monotonic()
            self._namespace.bring_up_to_date()
            took = time.monotonic() - started
            self._next_showing = time.monotonic() + max(1.0, _ADDING_TO_SHOWING * took)

    def _add_batch(
        self,
        batch: Iterable[ChunkLike],
        report: AddReport,
        proposer: Proposer,
        tell: Callable[[int], object] | None = None,
    ) -> AddReport:
        by_id: dict[str, Chunk] = {}
        for chunk in map(Chunk.coerce, batch):
            if by_id.setdefault(chunk.id, chunk) != chunk:
                raise InvalidChunkError(
                    f"id {chunk.id!r} occurs twice in one batch with different content; "
                    "ids must differ"
                )
        changed = self._truth.changed(by_id.values())
        writes, embedding, tagging = self._prepared(changed, proposer, tell)
        outcome = self._truth.apply(writes, embedding=embedding)
        return _with_batch(report, outcome, len(by_id) - len(changed), tagging)

    def _prepared(
        self,
        changed: list[tuple[Chunk, bytes]],
        proposer: Proposer,
        tell: Callable[[int], object] | None = None,
    ) -> tuple[list[ChunkWrite], EmbeddingState | None, TaggingReport | None]:
        """Tag and embed, outside of any transaction."""
        chunks = [chunk for chunk, _ in changed]
        tags, tagging = self._tags(chunks, tell)
        vectors: Iterable[bytes | None] = repeat(None)
        embedding, embedder = None, self._namespace.embedder
        if embedder is not None and chunks:
            matrix = embed_passages(embedder, chunks)
            embedding = self._truth.state().embedding or EmbeddingState(
                embedder_name(embedder), matrix.shape[1], self._settings.vector_dtype
            )
            if matrix.shape[1] != embedding.dimension:
                raise SettingsMismatchError(
                    f"the index holds vectors of {embedding.dimension} numbers, the embedder "
                    f"gave {matrix.shape[1]}; index.reembed() changes the model"
                )
            vectors = map(np.ndarray.tobytes, matrix.astype(embedding.dtype))
        candidates = self._candidates(proposer, chunks, tags)
        return (
            [
                ChunkWrite(chunk, found, vector, digest)
                for (chunk, digest), found, vector in zip(
                    changed, candidates, vectors, strict=False
                )
            ],
            embedding,
            tagging,
        )

    def _candidates(
        self, proposer: Proposer, chunks: Sequence[Chunk], tags: Iterable[Iterable[str]]
    ) -> list[dict[str, list[str]]]:
        """Return each chunk's candidates from pass 1, its given tags, and its links."""
        from_text = self._settings.text_tags
        found = proposer.propose(
            (chunk.text if from_text else "", chunk.title, [*chunk.tags, *more])
            for chunk, more in zip(chunks, tags, strict=True)
        )
        if not from_text:
            kinds = ("title", "given")
            found = [{kind: one[kind] for kind in kinds if kind in one} for one in found]
        for chunk, candidates in zip(chunks, found, strict=True):
            for kind, keys in link_candidates(chunk, self._settings.edges).items():
                held = candidates.get(kind, [])
                candidates[kind] = [*held, *(key for key in keys if key not in held)]
        return found

    def _tags(
        self, chunks: list[Chunk], tell: Callable[[int], object] | None = None
    ) -> tuple[list[tuple[str, ...]], TaggingReport | None]:
        """Call the tagger, if there is one; no transaction is open."""
        tagger = self._namespace.tagger
        if tagger is None:
            return [()] * len(chunks), None
        if isinstance(tagger, BatchTagger):
            return tagger.tag_chunks(chunks, store=self._truth.answers, on_progress=tell)
        tags = []
        for chunk in chunks:
            tags.append(tuple(tagger(chunk)))
            if tell is not None:
                tell(len(tags))
        return tags, TaggingReport(tagged=len(tags))

    def retag(
        self, tagger: Tagger | None, *, show_progress: bool, on_progress: OnProgress
    ) -> AddReport:
        """See :meth:`hebbgraph.HebbianIndex.retag`."""
        try:
            return self._retag(tagger, show_progress=show_progress, on_progress=on_progress)
        finally:
            self._namespace.bring_up_to_date()

    def _retag(
        self, tagger: Tagger | None, *, show_progress: bool, on_progress: OnProgress
    ) -> AddReport:
        if tagger is not None:
            self._namespace.tagger = tagger
            self._truth.answers.settle(tagger_name(tagger), replace=True)
        started = time.perf_counter()
        report = AddReport(generation=self._truth.generation())
        total, done = self._truth.count(), 0
        with progress(show_progress, on_progress) as tell, self._proposer() as proposer:
            for rows in pages(self._truth.rows_by_id(), self._settings.batch_size):
                report = self._retag_batch(rows, report, proposer, _ahead(tell, done, total))
                done += len(rows)
                tell(done, max(total, done))
        return report.model_copy(update={"seconds": time.perf_counter() - started})

    def _retag_batch(
        self,
        rows: list[int],
        report: AddReport,
        proposer: Proposer,
        tell: Callable[[int], object],
    ) -> AddReport:
        # A chunk whose text has changed, or whose metadata was cut, keeps its tags until it is
        # added again: writing it would make the loss permanent.
        held = {
            row: one
            for row, one, text in self._truth.fetch_checked(rows)
            if text is TextState.same and not isinstance(one.metadata, CutMetadata)
        }
        tags, tagging = self._tags(list(held.values()), tell)
        state = self._truth.state().embedding
        vectors = dict(self._truth.embeddings.vectors(held, state.epoch) if state else ())
        known = {row: found for row, _, found in self._truth.candidates(held)}
        writes = []
        proposed = self._candidates(proposer, list(held.values()), tags)
        for (row, chunk), found in zip(held.items(), proposed, strict=True):
            if _in_order(found) != _in_order(known.get(row, {})):
                writes.append(ChunkWrite(chunk, found, vectors.get(row)))
        outcome = self._truth.apply(
            writes, embedding=state, instead_of={held[row].id: row for row in held}
        )
        return _with_batch(report, outcome, len(held) - len(writes), tagging)

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
        with self._proposer() as proposer:
            writes, embedding, tagging = self._prepared(changed, proposer)
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
            tagging=tagging,
        )

    def reembed(
        self, embedder: Embedder | None, *, show_progress: bool, on_progress: OnProgress
    ) -> int:
        """See :meth:`hebbgraph.HebbianIndex.reembed`."""
        embedder = embedder or self._namespace.embedder
        if embedder is None:
            raise ParameterError("reembed takes an embedder; the index was opened without one")
        state = self._truth.state().embedding
        if state is None or state.name != embedder_name(embedder):
            dimension = len(embed_question(embedder, "dimension"))
            state = self._truth.embeddings.begin_epoch(
                EmbeddingState(embedder_name(embedder), dimension, self._settings.vector_dtype)
            )
        self._namespace.embedder = embedder
        total = self._truth.embeddings.count_to_embed(state.epoch)
        done = 0
        with progress(show_progress, on_progress) as tell:
            embeddings = self._truth.embeddings
            last, size = 0, self._settings.batch_size
            while rows := embeddings.rows_to_embed(state.epoch, size, after=last):
                last = rows[-1]
                told = self._truth.fetch_checked(rows)
                held = {row: one for row, one, text in told if text is not TextState.missing}
                if not held:
                    continue
                matrix = embed_passages(embedder, list(held.values())).astype(state.dtype)
                vectors = map(np.ndarray.tobytes, matrix)
                embeddings.write_vectors(state.epoch, dict(zip(held, vectors, strict=True)))
                done += len(held)
                tell(done, max(total, done))
        self._namespace.derived.hold_vectors()
        self._namespace.bring_up_to_date()
        return done

    def delete(self, ids: Iterable[str], document_ids: Iterable[str]) -> int:
        """See :meth:`hebbgraph.HebbianIndex.delete`."""
        outcome = self._truth.apply(delete_ids=ids, delete_documents=document_ids)
        self._namespace.bring_up_to_date()
        return outcome.deleted


def _with_batch(
    report: AddReport, outcome: Outcome, unchanged: int, tagging: TaggingReport | None
) -> AddReport:
    """Add what one batch did to the report of a call."""
    if tagging is not None and report.tagging is not None:
        tagging = report.tagging + tagging
    return report.model_copy(
        update={
            "added": report.added + outcome.added,
            "replaced": report.replaced + outcome.replaced,
            "unchanged": report.unchanged + unchanged,
            "batches": report.batches + 1,
            "generation": outcome.generation,
            "tagging": tagging or report.tagging,
        }
    )


def _in_order(by_kind: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    return {kind: sorted(keys) for kind, keys in by_kind.items()}


def _ahead(
    tell: Callable[[int, int | None], object], before: int, total: int | None
) -> Callable[[int], object]:
    """Report the progress of a batch as part of the whole."""
    return lambda done: tell(before + done, total)


@contextlib.contextmanager
def progress(
    show: bool, on_progress: OnProgress, *, what: str = "chunks"
) -> Iterator[Callable[[int, int | None], None]]:
    """Yield a function to call with (done, total or None).

    Parameters
    ----------
    show : bool
        Draw a progress bar on standard error.
    on_progress : callable, optional
        Called with the same arguments.
    what : str
        The unit that is counted, shown beside the bar.
    """
    if not show:
        yield lambda done, total: on_progress(done, total) if on_progress else None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=None)

        def tell(done: int, total: int | None) -> None:
            bar.update(task, completed=done, total=total)
            if on_progress:
                on_progress(done, total)

        yield tell
