"""Any iterable of chunks to the database: what is new, its tags, its embeddings, then one batch."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from hebbgraph.arrays import Float32Array
from hebbgraph.embedders import agreed_model, embed_passages, is_bag_of_words
from hebbgraph.errors import EmbeddingError, ParameterError, TaggingError, brief
from hebbgraph.ingest.prepare import Prepared, prepare
from hebbgraph.ingest.tagging import complete, is_complete
from hebbgraph.ingest.writing import write_batch
from hebbgraph.learning.lessons import count_resting
from hebbgraph.protocols import Embedder, Progress, Tagger
from hebbgraph.records import AddReport, Chunk, storable
from hebbgraph.settings import Settings
from hebbgraph.store.chunks import StoredChunk, chunks_by_id, dumped, rows_of, to_given
from hebbgraph.store.database import Database, Session
from hebbgraph.store.meta import read_json, write_meta

#: A batch ends after this many characters or chunks. What models are asked for is lost if the
#: process dies within a batch, so then batches are smaller.
_CHARACTERS = 8_000_000
_CHUNKS, _EMBEDDED, _TAGGED = 8000, 512, 16
#: Chunks whose tags are matched in one transaction.
_PORTION = 20_000

_Prepare: TypeAlias = Callable[[list[Chunk], list[Any]], Iterator[Prepared]]
"""Prepares chunks with the tags of a tagger, in processes at once, else when they are asked for."""
_Lost: TypeAlias = Callable[[Session], Collection[int]]
"""Finds rows to remove, in the transaction that removes them."""


class _Batch(NamedTuple):
    """A batch on its way: its chunks, and of what is new in it the texts that are being read."""

    chunks: list[Chunk]
    is_last: bool
    being_read: Iterator[Prepared]
    unembedded: list[Chunk]
    vectors: dict[str, Float32Array]  #: those that are stored, by id


@dataclass(frozen=True)
class Loader:
    """Adds chunks to one namespace, and deletes some."""

    database: Database
    settings: Settings
    embedder: Embedder | None = None
    tagger: Tagger | None = None

    def add(
        self,
        chunks: Iterable[Chunk],
        *,
        workers: int | None = None,
        progress: Progress | None = None,
        lost: _Lost | None = None,
    ) -> tuple[AddReport, list[int]]:
        """Write chunks batch by batch; ``lost`` names rows to remove with the first batch.

        Return rows that were replaced or lost, too: their traces are to be erased.
        """
        done, removed = Counter[str](), list[int]()
        most = _CHUNKS if self.embedder is None else _EMBEDDED
        with _preparer(self.settings, workers) as prepared:
            cut = _cut(chunks, most if self.tagger is None else _TAGGED)
            n_ahead = 1 if workers and workers > 1 else 0
            for batch in self._batches(cut, prepared, n_ahead):
                with _no_collection():
                    new = self._finished(batch)
                    replaced, gone, resting = self._write(new, lost, last=batch.is_last)
                lost = None
                removed += replaced | gone
                done["added"] += len(new) - len(replaced)
                done["replaced"] += len(replaced)
                done["unchanged"] += len(batch.chunks) - len(new)
                del new  # it is large, and the next batch is made meanwhile
                done["deleted"] += len(gone)
                done["resting"] += resting
                if progress is not None:
                    progress(done["added"] + done["replaced"] + done["unchanged"])
        return AddReport(**done), removed

    def _batches(
        self, cut: Iterable[tuple[list[Chunk], bool]], prepared: _Prepare, n_ahead: int
    ) -> Iterator[_Batch]:
        """Yield each batch to be written, while processes read ``n_ahead`` of the next ones."""
        waiting: list[_Batch] = []
        try:
            for chunks, is_last in cut:
                ids = {chunk.id for batch in waiting for chunk in batch.chunks}
                if not ids.isdisjoint(chunk.id for chunk in chunks):  # it is to be read as written
                    yield waiting.pop()
                waiting.append(self._begin(chunks, prepared, is_last=is_last))
                if len(waiting) > n_ahead:
                    yield waiting.pop(0)
        except Exception:
            yield from waiting  # batches before the one that failed are stored
            raise
        yield from waiting

    def _begin(self, batch: list[Chunk], prepared: _Prepare, *, is_last: bool) -> _Batch:
        """Have what is new of a batch read, with a tagger's tags."""
        if not batch:
            return _Batch(batch, is_last, iter(()), [], {})
        with self.database.read() as session:
            agreed_model(read_json(session, "embedder"), self.embedder)
            stored = chunks_by_id(session, [chunk.id for chunk in batch])
            vectors = self._vectors_of(session, stored)
        new = [chunk for chunk in batch if not self._is_stored(chunk, stored, vectors)]
        same = {
            chunk.id: stored[chunk.id]
            for chunk in new
            if chunk.id in stored
            and (stored[chunk.id].title, stored[chunk.id].text) == (chunk.title, chunk.text)
        }
        unembedded = [chunk for chunk in new if chunk.id not in same or chunk.id not in vectors]
        being_read = prepared(new, self._tags_of(new, same))
        return _Batch(batch, is_last, being_read, unembedded, vectors)

    def _finished(self, batch: _Batch) -> list[Prepared]:
        """Return what is to be written of a batch, with vectors."""
        new = list(batch.being_read)
        if self.embedder is None or not new:
            return new
        vectors, asked = batch.vectors, batch.unembedded
        if asked:
            embedded = embed_passages(self.embedder, asked)
            vectors.update(zip((chunk.id for chunk in asked), embedded, strict=True))
        return [item._replace(vector=vectors[item.chunk.id]) for item in new]

    def _write(
        self, new: list[Prepared], lost: _Lost | None, *, last: bool
    ) -> tuple[set[int], set[int], int]:
        """Write a batch in one transaction; return rows replaced and lost, and resting lessons."""
        left, vocabulary = 0, None
        with self.database.write() as session:
            if new and new[0].vector is not None:
                self._note_model(session, len(new[0].vector))
            replaced = set(rows_of(session, [item.chunk.id for item in new]).values())
            gone = set(lost(session)) - replaced if lost is not None else set()
            sql = "SELECT digest FROM $chunk WHERE row = ANY(?)"
            former = {text for (text,) in session.rows(sql, [*replaced, *gone])}
            if new or gone:
                write_batch(session, new, replaced | gone)
            resting = count_resting(session, former)
            if last and not is_complete(session):
                left, vocabulary = complete(session, self.settings, _PORTION)
        while left:
            with self.database.write() as session:
                left, vocabulary = complete(session, self.settings, _PORTION, vocabulary)
        return replaced, gone, resting

    # -- models -----------------------------------------------------------------------

    def _is_stored(
        self, chunk: Chunk, stored: dict[str, StoredChunk], vectors: Collection[str]
    ) -> bool:
        """Return whether a chunk is stored as it is, with what the models say of it."""
        found = stored.get(chunk.id)
        if found is None or (self.embedder is not None and chunk.id not in vectors):
            return False
        untagged = self.tagger is not None and to_given(found.given).tagged is None
        return not untagged and found.equals(chunk)

    def _vectors_of(
        self, session: Session, stored: dict[str, StoredChunk]
    ) -> dict[str, Float32Array]:
        """Return the vectors of stored chunks, by id."""
        if self.embedder is None or not stored:
            return {}
        id_of = {chunk.row: id_ for id_, chunk in stored.items()}
        found = session.rows("SELECT row, data FROM $embedding WHERE row = ANY(?)", list(id_of))
        return {id_of[row]: np.frombuffer(data, "<f4") for row, data in found}

    def _tags_of(self, new: list[Chunk], same: dict[str, StoredChunk]) -> list[Any]:
        """Return the tagger's tags of new chunks, asking for texts that are new."""
        found = {id_: to_given(chunk.given).tagged for id_, chunk in same.items()}
        unknown = [chunk for chunk in new if found.get(chunk.id) is None]
        if self.tagger is not None and unknown:
            asked = self._ask_tagger(self.tagger, unknown)
            found.update(zip((chunk.id for chunk in unknown), asked, strict=True))
        return [found.get(chunk.id) for chunk in new]

    @staticmethod
    def _ask_tagger(tagger: Tagger, chunks: list[Chunk]) -> list[Any]:
        try:
            tags = [tuple(map(storable, _checked_tags(found))) for found in tagger(chunks)]
        except TaggingError:
            raise
        except Exception as error:
            raise TaggingError(
                f"the tagger failed: {brief(error)}; batches before this one are "
                "stored, so run the call again"
            ) from error
        if len(tags) != len(chunks):
            raise TaggingError(f"the tagger returned tags for {len(tags)} of {len(chunks)} chunks")
        return tags

    def _note_model(self, session: Session, dimension: int) -> None:
        model = agreed_model(read_json(session, "embedder"), self.embedder)
        if "dimension" not in model:
            # Once for an index; other writers of it wait for one short call.
            is_bag = self.embedder is not None and is_bag_of_words(self.embedder)
            model = {**model, "dimension": dimension, "bag_of_words": is_bag}
            write_meta(session, {"embedder": dumped(model)})
        elif model["dimension"] != dimension:
            raise EmbeddingError(
                f"the index holds vectors of {model['dimension']} numbers, the embedder returned "
                f"{dimension}"
            )


@contextmanager
def _no_collection() -> Iterator[None]:
    """Pause the collection of cyclic garbage: it takes a sixth of the time, and finds none."""
    was_enabled = gc.isenabled()
    try:
        gc.disable()
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def _preparer(settings: Settings, workers: int | None) -> Iterator[_Prepare]:
    """Return what prepares chunks, in processes if there are workers."""
    if workers is not None and (not isinstance(workers, int) or workers < 0):
        raise ParameterError(f"workers is a number of processes, got {workers!r:.80}")
    read = partial(prepare, settings=settings)
    if not workers or workers < 2:
        yield partial(map, read)
        return
    with ProcessPoolExecutor(workers) as pool:
        yield partial(pool.map, read, chunksize=100)


def _checked_tags(returned: Iterable[str]) -> list[str]:
    """Return a tagger's tags of one chunk; the usual mistake is one str for each chunk."""
    tags = list(returned)
    if isinstance(returned, str) or not all(isinstance(tag, str) for tag in tags):
        raise TypeError(f"a list of str for each chunk, got {returned!r:.80}")
    return tags


def _cut(chunks: Iterable[Chunk], most: int) -> Iterator[tuple[list[Chunk], bool]]:
    """Yield batches, each with the last chunk of an id; and whether it is the last, maybe empty."""
    batch: dict[str, Chunk] = {}
    characters = 0
    for chunk in chunks:
        batch[chunk.id] = chunk
        characters += len(chunk.text)
        if characters >= _CHARACTERS or len(batch) >= most:
            yield list(batch.values()), False
            batch, characters = {}, 0
    yield list(batch.values()), True
