"""What is derived from the truth, and how it is kept fresh.

The graph lives in the memory of each process; its snapshot and the lexical index lie in
one folder that all processes of a machine share. Whoever finds the truth ahead of its
graph takes the missing steps; whoever finds it ahead of the lexical index takes the
folder's lock and brings that forward too. So a process that dies between two of these
steps leaves nothing to repair but what the next one does anyway.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from filelock import FileLock, Timeout

from hebbgraph.errors import HebbgraphError, IndexLockedError
from hebbgraph.graph.tag_graph import TaggedChunks, TagGraph
from hebbgraph.storage.approximate import ApproximateNeighbours
from hebbgraph.storage.embedding import EmbeddingState
from hebbgraph.storage.lexical import LexicalIndex
from hebbgraph.storage.snapshot import load_snapshot, save_snapshot
from hebbgraph.storage.truth import Changes, FeedbackState, Truth
from hebbgraph.storage.vectors import VectorTable
from hebbgraph.tagging import lexical_terms, tokenize
from hebbgraph.typing import IntArray

__all__ = ["Derived", "derived_directory", "id_prefix"]

logger = logging.getLogger(__name__)

#: With more than one phrase entering the vocabulary for so many chunks, matching all of
#: them again costs less than asking the lexical index for each phrase.
_REMATCH_ALL_SHARE = 2


class Derived:
    """Graph and lexical index of one namespace.

    Parameters
    ----------
    truth : Truth
    directory : Path or None
        Where snapshot and lexical index lie; None keeps everything in memory.
    language : str
        Of the stemmer; see :func:`hebbgraph.tagging.lexical_terms`.
    writable : bool
    wait_seconds : float
        How long to wait for another process that works on the folder.
    with_vectors : bool
        Whether vectors are held in memory.
    approximate : bool
        Whether nearest neighbours are searched for approximately.
    """

    def __init__(
        self,
        truth: Truth,
        directory: Path | None,
        *,
        language: str,
        writable: bool,
        wait_seconds: float,
        with_vectors: bool = False,
        approximate: bool = False,
    ) -> None:
        self._truth = truth
        self._with_vectors = with_vectors
        self._approximate = approximate
        self._embedding: EmbeddingState | None = None
        self._feedback = FeedbackState()
        self._language = language
        self._directory = directory if writable else None
        self._shared = directory
        self._wait_seconds = wait_seconds
        self._folder_lock: contextlib.AbstractContextManager[object] = contextlib.nullcontext()
        if self._directory is not None:
            self._directory.mkdir(parents=True, exist_ok=True)
            self._folder_lock = FileLock(self._directory / "lock", timeout=wait_seconds)
        #: Held while the graph's arrays are read or changed; never for long.
        self.lock = threading.RLock()
        self._refreshing = threading.RLock()
        self._graph: TagGraph | None = None
        self._lexical: LexicalIndex | None = None
        self._vectors: VectorTable | None = None
        self._saved_generation = -1
        self._snapshot_is_trusted = True

    # -- what readers use -----------------------------------------------------------

    @property
    def graph(self) -> TagGraph:
        """The graph as of the last refresh."""
        if self._graph is None:
            self.refresh()
        assert self._graph is not None
        return self._graph

    @property
    def lexical(self) -> LexicalIndex:
        """The lexical index as of the last refresh."""
        if self._lexical is None:
            self.refresh()
        assert self._lexical is not None
        return self._lexical

    @property
    def vectors(self) -> VectorTable | None:
        """The vectors as of the last refresh; None if there are none, or none are asked for."""
        return self._vectors

    @property
    def has_embedding(self) -> bool:
        """Whether the truth held vectors at the last refresh."""
        return self._embedding is not None

    @property
    def embedding(self) -> EmbeddingState | None:
        """Which model the vectors were of at the last refresh."""
        return self._embedding

    @property
    def feedback(self) -> FeedbackState:
        """How far the feedback log had come at the last refresh."""
        return self._feedback

    def hold_vectors(self) -> None:
        """Hold vectors in memory from the next refresh on."""
        self._with_vectors = True

    def refresh(self) -> int:
        """Bring everything to the state of the truth; return its generation.

        An error on the way forgets what is in memory, and the next call starts from the
        snapshot. So does this one, once, when files that were open are gone or broken.
        """
        with self._refreshing:
            try:
                return self._refreshed()
            except HebbgraphError:
                raise
            except (OSError, ValueError) as error:
                logger.warning("derived parts failed (%s): reading them again", error)
                if isinstance(error, ValueError) and self._directory is not None:
                    with self._locked():  # that is how Tantivy tells of broken files
                        LexicalIndex.discard(self._directory / "lexical")
                return self._refreshed()

    def start_over(self) -> None:
        """Forget graph and lexical index, on disk too: they do not belong to this truth."""
        logger.warning("derived parts name chunks that are not there: building them anew")
        with self._refreshing:
            self._snapshot_is_trusted = False
            if self._directory is not None:
                with self._locked():
                    LexicalIndex.discard(self._directory / "lexical")
            with self.lock:
                self._graph = None
                self._lexical = None
                self._vectors = None

    def _refreshed(self) -> int:
        try:
            self._load()
            return self._catch_up()
        except BaseException:
            with self.lock:
                self._graph = None
                self._lexical = None
                self._vectors = None
            raise

    def _load(self) -> None:
        if self._graph is None:
            graph = None
            if self._shared is not None and self._snapshot_is_trusted:
                graph = load_snapshot(self._shared)
            self._saved_generation = -1 if graph is None else graph.generation
            with self.lock:
                self._graph = graph or TagGraph.empty()
        if self._lexical is None:
            self._lexical = self._open_lexical()

    def _open_lexical(self) -> LexicalIndex:
        if self._directory is not None:
            with self._locked():
                return LexicalIndex(self._directory / "lexical")
        if self._shared is not None and (self._shared / "lexical").is_dir():
            return LexicalIndex.copy_of(self._shared / "lexical")
        return LexicalIndex(None)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            with self._folder_lock:
                yield
        except Timeout as error:
            raise IndexLockedError(
                f"{self._directory}: another process worked on the derived parts for more "
                f"than {self._wait_seconds:g} s; try again, or raise write_wait_seconds"
            ) from error

    # -- one step forward -----------------------------------------------------------

    def _catch_up(self) -> int:
        assert self._graph is not None
        assert self._lexical is not None
        changes = self._truth.changes_since(self._graph.generation)
        if not changes.complete:
            logger.info("the log of changes does not reach back: building the graph anew")
            with self.lock:
                self._graph = TagGraph.empty()
            changes = self._truth.changes_since(-1)
        if changes.generation != self._graph.generation:
            if self._graph.generation == 0 and changes.generation > 1:
                logger.info("no graph snapshot: building from %d chunks", len(changes.added))
            with self._locked():
                if self._lexical.refresh() != self._graph.generation:
                    # It may have been lost, and older mentions are looked up in it.
                    self._advance_lexical(self._lexical)
                # From one start both go forward together, and text is read once.
                together = self._lexical.refresh() == self._graph.generation
                self._advance(self._graph, changes, self._lexical if together else None)
        # Not only behind: an older database may have been put back beside it.
        if self._lexical.refresh() != changes.generation:
            with self._locked():
                self._advance_lexical(self._lexical)
        self._embedding = changes.embedding
        self._feedback = changes.feedback
        if self._with_vectors and changes.embedding is not None:
            self._advance_vectors(changes.embedding)
        return changes.generation

    def _advance_vectors(self, state: EmbeddingState) -> None:
        table = self._vectors
        rows = self.graph.rows
        if table is not None and table.state == state:
            known = table.last_row
            if len(rows) and rows[-1] > known:
                with self.lock:
                    table.extend(self._truth, rows[np.searchsorted(rows, known, "right") :])
            return
        table = VectorTable.load(self._truth, state, rows[self.graph.alive])
        if self._approximate:
            saved = None
            if self._shared is not None:
                saved = ApproximateNeighbours.load(
                    self._shared, state.dimension, state.revision, state.epoch
                )
            table.use_approximate_search(saved)
        with self.lock:
            self._vectors = table

    def _advance(self, graph: TagGraph, changes: Changes, lexical: LexicalIndex | None) -> None:
        removed = graph.slots_of(changes.removed)
        first_slot = graph.n_slots
        with self.lock:
            vocabulary = graph.stage(removed, self._candidates(changes.added))
        older = np.setdiff1d(self._chunks_to_match_again(graph, *vocabulary), removed)
        tagged = TaggedChunks()
        for _ in self._matched(graph, older, tagged):
            pass
        new = self._matched(graph, np.arange(first_slot, graph.n_slots), tagged)
        if lexical is not None:
            lexical.update(
                changes.generation,
                removed=changes.removed.tolist(),
                added=((row, self._terms(passages)) for row, passages in new),
                replace=len(lexical) > 0,
            )
        else:
            for _ in new:
                pass
        with self.lock:
            graph.commit(changes.generation, removed, tagged)
            if graph.is_due_for_folding:
                self._graph = graph.folded()
        logger.debug(
            "generation %d: %d chunks added, %d removed, %d matched again",
            changes.generation,
            graph.n_slots - first_slot,
            len(removed),
            len(older),
        )

    def _candidates(self, rows: IntArray) -> Iterator[tuple[int, int, dict[str, list[str]]]]:
        for row, id_, by_kind in self._truth.candidates(rows):
            yield row, id_prefix(id_), by_kind

    def _matched(
        self, graph: TagGraph, slots: IntArray, into: TaggedChunks
    ) -> Iterator[tuple[int, tuple[list[str], list[str]]]]:
        """Match the text of each slot, and yield its row and tokens."""
        rows = graph.rows[slots]
        for row, title, text in self._truth.texts(rows):
            passages = (tokenize(title), tokenize(text))
            graph.tag(into, int(slots[np.searchsorted(rows, row)]), passages)
            yield row, passages

    def _chunks_to_match_again(
        self, graph: TagGraph, entered: list[int], left: list[int]
    ) -> IntArray:
        """Live chunks that mention a phrase that entered, or hold one that left.

        A phrase that enters may also take the place of a shorter one inside of it, and
        one that leaves may uncover one: both happen only in these chunks.
        """
        live = np.flatnonzero(graph.alive)
        if len(entered) * _REMATCH_ALL_SHARE > len(live):
            return live
        _, holding, _ = graph.chunks_of(np.array(left, dtype=np.int64))
        assert self._lexical is not None
        mentioning = [holding.astype(np.int64)]
        for number in entered:
            terms = lexical_terms(graph.phrases.keys[number].split(" "), self._language)
            mentioning.append(graph.slots_of(self._lexical.rows_with_phrase(terms)))
        return np.unique(np.concatenate(mentioning))

    def _advance_lexical(self, lexical: LexicalIndex) -> None:
        """Bring the lexical index alone to the truth; the folder is locked."""
        generation = lexical.refresh()
        changes = self._truth.changes_since(generation)
        if changes.generation == generation and changes.complete:
            return
        if not changes.complete:
            lexical.clear()
            changes = self._truth.changes_since(-1)
        texts = self._truth.texts(changes.added)
        lexical.update(
            changes.generation,
            removed=changes.removed.tolist(),
            added=(
                (row, self._terms((tokenize(title), tokenize(text)))) for row, title, text in texts
            ),
            replace=len(lexical) > 0,
        )

    def _terms(self, passages: Iterable[list[str]]) -> list[str]:
        return [term for tokens in passages for term in lexical_terms(tokens, self._language)]

    # -- keeping --------------------------------------------------------------------

    def save(self) -> None:
        """Write a snapshot of the graph, unless one as new is there."""
        if self._directory is None or self._graph is None:
            return
        with self._refreshing, self._locked():
            if self._graph is not None and self._graph.generation > self._saved_generation:
                save_snapshot(self._directory, self._graph)
                self._saved_generation = self._graph.generation
                if self._vectors is not None and self._vectors.approximate is not None:
                    state = self._vectors.state
                    self._vectors.approximate.save(self._directory, state.revision, state.epoch)

    def compact(self) -> None:
        """Drop what deleted chunks left behind, in memory and on disk."""
        with self._refreshing:
            generation = self.refresh()
            with self.lock:
                assert self._graph is not None
                self._graph = self._graph.folded()
                if self._vectors is not None:
                    self._vectors = self._vectors.kept(self._graph.rows)
                    if self._approximate:
                        self._vectors.use_approximate_search(None)
            assert self._lexical is not None
            with self._locked():
                # Rewritten whole: afterwards its statistics count live chunks alone, and
                # the terms of deleted ones are gone from the disk.
                self._lexical.clear()
                self._advance_lexical(self._lexical)
            self._saved_generation = -1
            self.save()
            logger.info("compacted generation %d", generation)

    def close(self) -> None:
        """Catch up, save, and let go of files."""
        if self._directory is not None:
            self.refresh()
        self.save()
        with self.lock:
            self._graph = None
            self._lexical = None
            self._vectors = None


def id_prefix(chunk_id: str) -> int:
    """Return the first eight bytes of an id as a number, which orders as the ids do."""
    return int.from_bytes(chunk_id.encode()[:8].ljust(8, b"\0"), "big")


def derived_directory(root: Path, namespace: str) -> Path:
    """Return where a namespace's derived parts lie below an index directory.

    The name is a hash: a namespace may hold any character, and must not name a path.
    """
    return root / "derived" / hashlib.blake2b(namespace.encode(), digest_size=10).hexdigest()
