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
from pathlib import Path
from typing import TypeVar

import numpy as np

from hebbgraph.arrays import IntArray
from hebbgraph.artifacts import DamagedPartError, sweep
from hebbgraph.derived.corrected import CorrectedView
from hebbgraph.derived.folder import Folder, FolderLockedError
from hebbgraph.derived.lexical import LexicalIndex
from hebbgraph.derived.snapshot import discard_snapshot, load_snapshot, save_snapshot
from hebbgraph.derived.steps import Steps
from hebbgraph.derived.vector_steps import VectorSteps
from hebbgraph.errors import (
    DamagedIndexError,
    DiskFullError,
    HebbgraphError,
    IndexLockedError,
    StorageError,
)
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.locks import LendableLock
from hebbgraph.protocols import VectorSearchFactory, VectorSearchName
from hebbgraph.records import TagCorrection
from hebbgraph.store.database import is_full, translate_os, translated_os
from hebbgraph.store.embeddings import EmbeddingState
from hebbgraph.store.history import NEVER, Commit
from hebbgraph.store.state import FeedbackState
from hebbgraph.store.truth import Truth
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
    formers : iterable of Path
        Where earlier versions kept them; these folders are removed.
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
        formers: Iterable[Path] = (),
    ) -> None:
        self._truth = truth
        if with_vectors and vector_search != "exact":
            search_factory(vector_search)  # so that a missing library raises at once
        self._with_vectors = with_vectors
        #: The model of the vectors in the truth, and the state of its feedback log, as of the
        #: last refresh.
        self.embedding: EmbeddingState | None = None
        self.feedback = FeedbackState()
        #: What was found broken and rebuilt.
        self.repairs: list[str] = []
        self._folder = Folder(
            directory, writable=writable, wait_seconds=wait_seconds, place=truth.database.place
        )
        #: Returns the lock that keeps other processes from working on the folder.
        self.locked = self._folder.locked
        #: The folder of the parts, if there is one.
        self.directory = directory
        #: Where the parts lie, for messages.
        self.place = self._folder.place
        if self._folder.was_blocked:
            self._repaired("something else lay where derived parts belong")
        self._folder.replace(formers)
        #: Held while arrays are read or changed; never for long.
        self.lock = LendableLock(wait_seconds)
        self._refreshing = threading.RLock()
        self._graph: TagGraph | None = None
        self._corrected = CorrectedView(truth, self.lock.held)
        self._lexical: LexicalIndex | None = None
        self._vectors: VectorTable | None = None
        self._steps = Steps(truth, language, self.lock.held, self._repaired)
        self._vector_steps = VectorSteps(
            truth,
            self._folder,
            search=vector_search,
            held=self.lock.held,
            repaired=self._repaired,
        )
        #: The commit of the graph that was read or saved last.
        self._saved = NEVER
        #: The commit that readers see: that of the last complete refresh.
        self._commit = NEVER
        self._is_half_done = False
        #: The commits at which readers had all parts built anew.
        self._rebuilds: list[Commit] = []
        #: Whether some reader saw less than the truth held since the last refresh.
        self.readers_lag = False

    # -- what readers use -----------------------------------------------------------

    @property
    def graph(self) -> TagGraph:
        """The graph as of the last refresh, read through corrections to its tags."""
        if self._graph is None:
            self.refresh()
        assert self._graph is not None
        return self._corrected.of(self._graph)

    @property
    def corrections(self) -> tuple[TagCorrection, ...]:
        """Corrections to tags, as of the last refresh."""
        return self._corrected.corrections

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
            with self.lock.held():
                there = self._graph is not None and self._lexical is not None
                if there and self._commit.generation >= at_least:
                    yield self._commit.generation
                    return
        while True:
            generation = self.keep_up()
            if before is not None:
                before()
            with self.lock.held():
                if self._graph is not None and self._lexical is not None:
                    yield generation
                    return

    def refresh(self) -> int:
        """Bring everything to the state of the truth; return its generation.

        An error drops what is in memory, and the next call starts from the disk. So does this
        one where files that were open are gone; what is damaged is built anew.
        """
        with self._refreshing:
            for attempt in range(_ATTEMPTS):
                try:
                    return self._refreshed()
                except (OSError, ValueError, LookupError) as error:
                    self._recover(error, attempt)
            raise AssertionError("unreachable")

    def _recover(self, error: OSError | ValueError | LookupError, attempt: int) -> None:
        """Prepare another attempt to refresh after this error, or raise it."""
        problem = f"derived parts failed while open: {error}"
        if is_full(error) and not self.in_memory:
            self._folder.leave()
        elif isinstance(error, DamagedPartError) or not isinstance(error, OSError | HebbgraphError):
            if attempt == _ATTEMPTS - 1:
                raise StorageError(
                    f"{self.place}: derived parts can be neither read nor built: {error}"
                ) from error
            self.start_over(problem)
        elif isinstance(error, HebbgraphError):
            raise error
        elif attempt:
            raise translate_os(error, self.place) from error
        else:  # a file that was open may be gone; anything else may pass, once
            self._repaired(problem)

    @property
    def in_memory(self) -> bool:
        """Whether nothing is kept on disk."""
        return self._folder.directory is None

    def mending(self, search: Callable[[], _R]) -> _R:
        """Search, and once more on parts built anew where they turn out to be damaged.

        Raises
        ------
        DamagedIndexError
            If that has not helped at this commit: the truth itself is damaged.
        """
        while True:
            n_rebuilds = len(self._rebuilds)
            try:
                return search()
            except DamagedPartError as error:
                with self._refreshing:
                    if n_rebuilds < len(self._rebuilds):  # another thread was faster
                        continue
                    commit = self._truth.state().commit
                    if self._rebuilds.count(commit) == _MOST_REBUILDS:
                        raise DamagedIndexError(
                            f"{self._truth.database.place}: {error}, and rebuilding derived parts "
                            "has not helped; hebbgraph doctor tells what is damaged: restore a "
                            "backup, or delete those chunks and add them again"
                        ) from error
                    self._rebuilds.append(commit)
                    self.start_over(str(error))

    def start_over(self, why: str) -> None:
        """Drop all parts, on disk too: the next refresh builds them from the truth."""
        self._repaired(why)
        with self._refreshing:
            if (directory := self._folder.directory) is None:
                self._folder.shared = None  # it is not ours to mend
            else:
                with translated_os(self.place), self.locked():
                    discard_snapshot(directory)
                    LexicalIndex.discard(directory / "lexical")
                    VectorFile.discard(directory)
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
        except BaseException as error:
            # Readers may go on with a step that was half taken; the next step may not.
            self._is_half_done = True
            if not isinstance(error, IndexLockedError):
                self._drop()
            raise

    def _load(self) -> None:
        if self._is_half_done:
            self._drop()
        if self._graph is None:
            graph = self._saved_graph()
            self._saved = NEVER if graph is None else _commit_of(graph)
            with self.lock.held():
                self._graph = graph or TagGraph.empty()
        if self._lexical is None:
            self._lexical = self._opened_lexical()

    def _saved_graph(self) -> TagGraph | None:
        try:
            return None if self._folder.shared is None else load_snapshot(self._folder.shared)
        except DamagedPartError as error:
            self._repaired(f"the graph's snapshot: {error}")
            return None

    def _opened_lexical(self) -> LexicalIndex:
        """Open the lexical index, or a private copy where it may not be written."""
        folder = self._folder
        # With positions, terms are the text, all but its endings.
        positions = self._truth.text_store.here
        if folder.read_only is not None and (folder.read_only / "lexical").is_dir():
            opened = LexicalIndex.copy_of(folder.read_only / "lexical", positions=positions)
        else:
            where = None if folder.directory is None else folder.directory / "lexical"
            with self.locked():
                opened = LexicalIndex(where, positions=positions)
        if opened.damage is not None:
            self._repaired(f"the lexical index was damaged: {opened.damage}")
        return opened

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
            if graph.generation == 0 and commit.generation > 1:
                logger.info("no snapshot: building the graph from %d chunks", len(changes.added))
            with self.locked():
                if lexical.refresh(alone=True) != _commit_of(graph):
                    # It may have been lost, and older mentions are looked up in it.
                    self._steps.advance_lexical(graph, lexical)
                # From one commit both go forward together, and text is read once.
                both = lexical.refresh() == _commit_of(graph)
                self._steps.advance_graph(graph, changes, lexical, both=both)
            if graph.is_due_for_folding:
                folded = graph.folded()  # readers have the old arrays until these are ready
                with self.lock.held():
                    self._graph = folded
        if commit != self._commit:
            self._corrected.refresh()
        # The index may also be ahead, when an older database was put back beside it.
        if lexical.refresh() != commit:
            with self.locked():
                self._steps.advance_lexical(self.graph, lexical)
        if self._truth.text_store.here and self._graph.n_chunks >= lexical.lengths.due_at:
            with self.locked():
                self._steps.try_lengths(self._graph, lexical)
        _, self.embedding, self.feedback, _ = changes.state
        if self._with_vectors and self.embedding is not None:
            vectors = self._vector_steps.advance(self._vectors, self.graph, self.embedding, commit)
            with self.lock.held():
                self._vectors = vectors
        return commit

    def _repaired(self, problem: str) -> None:
        """Record what was found wrong and is rebuilt from the truth."""
        logger.warning("%s: rebuilding it", problem)
        self.repairs.append(problem)

    def _take_saved(self) -> bool:
        """Take the graph that another process has saved since, as one that compacts does."""
        assert self._graph is not None
        saved = self._saved_graph()
        if saved is None or saved.generation <= self._graph.generation:
            return False
        if not self._truth.history.knows(_commit_of(self._graph)):
            return False  # a database was put back, and what is saved may be of another
        self._saved = _commit_of(saved)
        with self.lock.held():
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
        with self.lock.held():
            self._graph = TagGraph.empty()
            self._vectors = None

    def adopt(self, graph: TagGraph, lexical: Callable[[Path | None], LexicalIndex]) -> bool:
        """Take over a graph and a lexical index that were built elsewhere.

        Parameters
        ----------
        graph : TagGraph
        lexical : callable
            Puts the lexical index of the same commit in its folder; None is one in memory.

        Returns
        -------
        bool
            Whether they are of the truth's present commit; otherwise nothing has changed.
        """
        with translated_os(self.place), self._refreshing, self.locked():
            if self._truth.state().commit != _commit_of(graph):
                return False
            directory = self._folder.directory
            index = lexical(None if directory is None else directory / "lexical")
            with self.lock.held():
                self._graph, self._lexical = graph, index
            self._saved = NEVER
        return True

    # -- saving ---------------------------------------------------------------------

    def save(self) -> None:
        """Write a snapshot of the graph and the search of vectors, unless they lie there as new."""
        directory = self._folder.directory
        if directory is None or self._graph is None:
            return
        with translated_os(self.place), self._refreshing, self.locked():
            if self._graph is not None and _commit_of(self._graph) != self._saved:
                save_snapshot(directory, self._graph)
                self._saved = _commit_of(self._graph)
            if self._vectors is not None:  # new vectors of old chunks are no commit
                self._vectors.save_search(directory)

    def compact(self) -> None:
        """Drop what deleted chunks left, in memory and on disk."""
        with translated_os(self.place), self._refreshing:
            generation = self.refresh()
            if self._folder.is_full:  # perhaps just now
                raise DiskFullError(
                    errno.ENOSPC,
                    f"{self.place}: no space was left, so nothing on disk can be rewritten; make "
                    "room, open the index again, and compact it then",
                )
            # Readers have the old parts until the new ones are ready.
            assert self._graph is not None
            graph, vectors = self._graph.folded(), self._vectors
            with self.locked():
                if (directory := self._folder.directory) is not None:
                    sweep(directory)
                    VectorTable.discard_search(directory)
                    if vectors is None:  # without an embedder this process cannot rewrite them
                        VectorFile.discard(directory)
                if vectors is not None:
                    vectors = vectors.kept(graph.rows, _commit_of(graph))
                # Rewritten, so that its statistics count live chunks only, and the terms of
                # deleted ones are gone from the disk.
                lexical = self._opened_lexical()
                self._steps.advance_lexical(graph, lexical, rewrite=True)
            with self.lock.held():
                self._graph, self._vectors, self._lexical = graph, vectors, lexical
            self._saved = NEVER
            self.save()
            logger.info("compacted generation %d", generation)

    def close(self, *, save: bool = True) -> None:
        """Catch up, save if there is something to save, and release all files."""
        with self._refreshing:  # what another thread refreshes now must not vanish meanwhile
            if save and not self.in_memory:
                # Under the lock, so that no old snapshot follows another process's compaction.
                with self.locked():
                    self.refresh()
                    self.save()
            self._drop()

    def _drop(self) -> None:
        """Forget what is in memory."""
        with self.lock.held():
            self._graph = None
            self._lexical = None
            self._vectors = None
            self._is_half_done = False


def _commit_of(graph: TagGraph) -> Commit:
    return Commit(graph.generation, graph.mark)
