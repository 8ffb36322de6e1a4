"""The derived parts of one namespace: kept fresh, repaired and saved.

Each process holds the graph in memory. Its snapshot, the lexical index and the vectors lie in one
folder that all processes of a machine share. A process that finds the truth ahead of its graph
takes the missing steps; one that finds it ahead of the lexical index locks the folder and brings
that forward too. So if a process dies between two steps, the next one takes the second.
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
from hebbgraph.derived.snapshot import save_snapshot
from hebbgraph.derived.steps import Parts, Steps, commit_of
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

#: If this many rebuilds at one commit have not helped, the truth itself is damaged.
_MOST_REBUILDS = 2
#: How often a refresh is tried when files that were open are gone or broken.
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
        Whether to load vectors.
    vector_search : {"exact", "quantized", "ivf"} or callable
    formers : iterable of Path
        The folders of earlier versions, which are removed.

    Attributes
    ----------
    embedding : EmbeddingState or None
        The model of the vectors in the truth, as of the last refresh.
    feedback : FeedbackState
        The state of the feedback log, as of the last refresh.
    repairs : list of str
        What was found damaged, and rebuilt.
    locked : callable
        Returns a context manager that locks the folder.
    lock : LendableLock
        Held while arrays are read or changed, never for long.
    readers_lag : bool
        Whether some reader has seen less than the truth held since the last refresh.
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
        if with_vectors and vector_search != "exact":
            search_factory(vector_search)  # a missing library raises at once
        self._truth = truth
        self._with_vectors = with_vectors
        self.embedding: EmbeddingState | None = None
        self.feedback = FeedbackState()
        self.directory = directory
        self._folder = Folder(
            directory, writable=writable, wait_seconds=wait_seconds, place=truth.database.place
        )
        self.repairs = self._folder.repairs
        self.locked = self._folder.locked
        self._folder.replace(formers)
        self.lock = LendableLock(wait_seconds)
        self._refreshing = threading.RLock()
        self._corrected = CorrectedView(truth, self.lock)
        self._steps = Steps(
            truth,
            self._folder,
            self.lock,
            self._corrected,
            VectorSteps(truth, self._folder, self.lock, vector_search),
            language=language,
        )
        self._parts: Parts | None = None
        #: The commit that readers see: that of the last complete refresh of the present parts.
        self._commit = NEVER
        #: Whether a step failed on the way; readers may continue with its parts.
        self._is_half_done = False
        #: The commits at which readers had all parts rebuilt.
        self._rebuilds: list[Commit] = []
        self.readers_lag = False

    # -- what readers use -----------------------------------------------------------

    def _loaded(self) -> Parts:
        if self._parts is None:
            self.refresh()
        assert self._parts is not None
        return self._parts

    @property
    def graph(self) -> TagGraph:
        """The graph as of the last refresh, read through corrections to its tags."""
        return self._corrected.view_of(self._loaded().graph)

    @property
    def corrections(self) -> tuple[TagCorrection, ...]:
        """Corrections to tags, as of the last refresh."""
        return self._corrected.corrections

    @property
    def lexical(self) -> LexicalIndex:
        """The lexical index as of the last refresh."""
        return self._loaded().lexical

    @property
    def vectors(self) -> VectorTable | None:
        """The vectors as of the last refresh; None if there are none, or they are not loaded."""
        return None if (parts := self._parts) is None else parts.vectors

    @property
    def commit(self) -> Commit:
        """The commit of the graph; the caller holds the lock."""
        return commit_of(self.graph)

    @property
    def in_memory(self) -> bool:
        """Whether nothing is kept on disk."""
        return self._folder.directory is None

    def term_weights(self, terms: Sequence[str]) -> list[tuple[str, float]]:
        """Return each term with ``log(1 + N / df)``; the caller holds the lock."""
        df, n = self.lexical.document_frequency, max(self.graph.n_chunks, 1)
        return [(term, math.log1p(n / max(df(term), 1))) for term in terms]

    def ids(self, rows: IntArray) -> list[str]:
        """Return the id of each row; empty if it is gone."""
        ids = self._truth.ids(np.unique(rows).tolist())
        return [ids.get(row, "") for row in rows.tolist()]

    def load_vectors(self) -> None:
        """Load vectors from the next refresh on."""
        self._with_vectors = True

    @contextlib.contextmanager
    def reading(
        self, before: Callable[[], object] | None = None, *, at_least: int | None = None
    ) -> Iterator[int]:
        """Keep everything unchanged for a reader, and yield the generation.

        Parameters
        ----------
        before : callable, optional
            Called after refreshing, before the lock is taken.
        at_least : int, optional
            If the parts in memory are of this generation or a later one, use them without
            asking the truth.
        """
        if at_least is not None:
            with self.lock.held():
                if self._commit.generation >= at_least and self._can_answer(at_least):
                    yield self._commit.generation
                    return
        while True:
            # A refresh takes the lock last, so it runs before this thread takes the lock.
            generation = self.keep_up()
            if before is not None:
                before()
            with self.lock.held():
                if self._can_answer(generation):  # else another thread dropped parts meanwhile
                    yield generation
                    return

    def _can_answer(self, generation: int) -> bool:
        """Return whether all parts are loaded, and of this generation or a later one."""
        parts = self._parts
        return parts is not None and self._commit != NEVER and parts.graph.generation >= generation

    # -- fresh ----------------------------------------------------------------------

    def keep_up(self) -> int:
        """Refresh for a reader up to the last acknowledged write; return the generation.

        While a call of this process adds many batches, its other threads continue with the
        present parts instead of waiting for the next step, or taking it themselves.
        """
        if (current := self._current()) is not None:
            return current
        with self._refreshing:
            if (current := self._current()) is not None:  # another thread refreshed
                return current
            try:
                return self.refresh()
            except FolderLockedError as error:
                if not self._can_answer(self._commit.generation):
                    raise
                logger.warning("an older generation answers: %s", error)
                return self._commit.generation

    def _current(self) -> int | None:
        """Return the generation in memory if it is new enough for a reader."""
        state = self._truth.state()
        needed = self._truth.acknowledged(state.commit)
        parts, mine, newest = self._parts, self._commit, state.commit.generation
        if parts is None or not needed <= mine.generation <= newest:
            return None
        if not self._can_answer(mine.generation):
            return None
        if mine.generation == newest and mine != state.commit:
            return None  # the same number, in another history
        if self._with_vectors and state.embedding != self.embedding:
            return None
        if not parts.lexical.is_there:
            return None
        self.embedding, self.feedback = state.embedding, state.feedback
        self.readers_lag |= mine.generation < newest
        return mine.generation

    def refresh(self) -> int:
        """Bring everything to the state of the truth; return its generation.

        If that fails, the parts in memory are dropped and loaded again: at once if files that
        were open are gone or damaged, else by the next call. Damaged parts are rebuilt.
        """
        with self._refreshing:
            for attempt in range(_ATTEMPTS):
                try:
                    return self._catch_up()
                except (OSError, ValueError, LookupError) as error:
                    self._recover(error, attempt)
            raise AssertionError("unreachable")

    def _catch_up(self) -> int:
        try:
            if self._is_half_done:
                self._drop()
            if self._parts is None:
                self._load()
            assert self._parts is not None
            self.readers_lag = False
            state = self._steps.catch_up(self._parts, with_vectors=self._with_vectors)
            self._commit, self.embedding, self.feedback, _ = state
            self._truth.text_store.forget(self._commit.generation)
            return self._commit.generation
        except FolderLockedError:
            raise  # nothing has changed
        except BaseException as error:
            self._is_half_done = True
            if not isinstance(error, IndexLockedError):
                self._drop()
            raise

    def _load(self) -> None:
        graph = self._folder.load_graph()
        saved = NEVER if graph is None else commit_of(graph)
        lexical = self._open_lexical()
        with self.lock.held():
            self._parts = Parts(graph or TagGraph.empty(), lexical, saved=saved)

    def _open_lexical(self) -> LexicalIndex:
        # Positions of terms would reveal texts that are kept elsewhere.
        return self._folder.open_lexical(positions=self._truth.text_store.here)

    def _drop(self) -> None:
        """Drop what is in memory."""
        with self.lock.held():
            self._parts = None
            self._commit = NEVER  # readers wait until parts that are loaded again have caught up
            self._is_half_done = False

    # -- repaired -------------------------------------------------------------------

    def _recover(self, error: OSError | ValueError | LookupError, attempt: int) -> None:
        """Prepare another attempt to refresh after an error, or raise it."""
        problem = f"derived parts failed while open: {error}"
        if is_full(error) and not self.in_memory:
            self._folder.leave()
        elif isinstance(error, DamagedPartError) or not isinstance(error, OSError | HebbgraphError):
            if attempt == _ATTEMPTS - 1:
                raise StorageError(
                    f"{self._folder.place}: derived parts can be neither read nor built: {error}"
                ) from error
            self.start_over(problem)
        elif isinstance(error, HebbgraphError):
            raise error
        elif attempt:
            raise translate_os(error, self._folder.place) from error
        else:  # a file that was open may be gone; other errors may pass
            self._folder.note_repair(problem)

    def mending(self, search: Callable[[], _R]) -> _R:
        """Run a search, and again with rebuilt parts if they turn out to be damaged.

        Raises
        ------
        DamagedIndexError
            If rebuilding has not helped at this commit: the truth itself is damaged.
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
        self._folder.note_repair(why)
        with self._refreshing:
            self._folder.discard_parts()
            self._drop()

    # -- replaced and saved ---------------------------------------------------------

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
            Whether they are of the truth's present commit. If not, nothing has changed.
        """
        with translated_os(self._folder.place), self._refreshing, self.locked():
            if self._truth.state().commit != commit_of(graph):
                return False
            vectors = self.vectors
            index = lexical(self._folder.lexical_directory)
            with self.lock.held():
                self._parts = Parts(graph, index, vectors)
        return True

    def save(self) -> None:
        """Write a snapshot of the graph and the search of vectors, unless they are saved."""
        directory = self._folder.directory
        if directory is None or self._parts is None:
            return
        with translated_os(self._folder.place), self._refreshing, self.locked():
            if (parts := self._parts) is None:
                return
            if commit_of(parts.graph) != parts.saved:
                save_snapshot(directory, parts.graph)
                parts.saved = commit_of(parts.graph)
            if parts.vectors is not None:  # new vectors of old chunks are no commit
                parts.vectors.save_search(directory)

    def compact(self) -> None:
        """Drop what deleted chunks left, in memory and on disk."""
        with translated_os(self._folder.place), self._refreshing:
            generation = self.refresh()
            if self._folder.is_full:  # perhaps since this refresh
                raise DiskFullError(
                    errno.ENOSPC,
                    f"{self._folder.place}: no space was left, so nothing on disk can be rewritten;"
                    " make room, open the index again, and compact it then",
                )
            assert self._parts is not None
            # Readers use the old parts until the new ones are ready.
            graph, vectors = self._parts.graph.folded(), self._parts.vectors
            with self.locked():
                if (directory := self._folder.directory) is not None:
                    sweep(directory)
                    VectorTable.discard_search(directory)
                    if vectors is None:  # without an embedder this process cannot rewrite them
                        VectorFile.discard(directory)
                if vectors is not None:
                    vectors = vectors.kept(graph.rows, commit_of(graph))
                # Rewritten, so its statistics count live chunks only, and the terms of deleted
                # ones are gone from the disk.
                lexical = self._open_lexical()
                self._steps.advance_lexical(graph, lexical, rewrite=True)
            with self.lock.held():
                self._parts = Parts(graph, lexical, vectors)
            self.save()
            logger.info("compacted generation %d", generation)

    def close(self, *, save: bool = True) -> None:
        """Catch up, save if there is something to save, and release all files."""
        with self._refreshing:  # another thread may be refreshing
            if save and not self.in_memory:
                # Locked, so no old snapshot follows another process's compaction.
                with self.locked():
                    self.refresh()
                    self.save()
            self._drop()
