"""The rank step of time: it orders the versions and events of one subject.

A stale hit ranks below its replacement; if only the stale text matched, the replacement enters at
its place. If the question names a time ("in 2019", "before the strike", "originally"), the version
that was valid then ranks above the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial

import numpy as np

from hebbgraph.arrays import BoolArray
from hebbgraph.derived.timeline import Timeline
from hebbgraph.formulas.paths import Path, PathNode
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.limits import MAX_K
from hebbgraph.moments import FIRST, LAST, microseconds
from hebbgraph.recall.steps import RankStep
from hebbgraph.recall.strategies import Ranking, Request
from hebbgraph.records import Hit, Recall, Stale
from hebbgraph.store.truth import Truth
from hebbgraph.text import lexical_terms, tokenize
from hebbgraph.text.time_words import AskedTime, asked_time, said_dates

__all__ = ["IN_A_CIRCLE", "TimeStep", "below_replacements", "path_through", "stale_marks"]

#: A note of recalls with such a hit.
IN_A_CIRCLE = "chunks that supersede one another in a circle: none of them counts as stale for it"

#: Rank this many times k chunks, since older versions give way to their replacements.
_DEPTH = 3
#: Share of its score that a stale hit keeps, and a version from a time the question excludes.
_STALE = 0.5
#: Share that the hit itself keeps if the question asks for what came before or after it.
_NEXT = 0.95
_TIE_DECIMALS = 9
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class TimeStep(RankStep):
    """Ranks by time; one object serves one recall.

    Parameters
    ----------
    truth : Truth
    graph : TagGraph
        Locked, except in :meth:`finish`.
    timeline : Timeline
    query : str
    language : str
        Language of the stemmer.
    as_of : datetime, optional
        Exclude chunks that were not valid then.
    """

    def __init__(
        self,
        truth: Truth,
        graph: TagGraph,
        timeline: Timeline,
        query: str,
        language: str,
        as_of: datetime | None = None,
    ) -> None:
        self.timeline = timeline
        self.now = microseconds(datetime.now(UTC) if as_of is None else as_of)
        self.period = None if as_of is not None else asked_time(query)
        self._graph = graph
        self._truth = truth
        self._query = query
        self._language = language
        self._as_of = as_of

    def depth(self, k: int) -> int:
        """Return how many chunks to rank: versions of one subject share places."""
        return min(_DEPTH * k, MAX_K)

    def narrow(self, request: Request) -> Request:
        """Exclude chunks that were not valid; tell the question which dates only metadata has."""
        question = replace(request.question, dates=self._dates(request.question.frequencies))
        allowed = request.allowed
        if self._as_of is not None:
            allowed = allowed & self.timeline.holding(self.now)
        return replace(request, question=question, allowed=allowed)

    def _dates(self, frequencies: Mapping[str, int]) -> frozenset[str]:
        period = asked_time(self._query)
        if period is None or period.start is None or period.stop is None:
            return frozenset()
        start = FIRST if period.relation == "before" else period.start
        stop = LAST if period.relation == "after" else period.stop
        if not self.timeline.speaks_of(start, stop):
            return frozenset()
        words = lexical_terms(tokenize(" ".join(said_dates(self._query))), self._language)
        return frozenset(term for term in words if not frequencies.get(term))

    def rank(self, request: Request, ranking: Ranking, k: int) -> Ranking:
        """Reorder versions and events of one subject, and mark stale ones."""
        ranked, via = self.arranged(ranking.pairs(), request.allowed)
        stale = partial(stale_marks, self._truth, request.graph, self.timeline, self.now)
        return ranking.reordered(
            ranked,
            path=path_through(ranking.path, via),
            last=self.timeline.stale(self.now),
            stale=stale,
        )

    def finish(self, recall: Recall, k: int) -> Recall:
        """Note hits that supersede one another in a circle."""
        circular = self.timeline.circular
        if not circular:
            return recall
        rows = self._truth.rows_of([hit.chunk.id for hit in recall.hits]).values()
        slots = self._graph.slots_of(np.array(sorted(rows), np.int64)).tolist()
        if circular.isdisjoint(slots):
            return recall
        return recall.model_copy(update={"notes": (*recall.notes, IN_A_CIRCLE)})

    def arranged(
        self, ranked: Sequence[tuple[int, float]], allowed: BoolArray
    ) -> tuple[list[tuple[int, float]], dict[int, int]]:
        """Return slots and scores in their new order, and the hit that each new slot came from."""
        timeline, now = self.timeline, self.now
        moves = _Moves(dict(ranked))
        if self.period is not None:
            for slot, _ in ranked:
                if slot not in moves.settled:
                    self._prefer(self.period, slot, allowed, moves)
        scores, replaced = moves.scores, set()
        for slot in list(scores):
            if slot in moves.settled or timeline.since_when_stale(slot, now) is None:
                continue
            followers = [other for other in timeline.replaced_by(slot, now) if allowed[other]]
            for other in [other for other in followers if other in scores] or followers[:1]:
                moves.raise_to(other, moves.before.get(slot, 0.0), slot)
                replaced.add(slot)
            scores[slot] *= _STALE
        place = {slot: at for at, slot in enumerate(scores)}
        stale = {
            slot
            for slot in scores
            if slot not in moves.settled and timeline.since_when_stale(slot, now) is not None
        }
        order = sorted(
            scores,
            key=lambda slot: (
                -round(scores[slot], _TIE_DECIMALS), slot in replaced, slot in stale, place[slot]
            ),
        )  # fmt: skip
        return [(slot, scores[slot]) for slot in order], moves.via

    def _prefer(self, period: AskedTime, slot: int, allowed: BoolArray, moves: _Moves) -> None:
        """Put the versions that the question asks about first among the subject of a hit."""
        subject = [version for version in self.timeline.subject(slot) if allowed[version]]
        if len(subject) < 2:
            return
        wanted = self._wanted(period, slot, subject)
        if not wanted:
            return
        by_event = _is_by_event(period)
        top = moves.before[slot]
        for version in subject:
            if version in wanted:
                moves.raise_to(version, top, slot)
            elif version in moves.scores and not by_event:
                moves.scores[version] *= _STALE
        if by_event:
            moves.scores[slot] = top * _NEXT
        if period.relation != "latest":
            moves.settled.update(subject)

    def _wanted(self, period: AskedTime, slot: int, subject: Sequence[int]) -> set[int]:
        """Return which versions of the subject of a hit the question asks about."""
        begins, ends = self.timeline.begins, self.timeline.ends

        def first(versions: list[int]) -> set[int]:
            return {min(versions, key=lambda v: (begins[v], v))} if versions else set()

        def last(versions: list[int]) -> set[int]:
            return {max(versions, key=lambda v: (begins[v], v))} if versions else set()

        if period.relation in ("first", "latest"):
            begun = [v for v in subject if begins[v] <= self.now and ends[v] > begins[v]]
            return first(begun) if period.relation == "first" else last(begun)
        if _is_by_event(period):  # the hit is the event
            event = begins[slot]
            if period.relation == "before":
                return last([v for v in subject if begins[v] < event])
            return first([v for v in subject if event < begins[v] <= self.now])
        start, stop = period.start, period.stop
        assert start is not None
        assert stop is not None
        if period.relation == "before":
            return last([v for v in subject if begins[v] < start])
        if period.relation == "after":
            later = first([v for v in subject if begins[v] >= stop])
            return later or {v for v in subject if FIRST < begins[v] <= stop < ends[v]}
        return {
            v
            for v in subject
            if begins[v] < stop and ends[v] > start and (begins[v], ends[v]) != (FIRST, LAST)
        }


@dataclass
class _Moves:
    """Scores that change while a ranking is rearranged.

    ``before`` are the scores of the ranking, ``via`` the hit through which a slot entered, and
    ``settled`` slots whose order follows from the time that the question names.
    """

    before: dict[int, float]
    scores: dict[int, float] = field(init=False)
    via: dict[int, int] = field(default_factory=dict)
    settled: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.scores = dict(self.before)

    def raise_to(self, slot: int, score: float, through: int) -> None:
        """Raise a score; a slot that was not ranked enters through a hit."""
        self.scores[slot] = max(self.scores.get(slot, 0.0), score)
        if slot not in self.before:
            self.via.setdefault(slot, through)


def _is_by_event(period: AskedTime) -> bool:
    """Return whether the question dates its answer by an event, as in "before the strike"."""
    return period.start is None and period.relation in ("before", "after")


def path_through(path: Callable[[int], Path], via: dict[int, int]) -> Callable[[int], Path]:
    """Extend paths: that of a slot that entered through a hit leads over this hit."""

    def through(slot: int) -> Path:
        if slot not in via:
            return path(slot)
        before = path(via[slot])
        return (*before, PathNode("chunk", slot, before[-1].weight))

    return through


def stale_marks(
    truth: Truth, graph: TagGraph, timeline: Timeline, now: int, slots: Iterable[int]
) -> dict[int, Stale]:
    """Return for each stale chunk since when it is stale, and what replaces it."""
    since = {
        slot: moment
        for slot in slots
        if (moment := timeline.since_when_stale(slot, now)) is not None
    }
    followers = {slot: timeline.replaced_by(slot, now) for slot in since}
    wanted = {version for slots_after in followers.values() for version in slots_after}
    ids = truth.ids(int(graph.rows[version]) for version in sorted(wanted))
    return {
        slot: Stale(
            since=None if moment == FIRST else _EPOCH + timedelta(microseconds=moment),
            replaced_by=tuple(
                ids[row] for version in followers[slot] if (row := int(graph.rows[version])) in ids
            ),
        )
        for slot, moment in since.items()
    }


def below_replacements(hits: Sequence[Hit], before: Sequence[Hit]) -> tuple[Hit, ...]:
    """Move stale hits below their replacements again, if they ranked below them before."""
    ranks = {hit.chunk.id: hit.rank for hit in before}
    order = list(hits)
    for hit in hits:
        if hit.stale is None:
            continue
        position = order.index(hit)
        below = max(
            (
                at
                for at, other in enumerate(order)
                if other.chunk.id in hit.stale.replaced_by
                and ranks[other.chunk.id] < ranks[hit.chunk.id]
            ),
            default=-1,
        )
        if below > position:
            order.insert(below, order.pop(position))
            order[below] = hit.model_copy(update={"score": order[below - 1].score})
    return tuple(order)
