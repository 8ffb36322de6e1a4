"""From a question to a Recall: wiring, no formulas."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import BoolArray
from hebbgraph.derived.colonies import Colonies
from hebbgraph.derived.parts import Derived
from hebbgraph.errors import FilterError, IndexLockedError, NotFoundError, ParameterError
from hebbgraph.formulas.activation import Activation
from hebbgraph.formulas.evidence import Evidence
from hebbgraph.formulas.paths import PathNode
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.learning.effects import learned_effects
from hebbgraph.learning.memory import Memory
from hebbgraph.limits import MAX_SEEDS
from hebbgraph.recall.features import Features
from hebbgraph.recall.hits import best_slots, make_hits, path_steps, varied
from hebbgraph.recall.masks import Masks, Where
from hebbgraph.recall.neural_edges import propagated_vectors
from hebbgraph.recall.predicate import AskedFilter, unranked
from hebbgraph.recall.question import Question, cues_of
from hebbgraph.recall.search import DirectSearch
from hebbgraph.recall.strategies import (
    STRATEGIES,
    Request,
    Strategy,
    StrategyName,
    make_strategy,
)
from hebbgraph.recall.strategies import spreading as spreading_strategy
from hebbgraph.records import Explanation, LearnedEffect, Recall
from hebbgraph.settings import Settings
from hebbgraph.store.truth import Truth
from hebbgraph.text import display, tokenize
from hebbgraph.text.query import query_terms

__all__ = ["Recaller", "check_recall"]

MAX_QUERY_CHARACTERS = 65_536
MAX_K = 10_000
_WIDER = 5


class Recaller:
    """Answers questions from one namespace.

    Parameters
    ----------
    truth : Truth
    derived : Derived
    settings : Settings
    memory : Memory, optional
        What was learned; left out, recalls are static.
    colonies : Colonies, optional
        For filters and recalls that name them.
    """

    def __init__(
        self,
        truth: Truth,
        derived: Derived,
        settings: Settings,
        *,
        memory: Memory | None = None,
        colonies: Colonies | None = None,
    ) -> None:
        self._memory = memory
        self._truth = truth
        self._derived = derived
        self._settings = settings
        self._colonies = colonies
        self._masks = Masks(truth, None if colonies is None else self._colony_of)
        self._search = DirectSearch(derived)
        self._features = Features(derived)
        self._spreading = spreading_strategy.make(settings, truth, derived)
        self._strategies: dict[StrategyName, Strategy] = {"spreading": self._spreading}
        self._making = threading.Lock()

    # -- asking ---------------------------------------------------------------------

    def recall(
        self,
        query: str,
        *,
        k: int,
        where: Where,
        strategy: StrategyName,
        recall_id: str,
        seeds: Sequence[tuple[str, float]] | None = None,
        vector: NDArray[np.float32] | None = None,
        per_colony: int | None = None,
        named: Sequence[str] = (),
    ) -> Recall:
        """See :meth:`hebbgraph.HebbianIndex.recall`."""
        check_recall(query, k, where, strategy, per_colony)
        # The others of a colony make room for chunks that come later.
        depth = k if per_colony is None else min(_WIDER * k, MAX_K)
        by = self._strategy(strategy)
        given = None if seeds is None else self._given(seeds)
        doubted = -1
        while True:
            with self._held() as generation:
                graph = self._derived.graph
                question = self._question(graph, query, vector, given, named)
                request = self._request(graph, question, None if callable(where) else where, depth)
                if callable(where):
                    ranking = AskedFilter(self._truth, graph, where).rank(by, request)
                else:
                    ranking = by.rank(request)
                ranked = best_slots(self._truth, graph, ranking, depth)
                if per_colony is not None:
                    ranked = varied(ranked, self._colony_of(), k, per_colony)
                if len(ranked) < k and by.fills and not callable(where):
                    taken = [slot for slot, _ in ranked]
                    missing = k - len(ranked)
                    rest = unranked(self._truth, graph, request.allowed, taken, missing)
                    ranked += [(slot, 0.0) for slot in rest]
                hits = make_hits(self._truth, graph, ranked, ranking.path, question)
                cues = cues_of(graph, question)
            if hits is not None:  # else a chunk was deleted meanwhile: look again
                break
            if generation == doubted:
                if self._truth.generation() != generation:
                    raise IndexLockedError(
                        "another process works on the derived parts, and what is held names "
                        "chunks that are gone; try again, or raise write_wait_seconds"
                    )
                # Nothing happened meanwhile: the graph is not of this truth.
                self._derived.start_over()
            doubted = generation
        hits, notes = self._truth.text_store.completed(hits)
        return Recall(
            id=recall_id,
            namespace=self._truth.namespace,
            strategy=strategy,
            query=query,
            cues=cues,
            hits=hits,
            notes=(*ranking.notes, *notes),
            generation=generation,
            created_at=time.time(),
            vector=None if vector is None else tuple(vector.tolist()),
        )

    def ids(self, where: Where) -> list[str]:
        """See :meth:`hebbgraph.HebbianIndex.ids`."""
        _check_filter(where)
        with self._held():
            graph = self._derived.graph
            passing = self._masks.passing(graph, None if callable(where) else where)
            rows = graph.rows[passing.mask].tolist()
        if not callable(where):
            return sorted(self._truth.ids(rows).values())
        chunks = self._truth.fetch(rows).values()
        return sorted(chunk.id for chunk in chunks if where(chunk))

    def _colony_of(self) -> NDArray[np.int64]:
        """Return the colony of each slot; the lock on derived parts is held."""
        assert self._colonies is not None
        return self._colonies.by_slot(self._derived.graph, self._derived.vectors)

    def _strategy(self, name: StrategyName) -> Strategy:
        with self._making:
            made = self._strategies.get(name)
            if made is None:
                made = make_strategy(name, self._settings, self._truth, self._derived)
                self._strategies[name] = made
        return made

    @contextmanager
    def _held(self) -> Iterator[int]:
        memory, derived = self._memory, self._derived
        before = None if memory is None else lambda: memory.refresh(derived.feedback)
        with derived.held(before) as generation:
            yield generation

    def _request(
        self, graph: TagGraph, question: Question, where: Mapping[str, object] | None, k: int
    ) -> Request:
        passing = self._masks.passing(graph, where)

        def search(allowed: BoolArray) -> Evidence:
            vectors = propagated_vectors(self._derived, graph, self._settings.neural)
            among = passing._replace(mask=allowed)
            return self._search.evidence(graph, question, among, vectors=vectors)

        return Request(graph, question, passing.mask, k, search)

    # -- what a query says ----------------------------------------------------------

    def _question(
        self,
        graph: TagGraph,
        query: str,
        vector: NDArray[np.float32] | None = None,
        given: dict[int, float] | None = None,
        named: Sequence[str] = (),
    ) -> Question:
        tokens = tokenize(query)
        terms = query_terms(tokens, self._settings.language)
        cues = graph.cues(tokens)
        for phrase in named:
            cues += graph.cues(tokenize(phrase))
        cues = list(dict.fromkeys(cues))
        learned = None
        if self._memory is not None and self._memory.has_learned:
            embedding = self._derived.embedding
            learned = self._memory.recollect(
                graph,
                lambda: self._features.of(graph, cues, terms),
                vector,
                None if embedding is None else embedding.name,
            )
        return Question(query, terms, cues, vector, given, learned)

    def _given(self, seeds: Sequence[tuple[str, float]]) -> dict[int, float]:
        """Scores by row, shifted to be positive."""
        try:
            scores = {str(id_): float(score) for id_, score in seeds}
        except (TypeError, ValueError) as error:
            raise ParameterError(f"seeds are pairs of chunk id and score: {error}") from error
        if len(scores) > MAX_SEEDS:
            raise ParameterError(f"at most {MAX_SEEDS} seeds, got {len(scores)}")
        if not all(map(np.isfinite, scores.values())):
            raise ParameterError("the score of a seed is NaN or infinite")
        low, high = min(scores.values(), default=0.0), max(scores.values(), default=0.0)
        # Negated distances, say: the last of them is still found, if barely.
        shift = 0.1 * ((high - low) or 1.0) - low if low < 0 else 0.0
        rows = self._truth.rows_of(scores)
        return {row: scores[id_] + shift for id_, row in rows.items()}

    # -- explaining -----------------------------------------------------------------

    def explain(self, recall: Recall, chunk_id: str) -> Explanation:
        """See :meth:`hebbgraph.HebbianIndex.explain`."""
        if recall.namespace != self._truth.namespace:
            raise ParameterError(
                f"the recall belongs to namespace {recall.namespace!r}, "
                f"this index sees {self._truth.namespace!r}"
            )
        learning = nullcontext() if self._memory is None else self._memory.held()
        with self._held(), learning:
            row = self._truth.rows_of([chunk_id]).get(chunk_id)
            graph = self._derived.graph
            slots = graph.slots_of(np.array([] if row is None else [row], dtype=np.int64))
            if not len(slots):
                raise NotFoundError(f"the index holds no chunk {chunk_id!r}")
            slot = int(slots[0])
            vector = None if recall.vector is None else np.array(recall.vector, np.float32)
            named = [cue.tag for cue in recall.cues]
            question = self._question(graph, recall.query, vector, named=named)
            request = self._request(graph, question, None, 1)
            found = self._spreading.spread(request)
            at = int(np.searchsorted(found.chunks, slot))
            reached = at < len(found.chunks) and found.chunks[at] == slot
            nodes = found.path(slot) if reached else (PathNode("chunk", slot, 0.0),)
            on_path = {node.id for node in nodes if node.kind == "chunk"}
            rows = {one: int(graph.rows[one]) for one in on_path}
            held = self._truth.outlines(rows.values())
            chunks = {one: held[row].chunk for one, row in rows.items() if row in held}
            tags, _ = graph.incidence.row(slot)
            hit = recall.hit(chunk_id)
            score = float(found.scores[at]) if reached else 0.0
            unlearned, learned = self._learned_effects(request, found, slot, score)
            return Explanation(
                chunk_id=chunk_id,
                rank=None if hit is None else hit.rank,
                score=score,
                direct=float(found.direct[at]) if reached else 0.0,
                activation=float(found.arrived[at]) if reached else 0.0,
                path=(
                    path_steps(graph, nodes, chunks, question) if len(chunks) == len(rows) else ()
                ),
                cues=cues_of(graph, question),
                tags=tuple(display(graph.phrases.keys[tag]) for tag in tags.tolist()),
                unlearned_score=unlearned,
                learned=learned,
            )

    def _learned_effects(
        self, request: Request, found: Activation, slot: int, score: float
    ) -> tuple[float, tuple[LearnedEffect, ...]]:
        """Return the score without learning, and what made the difference."""
        question = request.question
        if question.learned is None or self._memory is None:
            return score, ()
        static = self._spreading.spread(replace(request, question=replace(question, learned=None)))
        at = int(np.searchsorted(static.chunks, slot))
        reached = at < len(static.chunks) and static.chunks[at] == slot
        unlearned = float(static.scores[at]) if reached else 0.0
        return unlearned, learned_effects(
            question.learned,
            found,
            slot,
            score - unlearned,
            evidence=request.evidence.approximate,
            weights=self._memory.weights,
            events=self._memory.events,
        )


def check_recall(query: str, k: int, where: Where, strategy: str, per_colony: int | None) -> None:
    """Raise ParameterError or FilterError for what no recall can be."""
    if not isinstance(query, str):
        raise ParameterError(f"a query is a str, got {type(query).__name__}")
    if not query.strip():
        raise ParameterError("the query is empty; ask something")
    if len(query) > MAX_QUERY_CHARACTERS:
        raise ParameterError(
            f"a query has at most {MAX_QUERY_CHARACTERS} characters, got {len(query)}"
        )
    if (at := next((i for i, char in enumerate(query) if "\ud800" <= char <= "\udfff"), -1)) >= 0:
        raise ParameterError(f"the query holds half a surrogate pair at position {at}")
    if not isinstance(k, int) or isinstance(k, bool) or not 1 <= k <= MAX_K:
        raise ParameterError(f"k is a whole number from 1 to {MAX_K}, got {k!r}")
    if per_colony is not None and (
        not isinstance(per_colony, int) or isinstance(per_colony, bool) or per_colony < 1
    ):
        raise ParameterError(f"per_colony is a whole number from 1, got {per_colony!r}")
    if not isinstance(strategy, str) or strategy not in STRATEGIES:
        raise ParameterError(f"strategy is one of {', '.join(STRATEGIES)}, got {strategy!r}")
    _check_filter(where)


def _check_filter(where: Where) -> None:
    if where is not None and not callable(where) and not isinstance(where, Mapping):
        raise FilterError(f"a filter is a dict or a callable, got {type(where).__name__}")
