"""The derived parts of one namespace: held, locked, kept fresh and saved.

Each process holds the graph in memory; its snapshot, the lexical index and the vectors lie
in one folder that all processes of a machine share. A process that finds the truth ahead of
its graph takes the missing steps; one that finds it ahead of the lexical index locks the
folder and brings that forward too. So a process that dies between two steps leaves nothing
to repair that the next one would not do anyway.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from hebbgraph.arrays import IntArray
from hebbgraph.derived.folder import Folder, FolderLockedError
from hebbgraph.derived.lexical import LexicalIndex, LexicalRow
from hebbgraph.derived.lexical_faults import DerivedDamageError, LexicalDamageError
from hebbgraph.derived.snapshot import has_snapshot, load_snapshot, save_snapshot
from hebbgraph.derived.steps import Steps
from hebbgraph.derived.vector_steps import VectorSteps
from hebbgraph.errors import DamagedIndexError, DiskFullError, HebbgraphError, StorageError
from hebbgraph.graph.corrections import CorrectedGraph
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.protocols import VectorSearchFactory, VectorSearchName
from hebbgraph.records import TagCorrection
from hebbgraph.store.database import is_full, translate_os, translated_os
from hebbgraph.store.embeddings import EmbeddingState
from hebbgraph.store.history import NEVER, Commit
from hebbgraph.store.state import FeedbackState
from hebbgraph.store.truth import Truth
from hebbgraph.store.unfinished import sweep
from hebbgraph.vectors.file import VectorFile
from hebbgraph.vectors.searches import search_factory
from hebbgraph.vectors.table import VectorTable

__all__ = ["Derived"]

logger = logging.getLogger(__name__)

_R = TypeVar("_R")

#: If so many rebuilds at one commit have not helped, the truth itself is damaged.
_MOST_REBUILDS = 2
#: How often a refresh starts over when files that were open are gone or broken.
_ATTEMPTS = 3


class _Rebuilds:
    """How often parts were built anew at one commit."""

    def __init__(self) -> None:
        self._commit, self._times = NEVER, 0

    def may_help(self, commit: Commit) -> bool:
        """Count one more; False if at this commit so many have not helped."""
        self._times = self._times + 1 if commit == self._commit else 1
        self._commit = commit
        return self._times <= _MOST_REBUILDS


class _Corrected(NamedTuple):
    """A corrected graph, and what it was made from."""

    base: TagGraph
    generation: int
    corrections: tuple[TagCorrection, ...]
    graph: CorrectedGraph


class Derived:
    """Graph, lexical index and vectors of one namespace.

    Parameters
    ----------
    truth : Truth
    directory : Path or None
        The shared folder; None keeps everything in memory.
    language : str
        The stemmer's; see :func:`hebbgraph.text.lexical_terms`.
    writable : bool
    wait_seconds : float
        How long to wait for another process that works on the folder.
    with_vectors : bool
        Whether vectors are held.
    vector_search : {"exact", "quantized", "ivf"} or callable
    older : Path, optional
        Where earlier versions kept them; it is removed.
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
            search_factory(vector_search)  # so that a missing library raises at once
        self._with_vectors, self._wait_seconds = with_vectors, wait_seconds
        #: The model of the vectors in the truth, and the state of its feedback log, as of the
        #: last refresh.
        self.embedding: EmbeddingState | None = None
        self.feedback = FeedbackState()
        #: What was found broken and rebuilt.
        self.repairs: list[str] = []
        place = truth.database.place
        folder = Folder(directory, writable=writable, wait_seconds=wait_seconds, place=place)
        if folder.was_blocked:
            self.repairs.append("something else lay where derived parts belong")
        self._shared, self._directory = folder.shared, folder.directory
        #: Whether the disk had no room for what is derived.
        self._is_crowded_out = False
        #: Returns the lock that keeps other processes from working on the folder.
        self.locked: Callable[[], AbstractContextManager[object]] = folder.locked
        #: The folder of the parts, if there is one.
        self.directory = directory
        #: Where the parts lie, for messages.
        self.place = folder.place
        self._replaced_older = folder.replace(older)
        #: Held while arrays are read or changed; never for long.
        self.lock = threading.RLock()
        self._refreshing = threading.RLock()
        self._graph: TagGraph | None = None
        #: Corrections to tags, as of the last refresh, and the rows of the chunks they name.
        self.corrections: tuple[TagCorrection, ...] = ()
        self._rows_of_corrections: dict[str, int] = {}
        self._corrected: _Corrected | None = None
        self._lexical: LexicalIndex | None = None
        self._vectors: VectorTable | None = None
        self._steps = Steps(truth, language, self.lock, self._repaired)
        self._vector_steps = VectorSteps(
            truth,
            self._directory,
            self._shared,
            search=vector_search,
            lock=self.lock,
            locked=self.locked,
            repairs=self.repairs,
        )
        self._saved = self._saved_ahead = NEVER
        self._snapshot_is_trusted = True
        #: The commit that readers see: that of the last complete refresh.
        self._commit = NEVER
        self._rebuilds, self._lexical_rebuilds = _Rebuilds(), _Rebuilds()
        #: Whether some reader saw less than the truth held since the last refresh.
        self.readers_lag = False

    # -- what readers use -----------------------------------------------------------

    @property
    def graph(self) -> TagGraph:
        """The graph as of the last refresh, read through corrections to its tags."""
        if self._graph is None:
            self.refresh()
        assert self._graph is not None
        return self._corrected_graph(self._graph) if self.corrections else self._graph

    def _corrected_graph(self, graph: TagGraph) -> TagGraph:
        with self.lock:
            held = self._corrected
            fits = held is not None and (held.base, held.generation) == (graph, graph.generation)
            if held is None or not fits or held.corrections is not self.corrections:
                corrected = CorrectedGraph(graph, self.corrections, self._rows_of_corrections)
                held = _Corrected(graph, graph.generation, self.corrections, corrected)
                self._corrected = held
            return held.graph

    @property
    def lexical(self) -> LexicalIndex:
        """The lexical index as of the last refresh."""
        if self._lexical is None:
            self.refresh()
        assert self._lexical is not None
        return self._lexical

    @property
    def vectors(self) -> VectorTable | None:
        """The vectors as of the last refresh; None if there are none, or they are not held."""
        return self._vectors

    def term_weights(self, terms: Sequence[str]) -> list[tuple[str, float]]:
        """Return each term with ``log(1 + N / df)``; the caller holds the lock."""
        df, n = self.lexical.document_frequency, max(self.graph.n_chunks, 1)
        return [(term, math.log1p(n / max(df(term), 1))) for term in terms]

    def ids(self, rows: IntArray) -> list[str]:
        """Return the id of each row; empty if it is gone."""
        held = self._truth.ids(np.unique(rows).tolist())
        return [held.get(row, "") for row in rows.tolist()]

    def hold_vectors(self) -> None:
        """Hold vectors from the next refresh on."""
        self._with_vectors = True

    @property
    def commit(self) -> Commit:
        """The commit of the graph; the caller holds the lock."""
        return _commit_of(self.graph)

    def keep_up(self) -> int:
        """Refresh for a reader: up to the last acknowledged write, and no further.

        While a call of this process adds many batches, its other threads continue with what
        they have instead of waiting for the next step or taking it themselves.
        """
        if (current := self._current()) is not None:
            return current
        with self._refreshing:
            if (current := self._current()) is not None:  # another thread did it
                return current
            try:
                return self.refresh()
            except FolderLockedError as error:
                if self._graph is None or self._lexical is None:  # there is nothing to answer with
                    raise
                logger.warning("an older generation answers: %s", error)
                return self._commit.generation

    def _current(self) -> int | None:
        """Return the generation held, if it is new enough for a reader."""
        state = self._truth.state()
        needed = self._truth.acknowledged(state.commit)
        held, newest = self._commit, state.commit.generation
        if self._graph is None or self._lexical is None:
            return None
        if not needed <= held.generation <= newest:
            return None
        if held.generation == newest and held != state.commit:
            return None  # the same number, in another history
        if not self._lexical.is_there or (self._with_vectors and state.embedding != self.embedding):
            return None
        self.embedding = state.embedding
        self.feedback = state.feedback
        self.readers_lag |= held.generation < newest
        return held.generation

    @contextlib.contextmanager
    def held(
        self, before: Callable[[], object] | None = None, *, at_least: int | None = None
    ) -> Iterator[int]:
        """Keep everything unchanged for a reader, and yield the generation.

        Parts that another thread has dropped meanwhile are loaded first, without the lock:
        a refresh takes it last. ``before`` is called after that and before the lock is
        taken. With ``at_least``, parts in memory of that generation or a later one will do,
        and the truth is not asked.
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

        An error drops what is in memory, and the next call starts from the snapshot. So
        does this one, once, if files that were open are gone or broken.
        """
        with self._refreshing:
            last = range(_ATTEMPTS)[-1]
            for attempt in range(_ATTEMPTS):
                try:
                    return self._refreshed()
                except LexicalDamageError as error:
                    if attempt == last:
                        raise
                    self.discard_lexical(str(error))
                except (HebbgraphError, OSError) as error:
                    if self._directory is not None and is_full(error):
                        self._leave_disk()
                        return self.refresh()
                    # A file that was open may be gone; anything else may pass, once.
                    if isinstance(error, HebbgraphError):
                        raise
                    if attempt:
                        raise translate_os(error, self.place) from error
                    logger.warning("derived parts failed (%s): reading them again", error)
                    self.repairs.append(f"derived parts failed while open: {error}")
                except (ValueError, LookupError) as error:  # arrays that do not fit together
                    if attempt == last:
                        raise StorageError(
                            f"{self.place}: derived parts can be neither read nor built: {error}"
                        ) from error
                    self.discard_lexical(f"derived parts failed while open: {error}")
                    self._snapshot_is_trusted = False
            raise AssertionError("unreachable")

    def _leave_disk(self) -> None:
        """Keep in memory what is derived from now on: there is no room for it."""
        told = "%s: no space left, so derived parts are kept in memory until the index is reopened"
        logger.warning(told, self.place)
        self._directory, self._is_crowded_out = None, True
        self.locked = self._vector_steps.locked = contextlib.nullcontext
        self._vector_steps.directory = None

    @property
    def in_memory(self) -> bool:
        """Whether nothing is kept on disk."""
        return self._directory is None

    def mending(self, search: Callable[[], _R]) -> _R:
        """Search, and once more on parts built anew where they turn out to be damaged.

        Raises
        ------
        DerivedDamageError
            If that has not helped at this commit.
        DamagedIndexError
            If the truth itself lists chunks that it does not hold.
        """
        while True:
            try:
                return search()
            except DerivedDamageError as error:
                is_lexical = isinstance(error, LexicalDamageError)
                rebuilds = self._lexical_rebuilds if is_lexical else self._rebuilds
                if rebuilds.may_help(self._truth.state().commit):
                    self.discard_lexical(str(error)) if is_lexical else self.start_over()
                elif is_lexical:
                    raise
                else:
                    raise DamagedIndexError(
                        f"{self._truth.database.place}: the database lists chunks that it cannot "
                        "read, and rebuilding derived parts has not helped; hebbgraph doctor "
                        "tells how many: restore a backup, or delete and add them again"
                    ) from error

    def discard_lexical(self, problem: str) -> None:
        """Drop the lexical index, on disk too: the next refresh builds it from the truth."""
        logger.warning("%s: building the lexical index anew", problem)
        self.repairs.append(problem)
        with self._refreshing:
            if self._directory is not None:
                with self.locked():
                    LexicalIndex.discard(self._directory / "lexical")
            with self.lock:
                self._lexical = None

    def start_over(self, why: str = "derived parts did not belong to this truth") -> None:
        """Drop all parts, on disk too."""
        logger.warning("%s: rebuilding them", why)
        self.repairs.append(why)
        with self._refreshing:
            self._snapshot_is_trusted = False
            if self._directory is not None:
                with translated_os(self.place), self.locked():
                    LexicalIndex.discard(self._directory / "lexical")
                    VectorFile.discard(self._directory)
            self._drop()

    def _refreshed(self) -> int:
        try:
            self._load()
            self.readers_lag = False
            self._commit = self._catch_up()
            self._truth.text_store.forget(self._commit.generation)
            return self._commit.generation
        except FolderLockedError:
            raise  # nothing has changed
        except BaseException:
            self._drop()
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
            self._lexical = self._opened_lexical()

    def _opened_lexical(self) -> LexicalIndex:
        """Open the lexical index, or a private copy where it may not be written."""
        if self._directory is not None:
            with self.locked():
                opened = self._written_lexical()
            if opened.damage is not None:
                self.repairs.append(f"the lexical index was damaged: {opened.damage}")
            return opened
        there = self._shared is not None and (self._shared / "lexical").is_dir()
        if self._shared is not None and there and not self._is_crowded_out:
            positions = self._truth.text_store.here
            return LexicalIndex.copy_of(self._shared / "lexical", positions=positions)
        return self._written_lexical()

    def _written_lexical(self) -> LexicalIndex:
        where = None if self._directory is None else self._directory / "lexical"
        # With positions, terms are the text, all but its endings.
        return LexicalIndex(where, positions=self._truth.text_store.here)

    # -- one step forward -----------------------------------------------------------

    def _catch_up(self) -> Commit:
        assert self._graph is not None
        assert self._lexical is not None
        lexical = self._lexical
        changes = self._truth.changes_since(_commit_of(self._graph))
        if not changes.complete and self._take_saved():
            changes = self._truth.changes_since(_commit_of(self._graph))
        if not changes.complete:
            self._restart_graph()
            changes = self._truth.changes_since(NEVER)
        graph, commit = self._graph, changes.commit
        if commit != _commit_of(graph):
            if self._replaced_older or (graph.generation == 0 and commit.generation > 1):
                why = "derived parts of an older version" if self._replaced_older else "no snapshot"
                logger.info("%s: building the graph from %d chunks", why, len(changes.added))
                self._replaced_older = False
            with self.locked():
                if lexical.refresh(alone=True) != _commit_of(graph):
                    # It may have been lost, and older mentions are looked up in it.
                    self._steps.advance_lexical(graph, lexical)
                # From one commit both go forward together, and text is read once.
                both = lexical.refresh() == _commit_of(graph)
                self._steps.advance_graph(graph, changes, lexical, both=both)
            if graph.is_due_for_folding:
                folded = graph.folded()  # readers have the old arrays until these are ready
                with self.lock:
                    self._graph = folded
        if commit != self._commit:
            self._read_corrections()
        # The index may also be ahead, when an older database was put back beside it.
        if lexical.refresh() != commit:
            with self.locked():
                self._steps.advance_lexical(self.graph, lexical)
        _, self.embedding, self.feedback, _ = changes.state
        if self._with_vectors and self.embedding is not None:
            vectors = self._vector_steps.advance(self._vectors, self.graph, self.embedding, commit)
            with self.lock:
                self._vectors = vectors
        return commit

    def _read_corrections(self) -> None:
        corrections = self._truth.corrections.all()
        rows = self._truth.rows_of({id_ for one in corrections for id_ in one.chunks})
        with self.lock:
            if corrections != self.corrections:  # else the same tuple, which others compare
                self.corrections = corrections
            self._rows_of_corrections, self._corrected = rows, None

    def _repaired(self, problem: str) -> None:
        """Record what was found wrong and is rebuilt from the truth."""
        logger.warning("%s: rebuilding it", problem)
        self.repairs.append(problem)

    def _take_saved(self) -> bool:
        """Take the graph that another process has saved since, as one that compacts does."""
        assert self._graph is not None
        saved = None
        if self._shared is not None and self._snapshot_is_trusted:
            saved = load_snapshot(self._shared)
        if saved is None or saved.generation <= self._graph.generation:
            return False
        if not self._truth.history.knows(_commit_of(self._graph)):
            return False  # a database was put back, and what is saved may be of another
        self._saved = _commit_of(saved)
        with self.lock:
            self._graph, self._vectors = saved, None
        return True

    def _restart_graph(self) -> None:
        """Drop the graph, as no steps lead on from it."""
        assert self._graph is not None
        if self._truth.history.knows(_commit_of(self._graph)):
            logger.info("the log of changes does not reach back: rebuilding the graph")
        else:
            self._repaired("the graph was of another history of the database")
            self._truth.history.breaks += 1
        with self.lock:
            self._graph = TagGraph.empty()
            self._vectors = None

    def save_ahead(self, graph: TagGraph) -> None:
        """Write the snapshot of a graph that is about to be adopted, if it is of the truth."""
        if self._directory is None:
            return
        with translated_os(self.place), self._refreshing, self.locked():
            if self._truth.state().commit == _commit_of(graph):
                save_snapshot(self._directory, graph)
                self._saved_ahead = _commit_of(graph)

    def adopt(
        self, graph: TagGraph, segments: Sequence[Path], rows: Callable[[], Iterable[LexicalRow]]
    ) -> bool:
        """Take over a graph and a lexical index that were built elsewhere.

        Parameters
        ----------
        graph : TagGraph
        segments : sequence of Path
            Lexical indexes whose segments together are that of the graph's commit.
        rows : callable
            Returns the same as rows, for an index in memory.

        Returns
        -------
        bool
            Whether they are of the truth's present commit; otherwise nothing has changed.
        """
        with translated_os(self.place), self._refreshing, self.locked():
            commit = _commit_of(graph)
            if self._truth.state().commit != commit:
                return False
            positions = self._truth.text_store.here
            if self._directory is not None and segments:
                where = self._directory / "lexical"
                lexical = LexicalIndex.joined(where, segments, commit, positions=positions)
            else:
                lexical = LexicalIndex(None, positions=positions)
                lexical.update(commit, removed=(), added=rows())
            with self.lock:
                self._graph, self._lexical = graph, lexical
            self._saved = self._saved_ahead
        return True

    # -- saving ---------------------------------------------------------------------

    def save(self) -> None:
        """Write a snapshot of the graph and the search of vectors, unless they lie there as new."""
        if self._directory is None or self._graph is None:
            return
        with translated_os(self.place), self._refreshing, self.locked():
            if self._graph is not None and _commit_of(self._graph) != self._saved:
                save_snapshot(self._directory, self._graph)
                self._saved = _commit_of(self._graph)
            if self._vectors is not None:  # new vectors of old chunks are no commit
                self._vectors.save_search(self._directory)

    def compact(self) -> None:
        """Drop what deleted chunks left, in memory and on disk."""
        with translated_os(self.place), self._refreshing:
            generation = self.refresh()
            if self._is_crowded_out:  # perhaps just now
                raise DiskFullError(
                    errno.ENOSPC,
                    f"{self.place}: no space was left, so nothing on disk can be rewritten; make "
                    "room, open the index again, and compact it then",
                )
            # Readers have the old parts until the new ones are ready.
            assert self._graph is not None
            graph, vectors = self._graph.folded(), self._vectors
            with self.locked():
                if self._directory is not None:
                    sweep(self._directory)
                    VectorTable.discard_search(self._directory)
                    if vectors is None:  # without an embedder this process cannot rewrite them
                        VectorFile.discard(self._directory)
                if vectors is not None:
                    vectors = vectors.kept(graph.rows, _commit_of(graph))
                # Rewritten, so that its statistics count live chunks only, and the terms of
                # deleted ones are gone from the disk.
                lexical = self._written_lexical()
                self._steps.advance_lexical(graph, lexical, rewrite=True)
            with self.lock:
                self._graph, self._vectors, self._lexical = graph, vectors, lexical
            self._saved = NEVER
            self.save()
            logger.info("compacted generation %d", generation)

    def close(self, *, save: bool = True) -> None:
        """Catch up, save if there is something to save, and release all files."""
        if save and self._directory is not None:
            # Under the lock, so that no old snapshot follows another process's compaction.
            with self._refreshing, self.locked():
                self.refresh()
                self.save()
        self._drop()

    def _drop(self) -> None:
        """Forget what is in memory."""
        with self.lock:
            self._graph = None
            self._lexical = None
            self._vectors = None


def _commit_of(graph: TagGraph) -> Commit:
    return Commit(graph.generation, graph.mark)
