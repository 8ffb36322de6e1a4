"""When chunks hold, which chunk follows which, and what is stale.

Dates, versions and ``supersedes`` say so, and so do people who call a chunk outdated. They are
read from the truth for chunks that say something about time; an index without any costs one
look-up per change. Moments are microseconds since 1970, so comparisons are exact.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from itertools import pairwise
from typing import TypeAlias
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import BoolArray, GrowableArray
from hebbgraph.formulas.succession import Succession, latest_edges, without_circles
from hebbgraph.graph.references import link_keys
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.moments import FIRST, LAST, microseconds, order_of
from hebbgraph.store.chunks import DatedChunk
from hebbgraph.store.truth import Truth

__all__ = ["Replaced", "Timeline", "Timelines"]

Replaced: TypeAlias = tuple[str, str, str]
"""Id of a chunk, the hash of its text, and the id of the chunk that holds in its place."""

#: If more dated chunks share a title, they are no events of one subject.
_LARGEST_SUBJECT = 50
_NO_TITLE = 0


class Timelines:
    """Keeps the timeline of a namespace in step with its graph."""

    def __init__(self, truth: Truth) -> None:
        self._truth = truth
        self._state = (-1, 0)
        self._taught: Collection[Replaced] = ()
        self._timeline: Timeline | None = None
        self._reset(None)

    def _reset(self, graph: TagGraph | None) -> None:
        self._graph = graph
        # Per slot, once a chunk says something about time.
        self._begins, self._ends = GrowableArray(np.int64), GrowableArray(np.int64)
        self._titles = GrowableArray(np.int64)
        #: Versions, and chunks that supersede others, by slot.
        self._linked: list[tuple[int, DatedChunk]] = []
        self._n_read, self._is_dated = 0, False

    def at(self, graph: TagGraph, taught: Collection[Replaced] = ()) -> Timeline | None:
        """Return the timeline of a graph's chunks; None if nothing is said about time.

        The caller has locked the graph. ``taught`` is what people said of chunks, the latest last.
        """
        if self._graph is graph and self._state == graph.state and self._taught == taught:
            return self._timeline
        if self._graph is not graph:
            self._reset(graph)
        self._read(graph)
        self._state, self._taught = graph.state, taught
        self._timeline = self._make(graph) if self._is_dated or taught else None
        return self._timeline

    def _read(self, graph: TagGraph) -> None:
        """Read the dates of slots that were not read yet."""
        start, stop = self._n_read, graph.n_slots
        if start == stop:
            return
        rows = graph.rows
        dated: list[tuple[int, DatedChunk]] = []
        for chunk in self._truth.dated(int(rows[start - 1]) if start else -1, int(rows[stop - 1])):
            slot = int(np.searchsorted(rows, chunk.row))
            if slot < stop and rows[slot] == chunk.row:  # else of a later generation
                dated.append((slot, chunk))
        self._n_read, self._is_dated = stop, self._is_dated or bool(dated)
        if not self._is_dated:
            return
        self._extend(stop)
        begins, ends, titles = self._begins.view, self._ends.view, self._titles.view
        for slot, chunk in dated:
            if chunk.valid_from is not None:
                begins[slot] = microseconds(chunk.valid_from)
            if chunk.valid_until is not None:
                ends[slot] = microseconds(chunk.valid_until)
            if chunk.title and chunk.valid_from is not None:
                titles[slot] = crc32(" ".join(chunk.title.casefold().split()).encode()) + 1
            if chunk.version_of is not None or chunk.supersedes:
                self._linked.append((slot, chunk))

    def _extend(self, n_slots: int) -> None:
        """Extend the arrays to so many slots, without dates."""
        arrays = (self._begins, FIRST), (self._ends, LAST), (self._titles, _NO_TITLE)
        for array, value in arrays:
            array.extend(np.full(n_slots - len(array), value, dtype=np.int64))

    def _make(self, graph: TagGraph) -> Timeline:
        self._extend(graph.n_slots)
        begins, ends = self._begins.view.copy(), self._ends.view.copy()
        # Chunks of an unfinished step are not alive yet; the next call sees them.
        linked = [(slot, chunk) for slot, chunk in self._linked if graph.alive[slot]]
        edges, latest = self._stated_edges(graph, linked, begins, ends)
        edges, circular = without_circles(edges)
        taught = self._taught_edges(graph)
        edges = latest_edges([*edges, *taught])
        circular = circular.difference(*(edge for edge in taught if circular.issuperset(edge)))
        for older, newer in edges:
            if FIRST < begins[newer] < LAST:
                ends[older] = min(ends[older], begins[newer])
        followed: defaultdict[int, list[Succession]] = defaultdict(list)
        for older, newer in dict.fromkeys(edges):
            since = latest.get((older, newer), int(begins[newer]))
            followed[older].append(Succession(newer, since))
        return Timeline(graph, begins, ends, self._titles.view, dict(followed), circular)

    def _stated_edges(
        self,
        graph: TagGraph,
        linked: list[tuple[int, DatedChunk]],
        begins: NDArray[np.int64],
        ends: NDArray[np.int64],
    ) -> tuple[list[tuple[int, int]], dict[tuple[int, int], int]]:
        """Return edges from older to newer chunks by versions and ``supersedes``.

        Missing begins and ends of versions are filled in. The second result has the latest
        possible moment of a succession whose moment is unknown.
        """
        edges: list[tuple[int, int]] = []
        latest: dict[tuple[int, int], int] = {}
        if not linked:
            return edges, latest
        targets = {chunk.version_of for _, chunk in linked if chunk.version_of is not None}
        targets |= {target for _, chunk in linked for target in chunk.supersedes}
        slots = self._slots_of(graph, self._truth.rows_of(sorted(targets)))
        now = microseconds(datetime.now(UTC))
        for chain in _chains(linked, slots):
            *former, newest = chain
            if begins[newest] == FIRST and ends[newest] == LAST:
                # Without dates it took their place when it was written. A later end was written
                # while some clock was ahead.
                ends[former] = np.minimum(ends[former], now)
            for older, newer in pairwise(chain):
                if begins[newer] == FIRST and ends[older] < LAST:
                    begins[newer] = ends[older]
                elif begins[newer] == FIRST and ends[newer] < LAST:
                    ends[older] = ends[newer]
                    latest[older, newer] = int(ends[newer])
                edges.append((older, newer))
        for slot, chunk in linked:
            superseded = self._superseded(graph, chunk.supersedes, slots)
            edges += ((older, slot) for older in superseded if older != slot)
        return edges, latest

    def _taught_edges(self, graph: TagGraph) -> list[tuple[int, int]]:
        """Return what people said of chunks that exist and whose text has not changed."""
        if not self._taught:
            return []
        ids = {id_ for old, _, new in self._taught for id_ in (old, new)}
        rows = self._truth.rows_of(sorted(ids))
        hashes = self._truth.text_hashes(
            sorted({rows[old] for old, *_ in self._taught if old in rows})
        )
        slots = self._slots_of(graph, rows)
        return [
            (slots[old], slots[new])
            for old, text_hash, new in self._taught
            if old in slots and new in slots and hashes.get(rows[old]) == text_hash
        ]

    @staticmethod
    def _slots_of(graph: TagGraph, rows: Mapping[str, int]) -> dict[str, int]:
        return {
            id_: slot
            for id_, row in rows.items()
            for slot in graph.slots_of(np.array([row])).tolist()
        }

    @staticmethod
    def _superseded(
        graph: TagGraph, supersedes: Iterable[str], slots: Mapping[str, int]
    ) -> list[int]:
        """Return the chunks that have one of some ids or addresses."""
        superseded: list[int] = []
        for target in supersedes:
            if (slot := slots.get(target)) is not None:
                superseded.append(slot)
                continue
            number = graph.phrases.number(next(iter(link_keys([target])), ""))
            if number is not None:
                _, chunks, entitles = graph.chunks_of(np.array([number], dtype=np.int64))
                superseded += chunks[entitles].tolist()
        return superseded


def _chains(linked: Iterable[tuple[int, DatedChunk]], slots: Mapping[str, int]) -> list[list[int]]:
    """Return the versions of each chunk, oldest first; the newest has the chunk's id."""
    old: defaultdict[str, list[tuple[tuple[int, int], int]]] = defaultdict(list)
    for slot, chunk in linked:
        if chunk.version_of is not None:
            old[chunk.version_of].append((order_of(chunk.valid_from, chunk.valid_until), slot))
    chains = []
    for subject, versions in old.items():
        chain = [slot for _, slot in sorted(versions)]
        if (newest := slots.get(subject)) is not None:
            chain.append(newest)
        chains.append(chain)
    return chains


class Timeline:
    """When the chunks of one graph hold, by slot.

    Attributes
    ----------
    begins, ends : ndarray of int64, shape (n_slots,)
        A chunk holds in ``[begin, end)``.
    circular : set of int
        Chunks that supersede each other in a circle, which is ignored.
    """

    def __init__(
        self,
        graph: TagGraph,
        begins: NDArray[np.int64],
        ends: NDArray[np.int64],
        titles: NDArray[np.int64],
        followed: Mapping[int, list[Succession]],
        circular: frozenset[int],
    ) -> None:
        self._graph = graph
        self.begins, self.ends = begins, ends
        self._titles = titles
        self._followed = followed
        self.circular = circular
        self._neighbours: defaultdict[int, set[int]] = defaultdict(set)
        for older, successions in followed.items():
            for succession in successions:
                self._neighbours[older].add(succession.slot)
                self._neighbours[succession.slot].add(older)

    def holding(self, moment: int) -> BoolArray:
        """Return which chunks hold at a moment; one without dates always does."""
        holding: BoolArray = (self.begins <= moment) & (moment < self.ends)
        return holding

    def speaks_of(self, start: int, stop: int) -> bool:
        """Return whether a chunk with dates holds at some moment of a period."""
        dated = (self.begins > FIRST) | (self.ends < LAST)
        within = dated & (self.begins < stop) & (start < self.ends) & self._graph.alive
        return bool(within.any())

    def stale(self, moment: int) -> BoolArray:
        """Return which chunks have ended, or are superseded, at a moment."""
        stale: BoolArray = self.ends <= moment
        for older, successions in self._followed.items():
            if any(succession.since <= moment for succession in successions):
                stale[older] = True
        return stale

    def since_when_stale(self, slot: int, moment: int) -> int | None:
        """Return since when a chunk is stale (``FIRST``: unknown); None if it holds."""
        ended = int(self.ends[slot]) if self.ends[slot] <= moment else None
        moments = [s.since for s in self._followed.get(slot, ()) if s.since <= moment]
        if ended is not None:
            moments.append(ended)
        if not moments:
            return None
        return min((since for since in moments if since > FIRST), default=FIRST)

    def replaced_by(self, slot: int, moment: int) -> list[int]:
        """Return the last successors of a chunk at a moment, ascending."""
        last: set[int] = set()
        seen, waiting = {slot}, [slot]
        while waiting:
            current = waiting.pop()
            followers = [s.slot for s in self._followed.get(current, ()) if s.since <= moment]
            if not followers and current != slot:
                last.add(current)
            waiting += (follower for follower in followers if follower not in seen)
            seen.update(followers)
        return sorted(last)

    def subject(self, slot: int) -> list[int]:
        """Return the versions and events of a chunk's subject, itself included, ascending.

        These are versions of one chunk, chunks that supersede each other, and dated chunks of one
        title.
        """
        seen, waiting = {slot}, [slot]
        while waiting:
            near = self._neighbours.get(waiting.pop(), set()) - seen
            seen |= near
            waiting += near
        for title in {int(self._titles[member]) for member in seen} - {_NO_TITLE}:
            same = np.flatnonzero((self._titles == title) & self._graph.alive)
            if len(same) <= _LARGEST_SUBJECT:
                seen.update(same.tolist())
        return sorted(seen)
