"""The driver of a build: hands out tasks, commits in one place, and puts the results together.

Partitions are proposed for in parallel and committed in their order, so rows are numbered as
``add`` numbers them. Then come the vocabulary, the postings and the lexical segments. If other
chunks are in the index that no partition holds, or somebody writes meanwhile, the graph takes an
ordinary step instead: the result is the same, and takes longer.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

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

from hebbgraph_scale.build.assemble import Placed, assembled
from hebbgraph_scale.build.engines import Engine, Task
from hebbgraph_scale.build.lexical import INDEX, Numbered, index_terms, joined, lexical_rows
from hebbgraph_scale.build.match import match
from hebbgraph_scale.build.merge import merge, write_vocabulary
from hebbgraph_scale.build.propose import propose, recount, rows_of
from hebbgraph_scale.build.recipe import Partition, Recipe
from hebbgraph_scale.build.shelf import Summary
from hebbgraph_scale.build.vectors import embed, vectors_of

__all__ = ["Driver", "Progress", "Told"]

logger = logging.getLogger(__name__)

_AHEAD = 2  # tasks handed out for each worker, so that none waits for the driver
_ROWS_OF_A_SEGMENT = 25_000
_MOST_SEGMENTS = 7  # Tantivy merges eight of a size as soon as anything is added
_PHRASES_OF_A_BUCKET = 50_000
_NONE = np.empty(0, np.int64)
#: Shares of the whole work, in processor time, as measured (docs/building.md).
_SHARES = {"propose": 0.8, "merge": 0.04, "match": 0.14, "assemble": 0.02}


class Told(NamedTuple):
    """How far a build is.

    Attributes
    ----------
    step : str
    done : float
        The share of the whole work.
    chunks : int
        Committed so far.
    seconds_left : float or None
        An estimate; None at the very start.
    """

    step: str
    done: float
    chunks: int
    seconds_left: float | None


Progress = Callable[[Told], object]


@dataclass
class _Committed:
    """A partition in the truth: the row of each of its chunks."""

    proposed: str
    rows: NDArray[np.int64]


@dataclass
class Driver:
    """One build.

    Parameters
    ----------
    namespace : Namespace
    engine : Engine
    shelf : Path
        The folder of results; of this build, or of one that was killed.
    recipe : Recipe
    on_progress : callable, optional

    Attributes
    ----------
    seconds : dict of str to float
        Wall time by step; ``propose`` includes waiting for workers and ``commit``. With more than
        one worker, ``lexical`` runs while the others do.
    reused : int
        Results that were whole already.
    size : int
        Characters of text and titles.
    files_failed : list of (path, reason)
        Files that could not be read.
    """

    namespace: Namespace
    engine: Engine
    shelf: Path
    recipe: Recipe
    on_progress: Progress | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    reused: int = 0
    size: int = 0
    files_failed: list[tuple[str, str]] = field(default_factory=list)
    _committed: list[_Committed] = field(default_factory=list)
    _report: AddReport = field(default_factory=AddReport)
    #: Commits that inserted chunks, and whether no other kind was needed.
    _commits: int = 0
    _only_inserts: bool = True

    def run(self, partitions: Iterable[Partition], total_bytes: int | None) -> AddReport:
        """Build; ``total_bytes`` is for progress alone.

        Raises
        ------
        InvalidChunkError
            For a chunk that cannot be taken; partitions before it are committed.
        BuildError
            If workers die again and again.
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

    # -- the truth -----------------------------------------------------------------------

    def _propose_and_commit(self, partitions: Iterable[Partition], total: int | None) -> None:
        done = 0
        for partition, summary, vectors in self._embedded(self._in_order(partitions)):
            with self._timed("commit"):
                self._commit(summary, vectors)
            done += partition.size
            self._tell("propose", done / total if total else 0.0)

    def _in_order(self, partitions: Iterable[Partition]) -> Iterator[tuple[Partition, Summary]]:
        """Yield each partition with the summary of what was proposed, in their order."""
        waiting: deque[tuple[Partition, Task[Summary]]] = deque()
        most = _AHEAD * self.engine.workers if self.engine.workers > 1 else 1
        remaining = iter(partitions)
        while True:
            for partition in islice(remaining, most - len(waiting)):
                task = self.engine.submit(propose, self.shelf, partition, self.recipe)
                waiting.append((partition, task))
            if not waiting:
                return
            partition, task = waiting.popleft()
            yield partition, self._result(task)

    def _embedded(
        self, proposed: Iterable[tuple[Partition, Summary]]
    ) -> Iterator[tuple[Partition, Summary, Summary | None]]:
        """Yield partitions with the summary of their vectors, if workers embed."""
        factory, dtype = self.recipe.embedder, self.recipe.settings.vector_dtype
        waiting: deque[tuple[Partition, Summary, Task[Summary] | None]] = deque()
        most = self.engine.workers if factory is not None else 0
        for partition, summary in proposed:
            task = None
            if factory is not None and summary["chunks"]:
                name = summary["name"]
                task = self.engine.submit_embedding(embed, self.shelf, name, factory, dtype)
            waiting.append((partition, summary, task))
            while len(waiting) > most:
                yield self._with_vectors(*waiting.popleft())
        while waiting:
            yield self._with_vectors(*waiting.popleft())

    def _with_vectors(
        self, partition: Partition, summary: Summary, task: Task[Summary] | None
    ) -> tuple[Partition, Summary, Summary | None]:
        return partition, summary, None if task is None else self._result(task)

    def _result(self, task: Task[Summary]) -> Summary:
        summary = task.result()
        self.reused += bool(summary.get("reused"))
        return summary

    def _commit(self, summary: Summary, embedded: Summary | None) -> None:
        """Write a partition; whatever is held with the same content stays as it is."""
        report, truth = self._report, self.namespace.truth
        failed = tuple(FailedChunk(**one) for one in summary["failed"])
        rows = rows_of(self.shelf / summary["name"])
        fingerprints: dict[str, str] = summary.get("documents", {})
        vectors, state = self._vectors(embedded, len(rows))
        numbers: NDArray[np.int64] | None = _NONE
        if fingerprints and not self._was_empty:
            numbers = None  # such a document may hold other chunks, which go
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
        self._committed.append(_Committed(summary["name"], numbers))
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
        """Return the vector of each chunk as it is stored, and their model."""
        if embedded is None:
            return [None] * n, None
        vectors = vectors_of(self.shelf / embedded["name"])
        held = self.namespace.truth.state().embedding
        dtype = self.recipe.settings.vector_dtype
        state = held or EmbeddingState(embedded["model"], embedded["dimension"], dtype)
        if (state.name, state.dimension) != (embedded["model"], embedded["dimension"]):
            raise SettingsMismatchError(
                f"the index holds vectors of {state.name!r}, the workers gave those of "
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
        """Write what is not held as it is."""
        truth = self.namespace.truth
        ids = [row[0] for row in rows]
        held = truth.digests(ids)
        writes = []
        for row, vector in zip(rows, vectors, strict=True):
            chunk, candidates, digest = chunk_of_row(row)
            if held.get(chunk.id) != digest:
                writes.append(ChunkWrite(chunk, candidates, vector, digest))
        gone: set[str] = set()
        for document in fingerprints:
            gone |= truth.ids_of_document(document)
        outcome = truth.apply(
            writes, delete_ids=gone - set(ids), fingerprints=fingerprints, embedding=state
        )
        by_id = truth.rows_of(ids)
        numbers = np.array([by_id.get(id_, 0) for id_ in ids], np.int64)
        unchanged = len(rows) - len(writes)
        return numbers, (outcome.added, outcome.replaced, outcome.deleted, unchanged)

    # -- what follows from it ------------------------------------------------------------

    def _derive(self) -> None:
        """Build graph and lexical index from all partitions, if they are all that there is."""
        derived = self.namespace.derived
        commit = self._settled()
        partitions = [one for one in self._committed if one.rows.any()]
        if not partitions or commit is None:
            logger.info("the index holds chunks of another build: the graph takes an ordinary step")
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
            matched = self._names(matching, "match")
        with self._timed("assemble"):
            placed = [
                Placed(one.proposed, name, one.rows)
                for one, name in zip(partitions, matched, strict=True)
            ]
            graph = assembled(self.shelf, vocabulary, placed, commit)
        with self._timed("lexical"):
            folders = [self.shelf / self._result(task)["name"] / INDEX for task in segments]
            numbered: list[Numbered] = [(one.proposed, one.rows) for one in partitions]
            positions = self.namespace.truth.text_store.here

            def lexical(directory: Path | None) -> LexicalIndex:
                if directory is not None and folders:
                    return joined(folders, directory, commit, positions=positions)
                index = LexicalIndex(directory, positions=positions)
                rows = lexical_rows(self.shelf, numbered)
                index.update(commit, removed=(), added=rows, rewrite=True)
                return index

            if not derived.adopt(graph, lexical):
                logger.info("somebody wrote meanwhile: the graph takes an ordinary step")
        self._tell("assemble", 1.0)

    def _settled(self) -> Commit | None:
        """Let each row belong to one partition; None if there are rows that no partition has.

        Returns
        -------
        Commit
            Of which the partitions are all that there is.
        """
        truth = self.namespace.truth
        commit = truth.state().commit
        alone = commit.generation == self._before.generation + self._commits
        if self._was_empty and self._only_inserts and alone:
            return commit
        state = truth.changes_since(NEVER)
        self._keep_live(state.added)
        covered = sum(int(np.count_nonzero(one.rows)) for one in self._committed)
        return state.commit if covered == len(state.added) else None

    def _keep_live(self, live: IntArray) -> None:
        """Forget rows that were replaced, and let each row belong to one partition."""
        rows = [one.rows for one in self._committed]
        together = np.concatenate((_NONE, *rows))
        kept = np.zeros(len(together), dtype=np.bool_)
        kept[np.unique(together, return_index=True)[1]] = True
        kept &= np.isin(together, live)
        starts = np.cumsum([0, *map(len, rows)])
        for one, start in zip(self._committed, starts.tolist(), strict=False):
            one.rows = np.where(kept[start : start + len(one.rows)], one.rows, 0)

    def _submit_segments(self, partitions: Sequence[_Committed]) -> list[Task[Summary]]:
        if self.namespace.derived.in_memory:
            return []
        total = sum(len(one.rows) for one in partitions)
        wanted, most = max(total // _ROWS_OF_A_SEGMENT, 1), _MOST_SEGMENTS
        if (workers := self.engine.workers) < most:  # so that all end at about the same time
            wanted, most = -(-wanted // workers) * workers, most // workers * workers
        groups: list[list[Numbered]] = [[] for _ in range(min(wanted, most))]
        held = 0
        for one in partitions:
            groups[held * len(groups) // total].append((one.proposed, one.rows))
            held += len(one.rows)
        positions = self.namespace.truth.text_store.here
        return [
            self.engine.submit(index_terms, self.shelf, group, positions)
            for group in groups
            if group
        ]

    def _merge(self, partitions: Sequence[_Committed]) -> list[str]:
        counted = []
        for one in partitions:
            counts, alive = one.proposed, one.rows > 0
            if not alive.all():
                counts = recount(self.shelf, one.proposed, alive)["name"]
            counted.append((one.proposed, counts))
        phrases = sum(10 * len(one.rows) for one in partitions)
        n_buckets = max(1, min(4 * self.engine.workers, phrases // _PHRASES_OF_A_BUCKET))
        salt = self.recipe.salt
        tasks = [
            self.engine.submit(merge, self.shelf, counted, bucket, n_buckets, salt)
            for bucket in range(n_buckets)
        ]
        return self._names(tasks, "merge")

    def _submit_match(
        self, partitions: Sequence[_Committed], vocabulary: str
    ) -> list[Task[Summary]]:
        tasks = []
        for one in partitions:
            alive = one.rows > 0
            mask = None if alive.all() else alive
            tasks.append(self.engine.submit(match, self.shelf, one.proposed, vocabulary, mask))
        return tasks

    def _names(self, tasks: Sequence[Task[Summary]], step: str) -> list[str]:
        names = []
        for number, task in enumerate(tasks, start=1):
            names.append(self._result(task)["name"])
            self._tell(step, number / len(tasks))
        return names

    # -- telling -------------------------------------------------------------------------

    def _timed(self, step: str) -> _Clock:
        return _Clock(self.seconds, step)

    def _tell(self, step: str, share: float) -> None:
        if self.on_progress is None:
            return
        done = 0.0
        for name, weight in _SHARES.items():
            if name == step:
                done += weight * min(share, 1.0)
                break
            done += weight
        passed = time.perf_counter() - self._began
        left = passed * (1.0 - done) / done if done > 0.0 else None
        report = self._report
        chunks = report.added + report.replaced + report.unchanged
        self.on_progress(Told(step, done, chunks, left))


class _Clock:
    """Adds the seconds inside of a block to those of its step."""

    def __init__(self, into: dict[str, float], step: str) -> None:
        self._into, self._step = into, step

    def __enter__(self) -> None:
        self._began = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        spent = time.perf_counter() - self._began
        self._into[self._step] = self._into.get(self._step, 0.0) + spent
