"""The pipeline from a question to a Recall: read ``Recaller.recall``, then ``_rank``."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Protocol

import numpy as np

from hebbgraph.artifacts import DamagedPartError
from hebbgraph.errors import HebbgraphError, IndexLockedError
from hebbgraph.formulas.confidence import NOTHING_KNOWN
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.learning.memory import Memory
from hebbgraph.namespace import Namespace
from hebbgraph.recall.conversation import check_history, in_full, weigh_turns
from hebbgraph.recall.hits import best_slots, filled_up, make_hits, numbered, weighed
from hebbgraph.recall.link_sentences import LinkSentences
from hebbgraph.recall.masks import Masks, PassingChunks, Where
from hebbgraph.recall.options import RecallOptions, check_filter, check_query
from hebbgraph.recall.predicate import FilteredStrategy
from hebbgraph.recall.query import Query, ask_models, in_short
from hebbgraph.recall.question import Question, QuestionReader, cues_of, foreign_note
from hebbgraph.recall.search import DirectSearch
from hebbgraph.recall.steps import RankStep
from hebbgraph.recall.strategies import (
    NO_KNOWLEDGE,
    NONE_PASSES,
    NONE_VALID,
    CheckedStrategy,
    Ranking,
    Request,
    Strategy,
    StrategyName,
    named_strategy,
)
from hebbgraph.records import Hit, Recall, Turn
from hebbgraph.stages import stage
from hebbgraph.store.texts import TextsElsewhere
from hebbgraph.text.query import usable_question

if TYPE_CHECKING:
    from hebbgraph.arrays import BoolArray
    from hebbgraph.formulas.evidence import Evidence

__all__ = ["Recaller", "StepSource"]

logger = logging.getLogger(__name__)


class StepSource(Protocol):
    """Chooses hebbgraph's own rank steps: see :mod:`hebbgraph.recall.step_list`."""

    def steps(self, graph: TagGraph, query: Query, options: RecallOptions, /) -> Sequence[RankStep]:
        """Return the steps that a recall needs, in order; called while the graph is locked."""
        ...

    def stale(self, graph: TagGraph, /) -> BoolArray | None:
        """Return which chunks are stale, for ``$stale`` in filters; None if none can be."""
        ...


class Recaller:
    """Answers questions from one namespace.

    Parameters
    ----------
    namespace : Namespace
    source : StepSource, optional
        Without it, only the caller's own steps run.
    memory : Memory, optional
        Used instead of the namespace's; an empty one gives static recalls.
    """

    def __init__(
        self,
        namespace: Namespace,
        source: StepSource | None = None,
        *,
        memory: Memory | None = None,
    ) -> None:
        self._namespace = namespace
        self._truth = namespace.truth
        self._derived = namespace.derived
        self._reader = QuestionReader(namespace, memory or namespace.memory)
        self._source = source
        self._masks = Masks(namespace.truth, namespace.colony_of, self._stale)
        settings = namespace.settings
        # A recall asks a store of the caller's only for the texts of hits.
        sentences = (
            LinkSentences(namespace.truth.texts, settings.language)
            if namespace.truth.text_store.here
            else None
        )
        self._search = DirectSearch(
            namespace.derived, settings.evidence, namespace.languages, sentences
        )
        self._strategies: dict[StrategyName, Strategy] = {}
        self._strategies_lock = threading.Lock()
        self._logged: set[type[Exception]] = set()

    def recall(self, text: str, options: RecallOptions | None = None) -> Recall:
        """See :meth:`hebbgraph.HebbianIndex.recall`."""
        options = options or RecallOptions()
        strategy = self._strategy_for(options)
        query = self._query(text, options)
        if query.elsewhere is not None:
            query = self._read_vectors(query, strategy, options)
        recall, steps = self._derived.mending(partial(self._rank, query, strategy, options))
        if isinstance(store := self._truth.text_store, TextsElsewhere):
            hits, notes = store.completed(recall.hits)
            recall = recall.model_copy(update={"hits": hits, "notes": (*recall.notes, *notes)})
        with stage("finish"):
            for step in steps:
                recall = numbered(step.finish(recall, options.k))
        if len(recall.hits) > options.k:
            recall = recall.model_copy(update={"hits": recall.hits[: options.k]})
        return recall

    def _rank(
        self, query: Query, strategy: Strategy, options: RecallOptions, last_generation: int = -1
    ) -> tuple[Recall, Sequence[RankStep]]:
        """Run the part of the pipeline that needs the graph, while it is locked.

        Start again if another process has deleted a hit in the meantime; ``last_generation`` is
        that of the previous attempt.
        """
        with self._namespace.reading(lent=options.calls_back) as generation:
            graph = self._derived.graph
            with stage("question"):
                question = self._reader.read(graph, query)
            request, steps, n_hits = self._prepare(question, query, options)
            ranker = strategy
            if callable(options.where):
                ranker = FilteredStrategy(strategy, self._truth, options.where)
            with stage("spread"):  # reads request.evidence, which runs the direct search
                ranking = best_slots(self._truth, graph, ranker.rank(request), request.k)
            with stage("rank"):
                for step in steps:
                    ranking = step.rank(request, ranking, n_hits)
                if ranker.pads and options.min_score is None:
                    ranking = filled_up(self._truth, request, ranking, n_hits)
                ranking = weighed(ranking, n_hits, options.min_score)
            with stage("hits"):
                hits = make_hits(self._truth, request, ranking)
            if hits is not None:
                recall = self._record(query, strategy, options, request, ranking, hits, generation)
                return recall, steps
        self._check_newer(generation, last_generation)
        return self._rank(query, strategy, options, generation)

    def in_full(self, query: str, history: Iterable[str]) -> str:
        """See :meth:`hebbgraph.HebbianIndex.in_full`."""
        check_query(query)
        query, _ = usable_question(query)
        return in_full(query, self._turns(query, history))

    def ids(self, where: Where) -> list[str]:
        """See :meth:`hebbgraph.HebbianIndex.ids`."""
        check_filter(where)
        with self._namespace.reading():
            graph = self._derived.graph
            passing = self._masks.passing(graph, None if callable(where) else where)
            rows = graph.rows[passing.mask].tolist()
        if not callable(where):
            return sorted(self._truth.ids(rows).values())
        chunks = self._truth.fetch(rows).values()
        return sorted(chunk.id for chunk in chunks if where(chunk))

    def request_of(self, recall: Recall, where: Mapping[str, object] | None = None) -> Request:
        """Return the request of an earlier recall on today's graph, which the caller has locked.

        Without ``where``, the recall's own filter applies. A callable was not recorded: only
        chunks that surely passed it take part, which are the hits and the chunks on their paths.
        """
        graph = self._derived.graph
        vector = None if recall.vector is None else np.array(recall.vector, np.float32)
        phrases = [cue.tag for cue in recall.cues if not cue.from_history]
        query = Query(recall.query, vector, phrases=phrases, turns=recall.history)
        if where is None and recall.where == "callable":
            passing = PassingChunks(self._chunks_of(recall))
        else:
            recorded = None if recall.where == "callable" else recall.where
            passing = self._masks.passing(graph, recorded if where is None else where)
        steps = self._steps(query, RecallOptions(as_of=recall.as_of))
        return self._request(self._reader.read(graph, query), passing, 1, steps)

    def strategy(self, name: StrategyName) -> Strategy:
        """Return the strategy with this name, created on first use."""
        with self._strategies_lock:
            if name not in self._strategies:
                self._strategies[name] = named_strategy(name, self._namespace)
            return self._strategies[name]

    # -- before the graph is locked ---------------------------------------------------

    def _strategy_for(self, options: RecallOptions) -> Strategy:
        strategy = options.strategy
        return self.strategy(strategy) if isinstance(strategy, str) else CheckedStrategy(strategy)

    def _query(self, text: str, options: RecallOptions) -> Query:
        """Check a question and ask the models about it."""
        check_query(text)
        text, cut_note = usable_question(text)
        turns = self._turns(text, options.history)
        with stage("models"):
            query = ask_models(
                self._namespace,
                text,
                turns,
                seeds=options.seeds,
                vector=options.vector,
                vectors=options.vectors,
            )
        return query if cut_note is None else replace(query, notes=(cut_note, *query.notes))

    def _turns(self, text: str, history: Iterable[str]) -> tuple[Turn, ...]:
        """Weigh earlier turns."""
        turns = check_history(history) if history != () else ()
        if not turns:
            return ()

        def weigh() -> tuple[Turn, ...]:
            with self._namespace.reading():
                language = self._namespace.settings.language
                return weigh_turns(self._derived, text, turns, language)

        return self._derived.mending(weigh)

    def _read_vectors(self, query: Query, strategy: Strategy, options: RecallOptions) -> Query:
        """Rank once to learn which vectors the ranking needs, and read them from the store.

        A failure of the store becomes a note. The second ranking needs hardly any other vector.
        """
        assert query.elsewhere is not None

        def rank() -> None:
            with self._namespace.reading():
                question = self._reader.read(self._derived.graph, query)
                strategy.rank(self._prepare(question, query, options)[0])

        self._derived.mending(rank)
        try:
            query.elsewhere.read(self._truth)
        except HebbgraphError:
            raise
        except Exception as error:
            note = f"no vectors of the store: {in_short(error)}"
            if type(error) not in self._logged:  # once for each type: messages may all differ
                self._logged.add(type(error))
                logger.warning("%s; what its search did not return ranks by its other merits", note)
            return replace(query, notes=(*query.notes, note))
        return query

    # -- while the graph is locked ----------------------------------------------------

    def _prepare(
        self, question: Question, query: Query, options: RecallOptions
    ) -> tuple[Request, Sequence[RankStep], int]:
        """Return the request to the strategy, the steps, and how many hits these want."""
        steps = self._steps(query, options)
        n_hits = max([options.k, *(step.hits(options.k) for step in steps)])
        depth = max([n_hits, *(step.depth(n_hits) for step in steps)])
        passing = self._masks.passing(self._derived.graph, options.mask)
        return self._request(question, passing, depth, steps), steps, n_hits

    def _steps(self, query: Query, options: RecallOptions) -> Sequence[RankStep]:
        """Return hebbgraph's own steps and the caller's, in order."""
        if self._source is None:
            return options.steps
        return (*self._source.steps(self._derived.graph, query, options), *options.steps)

    def _request(
        self, question: Question, passing: PassingChunks, k: int, steps: Sequence[RankStep]
    ) -> Request:
        graph = self._derived.graph

        def search(question: Question, allowed: BoolArray) -> Evidence:
            with stage("search"):
                return self._search.evidence(graph, question, passing.within(allowed))

        request = Request(graph, question, passing.mask, k, search)
        for step in steps:
            request = step.narrow(request)
        return request

    def _record(
        self,
        query: Query,
        strategy: Strategy,
        options: RecallOptions,
        request: Request,
        ranking: Ranking,
        hits: tuple[Hit, ...],
        generation: int,
    ) -> Recall:
        confidence = ranking.confidence
        return Recall(
            id=options.id or uuid.uuid4().hex,
            namespace=self._namespace.name,
            strategy=strategy.name,
            query=query.text,
            cues=cues_of(request.graph, request.question),
            hits=hits,
            notes=(*self._notes(request, ranking, options), *query.notes),
            confidence=confidence,
            nothing_known=confidence is not None and confidence < NOTHING_KNOWN,
            dense_share=_dense_share(request),
            generation=generation,
            created_at=time.time(),
            vector=None if query.vector is None else tuple(query.vector.tolist()),
            history=query.turns,
            where=options.recorded_filter,
            as_of=options.moment,
        )

    def _notes(self, request: Request, ranking: Ranking, options: RecallOptions) -> tuple[str, ...]:
        """Return notes on the ranking and on how the question was read."""
        graph, question = request.graph, request.question
        notes: list[str | None] = [*ranking.notes]
        if self._namespace.languages is not None:
            notes.append(self._namespace.languages.read_as(question.query))
        notes.append(foreign_note(graph, question))
        if ranking.confidence is not None and ranking.confidence < NOTHING_KNOWN:
            if graph.n_chunks > 0 and not request.allowed.any():
                misfit = self._masks.passing(graph, options.mask).misfit
                none = NONE_VALID if options.where is None else NONE_PASSES
                notes.append(none if misfit is None else f"{none}: {misfit}")
            else:
                notes.append(NO_KNOWLEDGE)
        return tuple(filter(None, notes))

    def _check_newer(self, generation: int, last_generation: int) -> None:
        """Raise if hits were missing twice on the same generation: trying again cannot help."""
        if generation != last_generation:
            return
        if self._truth.generation() != generation:
            raise IndexLockedError(
                "another process updates the derived parts, and those in memory name "
                "deleted chunks; try again, or raise write_wait_seconds"
            )
        # Nothing was written in the meantime, so the graph does not belong to this database.
        raise DamagedPartError("derived parts name chunks that cannot be read")

    def _stale(self) -> BoolArray | None:
        """Return which chunks are stale; None if no chunk says anything about time."""
        return None if self._source is None else self._source.stale(self._derived.graph)

    def _chunks_of(self, recall: Recall) -> BoolArray:
        """Return a mask of the hits of a recall and the chunks on their paths."""
        graph = self._derived.graph
        ids = {step.value for hit in recall.hits for step in hit.path if step.kind == "chunk"}
        rows = self._truth.rows_of(sorted(ids | {hit.chunk.id for hit in recall.hits})).values()
        mask = np.zeros(graph.n_slots, np.bool_)
        mask[graph.slots_of(np.array(sorted(rows), dtype=np.int64))] = True
        return mask & graph.alive


def _dense_share(request: Request) -> float | None:
    """Return the share of dense search in direct evidence; None if it was not searched."""
    evidence = vars(request).get("evidence")  # a cached property that a strategy may not read
    return None if evidence is None or evidence.dense is None else round(evidence.dense_share, 6)
