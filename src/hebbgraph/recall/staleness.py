"""Where versions and events of one subject stand in a ranking: by what the question asks about.

A stale hit stands below what replaces it, which comes in where the stale one was found. A
question that names a time ("in 2019", "before the strike", "originally") puts what held then
above the subject's other versions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from hebbgraph.arrays import BoolArray
from hebbgraph.derived.timeline import Timeline
from hebbgraph.formulas.paths import Path, PathNode
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.moments import FIRST, LAST
from hebbgraph.records import Hit, Stale
from hebbgraph.store.truth import Truth
from hebbgraph.text.time_words import AskedTime

__all__ = ["IN_A_CIRCLE", "InTime", "below_replacements", "path_through", "stale_marks"]

#: A note of a recall with such a hit.
IN_A_CIRCLE = "chunks that supersede one another in a circle: none of them counts as stale for it"

#: What a stale hit, or one of another time than the one asked about, keeps of its score.
_STALE = 0.5
#: What the best hit of a subject keeps, if the question asks for what came before or after it.
_NEXT = 0.95
_TIE_DECIMALS = 9
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class InTime(NamedTuple):
    """Arranges one ranking by time.

    Parameters
    ----------
    timeline : Timeline
    now : int
        Against which chunks are stale, in microseconds since 1970.
    asked : AskedTime, optional
    allowed : ndarray of bool
        Chunks that may be hits.
    """

    timeline: Timeline
    now: int
    asked: AskedTime | None
    allowed: BoolArray

    def arranged(
        self, ranked: Sequence[tuple[int, float]]
    ) -> tuple[list[tuple[int, float]], dict[int, int]]:
        """Return slots and scores in their new order, and by which hit others came in."""
        found = dict(ranked)
        score = dict(found)
        via: dict[int, int] = {}
        settled: set[int] = set()
        if self.asked is not None:
            for slot, _ in ranked:
                if slot not in settled:
                    self._prefer(slot, found, score, via, settled)
        replaced = set()
        for slot in list(score):
            if slot in settled or self.timeline.since_when_stale(slot, self.now) is None:
                continue
            followers = [
                one for one in self.timeline.replaced_by(slot, self.now) if self.allowed[one]
            ]
            for one in [one for one in followers if one in score] or followers[:1]:
                score[one] = max(score.get(one, 0.0), found.get(slot, 0.0))
                if one not in found:
                    via.setdefault(one, slot)
                replaced.add(slot)
            score[slot] *= _STALE
        place = {slot: at for at, slot in enumerate(score)}
        stale = {
            slot
            for slot in score
            if slot not in settled and self.timeline.since_when_stale(slot, self.now) is not None
        }
        order = sorted(
            score,
            key=lambda slot: (
                -round(score[slot], _TIE_DECIMALS), slot in replaced, slot in stale, place[slot]
            ),
        )  # fmt: skip
        return [(slot, score[slot]) for slot in order], via

    def _prefer(
        self,
        slot: int,
        found: dict[int, float],
        score: dict[int, float],
        via: dict[int, int],
        settled: set[int],
    ) -> None:
        """Put what was asked about first in the subject of a hit, the best one of it."""
        subject = [one for one in self.timeline.subject(slot) if self.allowed[one]]
        asked = self.asked
        if len(subject) < 2 or asked is None:
            return
        by_event = asked.start is None and asked.relation in ("before", "after")
        wanted = self._beside(slot, subject) if by_event else self._wanted(subject)
        if not wanted:
            return
        top = found[slot]
        for one in subject:
            if one in wanted:
                score[one] = max(score.get(one, 0.0), top)
                if one not in found:
                    via.setdefault(one, slot)
            elif one in score and not by_event:
                score[one] *= _STALE
        if by_event:
            score[slot] = top * _NEXT
        if asked.relation != "latest":
            settled.update(subject)

    def _wanted(self, subject: Sequence[int]) -> set[int]:
        """Return which of a subject's chunks the question asks about."""
        asked, begins, ends = self.asked, self.timeline.begins, self.timeline.ends
        assert asked is not None
        if asked.relation in ("first", "latest"):
            begun = [one for one in subject if begins[one] <= self.now and ends[one] > begins[one]]
            pick = min if asked.relation == "first" else max
            return {pick(begun, key=lambda one: (begins[one], one))} if begun else set()
        start, stop = asked.start, asked.stop
        assert start is not None
        assert stop is not None
        if asked.relation == "before":
            earlier = [one for one in subject if begins[one] < start]
            return {max(earlier, key=lambda one: (begins[one], one))} if earlier else set()
        if asked.relation == "after":
            later = [one for one in subject if begins[one] >= stop]
            if later:
                return {min(later, key=lambda one: (begins[one], one))}
            return {one for one in subject if FIRST < begins[one] <= stop < ends[one]}
        return {
            one
            for one in subject
            if begins[one] < stop
            and ends[one] > start
            and (begins[one], ends[one]) != (FIRST, LAST)
        }

    def _beside(self, slot: int, subject: Sequence[int]) -> set[int]:
        """Return what came just before or after a hit."""
        begins, here = self.timeline.begins, self.timeline.begins[slot]
        assert self.asked is not None
        if self.asked.relation == "before":
            earlier = [one for one in subject if begins[one] < here]
            return {max(earlier, key=lambda one: (begins[one], one))} if earlier else set()
        later = [one for one in subject if here < begins[one] <= self.now]
        return {min(later, key=lambda one: (begins[one], one))} if later else set()


def path_through(path: Callable[[int], Path], via: dict[int, int]) -> Callable[[int], Path]:
    """Return paths in which what came in by another hit follows it."""

    def through(slot: int) -> Path:
        if slot not in via:
            return path(slot)
        before = path(via[slot])
        return (*before, PathNode("chunk", slot, before[-1].weight))

    return through


def stale_marks(
    truth: Truth, graph: TagGraph, timeline: Timeline, now: int, slots: Iterable[int]
) -> dict[int, Stale]:
    """Return the marks of those chunks that are stale."""
    since = {
        slot: moment
        for slot in slots
        if (moment := timeline.since_when_stale(slot, now)) is not None
    }
    followers = {slot: timeline.replaced_by(slot, now) for slot in since}
    wanted = {one for some in followers.values() for one in some}
    ids = truth.ids(int(graph.rows[one]) for one in sorted(wanted))
    return {
        slot: Stale(
            since=None if moment == FIRST else _EPOCH + timedelta(microseconds=moment),
            replaced_by=tuple(
                ids[row] for one in followers[slot] if (row := int(graph.rows[one])) in ids
            ),
        )
        for slot, moment in since.items()
    }


def below_replacements(hits: Sequence[Hit], before: Sequence[Hit]) -> tuple[Hit, ...]:
    """Put stale hits below what replaces them again, where they stood below it before."""
    was = {hit.chunk.id: hit.rank for hit in before}
    order = list(hits)
    for stale in [hit for hit in hits if hit.stale is not None]:
        assert stale.stale is not None
        at = order.index(stale)
        below = max(
            (
                place
                for place, other in enumerate(order)
                if other.chunk.id in stale.stale.replaced_by
                and was[other.chunk.id] < was[stale.chunk.id]
            ),
            default=-1,
        )
        if below > at:
            order.insert(below, order.pop(at))
            moved = stale.model_copy(update={"score": order[below - 1].score})
            order[below] = moved
    return tuple(hit.model_copy(update={"rank": rank}) for rank, hit in enumerate(order, 1))
