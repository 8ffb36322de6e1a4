"""From chunks to committed batches: check, tag, embed, write."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeAlias

from hebbgraph.chunk_vectors import Embedded, embed_chunks
from hebbgraph.embedders import embed_question, embedder_name
from hebbgraph.errors import (
    EmbeddingError,
    InvalidChunkError,
    ParameterError,
)
from hebbgraph.intake import ChunkLike, Intake, OnError, Taken
from hebbgraph.namespace import Namespace, tagger_name
from hebbgraph.nesting import CutMetadata
from hebbgraph.proposing import propose_candidates
from hebbgraph.protocols import BatchTagger, Embedder, Tagger
from hebbgraph.records import AddReport, Chunk, TaggingReport
from hebbgraph.search_text import with_context
from hebbgraph.store.chunks import pages
from hebbgraph.store.embeddings import EmbeddingState
from hebbgraph.store.texts import TextState
from hebbgraph.store.truth import ChunkWrite, Outcome, OvertakenError, Standing
from hebbgraph.text.proposer import Proposer
from hebbgraph.versions import arranged, check_versioned, dated, ended, version_key

__all__ = ["ChunkLike", "OnProgress", "Writer", "progress"]

logger = logging.getLogger(__name__)

OnProgress: TypeAlias = Callable[[int, int | None], Any] | None
#: A long add spends at least this many times as long adding as refreshing readers.
_ADDING_TO_SHOWING = 10.0


class _Prepared(NamedTuple):
    """What is ready to be written; after a failure, only what has its vector."""

    writes: list[ChunkWrite]
    embedded: Embedded
    tagging: TaggingReport | None


class _Final(NamedTuple):
    """Chunks as they are to be written: what was handed over, and older versions that move.

    ``beside`` names chunks that are held, whose vectors can be those of the same content.
    """

    put: list[Chunk]
    moved: list[Chunk]
    standing: Standing | None
    beside: Iterable[str]


class Writer:
    """Writes the chunks of one namespace."""

    def __init__(self, namespace: Namespace) -> None:
        self._namespace = namespace
        self._truth = namespace.truth
        self._settings = namespace.settings
        self._resting: list[Proposer] = []
        self._next_showing = 0.0
        #: Vectors of a document of which others failed. None of it was written, but paid for.
        self._unwritten = Embedded({}, None)

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
        on_error: OnError,
        strict: bool,
        show_progress: bool,
        on_progress: OnProgress,
    ) -> AddReport:
        """See :meth:`hebbgraph.HebbianIndex.add`."""
        intake = Intake(strict=strict, on_error=on_error)
        with self._truth.acknowledging_at_the_end():
            try:
                return self._add(
                    chunks, intake, show_progress=show_progress, on_progress=on_progress
                )
            finally:
                intake.tell()
                self._namespace.bring_up_to_date()

    def _add(
        self,
        chunks: Iterable[ChunkLike],
        intake: Intake,
        *,
        show_progress: bool,
        on_progress: OnProgress,
    ) -> AddReport:
        _check_iterable(chunks, "add")
        self._namespace.warn_without_model()
        accepted: Iterable[Taken] = intake.take(chunks)
        total = None
        if isinstance(chunks, Sequence):
            accepted = list(accepted)  # checked as a whole before anything is written
            total = len(accepted)
        started = time.perf_counter()
        report = AddReport(generation=self._truth.generation())
        taken = 0
        with progress(show_progress, on_progress) as tell, self._proposer() as proposer:
            try:
                for batch in pages(accepted, self._settings.batch_size):
                    report, failure = self._add_batch(
                        batch, intake, report, proposer, _ahead(tell, taken, total)
                    )
                    if failure is not None:
                        raise failure
                    taken += len(batch)
                    tell(taken, total)
                    self._show_to_readers()
            except Exception as error:
                done = report.added + report.replaced
                part = "" if isinstance(error, EmbeddingError) else " of earlier batches"
                error.add_note(f"{done} chunks{part} were committed")
                raise
        return report.model_copy(
            update={
                "cleaned": intake.cleaned,
                "failed": tuple(sorted(intake.failed, key=lambda one: one.position)),
                "seconds": time.perf_counter() - started,
            }
        )

    def _show_to_readers(self) -> None:
        """During a long add, refresh what readers of this process see from time to time."""
        if self._namespace.derived.readers_lag and time.monotonic() >= self._next_showing:
            started = time.monotonic()
            self._namespace.bring_up_to_date()
            took = time.monotonic() - started
            self._next_showing = time.monotonic() + max(1.0, _ADDING_TO_SHOWING * took)

    def _add_batch(
        self,
        batch: Iterable[Taken],
        intake: Intake,
        report: AddReport,
        proposer: Proposer,
        tell: Callable[[int], object] | None = None,
    ) -> tuple[AddReport, EmbeddingError | None]:
        different = self._different(batch, intake)
        self._namespace.make()
        while True:
            final = self._in_versions(different)
            changed = self._truth.changed([*final.put, *final.moved])
            ready = self._prepared(changed, proposer, tell, beside=final.beside)
            failure = ready.embedded.failure
            # A version is moved and replaced in one transaction, or neither.
            if failure is not None and (final.moved or not ready.writes):
                return report, failure
            try:
                outcome = self._truth.apply(
                    ready.writes, embedding=ready.embedded.state, standing=final.standing
                )
                break
            except OvertakenError:
                logger.info("another process wrote versions of the same chunks; reading them again")
        written = {chunk.id for chunk, _ in changed}
        unchanged = [chunk for chunk in final.put if chunk.id not in written]
        if failure is None:
            failure = self._embed_unchanged(unchanged)
        return _with_batch(report, outcome, len(unchanged), ready.tagging), failure

    def _different(self, batch: Iterable[Taken], intake: Intake) -> list[Chunk]:
        """Return the chunks of a batch, each once."""
        keep_versions = self._settings.keep_versions
        by_key: dict[tuple[str, str], Chunk] = {}
        for position, chunk in batch:
            try:
                chunk = self._as_settings_say(chunk)
                key = (chunk.id, version_key(chunk) if keep_versions else "")
                if keep_versions:
                    check_versioned(chunk)
                if by_key.setdefault(key, chunk) != chunk:
                    raise InvalidChunkError(
                        f"id {chunk.id!r} occurs twice in one batch with different content; "
                        f"ids{' or valid_from' if keep_versions else ''} must differ"
                    )
            except InvalidChunkError as error:
                intake.refuse(position, chunk, error)
        return list(by_key.values())

    def _as_settings_say(self, chunk: Chunk) -> Chunk:
        """Read from metadata what the settings name and the chunk does not say itself."""
        return with_context(
            dated(chunk, self._settings.time_fields), self._settings.search_metadata
        )

    def _in_versions(self, chunks: list[Chunk], gone: Collection[str] = ()) -> _Final:
        """Arrange chunks among the versions that are held, if old ones are kept.

        ``gone`` names chunks that their document no longer has; they hold until now.
        """
        if not self._settings.keep_versions:
            return _Final(chunks, [], None, ())
        now = datetime.now(UTC)
        subjects = frozenset({*gone, *(chunk.version_of or chunk.id for chunk in chunks)})
        held = self._truth.versions_of(subjects)
        by_id = {chunk.id: chunk for chunk in held.values()}
        put, moved = arranged(chunks, by_id, now)
        moved += (ended(by_id[id_], now) for id_ in gone if id_ in by_id)
        return _Final(put, moved, Standing(subjects, frozenset(held)), by_id)

    def _embed_unchanged(self, chunks: Sequence[Chunk]) -> EmbeddingError | None:
        """Give chunks that are held as they are the vectors that they lack."""
        embedder, embeddings = self._namespace.embedder, self._truth.embeddings
        if embedder is None or not chunks:
            return None
        state = self._truth.state().embedding
        rows = self._truth.rows_of(chunk.id for chunk in chunks)
        bare = embeddings.without_vector(rows.values(), 0 if state is None else state.epoch)
        lacking = [chunk for chunk in chunks if rows.get(chunk.id) in bare]
        if not lacking:
            return None
        embedded = Embedded({}, state)
        embed_chunks(embedder, lacking, embedded, dtype=self._settings.vector_dtype)
        if embedded.state is not None and state is None:
            state = embeddings.begin_epoch(embedded.state)
        vectors = {
            rows[chunk.id]: vector
            for chunk in lacking
            if (vector := embedded.of(chunk)) is not None
        }
        if state is not None and vectors:
            embeddings.write_vectors(state.epoch, vectors)
        return embedded.failure

    def _prepared(
        self,
        changed: list[tuple[Chunk, bytes]],
        proposer: Proposer,
        tell: Callable[[int], object] | None = None,
        *,
        beside: Iterable[str] = (),
    ) -> _Prepared:
        """Tag and embed, outside of any transaction.

        ``beside`` names chunks whose vectors are those of chunks with the same content.
        """
        chunks = [chunk for chunk, _ in changed]
        tags, tagging = self._tags(chunks, tell)
        embedder = self._namespace.embedder
        embedded = Embedded({}, None)
        if embedder is not None and chunks:
            embedded = self._known_vectors([*beside, *(chunk.id for chunk in chunks)])
            told = None if self._namespace.tagger else tell
            dtype = self._settings.vector_dtype
            embed_chunks(embedder, chunks, embedded, dtype=dtype, tell=told)
        if embedded.failure is not None:
            kept = [at for at, chunk in enumerate(chunks) if embedded.of(chunk) is not None]
            changed, tags = [changed[at] for at in kept], [tags[at] for at in kept]
            chunks = [chunk for chunk, _ in changed]
        candidates = self._candidates(proposer, chunks, tags)
        writes = [
            ChunkWrite(chunk, found, embedded.of(chunk), digest)
            for (chunk, digest), found in zip(changed, candidates, strict=True)
        ]
        return _Prepared(writes, embedded, tagging)

    def _known_vectors(self, ids: Iterable[str]) -> Embedded:
        """Return the vectors of these chunks as they are, and those not written yet."""
        state, unwritten = self._truth.state().embedding, self._unwritten
        if state is None:
            return Embedded(dict(unwritten.vectors), unwritten.state)
        if unwritten.state is None or unwritten.state.epoch != state.epoch:
            unwritten = Embedded({}, state)
        held = self._truth.embeddings.by_content(dict.fromkeys(ids), state.epoch)
        return Embedded(unwritten.vectors | held, state)

    def _candidates(
        self, proposer: Proposer, chunks: Sequence[Chunk], tags: Iterable[Iterable[str]]
    ) -> list[dict[str, list[str]]]:
        """See :func:`propose_candidates`."""
        return propose_candidates(proposer, self._settings, chunks, tags)

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
        self._namespace.make()
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

    def refresh(
        self,
        chunks: Iterable[ChunkLike],
        document_ids: Iterable[str],
        *,
        delete_missing: bool,
        on_error: OnError,
        strict: bool,
        show_progress: bool,
        on_progress: OnProgress,
    ) -> AddReport:
        """See :meth:`hebbgraph.HebbianIndex.refresh`."""
        _check_iterable(chunks, "refresh")
        if not isinstance(delete_missing, bool):
            raise ParameterError(f"delete_missing is True or False, got {delete_missing!r:.80}")
        started = time.perf_counter()
        intake = Intake(strict=strict, on_error=on_error)
        own = self._different(list(intake.take(chunks)), intake)
        intake.tell()
        skipped = {chunk.id for chunk in intake.failed if chunk.id}
        kept = {chunk.id for chunk in own} | skipped
        named = {chunk.document_id for chunk in own if chunk.document_id}.union(document_ids)
        losing = [one for one in sorted(named) if not self._truth.ids_of_document(one) <= kept]
        report = self.add(
            [chunk for chunk in own if chunk.document_id not in losing],
            on_error="raise",
            strict=False,
            show_progress=show_progress,
            on_progress=on_progress,
        )
        for document_id in losing:
            rest = [chunk for chunk in own if chunk.document_id == document_id]
            report += self.put_document(document_id, None, rest, staying=skipped)
        if delete_missing:
            if self._settings.keep_versions:  # the documents' former chunks are old versions now
                kept |= {old.id for old in self._truth.versions_of(frozenset(kept)).values()}
                kept |= {id_ for one in named for id_ in self._truth.ids_of_document(one)}
            missing = [id_ for id_, _ in self._truth.by_id() if id_ not in kept]
            report += AddReport(deleted=self.delete(missing, ()) if missing else 0)
        self._namespace.bring_up_to_date()
        return report.model_copy(
            update={
                "cleaned": intake.cleaned,
                "failed": tuple(intake.failed),
                "seconds": time.perf_counter() - started,
            }
        )

    def put_document(
        self,
        document_id: str,
        fingerprint: str | None,
        chunks: Iterable[ChunkLike],
        *,
        staying: Collection[str] = (),
    ) -> AddReport:
        """See :meth:`hebbgraph.HebbianIndex.put_document`; ``staying`` names chunks that stay."""
        started = time.perf_counter()
        own: dict[str, Chunk] = {}
        intake = Intake()
        for _, chunk in intake.take(chunks):
            chunk = self._as_settings_say(chunk)
            chunk = chunk.model_copy(update={"document_id": document_id})
            if own.setdefault(chunk.id, chunk) != chunk:
                raise InvalidChunkError(f"document {document_id!r}: id {chunk.id!r} occurs twice")
        self._namespace.make()
        keep_versions = self._settings.keep_versions
        for chunk in own.values() if keep_versions else ():
            check_versioned(chunk)
        while True:
            beside = self._truth.ids_of_document(document_id).difference(staying)
            final = self._in_versions(list(own.values()), gone=beside - own.keys())
            changed = self._truth.changed([*final.put, *final.moved])
            with self._proposer() as proposer:
                ready = self._prepared(changed, proposer, beside={*beside, *final.beside})
            if ready.embedded.failure is not None:
                self._unwritten = ready.embedded
                raise ready.embedded.failure
            self._unwritten = Embedded({}, None)
            held = set() if keep_versions else self._truth.ids_of_document(document_id)
            try:
                outcome = self._truth.apply(
                    ready.writes,
                    embedding=ready.embedded.state,
                    delete_ids=held.difference(own, staying),
                    fingerprints=None if fingerprint is None else {document_id: fingerprint},
                    standing=final.standing,
                )
                break
            except OvertakenError:
                logger.info("another process wrote versions of %r; reading them again", document_id)
        intake.tell()
        written = {chunk.id for chunk, _ in changed}
        failure = self._embed_unchanged([one for one in final.put if one.id not in written])
        if failure is not None:
            raise failure
        return AddReport(
            added=outcome.added,
            replaced=outcome.replaced,
            unchanged=sum(chunk.id not in written for chunk in final.put),
            deleted=outcome.deleted,
            cleaned=intake.cleaned,
            batches=1,
            generation=outcome.generation,
            seconds=time.perf_counter() - started,
            tagging=ready.tagging,
        )

    def reembed(
        self, embedder: Embedder | None, *, show_progress: bool, on_progress: OnProgress
    ) -> int:
        """See :meth:`hebbgraph.HebbianIndex.reembed`."""
        embedder = embedder or self._namespace.embedder
        if embedder is None:
            raise ParameterError("reembed takes an embedder; the index was opened without one")
        self._namespace.make()
        state = self._truth.state().embedding
        if state is None or state.name != embedder_name(embedder):
            dimension = len(embed_question(embedder, "dimension"))
            state = self._truth.embeddings.begin_epoch(
                EmbeddingState(embedder_name(embedder), dimension, self._settings.vector_dtype)
            )
        self._namespace.embedder = embedder
        self._unwritten = Embedded({}, None)
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
                embedded = Embedded({}, state)
                embed_chunks(embedder, list(held.values()), embedded)
                vectors = {
                    row: vector
                    for row, chunk in held.items()
                    if (vector := embedded.of(chunk)) is not None
                }
                if vectors:
                    embeddings.write_vectors(state.epoch, vectors)
                if embedded.failure is not None:
                    raise embedded.failure
                done += len(held)
                tell(done, max(total, done))
        self._namespace.derived.hold_vectors()
        self._namespace.bring_up_to_date()
        return done

    def delete(self, ids: Iterable[str], document_ids: Iterable[str]) -> int:
        """See :meth:`hebbgraph.HebbianIndex.delete`."""
        self._unwritten = Embedded({}, None)
        if not self._namespace.exists:
            return 0
        outcome = self._truth.apply(delete_ids=ids, delete_documents=document_ids)
        self._namespace.bring_up_to_date()
        return outcome.deleted


def _check_iterable(chunks: Iterable[ChunkLike], method: str) -> None:
    if isinstance(chunks, Chunk | str | bytes | Mapping):
        raise ParameterError(
            f"{method} takes an iterable of chunks, got one {type(chunks).__name__}; "
            "put it into a list"
        )
    if not isinstance(chunks, Iterable):
        raise ParameterError(f"{method} takes an iterable of chunks, got {chunks!r}")


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
    if not (on_progress is None or callable(on_progress)):
        raise ParameterError(f"on_progress is a callable, got {on_progress!r:.80}")
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
