"""From a question to a Recall.

A request is checked; the caller's models are asked; then, while the graph stands still, a
strategy ranks its chunks and the hits are built.
"""

from __future__ import annotations

import logging
import math
import threading
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import JsonValue
from pydantic_core import from_json, to_json

from hebbgraph.arguments import check_k
from hebbgraph.derived.timeline import Timelines
from hebbgraph.derived.translations import SaidNames
from hebbgraph.embedders import unit_vector
from hebbgraph.errors import FilterError, HebbgraphError, IndexLockedError, ParameterError
from hebbgraph.formulas.confidence import NOTHING_KNOWN
from hebbgraph.graph.foreign import ForeignNames
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.learning.cues import cues_of as memory_cues
from hebbgraph.learning.cues import hash_term
from hebbgraph.learning.memory import Memory
from hebbgraph.limits import MAX_K, MAX_SEEDS
from hebbgraph.moments import FIRST, LAST, Moment, check_moment, microseconds
from hebbgraph.namespace import Namespace
from hebbgraph.plain_values import plain
from hebbgraph.protocols import VectorSource
from hebbgraph.recall.conversation import check_history, in_full, weigh_turns
from hebbgraph.recall.elsewhere import VectorsElsewhere
from hebbgraph.recall.hits import best_slots, limit_per_colony, make_hits
from hebbgraph.recall.masks import Masks, Passing, Where
from hebbgraph.recall.predicate import AskedFilter, unranked
from hebbgraph.recall.question import (
    Question,
    carried_cues,
    cues_of,
    foreign_note,
    idf,
    known_marks,
    trust_of_cues,
    weighted_terms,
)
from hebbgraph.recall.reranking import SecondLook
from hebbgraph.recall.search import DirectSearch
from hebbgraph.recall.staleness import (
    IN_A_CIRCLE,
    InTime,
    below_replacements,
    path_through,
    stale_marks,
)
from hebbgraph.recall.strategies import (
    NO_KNOWLEDGE,
    NONE_HELD,
    NONE_PASSES,
    Checked,
    Request,
    Strategy,
    StrategyName,
    named_strategy,
)
from hebbgraph.records import Recall, Turn
from hebbgraph.store.texts import TextsElsewhere
from hebbgraph.text import lexical_terms, tokenize
from hebbgraph.text.query import usable_question
from hebbgraph.text.time_words import asked_time, said_dates

if TYPE_CHECKING:
    from hebbgraph.arrays import BoolArray
    from hebbgraph.formulas.evidence import Evidence

__all__ = ["Recaller"]

logger = logging.getLogger(__name__)

#: With a limit per colony, this many times k are ranked, to have others to choose from.
_DEPTH_PER_COLONY = 5
#: With dated chunks, this many times k, as older versions give way to what replaces them.
_DEPTH_IN_TIME = 3


@dataclass(frozen=True)
class _Asked:
    """A query, and what models and the caller add to it."""

    query: str
    vector: NDArray[np.float32] | None = None
    given: dict[int, float] | None = None
    elsewhere: VectorsElsewhere | None = None
    named: Sequence[str] = ()
    turns: tuple[Turn, ...] = ()
    said: SaidNames | None = None


class Recaller:
    """Answers questions from one namespace.

    Parameters
    ----------
    namespace : Namespace
    learned : bool or Memory
        Whether recalls read what was learned, or what they read in its place.
    """

    def __init__(self, namespace: Namespace, *, learned: bool | Memory = True) -> None:
        self._namespace = namespace
        self._truth = namespace.truth
        self._derived = namespace.derived
        self._settings = namespace.settings
        self._learned: Memory | None
        if isinstance(learned, Memory):
            self._learned = learned
        else:
            self._learned = namespace.learned if learned else None
        self._timelines = Timelines(namespace.truth)
        settings = namespace.settings
        self._foreign = ForeignNames(settings.glossary, scripts="scripts" in settings.aliases)
        self._masks = Masks(namespace.truth, namespace.colony_of, self._stale_now)
        self._search = DirectSearch(
            namespace.derived,
            settings.evidence,
            namespace.languages,
        )
        self._second_look = (
            None
            if namespace.reranker is None
            else SecondLook(namespace.reranker, namespace.settings.rerank)
        )
        self._strategies: dict[StrategyName, Strategy] = {}
        self._told: set[type[Exception]] = set()
        self._making = threading.Lock()

    def recall(
        self,
        query: str,
        *,
        k: int = 10,
        where: Where = None,
        strategy: StrategyName | Strategy = "spreading",
        recall_id: str | None = None,
        seeds: Iterable[tuple[str, float]] | None = None,
        vector: Sequence[float] | None = None,
        vectors: VectorSource | None = None,
        per_colony: int | None = None,
        history: Iterable[str] = (),
        as_of: Moment | None = None,
    ) -> Recall:
        """See :meth:`hebbgraph.HebbianIndex.recall`."""
        _check(query, k, where, per_colony)
        query, cut = usable_question(query)
        moment = None if as_of is None else check_moment("as_of", as_of)
        turns = self._turns(query, check_history(history)) if history != () else ()
        by = self.strategy(strategy) if isinstance(strategy, str) else Checked(strategy)
        asked, said = self._ask_models(query, turns, seeds, vector, vectors)
        look = self._second_look
        depth = k if look is None else max(k, look.settings.first)
        if asked.elsewhere is not None:
            said = (*said, *self._read_vectors(asked, asked.elsewhere, by, depth, where, moment))
        id_ = recall_id or uuid.uuid4().hex
        recall = self._derived.mending(
            lambda: self._ranked(asked, by, depth, where, per_colony, id_, moment)
        )
        if look is not None:
            hits, more = look.rerank(in_full(query, turns), recall.hits)
            if any(hit.stale is not None for hit in hits):
                hits = below_replacements(hits, recall.hits)
            said = (*said, *more)
            recall = recall.model_copy(update={"hits": hits[:k]})
        if cut is not None:
            said = (cut, *said)
        return recall.model_copy(update={"notes": (*recall.notes, *said)}) if said else recall

    def in_full(self, query: str, history: Iterable[str]) -> str:
        """See :meth:`hebbgraph.HebbianIndex.in_full`."""
        _check(query, 1, None, None)
        query, _ = usable_question(query)
        return in_full(query, self._turns(query, check_history(history)))

    def ids(self, where: Where) -> list[str]:
        """See :meth:`hebbgraph.HebbianIndex.ids`."""
        _check_filter(where)
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

    def _turns(self, query: str, said: Sequence[str]) -> tuple[Turn, ...]:
        if not said:
            return ()

        def weighed() -> tuple[Turn, ...]:
            with self._namespace.held():
                return weigh_turns(self._derived, query, said, self._settings.language)

        return self._derived.mending(weighed)

    # -- before anything is held ----------------------------------------------------

    def _ask_models(
        self,
        query: str,
        turns: tuple[Turn, ...],
        seeds: Iterable[tuple[str, float]] | None,
        vector: Sequence[float] | None,
        vectors: VectorSource | None,
    ) -> tuple[_Asked, tuple[str, ...]]:
        """Ask the caller's search, cue model and embedder."""
        namespace = self._namespace
        full = in_full(query, turns) if turns else query
        if seeds is None and namespace.search is not None:
            seeds = namespace.search(full)
        named, notes = self._cues_by_model(full)
        unit = None
        if vector is not None:
            unit = unit_vector(vector)  # beside seeds too: past questions are found by it
            if seeds is None and namespace.embedder is None:
                notes = (
                    *notes,
                    "vector= finds no chunks: the index was opened without an embedder",
                )
        elif seeds is None and namespace.embedder is not None:
            unit = namespace.questions.of(namespace.embedder, query)
        if seeds is None:
            namespace.warn_without_model()
        if unit is not None and turns and namespace.embedder is not None:
            for turn in turns:
                unit = unit + turn.weight * namespace.questions.of(namespace.embedder, turn.text)
            unit = unit_vector(unit)
        given = None if seeds is None else self._given(seeds)
        translations = namespace.translations
        said = None if translations is None else translations.said(query)
        elsewhere = None
        if vectors is not None:
            if given is None or unit is None or not callable(vectors):
                raise ParameterError(
                    "vectors= is a callable from ids to vectors, and goes with seeds= and with "
                    "vector=, the question's own"
                )
            elsewhere = VectorsElsewhere(unit, vectors)
        return _Asked(query, unit, given, elsewhere, named, turns, said), notes

    def _read_vectors(
        self,
        asked: _Asked,
        elsewhere: VectorsElsewhere,
        strategy: Strategy,
        k: int,
        where: Where,
        as_of: datetime | None,
    ) -> tuple[str, ...]:
        """Rank to see which vectors are wanted, and read them; a recall survives a failure.

        The ranking that follows comes to hardly any other chunk.
        """

        def look() -> None:
            with self._namespace.held():
                request = self.request(asked, None if callable(where) else where, k)
                strategy.rank(self._holding(request, as_of))

        self._derived.mending(look)
        try:
            elsewhere.read(self._truth)
        except HebbgraphError:
            raise
        except Exception as error:
            note = f"no vectors of the store: {_in_short(error)}"
            if type(error) not in self._told:  # its words may differ each time
                self._told.add(type(error))
                logger.warning("%s; what its search did not return ranks by its other merits", note)
            return (note,)
        return ()

    def _cues_by_model(self, query: str) -> tuple[list[str], tuple[str, ...]]:
        """Ask the cue model, if there is one. A recall survives its failure, and notes it."""
        model = self._namespace.cue_model
        if model is None:
            return [], ()
        try:
            return [str(phrase) for phrase in model(query)], ()
        except Exception as error:
            return [], (f"no cues by the model: {_in_short(error)}",)

    def _given(self, seeds: Iterable[tuple[str, float]]) -> dict[int, float]:
        """Return the scores by row, shifted to be positive."""
        try:
            scores = {str(id_): float(score) for id_, score in seeds}
        except (TypeError, ValueError) as error:
            raise ParameterError(f"seeds are pairs of chunk id and score: {error}") from error
        if len(scores) > MAX_SEEDS:
            raise ParameterError(f"at most {MAX_SEEDS} seeds, got {len(scores)}")
        if not all(map(np.isfinite, scores.values())):
            raise ParameterError("the score of a seed is NaN or infinite")
        low, high = min(scores.values(), default=0.0), max(scores.values(), default=0.0)
        # Scores may be negated distances. Even the worst of them must stay above 0.
        shift = 0.1 * ((high - low) or 1.0) - low if low < 0 else 0.0
        rows = self._truth.rows_of(scores)
        return {row: scores[id_] + shift for id_, row in rows.items()}

    # -- while the graph stands still -----------------------------------------------

    def _ranked(
        self,
        asked: _Asked,
        strategy: Strategy,
        k: int,
        where: Where,
        per_colony: int | None,
        recall_id: str,
        as_of: datetime | None,
    ) -> Recall:
        depth = k if per_colony is None else min(_DEPTH_PER_COLONY * k, MAX_K)
        now = microseconds(datetime.now(UTC) if as_of is None else as_of)
        doubted = -1
        while True:
            with self._namespace.held() as generation:
                graph = self._derived.graph
                timeline = self._timelines.at(graph)
                if timeline is not None:  # versions of one subject share places
                    depth = max(depth, min(_DEPTH_IN_TIME * k, MAX_K))
                request = self.request(asked, None if callable(where) else where, depth)
                request = self._holding(request, as_of)
                if callable(where):
                    ranking = AskedFilter(self._truth, graph, where).rank(strategy, request)
                else:
                    ranking = strategy.rank(request)
                ranked = best_slots(self._truth, graph, ranking, depth)
                path = ranking.path
                if timeline is not None:
                    asked_for = None if as_of is not None else asked_time(asked.query)
                    in_time = InTime(timeline, now, asked_for, request.allowed)
                    ranked, via = in_time.arranged(ranked)
                    path = path_through(path, via)
                if per_colony is not None:
                    colony = self._namespace.colony_of()
                    ranked = limit_per_colony(ranked, colony, k, per_colony)
                ranked = ranked[:k]
                if len(ranked) < k and strategy.pads and not callable(where):
                    taken = [slot for slot, _ in ranked]
                    missing = k - len(ranked)
                    allowed = request.allowed
                    if timeline is not None:  # what holds comes first
                        stale = timeline.stale(now)
                        rest = unranked(self._truth, graph, allowed & ~stale, taken, missing)
                        ranked += [(slot, 0.0) for slot in rest]
                        missing, allowed = missing - len(rest), allowed & stale
                    rest = unranked(self._truth, graph, allowed, taken, missing)
                    ranked += [(slot, 0.0) for slot in rest]
                sure = ranking.confidence
                nothing_known = sure is not None and sure < NOTHING_KNOWN
                none_passes = nothing_known and graph.n_chunks > 0 and not request.allowed.any()
                if sure is not None:
                    ranked = [(slot, score * sure) for slot, score in ranked]
                marks = None
                if timeline is not None:
                    marks = stale_marks(
                        self._truth, graph, timeline, now, [slot for slot, _ in ranked]
                    )
                hits = make_hits(
                    self._truth, graph, ranked, path, request, marks, ranking.unlearned
                )
                cues = cues_of(graph, request.question)
                languages = self._language_notes(graph, request.question)
            if hits is not None:  # None: a chunk was deleted meanwhile, so look again
                break
            if generation == doubted:
                if self._truth.generation() != generation:
                    raise IndexLockedError(
                        "another process works on the derived parts, and what is held names "
                        "chunks that are gone; try again, or raise write_wait_seconds"
                    )
                # Nothing was written meanwhile, so the graph does not belong to this truth.
                self._derived.distrust()
            doubted = generation
        notes = (*ranking.notes, *languages)
        if timeline is not None and not timeline.circular.isdisjoint(slot for slot, _ in ranked):
            notes = (*notes, IN_A_CIRCLE)
        if isinstance(store := self._truth.text_store, TextsElsewhere):
            hits, more = store.completed(hits)
            notes = (*notes, *more)
        if nothing_known:
            without = NONE_HELD if where is None else NONE_PASSES
            notes = (*notes, without if none_passes else NO_KNOWLEDGE)
        return Recall(
            id=recall_id,
            namespace=self._namespace.name,
            strategy=strategy.name,
            query=asked.query,
            cues=cues,
            hits=hits,
            notes=notes,
            confidence=sure,
            nothing_known=nothing_known,
            **_shares(request),
            generation=generation,
            created_at=time.time(),
            vector=None if asked.vector is None else tuple(asked.vector.tolist()),
            history=asked.turns,
            where=_as_recorded(where),
            as_of=as_of,
        )

    def _language_notes(self, graph: TagGraph, question: Question) -> tuple[str, ...]:
        """Say what the question was taken for; the caller holds the graph."""
        languages = self._namespace.languages
        read_as = None if languages is None else languages.read_as(question.query)
        return tuple(filter(None, (read_as, foreign_note(graph, question))))

    def _stale_now(self) -> NDArray[np.bool_] | None:
        """Return which chunks are stale; None if none say anything about time."""
        timeline = self._timelines.at(self._derived.graph)
        return None if timeline is None else timeline.stale(microseconds(datetime.now(UTC)))

    def request(
        self,
        asked: _Asked,
        where: Mapping[str, object] | None,
        k: int,
        *,
        among: BoolArray | None = None,
    ) -> Request:
        """Read a question with the graph; the caller holds it.

        ``among`` are the slots that take part if there is no filter; all by default.
        """
        graph = self._derived.graph
        question = self._question(graph, asked)
        if where is None:
            passing = Passing(graph.alive, whole=True) if among is None else Passing(among)
        else:
            passing = self._masks.passing(graph, where)

        def search(question: Question, allowed: BoolArray) -> Evidence:
            return self._search.evidence(graph, question, passing.within(allowed))

        return Request(graph, question, passing.mask, k, search)

    def _question(self, graph: TagGraph, asked: _Asked) -> Question:
        tokens = tokenize(asked.query)
        terms = weighted_terms(asked.query, asked.turns, self._settings.language, tokens)
        foreign = self._foreign.cues(graph, tokens) if self._foreign else []
        if asked.said is not None and self._namespace.translations is not None:
            foreign += self._namespace.translations.cues(graph, asked.said)
        named = graph.cues(tokens)
        foreign = [tag for tag in dict.fromkeys(foreign) if tag not in named]
        for tag in foreign:  # direct search looks for these names too
            words = graph.phrases.keys[tag].split(" ")
            terms |= dict.fromkeys(lexical_terms(words, self._settings.language), 1.0)
        df = self._derived.lexical.document_frequency
        held = {term: df(term) for term in terms}
        sought = known_marks(asked.query, terms, held, self._settings.language)
        frequencies = {term: held[term] for term in sought}
        cues = [*named, *foreign]
        trust = trust_of_cues(graph, cues, frequencies, self._settings.language)
        for phrase in asked.named:
            cues += graph.cues(tokenize(phrase))
        cues = list(dict.fromkeys(cues))
        carried = carried_cues(graph, cues, asked.turns)
        recollection = None
        if self._learned is not None and self._learned.has_learned:
            vector, name = self._namespace.for_memory(graph, asked.query, asked.vector)
            recollection = self._learned.recollect(
                graph,
                self._memory_cues(graph, terms, held, [*cues, *carried], carried),
                vector,
                name,
            )
        return Question(
            query=asked.query,
            terms=sought,
            frequencies=frequencies,
            cues=[*cues, *carried],
            vector=asked.vector,
            given=asked.given,
            elsewhere=asked.elsewhere,
            learned=recollection,
            carried=carried,
            trust=trust,
            foreign=tuple(foreign),
            dates=self._dates(graph, asked.query, frequencies),
        )

    def _memory_cues(
        self,
        graph: TagGraph,
        terms: Mapping[str, float],
        frequencies: Mapping[str, int],
        tags: Sequence[int],
        carried: Mapping[int, float],
    ) -> tuple[NDArray[np.uint64], NDArray[np.float32]]:
        """Return a question as a lesson keeps it: see :meth:`Derived.term_weights`."""
        n = max(graph.n_chunks, 1)
        words = [
            (hash_term(term), share * math.log1p(n / max(frequencies[term], 1)))
            for term, share in terms.items()
        ]
        weights = idf(graph, np.array(tags, dtype=np.int64)).tolist()
        names = {
            graph.phrases.keys[tag]: weight * carried.get(tag, 1.0)
            for tag, weight in zip(tags, weights, strict=True)
        }
        keys, weights_of = memory_cues(words, names)
        return np.array(keys, np.uint64), np.array(weights_of, np.float32)

    def _dates(self, graph: TagGraph, query: str, frequencies: Mapping[str, int]) -> frozenset[str]:
        """Return the terms of dates that only the dates of chunks speak of."""
        timeline = self._timelines.at(graph)
        asked = None if timeline is None else asked_time(query)
        if timeline is None or asked is None or asked.start is None or asked.stop is None:
            return frozenset()
        start = FIRST if asked.relation == "before" else asked.start
        stop = LAST if asked.relation == "after" else asked.stop
        if not timeline.speaks_of(start, stop):
            return frozenset()
        words = lexical_terms(tokenize(" ".join(said_dates(query))), self._settings.language)
        return frozenset(term for term in words if not frequencies.get(term))

    def again(self, recall: Recall, where: Mapping[str, object] | None = None) -> Request:
        """Read the question of an earlier recall; the caller holds the graph.

        Without a filter, that of the recall. A callable is not kept: then only chunks take part
        that it let pass for certain, the hits and those on their paths.
        """
        vector = None if recall.vector is None else np.array(recall.vector, np.float32)
        named = [cue.tag for cue in recall.cues if not cue.from_history]
        asked = _Asked(recall.query, vector, named=named, turns=recall.history)
        if where is None and recall.where != "callable":
            where = recall.where
        elif where is None:
            request = self.request(asked, None, 1, among=self._known_to_pass(recall))
            return self._holding(request, recall.as_of)
        return self._holding(self.request(asked, where, 1), recall.as_of)

    def _holding(self, request: Request, as_of: datetime | None) -> Request:
        """Leave out of a request what did not hold at a moment."""
        timeline = self._timelines.at(request.graph)
        if timeline is None or as_of is None:
            return request
        holding = timeline.holding(microseconds(as_of))
        return replace(request, allowed=request.allowed & holding)

    def _known_to_pass(self, recall: Recall) -> BoolArray:
        graph = self._derived.graph
        ids = {step.value for hit in recall.hits for step in hit.path if step.kind == "chunk"}
        rows = self._truth.rows_of(sorted(ids | {hit.chunk.id for hit in recall.hits})).values()
        known = np.zeros(graph.n_slots, np.bool_)
        known[graph.slots_of(np.array(sorted(rows), dtype=np.int64))] = True
        return known & graph.alive


def _shares(request: Request) -> dict[str, float]:
    """Return the share of dense search and what learning added to it, if there was one."""
    evidence = vars(request).get("evidence")  # a cached property; a strategy may not read it
    if evidence is None or evidence.dense is None:
        return {}
    return {
        "dense_share": round(evidence.dense_share, 6),
    }


def _in_short(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]


def _check(query: str, k: int, where: Where, per_colony: int | None) -> None:
    """Raise ParameterError or FilterError for an invalid request."""
    if not isinstance(query, str):
        raise ParameterError(f"a query is a str, got {type(query).__name__}")
    if not usable_question(query)[0].strip():
        raise ParameterError("the query is empty; ask something")
    check_k(k)
    if per_colony is not None and (
        not isinstance(per_colony, int) or isinstance(per_colony, bool) or per_colony < 1
    ):
        raise ParameterError(f"per_colony is a whole number from 1, got {per_colony!r}")
    _check_filter(where)


def _as_recorded(where: Where) -> dict[str, JsonValue] | Literal["callable"] | None:
    """Return a filter as a recall keeps it."""
    if where is None or callable(where):
        return None if where is None else "callable"
    try:
        recorded: dict[str, JsonValue] = from_json(to_json(plain(where)))
    except ValueError:  # values that are no JSON
        return "callable"
    return recorded


def _check_filter(where: Where) -> None:
    if where is not None and not callable(where) and not isinstance(where, Mapping):
        raise FilterError(f"a filter is a dict or a callable, got {type(where).__name__}")
