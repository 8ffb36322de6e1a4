"""The rank step of time: orders the versions and events of one subject.

A stale hit ranks below its replacement; if only the stale text matched, the replacement enters at
its place. A question that names a time ("in 2019", "before the strike", "originally") ranks what
was valid then above the other versions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
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
from hebbgraph.text.time_words import asked_time, said_dates

__all__ = ["IN_A_CIRCLE", "InTime", "below_replacements", "path_through", "stale_marks"]

#: A note of a recall with such a hit.
IN_A_CIRCLE = "chunks that supersede one another in a circle: none of them counts as stale for it"

#: So many times k chunks are ranked, as older versions give way to what replaces them.
_DEPTH = 3
#: Share of its score that a stale hit keeps, and a version of another time than the question's.
_STALE = 0.5
#: Share that the best hit of a subject keeps if the question asks for what came before or after.
_NEXT = 0.95
_TIE_DECIMALS = 9
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class InTime(RankStep):
    """Ranks by time; one object serves one recall.

    Parameters
    ----------
    truth : Truth
    graph : TagGraph
        Which is locked but for :meth:`finish`.
    timeline : Timeline
    query : str
    language : str
        Language of the stemmer.
    as_of : datetime, optional
        Chunks that were not valid then take no part.
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
        """Leave out what was not valid; note the question's dates that only metadata knows."""
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
        """Arrange versions and events of one subject; mark what is stale."""
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
        """Return slots and scores in their new order, and for each new slot its hit."""
        ranked_score = dict(ranked)
        score = dict(ranked_score)
        via: dict[int, int] = {}
        settled: set[int] = set()
        if self.period is not None:
            for slot, _ in ranked:
                if slot not in settled:
                    self._prefer(slot, allowed, ranked_score, score, via, settled)
        replaced = set()
        for slot in list(score):
            if slot in settled or self.timeline.since_when_stale(slot, self.now) is None:
                continue
            followers = [
                version for version in self.timeline.replaced_by(slot, self.now) if allowed[version]
            ]
            for version in [version for version in followers if version in score] or followers[:1]:
                score[version] = max(score.get(version, 0.0), ranked_score.get(slot, 0.0))
                if version not in ranked_score:
                    via.setdefault(version, slot)
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
        allowed: BoolArray,
        ranked_score: dict[int, float],
        score: dict[int, float],
        via: dict[int, int],
        settled: set[int],
    ) -> None:
        """Put the versions that the question asks about first within the subject of a hit."""
        subject = [version for version in self.timeline.subject(slot) if allowed[version]]
        period = self.period
        if len(subject) < 2 or period is None:
            return
        by_event = period.start is None and period.relation in ("before", "after")
        wanted = self._beside(slot, subject) if by_event else self._wanted(subject)
        if not wanted:
            return
        top = ranked_score[slot]
        for version in subject:
            if version in wanted:
                score[version] = max(score.get(version, 0.0), top)
                if version not in ranked_score:
                    via.setdefault(version, slot)
            elif version in score and not by_event:
                score[version] *= _STALE
        if by_event:
            score[slot] = top * _NEXT
        if period.relation != "latest":
            settled.update(subject)

    def _wanted(self, subject: Sequence[int]) -> set[int]:
        """Return which of a subject's chunks the question asks about."""
        period, begins, ends = self.period, self.timeline.begins, self.timeline.ends
        assert period is not None
        if period.relation in ("first", "latest"):
            begun = [
                version
                for version in subject
                if begins[version] <= self.now and ends[version] > begins[version]
            ]
            pick = min if period.relation == "first" else max
            return {pick(begun, key=lambda version: (begins[version], version))} if begun else set()
        start, stop = period.start, period.stop
        assert start is not None
        assert stop is not None
        if period.relation == "before":
            earlier = [version for version in subject if begins[version] < start]
            return (
                {max(earlier, key=lambda version: (begins[version], version))} if earlier else set()
            )
        if period.relation == "after":
            later = [version for version in subject if begins[version] >= stop]
            if later:
                return {min(later, key=lambda version: (begins[version], version))}
            return {
                version for version in subject if FIRST < begins[version] <= stop < ends[version]
            }
        return {
            version
            for version in subject
            if begins[version] < stop
            and ends[version] > start
            and (begins[version], ends[version]) != (FIRST, LAST)
        }

    def _beside(self, slot: int, subject: Sequence[int]) -> set[int]:
        """Return the version just before or after a hit."""
        begins, here = self.timeline.begins, self.timeline.begins[slot]
        assert self.period is not None
        if self.period.relation == "before":
            earlier = [version for version in subject if begins[version] < here]
            return (
                {max(earlier, key=lambda version: (begins[version], version))} if earlier else set()
            )
        later = [version for version in subject if here < begins[version] <= self.now]
        return {min(later, key=lambda version: (begins[version], version))} if later else set()


def path_through(path: Callable[[int], Path], via: dict[int, int]) -> Callable[[int], Path]:
    """Extend paths: a slot that entered through a hit follows that hit."""

    def through(slot: int) -> Path:
        if slot not in via:
            return path(slot)
        before = path(via[slot])
        return (*before, PathNode("chunk", slot, before[-1].weight))

    return through


def stale_marks(
    truth: Truth, graph: TagGraph, timeline: Timeline, now: int, slots: Iterable[int]
) -> dict[int, Stale]:
    """Return a mark for each stale chunk: since when, and what replaces it."""
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
