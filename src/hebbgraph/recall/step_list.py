"""Which of hebbgraph's own rank steps a recall needs; each is imported on first use."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

from hebbgraph.arrays import BoolArray
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.moments import microseconds
from hebbgraph.namespace import Namespace
from hebbgraph.recall.options import RecallOptions
from hebbgraph.recall.query import Query
from hebbgraph.recall.steps import RankStep

if TYPE_CHECKING:
    from hebbgraph.derived.timeline import Timeline, Timelines

__all__ = ["StepList"]


class StepList:
    """The rank steps of one namespace: time, a limit per colony, a reranker, a judge."""

    def __init__(self, namespace: Namespace) -> None:
        self._namespace = namespace
        #: A graph, and how many of its slots are known to have no dates.
        self._undated: tuple[TagGraph, int] | None = None

    def steps(self, graph: TagGraph, query: Query, options: RecallOptions) -> list[RankStep]:
        """Return the steps that a recall needs, in order; the graph is locked."""
        namespace = self._namespace
        steps: list[RankStep] = []
        if (timeline := self._timeline(graph)) is not None:
            from hebbgraph.recall.staleness import TimeStep

            language, moment = namespace.settings.language, options.moment
            steps.append(TimeStep(namespace.truth, graph, timeline, query.text, language, moment))
        if options.per_colony is not None:
            from hebbgraph.recall.per_colony import ColonyLimit

            steps.append(ColonyLimit(options.per_colony, namespace.colony_of))
        if namespace.reranker is not None:
            steps.append(self._rerank_step)
        if namespace.judge is not None:
            steps.append(self._judge_step)
        return steps

    def stale(self, graph: TagGraph) -> BoolArray | None:
        """Return which chunks are stale now; None if no chunk says anything about time."""
        timeline = self._timeline(graph)
        return None if timeline is None else timeline.stale(microseconds(datetime.now(UTC)))

    @cached_property
    def _rerank_step(self) -> RankStep:
        from hebbgraph.recall.judging import JudgeStep

        return JudgeStep(self._namespace.reranker, self._namespace.settings.rerank, reranks=True)

    @cached_property
    def _judge_step(self) -> RankStep:
        from hebbgraph.recall.judging import JudgeStep

        namespace = self._namespace
        return JudgeStep(namespace.judge, namespace.settings.rerank, below=namespace.judge_below)

    @cached_property
    def _timelines(self) -> Timelines:
        from hebbgraph.derived.timeline import Timelines

        return Timelines(self._namespace.truth)

    def _timeline(self, graph: TagGraph) -> Timeline | None:
        taught = self._namespace.memory.outdated(trusted=True)
        if not taught and "_timelines" not in vars(self) and not self._has_dates(graph):
            return None
        return self._timelines.at(graph, tuple(taught))

    def _has_dates(self, graph: TagGraph) -> bool:
        """Return whether any chunk says when it holds; only new rows are read."""
        start, stop = 0, graph.n_slots
        if self._undated is not None and self._undated[0] is graph:
            start = self._undated[1]
        if start < stop:
            rows = graph.rows
            first = int(rows[start - 1]) if start else -1
            if self._namespace.truth.dated(first, int(rows[stop - 1])):
                return True
        self._undated = graph, stop
        return False
