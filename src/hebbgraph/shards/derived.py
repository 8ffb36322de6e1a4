"""The coordinator: one vocabulary, brought up to date in all shards together.

A step counts the candidates of all shards that are ahead, in one table of phrases. Only then does
each shard match: what is new in it, and what mentions a phrase that any of them made known. So
vocabulary, frequencies and postings are those of one index.
"""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from hebbgraph.artifacts import replace_file
from hebbgraph.derived.lexical import LexicalIndex
from hebbgraph.derived.parts import Derived
from hebbgraph.derived.segments import damaged_files
from hebbgraph.derived.snapshot import has_snapshot, load_snapshot, save_snapshot
from hebbgraph.errors import ShardDownError
from hebbgraph.graph.phrases import PhraseTable
from hebbgraph.graph.tag_graph import GraphArrays, VocabularyChange
from hebbgraph.protocols import VectorSearchFactory, VectorSearchName
from hebbgraph.shards.graph import JoinedGraph, ShardGraph, split
from hebbgraph.shards.lexical import JoinedLexicalIndex
from hebbgraph.shards.part import ShardPart
from hebbgraph.shards.shard import Shard
from hebbgraph.shards.truth import ShardedTruth, joined_commit
from hebbgraph.shards.vectors import JoinedVectors
from hebbgraph.store.database import translated_os
from hebbgraph.store.history import NEVER, NOTHING, Commit
from hebbgraph.store.truth import Changes
from hebbgraph.vectors.table import VectorTable

__all__ = ["ShardedDerived"]

logger = logging.getLogger(__name__)

_R = TypeVar("_R")

#: Of which commits of the shards a snapshot is.
_COMMITS = "shards.json"


class ShardedDerived(Derived):
    """Graph, lexical index and vectors of all shards, as one.

    Parameters
    ----------
    truth : ShardedTruth
    directory : Path
        The coordinator's, for the snapshot of the graph.
    **options
        As for :class:`~hebbgraph.derived.parts.Derived`.
    """

    def __init__(
        self,
        truth: ShardedTruth,
        directory: Path | None,
        *,
        language: str,
        writable: bool,
        wait_seconds: float,
        with_vectors: bool = False,
        vector_search: VectorSearchName | VectorSearchFactory = "exact",
    ) -> None:
        super().__init__(
            truth,
            directory,
            language=language,
            writable=writable,
            wait_seconds=wait_seconds,
            with_vectors=with_vectors,
            vector_search=vector_search,
        )
        self._sharded = truth
        self._refreshing = truth.steps
        self._language, self._vector_search = language, vector_search
        self._phrases: PhraseTable | None = None
        #: Of each shard, and of one that was never opened what the snapshot holds of it.
        self._parts: dict[int, ShardPart] = {}
        self._absent: dict[int, ShardGraph] = {}
        #: Shards that took no part in a change of the vocabulary.
        self._left_behind: set[int] = set()
        self._joined_for: tuple[Any, ...] = ()
        self._lexical_of: tuple[Any, ...] = ()
        self._vectors_of: tuple[Any, ...] = ()
        self._own_commit = NEVER

    # -- what readers use -----------------------------------------------------------

    @property
    def missing(self) -> tuple[str, ...]:
        return tuple(
            f"{told}; its chunks take no part"
            for shard in self._sharded.shards
            if (told := shard.told) is not None
        )

    def hold_vectors(self) -> None:
        super().hold_vectors()
        for part in self._parts.values():
            part.hold_vectors()

    def mending(self, search: Callable[[], _R]) -> _R:
        """Search; again without a shard that goes down meanwhile."""
        for _ in self._sharded.shards:
            with contextlib.suppress(ShardDownError):
                return super().mending(search)
        return super().mending(search)

    def _current(self) -> int | None:
        current = super()._current()
        return current if self._down() == self._joined_for[1:2] else None

    def _down(self) -> tuple[tuple[bool, ...]]:
        return (tuple(not shard.is_up for shard in self._sharded.shards),)

    # -- one step forward -----------------------------------------------------------

    def _load(self) -> None:
        if self._phrases is not None:
            return
        truth = self._sharded
        numbers = [shard.number for shard in truth.shards]
        held = self._loaded(numbers)
        if held is None:
            self._restart()
            return
        self._phrases, graphs = held
        with self.lock:
            self._absent = dict(zip(numbers, graphs, strict=True))

    def _loaded(self, numbers: list[int]) -> tuple[PhraseTable, list[ShardGraph]] | None:
        """Read the snapshot; None if there is none that fits."""
        directory = self._shared
        if directory is None or not self._snapshot_is_trusted:
            return None
        graph = load_snapshot(directory)
        if graph is None:
            if has_snapshot(directory):
                self.repairs.append("the graph's snapshot was damaged, or of another version")
            return None
        try:
            held = json.loads((directory / _COMMITS).read_bytes())[str(graph.mark)]
            own = Commit(*held["own"])
            commits = [Commit(*held["shards"].get(str(number), NOTHING)) for number in numbers]
        except (OSError, ValueError, LookupError, TypeError) as error:
            logger.warning("%s does not say what it is of (%s): rebuilding", directory, error)
            return None
        if joined_commit(own, commits) != (graph.generation, graph.mark):
            return None  # of other shards
        self._saved = Commit(graph.generation, graph.mark)
        parts = zip(commits, split(graph, numbers), strict=True)
        return graph.phrases, [
            ShardGraph(commit.generation, arrays, graph.phrases, mark=commit.mark)
            for commit, arrays in parts
        ]

    def _restart(self) -> None:
        """Start from no chunk at all."""
        with self.lock:
            self._phrases = PhraseTable()
            self._absent = {
                shard.number: ShardGraph(0, GraphArrays.empty(), self._phrases)
                for shard in self._sharded.shards
            }
            for number, part in self._parts.items():
                part.replace(NOTHING, GraphArrays.empty(), self._phrases)
                del self._absent[number]
        self._left_behind.clear()

    def _part_of(self, shard: Shard) -> ShardPart:
        """Return what is derived from a shard; it has another truth when its files came back."""
        held, truth = self._parts.get(shard.number), shard.truth
        if held is not None and held.truth is truth:
            return held
        graph = self._absent.pop(shard.number) if held is None else held.postings
        part = ShardPart(
            shard,
            truth,
            graph,
            language=self._language,
            wait_seconds=self._wait_seconds,
            with_vectors=self._with_vectors,
            vector_search=self._vector_search,
            lock=self.lock,
        )
        with self.lock:
            self._parts[shard.number] = part
        return part

    def _catch_up(self) -> Commit:
        own, states = self._sharded.states()
        parts = [self._part_of(shard) for shard in self._sharded.up]
        self._advance(parts)
        for part in parts:
            with contextlib.suppress(ShardDownError), part.shard.watched():
                part.catch_up()
        if own.commit != self._own_commit:
            self._read_corrections()
            self._own_commit = own.commit
        self.feedback = own.feedback
        self.embedding = self._sharded.joined(own, states).embedding
        return self._join(own.commit)

    def _advance(self, parts: list[ShardPart]) -> None:
        """Bring the postings of all parts to the truth, by one step together."""
        changes = self._changes(parts)
        if not all(one.complete for one in changes.values()):
            logger.info("the log of changes does not reach back: rebuilding the graph")
            self._sharded.history.breaks += 1
            self._restart()
            changes = self._changes(parts)
        parts = [part for part in parts if part.shard.number in changes]
        for part in parts:
            if part.shard.number in self._left_behind:
                with part.shard.watched():
                    part.rematch_all()
                self._left_behind.discard(part.shard.number)
        ahead = {
            part: change
            for part in parts
            if (change := changes[part.shard.number]).commit != part.commit
        }
        if ahead:
            with contextlib.ExitStack() as locks:
                for part in parts:  # in one order, so that no two processes wait for each other
                    locks.enter_context(part.locked())
                self._step(parts, ahead)
            if any(part.postings.is_due_for_folding for part in parts):
                self._fold()

    @staticmethod
    def _changes(parts: Iterable[ShardPart]) -> dict[int, Changes]:
        """Return what has changed in each shard, by number, without those that go down."""
        changes = {}
        for part in parts:
            with contextlib.suppress(ShardDownError), part.shard.watched():
                changes[part.shard.number] = part.changes()
        return changes

    def _step(self, parts: list[ShardPart], ahead: dict[ShardPart, Changes]) -> None:
        staged = {}
        entered: dict[int, None] = {}
        left: dict[int, None] = {}
        for part, change in ahead.items():
            with part.shard.watched():
                staged[part], (some, others) = part.stage(change)
            entered |= dict.fromkeys(some)
            left |= dict.fromkeys(others)
        vocabulary = VocabularyChange(list(entered), list(left))
        for part in parts:
            with part.shard.watched():
                part.settle(staged.get(part), vocabulary)
        if vocabulary.entered or vocabulary.left:
            self._left_behind |= {shard.number for shard in self._sharded.shards if not shard.is_up}

    def _graphs(self) -> list[ShardGraph]:
        """Return the postings of all shards, in their order."""
        return [
            self._parts[shard.number].postings
            if shard.number in self._parts
            else self._absent[shard.number]
            for shard in self._sharded.shards
        ]

    def _fold(self) -> None:
        """Fold all changes into new arrays; readers have the old ones meanwhile."""
        assert self._phrases is not None
        used = self._phrases.in_use
        table = PhraseTable(self._phrases.arrays(used))
        folded = [
            (graph, graph.arrays_of(np.flatnonzero(graph.alive), used)) for graph in self._graphs()
        ]
        with self.lock:
            self._phrases = table
            for shard, (graph, arrays) in zip(self._sharded.shards, folded, strict=True):
                commit = Commit(graph.generation, graph.mark)
                if shard.number in self._parts:
                    self._parts[shard.number].replace(commit, arrays, table)
                else:
                    self._absent[shard.number] = ShardGraph(
                        commit.generation, arrays, table, mark=commit.mark
                    )

    # -- all shards as one ------------------------------------------------------------

    def _join(self, own: Commit) -> Commit:
        """Show readers the new state of all shards, at once."""
        assert self._phrases is not None
        graphs = self._graphs()
        commit = joined_commit(own, (Commit(one.generation, one.mark) for one in graphs))
        down = self._down()
        key = (commit, *down, *map(id, graphs))
        parts = [self._parts[at] for at in sorted(self._parts)]
        lexical, vectors = self._joined_lexical(parts), self._joined_vectors(parts)
        with self.lock:
            if self._graph is None or key != self._joined_for:
                self._graph = JoinedGraph(commit, graphs, self._phrases, *down)
                self._joined_for = key
            self._lexical, self._vectors = lexical, vectors
        return commit

    def _joined_lexical(self, parts: Iterable[ShardPart]) -> LexicalIndex:
        opened = [(part, one) for part in parts if (one := part.own_lexical) is not None]
        key = tuple((id(one), one.commit) for _, one in opened)
        if self._lexical is not None and key == self._lexical_of:
            return self._lexical
        with contextlib.ExitStack() as locks:
            for part, _ in opened:
                if part.shard.is_up:
                    locks.enter_context(part.locked())
            there = [one for part, one in opened if part.shard.is_up or one.is_there]
            joined = JoinedLexicalIndex(there, positions=self._truth.text_store.here)
        self._lexical_of = key
        return joined

    def _joined_vectors(self, parts: Iterable[ShardPart]) -> VectorTable | None:
        tables = [one for part in parts if (one := part.vectors) is not None]
        if not tables or self.embedding is None:
            return None
        key = (self.embedding, *((id(one), len(one.rows)) for one in tables))
        if self._vectors is None or key != self._vectors_of:
            self._vectors_of = key
            return JoinedVectors(self.embedding, tables)
        return self._vectors

    # -- repairs ----------------------------------------------------------------------

    def discard_lexical(self, problem: str) -> None:
        """Drop the lexical indexes whose files are damaged; all of them if none can be told."""
        parts = [part for part in self._parts.values() if part.shard.is_up]
        damaged = []
        for part in parts:
            directory = None if part.own_lexical is None else part.own_lexical.directory
            if directory is not None and damaged_files(directory):
                damaged.append(part)
        self.repairs.append(problem)
        for part in damaged or parts:
            part.discard_lexical(problem)
        with self.lock:
            self._lexical = None

    def start_over(self, why: str = "derived parts did not belong to this truth") -> None:
        logger.warning("%s: rebuilding them", why)
        self.repairs.append(why)
        with self._refreshing:
            self._snapshot_is_trusted = False
            for part in self._parts.values():
                part.discard()
            self._drop()

    def lexical_problems(self) -> list[str]:
        return [
            f"shard {part.shard.name!r}: {problem}"
            for part in self._parts.values()
            for problem in part.lexical_problems()
        ]

    def filed_vectors(self) -> tuple[VectorTable | None, str | None]:
        found = [part.filed_vectors() for part in self._parts.values()]
        problems = [problem for _, problem in found if problem is not None]
        tables = [table for table, _ in found if table is not None]
        joined = JoinedVectors(self.embedding, tables) if tables and self.embedding else None
        return joined, "; ".join(problems) or None

    # -- saving -----------------------------------------------------------------------

    def save(self) -> None:
        directory, graph = self._directory, self._graph
        if directory is None or graph is None or self._left_behind:
            return  # who reads it would not know which shards have to be matched again
        with translated_os(self.place), self._refreshing, self._locked():
            for part in self._parts.values():  # new vectors of old chunks are no commit
                if part.shard.is_up:
                    part.save_search()
            if (graph.generation, graph.mark) == self._saved:
                return
            commits = {
                str(shard.number): [one.generation, one.mark]
                for shard, one in zip(self._sharded.shards, self._graphs(), strict=True)
            }
            held = {str(graph.mark): {"own": list(self._own_commit), "shards": commits}}
            with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
                # Also that of the snapshot before, should this one not come to be.
                before = json.loads((directory / _COMMITS).read_bytes())
                held = {str(self._saved.mark): before[str(self._saved.mark)]} | held
            replace_file(directory / _COMMITS, lambda path: path.write_text(json.dumps(held)))
            save_snapshot(directory, graph)
            self._saved = Commit(graph.generation, graph.mark)

    def compact(self) -> None:
        with translated_os(self.place), self._refreshing:
            self.refresh()
            self._fold()
            for part in self._parts.values():
                if part.shard.is_up:
                    part.rewrite()
            self._join(self._own_commit)
            self._saved = NEVER
            self.save()

    def _drop(self) -> None:
        super()._drop()
        with self.lock:
            self._phrases = None
            self._parts, self._absent = {}, {}
            self._joined_for = self._lexical_of = self._vectors_of = ()
            self._own_commit = NEVER
