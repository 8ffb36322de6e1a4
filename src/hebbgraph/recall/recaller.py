"""From a question to a Recall: the pipeline.

Models are asked while nothing is locked. Then, while the graph is locked, the question is read
with its vocabulary, a strategy gathers evidence and spreads activation, rank steps rearrange what
it found, and hits are built. The steps see the finished recall once more when the lock is gone.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hebbgraph.artifacts import DamagedPartError
from hebbgraph.errors import HebbgraphError, IndexLockedError
from hebbgraph.formulas.confidence import NOTHING_KNOWN
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.learning.memory import Memory
from hebbgraph.namespace import Namespace
from hebbgraph.recall.conversation import check_history, in_full, weigh_turns
from hebbgraph.recall.elsewhere import VectorsElsewhere
from hebbgraph.recall.hits import best_slots, make_hits
from hebbgraph.recall.masks import Masks, Passing, Where
from hebbgraph.recall.options import RecallOptions, check_filter, check_query
from hebbgraph.recall.predicate import FilteredStrategy, unranked
from hebbgraph.recall.query import Query, ask_models, in_short
from hebbgraph.recall.question import Question, QuestionReader, cues_of, foreign_note
from hebbgraph.recall.search import DirectSearch
from hebbgraph.recall.steps import RankStep, StepSource
from hebbgraph.recall.strategies import (
    NO_KNOWLEDGE,
    NONE_HELD,
    NONE_PASSES,
    Checked,
    Ranking,
    Request,
    Strategy,
    StrategyName,
    named_strategy,
)
from hebbgraph.records import Cue, Hit, Recall, Turn
from hebbgraph.stages import stage
from hebbgraph.store.texts import TextsElsewhere
from hebbgraph.text.query import usable_question

if TYPE_CHECKING:
    from hebbgraph.arrays import BoolArray
    from hebbgraph.formulas.evidence import Evidence

__all__ = ["Recaller"]

logger = logging.getLogger(__name__)


class _Answer(NamedTuple):
    """What one pass through the pipeline found; no hits if a chunk was deleted meanwhile."""

    steps: Sequence[RankStep]
    request: Request
    ranking: Ranking
    hits: tuple[Hit, ...] | None
    cues: tuple[Cue, ...]
    notes: tuple[str, ...]
    generation: int


class Recaller:
    """Answers questions from one namespace.

    Parameters
    ----------
    namespace : Namespace
    source : StepSource, optional
        Knows which steps a recall needs.
    learned : bool or Memory
        Whether recalls read what was learned, or what they read in its place.
    """

    def __init__(
        self,
        namespace: Namespace,
        source: StepSource | None = None,
        *,
        learned: bool | Memory = True,
    ) -> None:
        self._namespace = namespace
        self._truth = namespace.truth
        self._derived = namespace.derived
        self._settings = settings = namespace.settings
        memory = learned if isinstance(learned, Memory) else namespace.learned if learned else None
        self._reader = QuestionReader(namespace, memory)
        self._source = source
        self._masks = Masks(namespace.truth, namespace.colony_of, self._stale)
        self._search = DirectSearch(namespace.derived, settings.evidence, namespace.languages)
        self._strategies: dict[StrategyName, Strategy] = {}
        self._logged: set[type[Exception]] = set()
        self._making = threading.Lock()

    def recall(self, text: str, options: RecallOptions | None = None) -> Recall:
        """See :meth:`hebbgraph.HebbianIndex.recall`."""
        options = options or RecallOptions()
        check_query(text)
        text, cut = usable_question(text)
        strategy = self._strategy_for(options)
        with stage("models"):
            query = ask_models(self._namespace, text, self._turns(text, options.history), options)
        notes = (*(() if cut is None else (cut,)), *query.notes)
        if query.elsewhere is not None:
            notes += self._read_vectors(query, query.elsewhere, strategy, options)
        answer = self._derived.mending(partial(self._answer, query, strategy, options))
        recall = self._recorded(query, strategy, options, answer, notes)
        with stage("finish"):
            for step in answer.steps:
                recall = step.finish(recall, options.k)
        if len(recall.hits) > options.k:
            recall = recall.model_copy(update={"hits": recall.hits[: options.k]})
        return recall

    def in_full(self, query: str, history: Iterable[str]) -> str:
        """See :meth:`hebbgraph.HebbianIndex.in_full`."""
        check_query(query)
        query, _ = usable_question(query)
        return in_full(query, self._turns(query, history))

    def ids(self, where: Where) -> list[str]:
        """See :meth:`hebbgraph.HebbianIndex.ids`."""
        check_filter(where)
        with self._namespace.held():
            graph = self._derived.graph
            passing = self._masks.passing(graph, None if callable(where) else where)
            rows = graph.rows[passing.mask].tolist()
        if not callable(where):
            return sorted(self._truth.ids(rows).values())
        chunks = self._truth.fetch(rows).values()
        return sorted(chunk.id for chunk in chunks if where(chunk))

    def strategy(self, name: StrategyName) -> Strategy:
        """Return the strategy of a name; each is created once."""
        with self._making:
            if name not in self._strategies:
                self._strategies[name] = named_strategy(name, self._namespace)
            return self._strategies[name]

    # -- while nothing is locked ------------------------------------------------------

    def _turns(self, text: str, history: Iterable[str]) -> tuple[Turn, ...]:
        """Weigh earlier turns."""
        turns = check_history(history) if history != () else ()
        if not turns:
            return ()

        def weighed() -> tuple[Turn, ...]:
            with self._namespace.held():
                return weigh_turns(self._derived, text, turns, self._settings.language)

        return self._derived.mending(weighed)

    def _strategy_for(self, options: RecallOptions) -> Strategy:
        named = options.strategy
        return self.strategy(named) if isinstance(named, str) else Checked(named)

    def _read_vectors(
        self,
        query: Query,
        elsewhere: VectorsElsewhere,
        strategy: Strategy,
        options: RecallOptions,
    ) -> tuple[str, ...]:
        """Rank to see which vectors are wanted, and read them; a recall survives a failure.

        The ranking that follows comes to hardly any other chunk.
        """

        def rank() -> None:
            with self._namespace.held():
                question = self._reader.read(self._derived.graph, query)
                strategy.rank(self._prepared(question, query, options)[0])

        self._derived.mending(rank)
        try:
            elsewhere.read(self._truth)
        except HebbgraphError:
            raise
        except Exception as error:
            note = f"no vectors of the store: {in_short(error)}"
            if type(error) not in self._logged:  # its words may differ each time
                self._logged.add(type(error))
                logger.warning("%s; what its search did not return ranks by its other merits", note)
            return (note,)
        return ()

    def _recorded(
        self,
        query: Query,
        strategy: Strategy,
        options: RecallOptions,
        answer: _Answer,
        notes: tuple[str, ...],
    ) -> Recall:
        """Return the answer as a record."""
        hits, confidence = answer.hits or (), answer.ranking.confidence
        if isinstance(store := self._truth.text_store, TextsElsewhere):
            hits, of_texts = store.completed(hits)
            notes = (*of_texts, *notes)
        return Recall(
            id=options.id or uuid.uuid4().hex,
            namespace=self._namespace.name,
            strategy=strategy.name,
            query=query.text,
            cues=answer.cues,
            hits=hits,
            notes=(*answer.notes, *notes),
            confidence=confidence,
            nothing_known=confidence is not None and confidence < NOTHING_KNOWN,
            dense_share=_dense_share(answer.request),
            generation=answer.generation,
            created_at=time.time(),
            vector=None if query.vector is None else tuple(query.vector.tolist()),
            history=query.turns,
            where=options.recorded_filter,
            as_of=options.moment,
        )

    # -- while the graph is locked ----------------------------------------------------

    def _answer(self, query: Query, strategy: Strategy, options: RecallOptions) -> _Answer:
        """Run the pipeline, once more if a chunk that it found was deleted meanwhile."""
        doubted = -1
        while True:
            with self._namespace.held(lent=options.calls_back) as generation:
                answer = self._pipeline(query, strategy, options, generation)
            if answer.hits is not None:
                return answer
            if generation == doubted:
                if self._truth.generation() != generation:
                    raise IndexLockedError(
                        "another process updates the derived parts, and those in memory name "
                        "deleted chunks; try again, or raise write_wait_seconds"
                    )
                # Nothing was written meanwhile, so the graph does not belong to this truth.
                raise DamagedPartError("derived parts name chunks that cannot be read")
            doubted = generation

    def _pipeline(
        self, query: Query, strategy: Strategy, options: RecallOptions, generation: int
    ) -> _Answer:
        """Question, evidence and spread, rank steps, hits."""
        graph = self._derived.graph
        with stage("question"):
            question = self._reader.read(graph, query)
        request, steps, k = self._prepared(question, query, options)
        if callable(options.where):
            strategy = FilteredStrategy(strategy, self._truth, options.where)
        with stage("spread"):
            ranking = best_slots(self._truth, graph, strategy.rank(request), request.k)
        with stage("rank"):
            for step in steps:
                ranking = step.rank(request, ranking, k)
            ranking = self._filled(request, ranking, k, options, pads=strategy.pads)
        with stage("hits"):
            hits = make_hits(self._truth, request, ranking)
        return _Answer(
            steps,
            request,
            ranking,
            hits,
            cues_of(graph, question),
            self._notes(request, ranking, options),
            generation,
        )

    def _prepared(
        self, question: Question, query: Query, options: RecallOptions
    ) -> tuple[Request, Sequence[RankStep], int]:
        """Return what is asked of the strategy, the steps, and how many hits they want."""
        steps = self._steps(self._derived.graph, query, options)
        k = max([options.k, *(step.hits(options.k) for step in steps)])
        depth = max([k, *(step.depth(k) for step in steps)])
        request = self._request(question, options.mask, depth)
        for step in steps:
            request = step.narrow(request)
        return request, steps, k

    def _steps(self, graph: TagGraph, query: Query, options: RecallOptions) -> Sequence[RankStep]:
        """Return the steps that this recall needs, in their order."""
        built_in = () if self._source is None else self._source.steps(graph, query, options)
        return (*built_in, *options.steps)

    def _request(
        self,
        question: Question,
        where: Mapping[str, object] | None,
        k: int,
        *,
        among: BoolArray | None = None,
    ) -> Request:
        """Return a question to the chunks that pass a filter.

        ``among`` are the slots that take part if there is no filter; all by default.
        """
        graph = self._derived.graph
        if where is None and among is not None:
            passing = Passing(among)
        else:
            passing = self._masks.passing(graph, where)

        def search(question: Question, allowed: BoolArray) -> Evidence:
            with stage("search"):
                return self._search.evidence(graph, question, passing.within(allowed))

        return Request(graph, question, passing.mask, k, search)

    def _filled(
        self, request: Request, ranking: Ranking, k: int, options: RecallOptions, *, pads: bool
    ) -> Ranking:
        """Cut a ranking to k, fill it up with other chunks, and weigh it by its confidence."""
        ranked, least = ranking.pairs()[:k], options.min_score
        if least is None and pads and len(ranked) < k:
            allowed, last = request.allowed, ranking.last
            for among in (allowed,) if last is None else (allowed & ~last, allowed & last):
                if missing := k - len(ranked):
                    taken = [slot for slot, _ in ranked]
                    rest = unranked(self._truth, request.graph, among, taken, missing)
                    ranked += [(slot, 0.0) for slot in rest]
        confidence = 1.0 if ranking.confidence is None else ranking.confidence
        weighed = [(slot, score * confidence) for slot, score in ranked]
        if least is not None:
            weighed = [(slot, score) for slot, score in weighed if score >= least and score > 0]
        return ranking.reordered(weighed)

    def _notes(self, request: Request, ranking: Ranking, options: RecallOptions) -> tuple[str, ...]:
        """Return what the reader should know of a ranking, and what the question was taken for."""
        graph, question = request.graph, request.question
        notes: list[str | None] = [*ranking.notes]
        if self._namespace.languages is not None:
            notes.append(self._namespace.languages.read_as(question.query))
        notes.append(foreign_note(graph, question))
        if ranking.confidence is not None and ranking.confidence < NOTHING_KNOWN:
            without = NONE_HELD if options.where is None else NONE_PASSES
            empty = graph.n_chunks > 0 and not request.allowed.any()
            notes.append(without if empty else NO_KNOWLEDGE)
            if empty and (why := self._masks.passing(graph, options.mask).misfit) is not None:
                notes[-1] = f"{without}: {why}"
        return tuple(filter(None, notes))

    def _stale(self) -> BoolArray | None:
        """Return which chunks are stale; None if none say anything about time."""
        return None if self._source is None else self._source.stale(self._derived.graph)

    # -- an earlier recall ------------------------------------------------------------

    def again(self, recall: Recall, where: Mapping[str, object] | None = None) -> Request:
        """Read the question of an earlier recall; the caller holds the graph.

        Without a filter, that of the recall. A callable is not kept: then only chunks take part
        that it let pass for certain, the hits and those on their paths.
        """
        vector = None if recall.vector is None else np.array(recall.vector, np.float32)
        phrases = [cue.tag for cue in recall.cues if not cue.from_history]
        query = Query(recall.query, vector, phrases=phrases, turns=recall.history)
        among = None
        if where is None and recall.where == "callable":
            among = self._known_to_pass(recall)
        elif where is None and recall.where != "callable":
            where = recall.where
        graph = self._derived.graph
        request = self._request(self._reader.read(graph, query), where, 1, among=among)
        for step in self._steps(graph, query, RecallOptions(as_of=recall.as_of)):
            request = step.narrow(request)
        return request

    def _known_to_pass(self, recall: Recall) -> BoolArray:
        graph = self._derived.graph
        ids = {step.value for hit in recall.hits for step in hit.path if step.kind == "chunk"}
        rows = self._truth.rows_of(sorted(ids | {hit.chunk.id for hit in recall.hits})).values()
        known = np.zeros(graph.n_slots, np.bool_)
        known[graph.slots_of(np.array(sorted(rows), dtype=np.int64))] = True
        return known & graph.alive


def _dense_share(request: Request) -> float | None:
    """Return the share of dense search in direct evidence, if there was one."""
    evidence = vars(request).get("evidence")  # a cached property; a strategy may not read it
    return None if evidence is None or evidence.dense is None else round(evidence.dense_share, 6)
