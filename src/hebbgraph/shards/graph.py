"""The postings of all shards as one graph, over one table of phrases.

A chunk's number in the whole graph is its number in its shard, behind all chunks of the shards
before. Rows ascend so too, since each shard has a range of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import BoolArray, GrowableArray, IntArray, transpose
from hebbgraph.graph.incidence import Incidence, Postings
from hebbgraph.graph.phrases import PhraseArrays, PhraseTable
from hebbgraph.graph.tag_graph import GraphArrays, TagGraph
from hebbgraph.shards.plan import ROWS
from hebbgraph.store.history import Commit

__all__ = ["JoinedGraph", "ShardGraph", "split"]

_NO_INTS = np.empty(0, dtype=np.int64)
_NO_TAGS, _NO_FLAGS = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.bool_)


class ShardGraph(TagGraph):
    """The chunks and postings of one shard; its phrases are counted in the table of all."""

    def _judge_phrases(self) -> None:
        """Do nothing: which phrases are incidental follows from the chunks of all shards."""
        self._is_incidental = _NO_FLAGS


class JoinedIncidence(Incidence):
    """The incidences of several shards, one after the other.

    Parameters
    ----------
    parts : sequence of Incidence
    ends : ndarray of int64
        How many chunks there are up to the end of each.
    """

    def __init__(self, parts: Sequence[Incidence], ends: NDArray[np.int64]) -> None:
        self._shards = tuple(parts)
        self._ends = ends
        self._starts = [0, *ends[:-1].tolist()]
        size = max((len(part._df) for part in parts), default=0)
        self._df = np.zeros(size, dtype=np.int32)
        for part in parts:
            self._df[: len(part._df)] += part._df

    @property
    def n_levels(self) -> int:
        return max(part.n_levels for part in self._shards)

    @property
    def delta_size(self) -> int:
        return sum(part.delta_size for part in self._shards)

    @property
    def base(self) -> None:
        return None

    @property
    def columns(self) -> None:
        return None

    def _divided(self, chunks: IntArray) -> list[tuple[int, IntArray | slice]]:
        """Return the shards that hold some of these chunks, and where these stand."""
        if len(self._shards) == 1 or not len(chunks):
            return [(0, slice(None))]
        holder = self._ends.searchsorted(chunks, "right")
        first = int(holder[0])
        if (holder == first).all():
            return [(first, slice(None))]
        counts = np.bincount(holder, minlength=len(self._shards))
        held = counts.nonzero()[0].tolist()
        return [(number, np.flatnonzero(holder == number)) for number in held]

    def tags_of(self, chunks: IntArray) -> tuple[IntArray, IntArray, BoolArray]:
        parts = []
        for number, at in self._divided(chunks):
            owner, tags, is_title = self._shards[number].tags_of(chunks[at] - self._starts[number])
            parts.append((owner if isinstance(at, slice) else at[owner], tags, is_title))
        return _by_owner(parts)

    def chunks_of(self, tags: IntArray) -> tuple[IntArray, IntArray, BoolArray]:
        parts = []
        for part, start in zip(self._shards, self._starts, strict=True):
            owner, chunks, is_title = part.chunks_of(tags)
            if len(owner):
                parts.append((owner, chunks + start if start else chunks, is_title))
        return _by_owner(parts)

    def updated(
        self, n_chunks: int, n_tags: int, removed: IntArray, changed: IntArray, rows: Postings
    ) -> JoinedIncidence:
        ends, parts = self._ends, []
        for number, part in enumerate(self._shards):
            start, end = self._starts[number], int(ends[number])
            gone = removed[(removed >= start) & (removed < end)] - start
            at = np.flatnonzero((changed >= start) & (changed < end))
            counts = np.diff(rows.indptr)
            mine = np.repeat((changed >= start) & (changed < end), counts)
            indptr = np.concatenate(([0], np.cumsum(counts[at]))).astype(np.int64)
            own = Postings(indptr, rows.tags[mine], rows.is_title[mine])
            parts.append(part.updated(end - start, n_tags, gone, changed[at] - start, own))
        return JoinedIncidence(parts, ends)


class JoinedGraph(TagGraph):
    """The graph of all shards at one commit. It never changes; the next commit has another.

    Parameters
    ----------
    commit : Commit
        Of the whole.
    parts : sequence of ShardGraph
        In the order of their rows.
    phrases : PhraseTable
        Shared by all of them.
    down : sequence of bool
        Shards that do not answer. Their chunks count in every frequency and take no part.
    """

    def __init__(
        self,
        commit: Commit,
        parts: Sequence[ShardGraph],
        phrases: PhraseTable,
        down: Sequence[bool],
    ) -> None:
        self.generation, self.mark = commit
        self.phrases = phrases
        self._parts = tuple(parts)
        self.incidence = JoinedIncidence(
            [part.incidence for part in parts],
            np.cumsum([part.n_slots for part in parts], dtype=np.int64),
        )
        alive = (
            np.zeros(part.n_slots, np.bool_) if is_down else part.alive
            for part, is_down in zip(parts, down, strict=True)
        )
        self._rows = GrowableArray(np.int64, np.concatenate([part.rows for part in parts]))
        self._alive = GrowableArray(np.bool_, np.concatenate([*alive]))
        self._id_prefixes = GrowableArray(
            np.uint64, np.concatenate([part.id_prefixes for part in parts])
        )
        self._n_live = sum(part.n_chunks for part in parts)
        self._judge_phrases()

    def arrays(self) -> tuple[GraphArrays, PhraseArrays]:
        """Return the graph as arrays, without dead chunks and phrases, as saved in a snapshot."""
        used = self.phrases.in_use
        parts = [part.arrays_of(np.flatnonzero(part.alive), used) for part in self._parts]
        return _joined(parts, int(np.count_nonzero(used))), self.phrases.arrays(used)


def split(graph: TagGraph, numbers: Sequence[int]) -> list[GraphArrays]:
    """Return the arrays of each shard of a graph read from a snapshot."""
    used = np.ones(len(graph.phrases), np.bool_)
    first = np.searchsorted(graph.rows, [number * ROWS for number in numbers])
    last = np.searchsorted(graph.rows, [(number + 1) * ROWS for number in numbers])
    return [
        graph.arrays_of(np.arange(start, stop), used)
        for start, stop in zip(first.tolist(), last.tolist(), strict=True)
    ]


def _joined(parts: Sequence[GraphArrays], n_tags: int) -> GraphArrays:
    def all_of(field: str) -> NDArray[Any]:
        return np.concatenate([getattr(part, field) for part in parts])

    def indptr(field: str) -> NDArray[np.int64]:
        counts = [np.diff(getattr(part, field)) for part in parts]
        return np.concatenate(([0], np.cumsum(np.concatenate(counts)))).astype(np.int64)

    postings, tags = indptr("posting_indptr"), all_of("posting_tags")
    columns, chunks, order = transpose(postings, tags, n_tags)
    is_title = all_of("posting_is_title")
    return GraphArrays(
        rows=all_of("rows"),
        id_prefixes=all_of("id_prefixes"),
        candidate_indptr=indptr("candidate_indptr"),
        candidates=all_of("candidates"),
        candidate_kinds=all_of("candidate_kinds"),
        posting_indptr=postings,
        posting_tags=tags,
        posting_is_title=is_title,
        column_indptr=columns,
        column_chunks=chunks,
        column_is_title=is_title[order],
    )


def _by_owner(
    parts: Sequence[tuple[IntArray, IntArray, BoolArray]],
) -> tuple[IntArray, IntArray, BoolArray]:
    """Join what was gathered from several shards, owners ascending."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return _NO_INTS, _NO_TAGS, _NO_FLAGS
    owners, values, flags = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = owners.argsort(kind="stable")
    return owners[order], values[order], flags[order]
