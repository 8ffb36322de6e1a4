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
import math
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout

from hebbgraph.arrays import IntArray, unique
from hebbgraph.artifacts import make_way, remove
from hebbgraph.derived.lexical import Entry, LexicalIndex, stamp_problem
from hebbgraph.derived.neural_store import NEURAL_FILE, NeuralStore
from hebbgraph.derived.segments import damaged_files
from hebbgraph.derived.snapshot import has_snapshot, load_snapshot, save_snapshot
from hebbgraph.errors import DamagedIndexError, HebbgraphError, IndexLockedError
from hebbgraph.graph.tag_graph import TaggedChunks, TagGraph, VocabularyChange
from hebbgraph.protocols import VectorSearchFactory, VectorSearchName
from hebbgraph.store.embeddings import EmbeddingState
from hebbgraph.store.history import NEVER, Commit
from hebbgraph.store.leftovers import sweep
from hebbgraph.store.truth import Changes, FeedbackState, Truth
from hebbgraph.text import lexical_terms
from hebbgraph.text.reader import TextReader, TokenizedTexts
from hebbgraph.vectors.file import VectorFile
from hebbgraph.vectors.searches import search_factory
from hebbgraph.vectors.table import VectorTable

__all__ = ["Derived", "derived_directory", "id_prefix"]

logger = logging.getLogger(__name__)

#: With more than one phrase entering the vocabulary for so many chunks, matching all of
#: them again costs less than asking the lexical index for each phrase.
_REMATCH_ALL_SHARE = 2
_PAGE = 500  # texts that are matched together
#: After so many in vain, the fault lies with the truth.
_MOST_REBUILDS = 2


class _FolderLockedError(IndexLockedError):
    """Another process works on the derived parts."""


class Derived:
    """Graph and lexical index of one namespace.

    Parameters
    ----------
    truth : Truth
    directory : Path or None
        Where snapshot and lexical index lie; None keeps everything in memory.
    language : str
        Of the stemmer; see :func:`hebbgraph.text.lexical_terms`.
    writable : bool
    wait_seconds : float
        How long to wait for another process that works on the folder.
    with_vectors : bool
        Whether vectors are held in memory.
    vector_search : {"exact", "quantized", "ivf"} or callable
        How nearest neighbours are found.
    older : Path, optional
        Where versions before this one kept them; what lies there goes.
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
        vector_search: VectorSearchName | VectorSearchFactory = "exact",
        older: Path | None = None,
    ) -> None:
        self._truth = truth
        if with_vectors:
            search_factory(vector_search)  # a missing library is told at once
        self._with_vectors = with_vectors
        self._vector_search = vector_search
        self._embedding: EmbeddingState | None = None
        self._feedback = FeedbackState()
        self._language = language
        self._directory = directory if writable else None
        #: What was found broken and built anew.
        self.repairs: list[str] = []
        self._shared = directory
        self._wait_seconds = wait_seconds
        self._folder_lock: contextlib.AbstractContextManager[object] = contextlib.nullcontext()
        if self._directory is not None:
            if make_way(self._directory / "lock", for_file=True):
                self.repairs.append("something else lay where derived parts belong")
            self._folder_lock = FileLock(self._directory / "lock", timeout=wait_seconds)
        self._replaced_older = self._directory is not None and _replace_older(
            older, self._directory
        )
        #: Held while the graph's arrays are read or changed; never for long.
        self.lock = threading.RLock()
        self._refreshing = threading.RLock()
        self._graph: TagGraph | None = None
        self._lexical: LexicalIndex | None = None
        self._vectors: VectorTable | None = None
        self._reader: TextReader | None = None
        self._saved = NEVER
        self._snapshot_is_trusted = True
        #: What a reader has: that of the last step that was taken as a whole.
        self._commit = NEVER
        self._vectors_are_counted = False
        #: At which commit what is derived was found to be wrong, and how often.
        self._mistrusted = (NEVER, 0)
        self._readers_lag = False
        #: What NAKG has learned, if it was trained.
        self.neural = NeuralStore(directory, writable=writable, knows=truth.history.knows)

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

    def term_weights(self, terms: Sequence[str]) -> list[tuple[str, float]]:
        """Return each term with ``log(1 + N / df)``; the caller holds the lock."""
        df, n = self.lexical.document_frequency, max(self.graph.n_chunks, 1)
        return [(term, math.log1p(n / max(df(term), 1))) for term in terms]

    def hold_vectors(self) -> None:
        """Hold vectors in memory from the next refresh on."""
        self._with_vectors = True

    @property
    def commit(self) -> Commit:
        """The commit that the graph stands for; the caller holds the lock."""
        return _commit_of(self.graph)

    @property
    def readers_lag(self) -> bool:
        """Whether some reader was given less than the truth held since the last refresh."""
        return self._readers_lag

    def keep_up(self) -> int:
        """Refresh for a reader: as far as any write was acknowledged, and no further.

        While a call of this process adds many batches, its other threads go on with what
        they have, instead of waiting for the next step or taking it on themselves.
        """
        if (current := self._current()) is not None:
            return current
        with self._refreshing:
            if (current := self._current()) is not None:  # another thread did it
                return current
            try:
                return self.refresh()
            except _FolderLockedError as error:
                if self._graph is None:
                    raise
                logger.warning("an older generation answers: %s", error)
                return self._commit.generation

    def _current(self) -> int | None:
        """Return the generation that is held, if it is new enough for a reader."""
        state = self._truth.state()
        needed = self._truth.acknowledged(state.commit)
        held, newest = self._commit, state.commit.generation
        if self._graph is None or self._lexical is None:
            return None
        if not needed <= held.generation <= newest:
            return None
        if held.generation == newest and held != state.commit:
            return None  # the same number, in another history
        if not self._lexical.is_there or (
            self._with_vectors and state.embedding != self._embedding
        ):
            return None
        self._embedding = state.embedding
        self._feedback = state.feedback
        self._readers_lag |= held.generation < newest
        return held.generation

    @contextlib.contextmanager
    def held(
        self, before: Callable[[], object] | None = None, *, at_least: int | None = None
    ) -> Iterator[int]:
        """Hold everything still for a reader, and yield the generation.

        Parts that another thread has let go of meanwhile are loaded first, and without
        the lock: whoever refreshes takes it last. ``before`` is called after that, and
        before the lock is taken. With ``at_least``, what is in memory will do if it is of
        that generation or a later one, and the truth is not asked.
        """
        if at_least is not None:
            with self.lock:
                there = self._graph is not None and self._lexical is not None
                if there and self._commit.generation >= at_least:
                    yield self._commit.generation
                    return
        while True:
            generation = self.keep_up()
            if before is not None:
                before()
            with self.lock:
                if self._graph is not None and self._lexical is not None:
                    yield generation
                    return

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
                self.repairs.append(f"derived parts failed while open: {error}")
                if isinstance(error, ValueError) and self._directory is not None:
                    with self._locked():  # that is how Tantivy tells of broken files
                        LexicalIndex.discard(self._directory / "lexical")
                return self._refreshed()

    def mistrust(self) -> None:
        """Start over, since what is derived names chunks that cannot be read.

        Raises
        ------
        DamagedIndexError
            If that helped nothing twice: the truth itself lists what it does not hold.
        """
        commit = self._truth.state().commit
        times = self._mistrusted[1] if self._mistrusted[0] == commit else 0
        if times == _MOST_REBUILDS:
            raise DamagedIndexError(
                f"{self._truth.database.place}: the database lists chunks that it cannot read, "
                f"and building everything derived anew has not helped; hebbgraph doctor "
                "tells how many: restore a backup, or delete and add them again"
            )
        self._mistrusted = commit, times + 1
        self.start_over()

    def start_over(self) -> None:
        """Forget graph and lexical index, on disk too: they do not belong to this truth."""
        logger.warning("derived parts name chunks that are not there: building them anew")
        self.repairs.append("derived parts did not belong to this truth")
        with self._refreshing:
            self._snapshot_is_trusted = False
            if self._directory is not None:
                with self._locked():
                    LexicalIndex.discard(self._directory / "lexical")
                    VectorFile.discard(self._directory)
            with self.lock:
                self._graph = None
                self._lexical = None
                self._vectors = None

    def _refreshed(self) -> int:
        try:
            self._load()
            self._readers_lag = False
            self._commit = self._catch_up()
            self._truth.text_store.forget(self._commit.generation)
            return self._commit.generation
        except _FolderLockedError:
            raise  # nothing was begun: what is held is whole
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
                if graph is None and has_snapshot(self._shared):
                    self.repairs.append("the graph's snapshot was damaged, or of another version")
            self._saved = NEVER if graph is None else _commit_of(graph)
            with self.lock:
                self._graph = graph or TagGraph.empty()
        if self._lexical is None:
            self._lexical = self._open_lexical()

    def _open_lexical(self) -> LexicalIndex:
        if self._directory is not None:
            with self._locked():
                opened = self._lexical_index(self._directory / "lexical")
            if opened.damage is not None:
                self.repairs.append(f"the lexical index was damaged: {opened.damage}")
            return opened
        if self._shared is not None and (self._shared / "lexical").is_dir():
            return LexicalIndex.copy_of(
                self._shared / "lexical", positions=self._truth.text_store.here
            )
        return self._lexical_index(None)

    def _lexical_index(self, directory: Path | None) -> LexicalIndex:
        # Terms with their positions are the text, all but its endings.
        return LexicalIndex(directory, positions=self._truth.text_store.here)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            with self._folder_lock:
                yield
        except Timeout as error:
            raise _FolderLockedError(
                f"{self._directory}: another process worked on the derived parts for more "
                f"than {self._wait_seconds:g} s; try again, or raise write_wait_seconds"
            ) from error

    # -- one step forward -----------------------------------------------------------

    def _catch_up(self) -> Commit:
        assert self._graph is not None
        assert self._lexical is not None
        changes = self._truth.changes_since(_commit_of(self._graph))
        if not changes.complete:
            self._begin_anew()
            changes = self._truth.changes_since(NEVER)
        commit = changes.commit
        if commit != _commit_of(self._graph):
            if self._replaced_older or (self._graph.generation == 0 and commit.generation > 1):
                why = "derived parts of an older version" if self._replaced_older else "no snapshot"
                logger.info("%s: building the graph from %d chunks", why, len(changes.added))
                self._replaced_older = False
            with self._locked():
                if self._lexical.refresh(alone=True) != _commit_of(self._graph):
                    # It may have been lost, and older mentions are looked up in it.
                    self._advance_lexical(self._lexical)
                # From one start both go forward together, and text is read once.
                together = self._lexical.refresh() == _commit_of(self._graph)
                self._advance(self._graph, changes, self._lexical if together else None)
        # Not only behind: an older database may have been put back beside it.
        if self._lexical.refresh() != commit:
            with self._locked():
                self._advance_lexical(self._lexical)
        self._embedding = changes.embedding
        self._feedback = changes.feedback
        if self._with_vectors and changes.embedding is not None:
            self._advance_vectors(changes.embedding, commit)
        return commit

    def _repaired(self, problem: str) -> None:
        """Note down what was found wrong, and is built anew from the truth."""
        logger.warning("%s: building it anew", problem)
        self.repairs.append(problem)

    def _begin_anew(self) -> None:
        """Forget the graph, for no small steps lead on from it."""
        assert self._graph is not None
        if self._truth.history.knows(_commit_of(self._graph)):
            logger.info("the log of changes does not reach back: building the graph anew")
        else:
            self._repaired("the graph was of another history of the database")
            self._truth.history.breaks += 1
        with self.lock:
            self._graph = TagGraph.empty()
            self._vectors = None

    def _advance_vectors(self, state: EmbeddingState, commit: Commit) -> None:
        table, rows = self._vectors, self.graph.rows
        if table is not None and table.state == state:
            if not len(rows) or rows[-1] <= table.last_row:
                self._check_count(table, commit)
                return
            with self._locked(), self.lock:
                goes_on = table.extend(self._truth, rows, commit)
            if goes_on:
                if (search := table.rebuilt_search()) is not None:
                    with self.lock:
                        table.use(search)
                self._check_count(table, commit)
                return
        self._vectors_are_counted = False
        table = self._loaded_vectors(state, commit)
        with self.lock:
            self._vectors = table
        self._check_count(table, commit)

    def _loaded_vectors(self, state: EmbeddingState, commit: Commit) -> VectorTable:
        rows, knows = self.graph.rows, self._truth.history.knows
        if self._directory is not None:
            with self._locked():
                file = VectorFile(self._directory, state, knows)
                if file.problem is not None:
                    self.repairs.append(f"the vectors' files were {file.problem}")
                table = VectorTable.load(self._truth, state, rows, file, commit)
        else:
            table = VectorTable.load(self._truth, state, rows[self.graph.alive])
        table.search_by(self._vector_search, self._shared, knows)
        return table

    def _check_count(self, table: VectorTable, commit: Commit) -> None:
        """Count what was read from files against the truth, once; read it anew if need be.

        Where another process commits in between, the next refresh does it.
        """
        if self._vectors_are_counted or self._directory is None:
            return
        expected = self._truth.embeddings.count_vectors(table.state.epoch, commit)
        if expected is None:
            return
        self._vectors_are_counted = True
        live = self.graph.rows[self.graph.alive]
        held = int(np.count_nonzero(np.isin(live, table.rows, assume_unique=True)))
        if held == expected:
            return
        self._repaired(f"{held} vectors were held, and {expected} expected")
        with self._locked():
            VectorFile.discard(self._directory)
        table = self._loaded_vectors(table.state, commit)
        with self.lock:
            self._vectors = table

    def _advance(self, graph: TagGraph, changes: Changes, lexical: LexicalIndex | None) -> None:
        removed = graph.slots_of(changes.removed)
        first_slot = graph.n_slots
        vocabulary = graph.stage(removed, self._candidates(changes.added), lock=self.lock)
        tagged = TaggedChunks()
        n_older = self._match_older(graph, removed, vocabulary, tagged)
        fresh = np.arange(first_slot, graph.n_slots)
        new = self._matched(graph, fresh, tagged, terms=lexical is not None)
        if lexical is not None:
            lexical.update(
                changes.commit,
                removed=changes.removed.tolist(),
                added=new,
                replace=len(lexical) > 0,
            )
        else:
            for _ in new:
                pass
        incidence = graph.incidence_after(removed, tagged)
        with self.lock:
            graph.commit(changes.commit.generation, removed, incidence, mark=changes.commit.mark)
        if graph.is_due_for_folding:
            self._fold(graph)
        logger.debug(
            "generation %d: %d chunks added, %d removed, %d matched again",
            changes.commit.generation,
            graph.n_slots - first_slot,
            len(removed),
            n_older,
        )

    def _match_older(
        self, graph: TagGraph, removed: IntArray, change: VocabularyChange, into: TaggedChunks
    ) -> int:
        """Match again the chunks that the vocabulary has changed for; return how many."""
        found = self._chunks_to_match_again(graph, *change)
        older = np.setdiff1d(found, removed, assume_unique=True)
        for _ in self._matched(graph, older, into):
            pass
        return len(older)

    def _fold(self, graph: TagGraph) -> None:
        """Make new base arrays; readers have the old ones until they are ready."""
        folded = graph.folded()
        with self.lock:
            self._graph = folded

    def _candidates(self, rows: IntArray) -> Iterator[tuple[int, int, dict[str, list[str]]]]:
        for row, id_, by_kind in self._truth.candidates(rows):
            yield row, id_prefix(id_), by_kind

    def _matched(
        self, graph: TagGraph, slots: IntArray, into: TaggedChunks, *, terms: bool = False
    ) -> Iterator[Entry]:
        """Match the text of each slot; yield its entry, if that is asked for."""
        rows = graph.rows[slots]
        for there, read, entries in self._read(graph, rows, terms=terms):
            graph.tag(into, slots[np.searchsorted(rows, there)], read)
            yield from entries

    def _read(
        self, graph: TagGraph, rows: IntArray, *, terms: bool
    ) -> Iterator[tuple[IntArray, TokenizedTexts, list[Entry]]]:
        """Read the texts of rows a page at a time; those that are gone are left out.

        With ``terms``, also what the lexical index is to hold of them.
        """
        reader = self._reader = graph.phrases.reader(self._language, self._reader)
        texts: Iterator[tuple[Any, ...]] = (
            self._truth.texts_and_facts(rows) if terms else self._truth.texts(rows)
        )
        while page := list(islice(texts, _PAGE)):
            there = [row for row, *_ in page]
            read = reader.read([(title, text) for _, title, text, *_ in page], terms=terms)
            entries = []
            if terms:
                facts = (told for *_, told in page)
                entries = list(map(Entry, there, read.terms, facts))
            yield np.array(there, dtype=np.int64), read, entries

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
        return unique(np.concatenate(mentioning))

    def _advance_lexical(self, lexical: LexicalIndex, *, instead: bool = False) -> None:
        """Bring the lexical index alone to the truth, or make it anew; the folder is locked."""
        commit = NEVER if instead else lexical.refresh(alone=True)
        changes = self._truth.changes_since(commit)
        if changes.commit == commit and changes.complete:
            return
        if not instead and commit == NEVER:
            self._repaired("the files of the lexical index were not those of its stamp")
        elif not instead and not changes.complete and not self._truth.history.knows(commit):
            self._repaired("the lexical index was of another history of the database")
        instead = instead or not changes.complete  # then these are all there are
        assert self._graph is not None
        pages = self._read(self._graph, changes.added, terms=True)
        lexical.update(
            changes.commit,
            removed=changes.removed.tolist(),
            added=(one for _, _, entries in pages for one in entries),
            replace=len(lexical) > 0,
            instead=instead,
        )

    # -- on disk ----------------------------------------------------------------------

    def snapshot_problems(self) -> list[str]:
        """Tell what is wrong with the snapshot's files."""
        if self._shared is None or not has_snapshot(self._shared):
            return []
        return [] if load_snapshot(self._shared) is not None else ["damaged or of another version"]

    def lexical_problems(self) -> list[str]:
        """Tell what is wrong with the files of the lexical index."""
        if self._shared is None or not (self._shared / "lexical").is_dir():
            return []
        with self._locked():
            if problem := stamp_problem(self._shared / "lexical"):
                return [problem]
            damaged = damaged_files(self._shared / "lexical")
        return [f"damaged: {', '.join(damaged)}"] if damaged else []

    def filed_vectors(self) -> tuple[VectorTable | None, str | None]:
        """Return the vectors that lie in files, and what is wrong with those files.

        For a process that holds none itself. None if there are none, or those of a model
        that has gone.
        """
        if self._shared is None or self._embedding is None:
            return None, None
        file = VectorFile(self._shared, self._embedding, self._truth.history.knows)
        return (VectorTable.of(file, self._embedding) if file.name else None), file.problem

    # -- keeping --------------------------------------------------------------------

    def save(self) -> None:
        """Write a snapshot of the graph, unless one as new is there."""
        if self._directory is None or self._graph is None:
            return
        with self._refreshing, self._locked():
            if self._graph is not None and _commit_of(self._graph) != self._saved:
                save_snapshot(self._directory, self._graph)
                self._saved = _commit_of(self._graph)
                if self._vectors is not None:
                    self._vectors.save_search(self._directory)

    def compact(self) -> None:
        """Drop what deleted chunks left behind, in memory and on disk."""
        with self._refreshing:
            generation = self.refresh()
            # Readers have the old ones until the new ones are ready.
            assert self._graph is not None
            graph, vectors = self._graph.folded(), self._vectors
            with self._locked():
                if self._directory is not None:
                    # Nobody else writes here now; what is needed of these is made again.
                    sweep(self._directory)
                    VectorTable.discard_search(self._directory)
                    if vectors is None:  # without an embedder, nobody here would rewrite them
                        VectorFile.discard(self._directory)
                if vectors is not None:
                    vectors = vectors.kept(graph.rows, _commit_of(graph))
                # Rewritten whole: afterwards its statistics count live chunks alone, and
                # the terms of deleted ones are gone from the disk.
                lexical = self._lexical_index(
                    None if self._directory is None else self._directory / "lexical"
                )
                self._advance_lexical(lexical, instead=True)
            with self.lock:
                self._graph, self._vectors, self._lexical = graph, vectors, lexical
            self._saved = NEVER
            self.save()
            logger.info("compacted generation %d", generation)

    def close(self) -> None:
        """Catch up, save, and let go of files."""
        if self._directory is not None:
            # Under the lock: a snapshot of before must not follow on another one's compaction.
            with self._refreshing, self._locked():
                self.refresh()
                self.save()
        with self.lock:
            self._graph = None
            self._lexical = None
            self._vectors = None


def _commit_of(graph: TagGraph) -> Commit:
    return Commit(graph.generation, graph.mark)


def id_prefix(chunk_id: str) -> int:
    """Return the first eight bytes of an id as a number, which orders as the ids do."""
    return int.from_bytes(chunk_id.encode()[:8].ljust(8, b"\0"), "big")


def _replace_older(older: Path | None, directory: Path) -> bool:
    """Remove what an older version left, but for what was trained; tell if there was any."""
    if older is None or not older.is_dir():
        return False
    with contextlib.suppress(OSError):
        os.replace(older / NEURAL_FILE, directory / NEURAL_FILE)
    remove(older)
    return True


def derived_directory(root: Path, namespace: str, database_id: str = "") -> Path:
    """Return where a namespace's derived parts lie below an index directory.

    The name is a hash: a namespace may hold any character, and must not name a path.
    Without the id of the database, where versions before there was one kept them.
    """
    named = f"{database_id}/{namespace}" if database_id else namespace
    return root / "derived" / hashlib.blake2b(named.encode(), digest_size=10).hexdigest()
