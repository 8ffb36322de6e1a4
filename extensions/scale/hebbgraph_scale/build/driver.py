"""The driver of a build: hands out tasks, commits their results and assembles the index.

Workers propose for partitions in parallel; the driver commits these in order, so rows are numbered
as by ``add``. Vocabulary, postings and lexical segments follow. If the index holds other chunks, or
another process writes meanwhile, the graph takes an ordinary step instead, which takes longer and
gives the same result.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from hebbgraph.arrays import IntArray
from hebbgraph.derived.lexical import LexicalIndex
from hebbgraph.errors import SettingsMismatchError
from hebbgraph.namespace import Namespace
from hebbgraph.records import AddReport, FailedChunk
from hebbgraph.store.chunk_rows import chunk_of_row
from hebbgraph.store.embeddings import EmbeddingState
from hebbgraph.store.history import NEVER, Commit
from hebbgraph.store.truth import ChunkWrite
from numpy.typing import NDArray

from hebbgraph_scale.build.assemble import assembled
from hebbgraph_scale.build.engines import Engine, Task
from hebbgraph_scale.build.lexical import INDEX, index_terms, joined, lexical_rows
from hebbgraph_scale.build.match import match
from hebbgraph_scale.build.merge import merge, write_vocabulary
from hebbgraph_scale.build.propose import NumberedPartition, propose, recount, rows_of
from hebbgraph_scale.build.recipe import Partition, Recipe
from hebbgraph_scale.build.shelf import Summary
from hebbgraph_scale.build.vectors import embed, vectors_of

__all__ = ["BuildDriver", "BuildProgress", "OnBuildProgress"]

logger = logging.getLogger(__name__)

_T = TypeVar("_T")
_R = TypeVar("_R")
_AHEAD = 2  # tasks queued for each worker, so that it never waits for the driver
_ROWS_OF_A_SEGMENT = 25_000
_MOST_SEGMENTS = 7  # Tantivy merges eight of a size as soon as anything is added
_PHRASES_OF_A_BUCKET = 50_000
_NONE = np.empty(0, np.int64)
#: Shares of the work, in processor time, as measured (docs/building.md).
_SHARES = {"propose": 0.8, "merge": 0.04, "match": 0.14, "assemble": 0.02}


class BuildProgress(NamedTuple):
    """The progress of a build.

    Attributes
    ----------
    step : str
    done : float
        The share of the work that is done.
    chunks : int
        Committed so far.
    seconds_left : float or None
        An estimate; None at the start.
    """

    step: str
    done: float
    chunks: int
    seconds_left: float | None


OnBuildProgress = Callable[[BuildProgress], object]


def _started(items: Iterable[_T], start: Callable[[_T], _R], most: int) -> Iterator[tuple[_T, _R]]:
    """Yield each item with its task, while the tasks of up to ``most`` items are running."""
    running: deque[tuple[_T, _R]] = deque()
    remaining = iter(items)
    while True:
        running.extend((item, start(item)) for item in islice(remaining, most - len(running)))
        if not running:
            return
        yield running.popleft()


@dataclass
class BuildDriver:
    """One build.

    Parameters
    ----------
    namespace : Namespace
    engine : Engine
    shelf : Path
        The folder of results, of this build or of one that was killed.
    recipe : Recipe
    on_progress : callable, optional

    Attributes
    ----------
    seconds : dict of str to float
        Wall time by step; ``propose`` includes waiting for workers and ``commit``. With several
        workers, ``lexical`` overlaps other steps.
    reused : int
        Results of an earlier build that were whole.
    size : int
        Characters of text and titles.
    files_failed : list of (path, reason)
        Files that could not be read.
    """

    namespace: Namespace
    engine: Engine
    shelf: Path
    recipe: Recipe
    on_progress: OnBuildProgress | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    reused: int = 0
    size: int = 0
    files_failed: list[tuple[str, str]] = field(default_factory=list)
    _committed: list[NumberedPartition] = field(default_factory=list)
    _report: AddReport = field(default_factory=AddReport)
    #: The number of commits that inserted chunks, and whether there was no other commit.
    _commits: int = 0
    _only_inserts: bool = True

    def run(self, partitions: Iterable[Partition], total_bytes: int | None) -> AddReport:
        """Build; ``total_bytes`` is only used for progress.

        Raises
        ------
        InvalidChunkError
            For an invalid chunk; partitions before it are committed.
        BuildError
            If workers die repeatedly.
        """
        self._began = time.perf_counter()
        truth = self.namespace.truth
        self.namespace.make()
        self._before = truth.state().commit
        self._was_empty = not truth.count()
        with truth.acknowledging_at_the_end():
            try:
                with self._timed("propose"):
                    self._propose_and_commit(partitions, total_bytes)
                self._derive()
            finally:
                self.namespace.bring_up_to_date()
        return self._report.model_copy(
            update={
                "generation": truth.generation(),
                "seconds": time.perf_counter() - self._began,
            }
        )

    # -- the database --------------------------------------------------------------------

    def _propose_and_commit(self, partitions: Iterable[Partition], total: int | None) -> None:
        done = 0
        for partition, summary, vectors in self._embedded(self._in_order(partitions)):
            with self._timed("commit"):
                self._commit(summary, vectors)
            done += partition.size
            self._tell("propose", done / total if total else 0.0)

    def _in_order(self, partitions: Iterable[Partition]) -> Iterator[tuple[Partition, Summary]]:
        """Yield each partition with the summary of its first step, in order."""

        def start(partition: Partition) -> Task[Summary]:
            return self.engine.submit(propose, self.shelf, partition, self.recipe)

        most = _AHEAD * self.engine.workers if self.engine.workers > 1 else 1
        for partition, task in _started(partitions, start, most):
            yield partition, self._result(task)

    def _embedded(
        self, proposed: Iterable[tuple[Partition, Summary]]
    ) -> Iterator[tuple[Partition, Summary, Summary | None]]:
        """Yield partitions with the summary of their vectors, if workers embed."""
        factory, dtype = self.recipe.embedder, self.recipe.settings.vector_dtype

        def start(item: tuple[Partition, Summary]) -> Task[Summary] | None:
            if factory is None or not item[1]["chunks"]:
                return None
            name = item[1]["name"]
            return self.engine.submit_embedding(embed, self.shelf, name, factory, dtype)

        most = 1 if factory is None else self.engine.workers + 1
        for (partition, summary), task in _started(proposed, start, most):
            yield partition, summary, None if task is None else self._result(task)

    def _result(self, task: Task[Summary]) -> Summary:
        summary = task.result()
        self.reused += bool(summary.get("reused"))
        return summary

    def _commit(self, summary: Summary, embedded: Summary | None) -> None:
        """Write a partition; chunks that exist with the same content stay."""
        report, truth = self._report, self.namespace.truth
        failed = tuple(FailedChunk(**fields) for fields in summary["failed"])
        rows = rows_of(self.shelf / summary["name"])
        fingerprints: dict[str, str] = summary.get("documents", {})
        vectors, state = self._vectors(embedded, len(rows))
        numbers: NDArray[np.int64] | None = _NONE
        if fingerprints and not self._was_empty:
            numbers = None  # other chunks of these documents may exist, and must go
        elif rows or fingerprints:
            numbers = truth.insert_new(
                rows, vectors=vectors, embedding=state, fingerprints=fingerprints
            )
        added, replaced, deleted, unchanged = len(rows), 0, 0, 0
        if numbers is None:
            numbers, outcome = self._replace(rows, vectors, state, fingerprints)
            added, replaced, deleted, unchanged = outcome
            self._only_inserts = False
        elif rows or fingerprints:
            self._commits += 1
        self._committed.append(NumberedPartition(summary["name"], numbers))
        self._report = report.model_copy(
            update={
                "added": report.added + added,
                "replaced": report.replaced + replaced,
                "deleted": report.deleted + deleted,
                "unchanged": report.unchanged + unchanged,
                "cleaned": report.cleaned + summary["cleaned"],
                "failed": report.failed + failed,
                "batches": report.batches + 1,
            }
        )
        self.size += summary["bytes"]
        self.files_failed += map(tuple, summary.get("files_failed", ()))

    def _vectors(
        self, embedded: Summary | None, n: int
    ) -> tuple[list[bytes | None], EmbeddingState | None]:
        """Return the stored form of each chunk's vector, and their model."""
        if embedded is None:
            return [None] * n, None
        vectors = vectors_of(self.shelf / embedded["name"])
        dtype = self.recipe.settings.vector_dtype
        state = self.namespace.truth.state().embedding or EmbeddingState(
            embedded["model"], embedded["dimension"], dtype
        )
        if (state.name, state.dimension) != (embedded["model"], embedded["dimension"]):
            raise SettingsMismatchError(
                f"the index holds vectors of {state.name!r}, the workers returned those of "
                f"{embedded['model']!r}; index.maintenance.reembed() changes the model"
            )
        return [vector.tobytes() for vector in vectors.astype(state.dtype)], state

    def _replace(
        self,
        rows: Sequence[Sequence[Any]],
        vectors: Sequence[bytes | None],
        state: EmbeddingState | None,
        fingerprints: dict[str, str],
    ) -> tuple[NDArray[np.int64], tuple[int, int, int, int]]:
        """Write the chunks that are new or have changed; return their rows and four counts."""
        truth = self.namespace.truth
        ids = [row[0] for row in rows]
        digests = truth.digests(ids)
        writes = []
        for row, vector in zip(rows, vectors, strict=True):
            chunk, candidates, digest = chunk_of_row(row)
            if digests.get(chunk.id) != digest:
                writes.append(ChunkWrite(chunk, candidates, vector, digest))
        former = set[str]().union(*map(truth.ids_of_document, fingerprints))
        outcome = truth.apply(
            writes, delete_ids=former - set(ids), fingerprints=fingerprints, embedding=state
        )
        by_id = truth.rows_of(ids)
        numbers = np.array([by_id.get(id_, 0) for id_ in ids], np.int64)
        unchanged = len(rows) - len(writes)
        return numbers, (outcome.added, outcome.replaced, outcome.deleted, unchanged)

    # -- derived parts -------------------------------------------------------------------

    def _derive(self) -> None:
        """Build graph and lexical index, if the partitions are the whole index."""
        derived = self.namespace.derived
        commit = self._settled()
        partitions = [part for part in self._committed if part.rows.any()]
        if not partitions or commit is None:
            logger.info("the index holds other chunks: the graph takes an ordinary step")
            return
        with self._timed("merge"):
            buckets = self._merge(partitions)
        with self._timed("vocabulary"):
            vocabulary = write_vocabulary(self.shelf, buckets, self.recipe.salt)["name"]
        with self._timed("match"):
            matching = self._submit_match(partitions, vocabulary)
        with self._timed("lexical"):  # workers do this while the graph is put together
            segments = self._submit_segments(partitions)
        with self._timed("match"):
            matches = self._names(matching, "match")
        with self._timed("assemble"):
            graph = assembled(self.shelf, vocabulary, partitions, matches, commit)
        with self._timed("lexical"):
            folders = [self.shelf / self._result(task)["name"] / INDEX for task in segments]
            positions = self.namespace.truth.text_store.here

            def lexical(directory: Path | None) -> LexicalIndex:
                if directory is not None and folders:
                    return joined(folders, directory, commit, positions=positions)
                index = LexicalIndex(directory, positions=positions)
                rows = lexical_rows(self.shelf, partitions)
                index.update(commit, removed=(), added=rows, rewrite=True)
                return index

            if not derived.adopt(graph, lexical):
                logger.info("another process wrote meanwhile: the graph takes an ordinary step")
        self._tell("assemble", 1.0)

    def _settled(self) -> Commit | None:
        """Assign each row to one partition.

        Returns
        -------
        Commit or None
            The commit that the partitions stand for; None if they lack rows of the index.
        """
        truth = self.namespace.truth
        commit = truth.state().commit
        is_alone = commit.generation == self._before.generation + self._commits
        if self._was_empty and self._only_inserts and is_alone:
            return commit
        state = truth.changes_since(NEVER)
        self._keep_live(state.added)
        covered = sum(int(np.count_nonzero(part.rows)) for part in self._committed)
        return state.commit if covered == len(state.added) else None

    def _keep_live(self, live: IntArray) -> None:
        """Set rows to 0 that were replaced, or that an earlier partition has."""
        rows = np.concatenate((_NONE, *(part.rows for part in self._committed)))
        is_first = np.zeros(len(rows), dtype=np.bool_)
        is_first[np.unique(rows, return_index=True)[1]] = True
        rows[~(is_first & np.isin(rows, live))] = 0
        ends = np.cumsum([len(part.rows) for part in self._committed])
        self._committed = [
            NumberedPartition(part.proposed, numbers)
            for part, numbers in zip(self._committed, np.split(rows, ends)[:-1], strict=True)
        ]

    def _submit_segments(self, partitions: Sequence[NumberedPartition]) -> list[Task[Summary]]:
        if self.namespace.derived.in_memory:
            return []
        total = sum(len(part.rows) for part in partitions)
        wanted, most = max(total // _ROWS_OF_A_SEGMENT, 1), _MOST_SEGMENTS
        if (workers := self.engine.workers) < most:  # all finish at about the same time
            wanted, most = -(-wanted // workers) * workers, most // workers * workers
        groups: list[list[NumberedPartition]] = [[] for _ in range(min(wanted, most))]
        n_rows = 0
        for part in partitions:
            groups[n_rows * len(groups) // total].append(part)
            n_rows += len(part.rows)
        positions = self.namespace.truth.text_store.here
        return [
            self.engine.submit(index_terms, self.shelf, group, positions)
            for group in groups
            if group
        ]

    def _merge(self, partitions: Sequence[NumberedPartition]) -> list[str]:
        counted = []
        for proposed, rows in partitions:
            alive = rows > 0
            counts = proposed if alive.all() else recount(self.shelf, proposed, alive)["name"]
            counted.append((proposed, counts))
        phrases = sum(10 * len(part.rows) for part in partitions)
        n_buckets = max(1, min(4 * self.engine.workers, phrases // _PHRASES_OF_A_BUCKET))
        salt = self.recipe.salt
        tasks = [
            self.engine.submit(merge, self.shelf, counted, bucket, n_buckets, salt)
            for bucket in range(n_buckets)
        ]
        return self._names(tasks, "merge")

    def _submit_match(
        self, partitions: Sequence[NumberedPartition], vocabulary: str
    ) -> list[Task[Summary]]:
        tasks = []
        for proposed, rows in partitions:
            mask = None if rows.all() else rows > 0
            tasks.append(self.engine.submit(match, self.shelf, proposed, vocabulary, mask))
        return tasks

    def _names(self, tasks: Sequence[Task[Summary]], step: str) -> list[str]:
        names = []
        for number, task in enumerate(tasks, start=1):
            names.append(self._result(task)["name"])
            self._tell(step, number / len(tasks))
        return names

    # -- progress ------------------------------------------------------------------------

    @contextlib.contextmanager
    def _timed(self, step: str) -> Iterator[None]:
        began = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[step] = self.seconds.get(step, 0.0) + time.perf_counter() - began

    def _tell(self, step: str, share: float) -> None:
        if self.on_progress is None:
            return
        before = list(_SHARES.values())[: list(_SHARES).index(step)]
        done = sum(before) + _SHARES[step] * min(share, 1.0)
        elapsed = time.perf_counter() - self._began
        seconds_left = elapsed * (1.0 - done) / done if done > 0.0 else None
        report = self._report
        chunks = report.added + report.replaced + report.unchanged
        self.on_progress(BuildProgress(step, done, chunks, seconds_left))
