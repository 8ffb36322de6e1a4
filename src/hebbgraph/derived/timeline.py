"""When chunks hold, what follows which, and what is stale: by dates, versions and ``supersedes``.

What people said is outdated counts as ``supersedes`` does.

Read from the truth for chunks that say something about time; an index without any costs one
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
from hebbgraph.store.chunks import Dated
from hebbgraph.store.truth import Truth

__all__ = ["Replaced", "Timeline", "Timelines"]

Replaced: TypeAlias = tuple[str, str, str]
"""Id of a chunk, the hash of its text, and the id of the chunk that holds in its place."""

#: More dated chunks of one title than this are no events of one subject.
_LARGEST_SUBJECT = 50
_NO_TITLE = 0


class Timelines:
    """Keeps the timeline of a namespace in step with its graph."""

    def __init__(self, truth: Truth) -> None:
        self._truth = truth
        self._graph: TagGraph | None = None
        self._state = (-1, 0)
        self._begins, self._ends = GrowableArray(np.int64), GrowableArray(np.int64)
        self._titles = GrowableArray(np.int64)
        self._linked: list[tuple[int, Dated]] = []
        #: How many slots were read, and whether any of them says something about time.
        self._n_read, self._dated = 0, False
        self._taught: Collection[Replaced] = ()
        self._now: Timeline | None = None

    def at(self, graph: TagGraph, taught: Collection[Replaced] = ()) -> Timeline | None:
        """Return the timeline of a graph's chunks; None if nothing is said about time.

        The caller holds the graph. ``taught`` is what people said of chunks, the latest last.
        """
        is_known = self._graph is graph and self._state == graph.state
        if is_known and self._taught == taught:
            return self._now
        if self._graph is not graph:
            self._graph = graph
            self._begins, self._ends = GrowableArray(np.int64), GrowableArray(np.int64)
            self._titles, self._linked = GrowableArray(np.int64), []
            self._n_read, self._dated = 0, False
        self._read(graph)
        self._state, self._taught = graph.state, taught
        self._now = self._made(graph) if self._dated or taught else None
        return self._now

    def _read(self, graph: TagGraph) -> None:
        start, stop = self._n_read, graph.n_slots
        if start == stop:
            return
        rows = graph.rows
        found: list[tuple[int, Dated]] = []
        for one in self._truth.dated(int(rows[start - 1]) if start else -1, int(rows[stop - 1])):
            slot = int(np.searchsorted(rows, one.row))
            if slot < stop and rows[slot] == one.row:  # else not of this generation
                found.append((slot, one))
        self._n_read, self._dated = stop, self._dated or bool(found)
        if not self._dated:
            return  # and nothing has to be held for each chunk
        first = len(self._begins)
        begins = np.full(stop - first, FIRST, dtype=np.int64)
        ends = np.full(stop - first, LAST, dtype=np.int64)
        titles = np.full(stop - first, _NO_TITLE, dtype=np.int64)
        for slot, one in found:
            at = slot - first
            if one.valid_from is not None:
                begins[at] = microseconds(one.valid_from)
            if one.valid_until is not None:
                ends[at] = microseconds(one.valid_until)
            if one.title and one.valid_from is not None:
                titles[at] = crc32(" ".join(one.title.casefold().split()).encode()) + 1
            if one.version_of is not None or one.supersedes:
                self._linked.append((slot, one))
        self._begins.extend(begins)
        self._ends.extend(ends)
        self._titles.extend(titles)

    def _made(self, graph: TagGraph) -> Timeline:
        if not self._dated:
            self._begins.extend(np.full(graph.n_slots - len(self._begins), FIRST))
            self._ends.extend(np.full(graph.n_slots - len(self._ends), LAST))
            self._titles.extend(np.full(graph.n_slots - len(self._titles), _NO_TITLE))
        begins, ends = self._begins.view.copy(), self._ends.view.copy()
        alive = graph.alive
        # Those of a step that is under way are not alive yet: they stay for the next time.
        linked = [(slot, one) for slot, one in self._linked if alive[slot]]
        edges: list[tuple[int, int]] = []
        by_latest: dict[tuple[int, int], int] = {}
        if linked:
            slot_of = self._slots_by_id(graph, linked)
            now = microseconds(datetime.now(UTC))
            for chain in _chains(linked, slot_of):
                *former, newest = chain
                if begins[newest] == FIRST and ends[newest] == LAST:
                    # Without dates, it took their place when it was written, which has been: a
                    # later end was noted while some clock was ahead.
                    ends[former] = np.minimum(ends[former], now)
                for older, newer in pairwise(chain):
                    if begins[newer] == FIRST and ends[older] < LAST:
                        begins[newer] = ends[older]
                    elif begins[newer] == FIRST and ends[newer] < LAST:
                        # When one gave way to the other is unknown: by then at the latest.
                        ends[older] = ends[newer]
                        by_latest[older, newer] = int(ends[newer])
                    edges.append((older, newer))
            for slot, one in linked:
                targets = self._targets(graph, one.supersedes, slot_of)
                edges += ((target, slot) for target in targets if target != slot)
        edges, circular = without_circles(edges)
        taught = self._edges_taught(graph)
        edges = latest_edges([*edges, *taught])
        circular = circular.difference(*(edge for edge in taught if circular.issuperset(edge)))
        for older, newer in edges:
            if FIRST < begins[newer] < LAST:
                ends[older] = min(ends[older], begins[newer])
        followed: defaultdict[int, list[Succession]] = defaultdict(list)
        for older, newer in dict.fromkeys(edges):
            since = by_latest.get((older, newer), int(begins[newer]))
            followed[older].append(Succession(newer, since))
        return Timeline(graph, begins, ends, self._titles.view, dict(followed), circular)

    def _edges_taught(self, graph: TagGraph) -> list[tuple[int, int]]:
        """Return what people said, of chunks that are there and whose text is still the same."""
        if not self._taught:
            return []
        rows = self._truth.rows_of(
            sorted({id_ for old, _, new in self._taught for id_ in (old, new)})
        )
        hashes = self._truth.text_hashes(
            sorted({rows[old] for old, *_ in self._taught if old in rows})
        )
        slots = {
            id_: slot
            for id_, row in rows.items()
            for slot in graph.slots_of(np.array([row])).tolist()
        }
        return [
            (slots[old], slots[new])
            for old, text_hash, new in self._taught
            if old in slots and new in slots and hashes.get(rows[old]) == text_hash
        ]

    def _slots_by_id(self, graph: TagGraph, linked: Iterable[tuple[int, Dated]]) -> dict[str, int]:
        wanted = {one.version_of for _, one in linked if one.version_of is not None}
        wanted |= {target for _, one in linked for target in one.supersedes}
        found: dict[str, int] = {}
        for id_, row in self._truth.rows_of(sorted(wanted)).items():
            found.update((id_, slot) for slot in graph.slots_of(np.array([row])).tolist())
        return found

    def _targets(
        self, graph: TagGraph, supersedes: Iterable[str], slot_of: Mapping[str, int]
    ) -> list[int]:
        """Return the chunks that have one of these ids, or addresses."""
        found: list[int] = []
        for target in supersedes:
            if (slot := slot_of.get(target)) is not None:
                found.append(slot)
                continue
            number = graph.phrases.number(next(iter(link_keys([target])), ""))
            if number is not None:
                _, chunks, entitles = graph.chunks_of(np.array([number], dtype=np.int64))
                found += chunks[entitles].tolist()
        return found


def _chains(linked: Iterable[tuple[int, Dated]], slot_of: Mapping[str, int]) -> list[list[int]]:
    """Return the versions of each chunk, oldest first; the one that bears the id is the newest."""
    old: defaultdict[str, list[tuple[tuple[int, int], int]]] = defaultdict(list)
    for slot, one in linked:
        if one.version_of is not None:
            old[one.version_of].append((order_of(one.valid_from, one.valid_until), slot))
    chains = []
    for subject, versions in old.items():
        chain = [slot for _, slot in sorted(versions)]
        if (newest := slot_of.get(subject)) is not None:
            chain.append(newest)
        chains.append(chain)
    return chains


class Timeline:
    """When the chunks of one graph hold, by slot.

    Attributes
    ----------
    begins, ends : ndarray of int64, shape (n_slots,)
        A chunk holds from an instant on and before another.
    circular : set of int
        Chunks that say of one another, in a circle, that they supersede; that is ignored.
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
            for one in successions:
                self._neighbours[older].add(one.slot)
                self._neighbours[one.slot].add(older)

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
            if any(one.since <= moment for one in successions):
                stale[older] = True
        return stale

    def since_when_stale(self, slot: int, moment: int) -> int | None:
        """Return since when a chunk is stale (``FIRST``: unknown); None if it holds."""
        ended = int(self.ends[slot]) if self.ends[slot] <= moment else None
        since = [one.since for one in self._followed.get(slot, ()) if one.since <= moment]
        if ended is None and not since:
            return None
        known = [one for one in (ended, *since) if one is not None and one > FIRST]
        return min(known, default=FIRST)

    def replaced_by(self, slot: int, moment: int) -> list[int]:
        """Return the chunks that stand in the place of one at a moment, ascending."""
        last: set[int] = set()
        seen, waiting = {slot}, [slot]
        while waiting:
            one = waiting.pop()
            followers = [
                next_.slot for next_ in self._followed.get(one, ()) if next_.since <= moment
            ]
            if not followers and one != slot:
                last.add(one)
            waiting += (next_ for next_ in followers if next_ not in seen)
            seen.update(followers)
        return sorted(last)

    def subject(self, slot: int) -> list[int]:
        """Return the versions and events of a chunk's subject, itself included, ascending.

        Versions of one chunk, what supersedes what, and dated chunks of one title.
        """
        seen, waiting = {slot}, [slot]
        while waiting:
            near = self._neighbours.get(waiting.pop(), set()) - seen
            seen |= near
            waiting += near
        for title in {int(self._titles[one]) for one in seen} - {_NO_TITLE}:
            same = np.flatnonzero((self._titles == title) & self._graph.alive)
            if len(same) <= _LARGEST_SUBJECT:
                seen.update(same.tolist())
        return sorted(seen)
