"""Any iterable of chunks to the database: what is new, its tags, its embeddings, then one batch."""

from __future__ import annotations

import gc
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hebbgraph.embedders import embed_passages, embedder_name
from hebbgraph.errors import EmbeddingError, ParameterError, TaggingError
from hebbgraph.ingest.prepare import Prepared, prepare
from hebbgraph.ingest.tagging import complete, is_complete
from hebbgraph.ingest.writing import write_batch, write_vectors
from hebbgraph.protocols import Embedder, Progress, Tagger
from hebbgraph.records import AddReport, Chunk, storable
from hebbgraph.settings import Settings
from hebbgraph.store.chunks import StoredChunk, chunks_by_id, dumped
from hebbgraph.store.database import Database, Session
from hebbgraph.store.meta import read_json, write_meta

__all__ = ["Loader"]

#: A batch ends after this many characters or chunks. What models are asked for is lost if the
#: process dies within a batch, so then batches are smaller.
_CHARACTERS = 8_000_000
_CHUNKS, _EMBEDDED, _TAGGED = 8000, 512, 16
#: Chunks whose tags are matched in one transaction.
_PORTION = 20_000
#: From this many chunks on, a batch is large.
_MANY = 1000


class _Plan(NamedTuple):
    """What is to be done for a batch.

    ``new`` are the chunks to write, ``bare`` the stored ones that only lack a vector. ``vectors``
    and ``tagged`` are what models said before of texts that stay as they are, by chunk id.
    """

    new: list[Chunk]
    bare: list[Chunk]
    vectors: dict[str, NDArray[np.float32]]
    tagged: dict[str, tuple[str, ...]]


class Loader:
    """Adds chunks to one namespace, and deletes some.

    Parameters
    ----------
    database : Database
    settings : Settings
    embedder : Embedder, optional
    tagger : Tagger, optional
    """

    def __init__(
        self,
        database: Database,
        settings: Settings,
        embedder: Embedder | None = None,
        tagger: Tagger | None = None,
    ) -> None:
        self._database = database
        self._settings = settings
        self._embedder = embedder
        self._tagger = tagger

    def add(
        self,
        chunks: Iterable[Chunk],
        *,
        workers: int | None = None,
        progress: Progress | None = None,
        lost: Callable[[Session], Collection[int]] | None = None,
    ) -> tuple[AddReport, list[int]]:
        """Write chunks batch by batch; ``lost`` names rows to remove with the first batch.

        Returns
        -------
        report : AddReport
        removed : list of int
            Rows that were replaced or lost, whose traces are to be erased.
        """
        report, removed = AddReport(), list[int]()
        batches = _batches(chunks, self._batch_size())
        batch, is_last = next(batches, (list[Chunk](), True))
        with _preparer(self._settings, workers) as prepared, _no_collection(len(batch)):
            while True:
                done, gone = self._write(batch, prepared, lost, last=is_last)
                removed += gone
                report = AddReport(
                    added=report.added + done.added,
                    replaced=report.replaced + done.replaced,
                    unchanged=report.unchanged + done.unchanged,
                    deleted=report.deleted + done.deleted,
                )
                if progress is not None:
                    progress(report.added + report.replaced + report.unchanged)
                if is_last:
                    next(batches, None)  # raises what the iterable raised after this batch
                    break
                batch, is_last = next(batches)
                lost = None
        return report, removed

    def delete(self, rows: Callable[[Session], Collection[int]]) -> int:
        """Delete the rows that a function finds in the transaction; return how many."""
        with self._database.write() as session:
            found = rows(session)
            if found:
                write_batch(session, [], found)
                left, _ = complete(session, self._settings, _PORTION)
        if found and left:
            self._complete_rest()
        return len(found)

    def _complete_rest(self) -> None:
        vocabulary = None
        left = 1
        while left:
            with self._database.write() as session:
                if is_complete(session):
                    return
                left, vocabulary = complete(session, self._settings, _PORTION, vocabulary)

    def _batch_size(self) -> int:
        if self._tagger is not None:
            return _TAGGED
        return _CHUNKS if self._embedder is None else _EMBEDDED

    def _write(
        self,
        batch: Sequence[Chunk],
        prepared: Callable[[list[Chunk], list[Any]], list[Prepared]],
        lost: Callable[[Session], Collection[int]] | None,
        *,
        last: bool,
    ) -> tuple[AddReport, set[int]]:
        with self._database.read() as session:
            plan = self._plan(session, batch)
            self._check_model(session)
        new = prepared(plan.new, self._tags_of(plan))
        vectors = self._vectors_of(plan)
        if vectors is not None:
            new = [one._replace(vector=v) for one, v in zip(new, vectors, strict=False)]
        with self._database.write() as session:
            stored = chunks_by_id(session, [chunk.id for chunk in batch])
            if vectors is not None and len(vectors):
                self._note_model(session, vectors.shape[1])
                bare = zip(plan.bare, vectors[len(plan.new) :], strict=True)
                self._write_bare(session, stored, bare)
            new = [one for one in new if not self._is_unchanged(stored, one)]
            removed = {stored[one.chunk.id].row for one in new if one.chunk.id in stored}
            replaced = len(removed)
            gone = set(lost(session)) - removed if lost is not None else set()
            removed |= gone
            if new or removed:
                write_batch(session, new, removed)
            left = 0
            if last and not is_complete(session):
                left, _ = complete(session, self._settings, _PORTION)
        if last and left:
            self._complete_rest()
        report = AddReport(
            added=len(new) - replaced,
            replaced=replaced,
            unchanged=len(batch) - len(new),
            deleted=len(gone),
        )
        return report, removed

    # -- what is new ------------------------------------------------------------------

    def _plan(self, session: Session, batch: Sequence[Chunk]) -> _Plan:
        stored = chunks_by_id(session, [chunk.id for chunk in batch])
        equal = [c for c in batch if c.id in stored and self._same(stored[c.id], c)]
        known = {chunk.id for chunk in equal}
        new = [chunk for chunk in batch if chunk.id not in known]
        same_text = {
            chunk.id: stored[chunk.id]
            for chunk in (*new, *equal)
            if chunk.id in stored
            and (stored[chunk.id].title, stored[chunk.id].text) == (chunk.title, chunk.text)
        }
        vectors: dict[str, NDArray[np.float32]] = {}
        if self._embedder is not None and same_text:
            id_of = {chunk.row: id_ for id_, chunk in same_text.items()}
            sql = "SELECT row, data FROM $embedding WHERE row = ANY(?)"
            for row, data in session.rows(sql, list(id_of)):
                vectors[id_of[row]] = np.frombuffer(data, "<f4")
        tagged = {id_: chunk.given_by().tagged for id_, chunk in same_text.items()}
        return _Plan(
            new,
            [] if self._embedder is None else [c for c in equal if c.id not in vectors],
            vectors,
            {id_: tags for id_, tags in tagged.items() if tags is not None},
        )

    def _same(self, stored: StoredChunk, chunk: Chunk) -> bool:
        untagged = self._tagger is not None and stored.given_by().tagged is None
        return not untagged and stored.equals(chunk)

    def _is_unchanged(self, stored: dict[str, StoredChunk], new: Prepared) -> bool:
        """Return whether another process has written the same chunk in the meantime."""
        found = stored.get(new.chunk.id)
        return found is not None and self._same(found, new.chunk)

    # -- models -----------------------------------------------------------------------

    def _tags_of(self, plan: _Plan) -> list[Any]:
        """Return the tagger's tags of new chunks, asking for texts that are new."""
        if self._tagger is None:
            return [plan.tagged.get(chunk.id) for chunk in plan.new]
        unknown = [chunk for chunk in plan.new if chunk.id not in plan.tagged]
        asked = zip((c.id for c in unknown), self._ask_tagger(unknown), strict=True)
        tags = {**plan.tagged, **dict(asked)}
        return [tags[chunk.id] for chunk in plan.new]

    def _vectors_of(self, plan: _Plan) -> NDArray[np.float32] | None:
        """Return the vectors of new chunks, then of bare ones, embedding texts that are new."""
        if self._embedder is None:
            return None
        wanted = [*plan.new, *plan.bare]
        unknown = [chunk for chunk in wanted if chunk.id not in plan.vectors]
        asked = embed_passages(self._embedder, unknown) if unknown else ()
        vectors = {**plan.vectors, **dict(zip((c.id for c in unknown), asked, strict=True))}
        return np.array([vectors[chunk.id] for chunk in wanted], np.float32)

    def _ask_tagger(self, chunks: list[Chunk]) -> list[Any]:
        if self._tagger is None or not chunks:
            return []
        try:
            tags = [tuple(map(storable, _tags_of(found))) for found in self._tagger(chunks)]
        except TaggingError:
            raise
        except Exception as error:
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:300]
            raise TaggingError(
                f"the tagger failed: {reason}; batches before this one are "
                "stored, so run the call again"
            ) from error
        if len(tags) != len(chunks):
            raise TaggingError(f"the tagger returned tags for {len(tags)} of {len(chunks)} chunks")
        return tags

    def _check_model(self, session: Session) -> None:
        model = read_json(session, "embedder")
        name = None if self._embedder is None else embedder_name(self._embedder)
        if model is not None and name is not None and model["name"] != name:
            raise ParameterError(
                f"the index holds vectors of {model['name']!r}, and was opened with {name!r}; open "
                "it with that embedder, or make a new index with this one"
            )

    def _note_model(self, session: Session, dimension: int) -> None:
        self._check_model(session)
        model = read_json(session, "embedder")
        assert self._embedder is not None
        if model is None:
            model = {"name": embedder_name(self._embedder), "dimension": dimension}
            write_meta(session, {"embedder": dumped(model)})
        elif model["dimension"] != dimension:
            raise EmbeddingError(
                f"the index holds vectors of {model['dimension']} numbers, the embedder returned "
                f"{dimension}"
            )

    def _write_bare(
        self,
        session: Session,
        stored: dict[str, StoredChunk],
        vectors: Iterable[tuple[Chunk, NDArray[np.float32]]],
    ) -> None:
        wanted = {
            stored[chunk.id].row: vector
            for chunk, vector in vectors
            if chunk.id in stored and self._same(stored[chunk.id], chunk)
        }
        sql = "SELECT row FROM $embedding WHERE row = ANY(?)"
        taken = {row for (row,) in session.rows(sql, list(wanted))} if wanted else set()
        write_vectors(session, [(row, v) for row, v in wanted.items() if row not in taken])


@contextmanager
def _no_collection(n: int) -> Iterator[None]:
    """Pause the collection of cyclic garbage while many chunks are read: there is none.

    It would look through hundreds of thousands of live objects again and again, for a sixth of the
    time.
    """
    pause = n >= _MANY and gc.isenabled()
    if pause:
        gc.disable()
    try:
        yield
    finally:
        if pause:
            gc.enable()


class _preparer:
    """Prepares chunks, in processes if there are workers."""

    def __init__(self, settings: Settings, workers: int | None) -> None:
        if workers is not None and (not isinstance(workers, int) or workers < 0):
            raise ParameterError(f"workers is a number of processes, got {workers!r:.80}")
        self._one = partial(_prepared, settings)
        self._pool = ProcessPoolExecutor(workers) if workers and workers > 1 else None

    def __enter__(self) -> Callable[[list[Chunk], list[Any]], list[Prepared]]:
        return self._prepare

    def __exit__(self, *error: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def _prepare(self, chunks: list[Chunk], tags: list[Any]) -> list[Prepared]:
        if self._pool is None or len(chunks) < 100:
            return list(map(self._one, zip(chunks, tags, strict=True)))
        return list(self._pool.map(self._one, zip(chunks, tags, strict=True), chunksize=100))


def _tags_of(returned: Iterable[str]) -> list[str]:
    """Return a tagger's tags of one chunk; the usual mistake is one str for each chunk."""
    tags = [returned] if isinstance(returned, str) else list(returned)
    if isinstance(returned, str) or not all(isinstance(tag, str) for tag in tags):
        raise TypeError(f"a list of str for each chunk, got {returned!r:.80}")
    return tags


def _prepared(settings: Settings, pair: tuple[Chunk, Any]) -> Prepared:
    return prepare(pair[0], settings, pair[1])


def _batches(chunks: Iterable[Chunk], most: int) -> Iterator[tuple[list[Chunk], bool]]:
    """Yield batches with distinct ids, and whether each is the last.

    Of equal ids in one batch the last counts. If the iterable fails after a whole batch, it fails
    here after that batch.
    """
    batch: dict[str, Chunk] = {}
    characters, is_whole, iterator = 0, False, iter(chunks)
    while True:
        try:
            chunk = next(iterator)
        except StopIteration:
            break
        except Exception:
            if is_whole:
                yield list(batch.values()), True
            raise
        if is_whole:
            yield list(batch.values()), False
            batch, characters = {}, 0
        batch[chunk.id] = chunk
        characters += len(chunk.text)
        is_whole = characters >= _CHARACTERS or len(batch) >= most
    if batch:
        yield list(batch.values()), True
