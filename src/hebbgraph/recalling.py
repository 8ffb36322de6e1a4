"""From a question to a Recall: cues and candidates in, ranking, chunks and paths out.

The reading half of :mod:`hebbgraph.index`. It fetches what the formulas of
:mod:`hebbgraph.recall` need, and turns their numbers back into chunks and phrases.
"""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from hebbgraph.errors import FilterError, NotFoundError, ParameterError
from hebbgraph.filters import parse_filter
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.learning.effects import learned_effects
from hebbgraph.learning.episodes import question_features
from hebbgraph.learning.memory import Memory
from hebbgraph.learning.overlay import Recollection
from hebbgraph.learning.teaching import weighted_terms
from hebbgraph.recall.neighbourhood import FixedTags, retrieved_edges, supporting_chunks
from hebbgraph.recall.paths import Layer, Path, PathNode
from hebbgraph.recall.spreading import Activation, SpreadingParameters, spread
from hebbgraph.records import Chunk, Cue, Explanation, Hit, LearnedEffect, PathStep, Recall
from hebbgraph.seeding.fusion import Evidence, fuse, inhibited
from hebbgraph.seeding.lexical import query_terms
from hebbgraph.storage.columns import Columns
from hebbgraph.storage.derived import Derived
from hebbgraph.storage.truth import Truth
from hebbgraph.tagging import display, tokenize
from hebbgraph.typing import BoolArray, FloatArray, IntArray

__all__ = ["Recaller", "StrategyName", "Where"]

StrategyName: TypeAlias = Literal["spreading", "neighbourhood"]
Where: TypeAlias = Mapping[str, Any] | Callable[[Chunk], bool] | None

MAX_QUERY_CHARACTERS = 65_536
MAX_K = 10_000
#: Candidates whose direct evidence is known; all others have the floor.
_CANDIDATES = 200
#: Up to so many chunks that pass a filter, lexical search looks at them alone.
_FEW_SURVIVORS = 5_000
_MASKS_KEPT = 32
_TIE_DECIMALS = 9
#: How often spreading is run again because a callable filter turned down a chunk that
#: had passed activation on.
_MAX_ROUNDS = 8
_UNKNOWN = "no tag of the index is named in the query; hits are by direct search"
_NO_EMBEDDER = "dense search is off: the index has vectors, but was opened without the embedder"
_NOT_LEARNED = "not learned: the index knows none of the query's concepts"


@dataclass(frozen=True)
class _Ranking:
    """Slots by score, ties included, and how to find the way to each."""

    slots: IntArray
    scores: FloatArray
    path: Callable[[int], Path]
    layers: tuple[Layer, ...] = ()

    def passed_on(self) -> set[int]:
        """The slots that passed activation on."""
        return {
            node
            for layer in self.layers
            for nodes in (layer.seeds, layer.sources[0], layer.leaps[0])
            for node in nodes.tolist()
        }


@dataclass(frozen=True)
class _Question:
    """What a query says to this graph."""

    query: str
    terms: list[str]
    cues: list[int]
    vector: NDArray[np.float32] | None = None
    given: dict[int, float] | None = None
    learned: Recollection | None = None


class Recaller:
    """Answers questions from one namespace.

    Parameters
    ----------
    truth : Truth
    derived : Derived
    language : str
    parameters : SpreadingParameters, optional
    memory : Memory, optional
        What was learned; left out, recalls are static.
    """

    def __init__(
        self,
        truth: Truth,
        derived: Derived,
        *,
        language: str,
        parameters: SpreadingParameters | None = None,
        memory: Memory | None = None,
    ) -> None:
        self._memory = memory
        self._truth = truth
        self._derived = derived
        self._language = language
        self._parameters = parameters or SpreadingParameters()
        self._columns: Columns | None = None
        self._masks: OrderedDict[str, tuple[TagGraph, int, BoolArray]] = OrderedDict()

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
    ) -> Recall:
        """See :meth:`hebbgraph.HebbianIndex.recall`."""
        _check(query, k, where, strategy)
        given = None if seeds is None else self._given(seeds)
        predicate = where if callable(where) else None
        conditions = None if callable(where) else where
        doubted = -1
        while True:
            generation = self._refresh()
            with self._derived.lock:
                graph = self._derived.graph
                question = self._question(graph, query, vector, given)
                allowed = self._allowed(graph, conditions)
                if predicate is None:
                    ranking = self._rank(graph, question, allowed, strategy, k)
                else:
                    ranking = self._rank_where(graph, question, allowed, strategy, k, predicate)
                ranked = self._cut(graph, ranking, k)
                if strategy == "spreading" and predicate is None:
                    ranked += self._fill(graph, ranked, allowed, k)
                hits = self._hits(graph, ranked, ranking.path, question)
                cues = self._cues(graph, question)
            if hits is not None:  # else a chunk was deleted meanwhile: look again
                break
            if generation == doubted:  # nothing happened meanwhile: the graph is not of this truth
                self._derived.start_over()
            doubted = generation
        return Recall(
            id=recall_id,
            namespace=self._truth.namespace,
            strategy=strategy,
            query=query,
            cues=cues,
            hits=hits,
            notes=self._notes(cues, strategy, vector),
            generation=generation,
            created_at=time.time(),
            vector=None if vector is None else tuple(vector.tolist()),
        )

    def _refresh(self) -> int:
        generation = self._derived.refresh()
        if self._memory is not None:
            self._memory.refresh(self._derived.feedback)
        return generation

    def _question(
        self,
        graph: TagGraph,
        query: str,
        vector: NDArray[np.float32] | None = None,
        given: dict[int, float] | None = None,
    ) -> _Question:
        tokens = tokenize(query)
        terms = query_terms(tokens, self._language)
        question = _Question(query, terms, graph.cues(tokens), vector, given)
        if self._memory is None or not self._memory.has_learned:
            return question
        return replace(question, learned=self._recollected(graph, question))

    def _recollected(self, graph: TagGraph, question: _Question) -> Recollection | None:
        assert self._memory is not None
        tags = np.array(question.cues, dtype=np.int64)
        keys = [graph.phrases.keys[tag] for tag in question.cues]
        cues = dict(zip(keys, _idf(graph, tags).tolist(), strict=True))
        terms = weighted_terms(self._derived, question.terms)
        embedding = self._derived.embedding
        return self._memory.recollect(
            graph,
            question_features(cues, terms),
            question.vector,
            None if embedding is None else embedding.name,
        )

    def _given(self, seeds: Sequence[tuple[str, float]]) -> dict[int, float]:
        """Scores by row, shifted to be positive."""
        try:
            scores = {str(id_): float(score) for id_, score in seeds}
        except (TypeError, ValueError) as error:
            raise ParameterError(f"seeds are pairs of chunk id and score: {error}") from error
        if not all(map(np.isfinite, scores.values())):
            raise ParameterError("the score of a seed is NaN or infinite")
        low, high = min(scores.values(), default=0.0), max(scores.values(), default=0.0)
        # Negated distances, say: the last of them is still found, if barely.
        shift = 0.1 * ((high - low) or 1.0) - low if low < 0 else 0.0
        rows = self._truth.rows_of(scores)
        return {row: scores[id_] + shift for id_, row in rows.items()}

    def _cues(self, graph: TagGraph, question: _Question) -> tuple[Cue, ...]:
        weights = _idf(graph, np.array(question.cues, dtype=np.int64))
        keys = graph.phrases.keys
        return tuple(
            Cue(tag=display(keys[tag]), weight=weight)
            for tag, weight in zip(question.cues, weights.tolist(), strict=True)
        )

    def _notes(
        self, cues: Sequence[Cue], strategy: StrategyName, vector: NDArray[np.float32] | None
    ) -> tuple[str, ...]:
        notes = []
        if not cues:
            notes.append(_NOT_LEARNED if strategy == "neighbourhood" else _UNKNOWN)
        if vector is None and self._derived.has_embedding and strategy == "spreading":
            notes.append(_NO_EMBEDDER)
        return tuple(notes)

    # -- what takes part ------------------------------------------------------------

    def _allowed(self, graph: TagGraph, where: Mapping[str, Any] | None) -> BoolArray:
        if where is None:
            return graph.alive
        condition = parse_filter(where)  # first: as JSON, {5: ...} and {"5": ...} look alike
        try:
            key = json.dumps(where, sort_keys=True)
        except (TypeError, ValueError, RecursionError):
            key = None
        kept = None if key is None else self._masks.get(key)
        if key is not None and kept and kept[0] is graph and kept[1] == graph.generation:
            self._masks.move_to_end(key)
            return kept[2]
        if self._columns is None or self._columns.graph is not graph:
            self._columns = Columns(self._truth, graph)
        mask = condition.mask(self._columns) & graph.alive
        if key is not None:
            self._masks[key] = (graph, graph.generation, mask)
            while len(self._masks) > _MASKS_KEPT:
                self._masks.popitem(last=False)
        return mask

    def _evidence(self, graph: TagGraph, question: _Question, allowed: BoolArray) -> Evidence:
        if question.given is not None:
            rows = np.fromiter(question.given, dtype=np.int64)
            scores = np.fromiter(question.given.values(), dtype=np.float64)
            return fuse(*_known(graph, rows, scores, allowed))
        lexical_slots, lexical_scores = self._lexical(graph, question.terms, allowed)
        table, vector = self._derived.vectors, question.vector
        if table is None or vector is None or not len(table.rows):
            return fuse(lexical_slots, lexical_scores)
        if len(vector) != table.state.dimension:
            raise ParameterError(
                f"the index holds vectors of {table.state.dimension} numbers, "
                f"the question's has {len(vector)}"
            )
        slots = np.minimum(np.searchsorted(graph.rows, table.rows), graph.n_slots - 1)
        positions, cosines = table.nearest(
            vector, _CANDIDATES, (graph.rows[slots] == table.rows) & allowed[slots]
        )
        return fuse(
            lexical_slots,
            lexical_scores,
            slots[positions],
            cosines,
            similarity=lambda chunks: table.cosines(vector, graph.rows[chunks]),
        )

    def _lexical(
        self, graph: TagGraph, terms: list[str], allowed: BoolArray
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The best chunks for the terms among those allowed."""
        lexical = self._derived.lexical
        n_allowed = np.count_nonzero(allowed)
        if n_allowed < graph.n_chunks and n_allowed <= _FEW_SURVIVORS:
            only = graph.rows[allowed].tolist()
            return _known(graph, *lexical.search(terms, _CANDIDATES, only=only), allowed)
        limit = _CANDIDATES
        while True:
            rows, scores = lexical.search(terms, limit)
            slots, kept = _known(graph, rows, scores, allowed)
            if len(slots) >= _CANDIDATES or len(rows) < limit:
                return slots[:_CANDIDATES], kept[:_CANDIDATES]
            limit *= 4

    # -- ranking --------------------------------------------------------------------

    def _rank(
        self,
        graph: TagGraph,
        question: _Question,
        allowed: BoolArray,
        strategy: StrategyName,
        k: int,
    ) -> _Ranking:
        if strategy == "neighbourhood":
            return self._rank_neighbourhood(graph, question, allowed)
        found = self._spread(graph, question, allowed)
        slots, scores = found.top(k)
        return _Ranking(slots, scores, found.path, found.layers)

    def _spread(self, graph: TagGraph, question: _Question, allowed: BoolArray) -> Activation:
        cues = np.array(question.cues, dtype=np.int64)
        evidence = self._evidence(graph, question, allowed)
        learned = question.learned
        if learned is None:
            return spread(graph, cues, evidence, parameters=self._parameters, allowed=allowed)
        evidence = inhibited(evidence, *learned.inhibited())
        return spread(
            graph,
            cues,
            evidence,
            parameters=self._parameters,
            allowed=allowed,
            plastic=learned.edges(np.sort(cues), evidence.of),
            extra_seeds=learned.seeds(evidence.of),
        )

    def _rank_neighbourhood(
        self, graph: TagGraph, question: _Question, allowed: BoolArray
    ) -> _Ranking:
        cues = np.array(question.cues, dtype=np.int64)
        cut = self._parameters.hub_cut(graph.n_chunks)
        fixed = FixedTags(graph, allowed, graph.phrases.order, hub_cut=cut)
        edges = retrieved_edges(fixed, cues)
        context = supporting_chunks(fixed, edges)
        order = np.argsort(-context.n_edges, kind="stable")
        edge_of = dict(zip(context.chunks.tolist(), context.edge.tolist(), strict=True))
        first_edge_to: dict[int, int] = {}
        for source, target in edges.tolist():
            first_edge_to.setdefault(target, source)

        def path(slot: int) -> Path:
            source, target = edges[edge_of[slot]].tolist()
            tags = [source, target]
            if source not in question.cues:
                tags.insert(0, first_edge_to[source])
            nodes = [PathNode("tag", tag, 0.0) for tag in tags]
            return (*nodes, PathNode("chunk", slot, 1.0))

        scores = context.n_edges[order].astype(np.float64)
        return _Ranking(context.chunks[order], scores, path)

    def _rank_where(
        self,
        graph: TagGraph,
        question: _Question,
        allowed: BoolArray,
        strategy: StrategyName,
        k: int,
        predicate: Callable[[Chunk], bool],
    ) -> _Ranking:
        """Rank while asking a callable about chunks in rank order, until k pass.

        It is also asked about every chunk that passed activation on. One that it turns
        down is masked like one that a filter excludes, and spreading runs again. Only a
        chunk below rank k that is never asked about may still have taken its share.
        """
        allowed = allowed.copy()
        verdicts: dict[int, bool] = {}
        for _ in range(_MAX_ROUNDS):
            ranking = self._rank(graph, question, allowed, strategy, graph.n_slots)
            passed: list[int] = []
            for slot in ranking.slots.tolist():
                if self._passes(graph, slot, predicate, verdicts):
                    passed.append(slot)
                if len(passed) == k:
                    break
            passed_on = ranking.passed_on()
            for slot in passed_on:
                self._passes(graph, slot, predicate, verdicts)
            refused = [slot for slot, verdict in verdicts.items() if not verdict and allowed[slot]]
            allowed[refused] = False
            if passed_on.isdisjoint(refused):
                break
        if strategy == "spreading" and len(passed) < k:
            passed += self._fill_where(graph, passed, allowed, k, predicate, verdicts)
        score = dict(zip(ranking.slots.tolist(), ranking.scores.tolist(), strict=True))
        known = ranking.path

        def path(slot: int) -> Path:
            if slot in score:
                nodes = known(slot)
                if all(verdicts.get(node.id, True) for node in nodes if node.kind == "chunk"):
                    return nodes
            return (PathNode("chunk", slot, 0.0),)

        return _Ranking(
            np.array(passed, dtype=np.int64),
            np.array([score.get(slot, 0.0) for slot in passed], dtype=np.float64),
            path,
        )

    def _passes(
        self,
        graph: TagGraph,
        slot: int,
        predicate: Callable[[Chunk], bool],
        verdicts: dict[int, bool],
    ) -> bool:
        if slot not in verdicts:
            row = int(graph.rows[slot])
            chunk = self._truth.fetch([row]).get(row)
            verdicts[slot] = chunk is not None and bool(predicate(chunk))
        return verdicts[slot]

    # -- from numbers to records ----------------------------------------------------

    def _cut(self, graph: TagGraph, ranking: _Ranking, k: int) -> list[tuple[int, float]]:
        """The k best; among equal scores the smaller id comes first."""
        keys = np.round(ranking.scores, _TIE_DECIMALS)
        prefixes = graph.id_prefixes[ranking.slots]
        order = np.lexsort((prefixes, -keys))
        keys, prefixes = keys[order], prefixes[order]
        # Where the order still depends on the rest of the id, whole ids are compared.
        same = (keys[1:] == keys[:-1]) & (prefixes[1:] == prefixes[:-1])
        group = np.concatenate(([0], np.cumsum(~same))) if len(order) else order
        wanted = order[group <= group[min(k, len(order)) - 1]] if len(order) else order
        group = group[: len(wanted)]
        unsettled = np.bincount(group)[group] > 1 if len(group) else group.astype(np.bool_)
        ids = self._truth.ids(graph.rows[ranking.slots[wanted[unsettled]]].tolist())
        ranked = sorted(
            zip(group.tolist(), ranking.slots[wanted].tolist(), wanted.tolist(), strict=True),
            key=lambda entry: (entry[0], ids.get(int(graph.rows[entry[1]]), "")),
        )
        return [(slot, float(ranking.scores[at])) for _, slot, at in ranked[:k]]

    def _fill(
        self, graph: TagGraph, ranked: list[tuple[int, float]], allowed: BoolArray, k: int
    ) -> list[tuple[int, float]]:
        """Chunks that nothing speaks for, by id, so that k come back."""
        if len(ranked) >= k:
            return []
        taken = {slot for slot, _ in ranked}
        missing = k - len(ranked)
        found = []
        for slot in self._in_order(graph, allowed):
            if slot not in taken:
                found.append((slot, 0.0))
                if len(found) == missing:
                    break
        return found

    def _fill_where(
        self,
        graph: TagGraph,
        passed: list[int],
        allowed: BoolArray,
        k: int,
        predicate: Callable[[Chunk], bool],
        verdicts: dict[int, bool],
    ) -> list[int]:
        found: list[int] = []
        taken = set(passed)
        for slot in self._in_order(graph, allowed):
            if len(passed) + len(found) == k:
                break
            if slot not in taken and self._passes(graph, slot, predicate, verdicts):
                found.append(slot)
        return found

    def _in_order(self, graph: TagGraph, allowed: BoolArray) -> Iterator[int]:
        """Allowed slots in the order of their ids."""
        survivors = np.flatnonzero(allowed)
        if len(survivors) <= _FEW_SURVIVORS:
            ids = self._truth.ids(graph.rows[survivors].tolist())
            by_row = sorted(ids.items(), key=lambda item: item[1])
            rows: Iterable[int] = (row for row, _ in by_row)
        else:
            rows = self._truth.rows_by_id()
        for row in rows:
            for slot in graph.slots_of(np.array([row])).tolist():
                if allowed[slot]:
                    yield slot

    def _hits(
        self,
        graph: TagGraph,
        ranked: list[tuple[int, float]],
        path: Callable[[int], Path],
        question: _Question,
    ) -> tuple[Hit, ...] | None:
        """Build the hits; None if a chunk is no longer there."""
        paths = [
            path(slot) if score > 0 else (PathNode("chunk", slot, 0.0),) for slot, score in ranked
        ]
        slots = {slot for slot, _ in ranked}
        slots.update(node.id for nodes in paths for node in nodes if node.kind == "chunk")
        rows = {slot: int(graph.rows[slot]) for slot in slots}
        held = self._truth.fetch(rows.values())
        if len(held) < len(rows):
            return None
        chunks = {slot: held[row] for slot, row in rows.items()}
        return tuple(
            Hit.model_construct(
                chunk=chunks[slot],
                score=score,
                rank=rank,
                path=self._steps(graph, nodes, chunks, question),
            )
            for rank, ((slot, score), nodes) in enumerate(zip(ranked, paths, strict=True), start=1)
        )

    def _steps(
        self, graph: TagGraph, nodes: Path, chunks: Mapping[int, Chunk], question: _Question
    ) -> tuple[PathStep, ...]:
        steps = [PathStep(kind="query")]
        if question.learned is not None and nodes[0].kind == "chunk":
            steps += question.learned.episode_step(nodes[0])
        for node in nodes:
            if node.kind == "tag":
                value, title = display(graph.phrases.keys[node.id]), ""
            else:
                value, title = chunks[node.id].id, chunks[node.id].title
            steps.append(PathStep(kind=node.kind, value=value, title=title, weight=node.weight))
        return tuple(steps)

    # -- explaining -----------------------------------------------------------------

    def explain(self, recall: Recall, chunk_id: str) -> Explanation:
        """See :meth:`hebbgraph.HebbianIndex.explain`."""
        if recall.namespace != self._truth.namespace:
            raise ParameterError(
                f"the recall belongs to namespace {recall.namespace!r}, "
                f"this index sees {self._truth.namespace!r}"
            )
        self._refresh()
        row = self._truth.rows_of([chunk_id]).get(chunk_id)
        with self._derived.lock:
            graph = self._derived.graph
            slots = graph.slots_of(np.array([] if row is None else [row], dtype=np.int64))
            if not len(slots):
                raise NotFoundError(f"the index holds no chunk {chunk_id!r}")
            slot = int(slots[0])
            vector = None if recall.vector is None else np.array(recall.vector, np.float32)
            question = self._question(graph, recall.query, vector)
            found = self._spread(graph, question, graph.alive)
            at = int(np.searchsorted(found.chunks, slot))
            reached = at < len(found.chunks) and found.chunks[at] == slot
            nodes = found.path(slot) if reached else (PathNode("chunk", slot, 0.0),)
            on_path = {node.id for node in nodes if node.kind == "chunk"}
            rows = {one: int(graph.rows[one]) for one in on_path}
            held = self._truth.fetch(rows.values())
            chunks = {one: held[row] for one, row in rows.items() if row in held}
            tags, _ = graph.incidence.row(slot)
            hit = recall.hit(chunk_id)
            score = float(found.scores[at]) if reached else 0.0
            unlearned, learned = self._learned_effects(graph, question, found, slot, score)
            return Explanation(
                chunk_id=chunk_id,
                rank=None if hit is None else hit.rank,
                score=score,
                direct=float(found.direct[at]) if reached else 0.0,
                activation=float(found.arrived[at]) if reached else 0.0,
                path=(
                    self._steps(graph, nodes, chunks, question) if len(chunks) == len(rows) else ()
                ),
                cues=self._cues(graph, question),
                tags=tuple(display(graph.phrases.keys[tag]) for tag in tags.tolist()),
                unlearned_score=unlearned,
                learned=learned,
            )

    def _learned_effects(
        self, graph: TagGraph, question: _Question, found: Activation, slot: int, score: float
    ) -> tuple[float, tuple[LearnedEffect, ...]]:
        """Return the score without learning, and what made the difference."""
        if question.learned is None or self._memory is None:
            return score, ()
        static = self._spread(graph, replace(question, learned=None), graph.alive)
        at = int(np.searchsorted(static.chunks, slot))
        reached = at < len(static.chunks) and static.chunks[at] == slot
        unlearned = float(static.scores[at]) if reached else 0.0
        return unlearned, learned_effects(
            question.learned,
            found,
            slot,
            score - unlearned,
            evidence=self._evidence(graph, question, graph.alive).of,
            weights=self._memory.weights,
            events=self._memory.events,
        )


def _idf(graph: TagGraph, tags: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return ``log(1 + N / df)``."""
    weights: NDArray[np.float64] = np.log1p(graph.n_chunks / np.maximum(graph.df(tags), 1))
    return weights


def _known(
    graph: TagGraph, rows: NDArray[Any], scores: NDArray[Any], allowed: BoolArray
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Slots of the rows that this graph knows and that are allowed, with their scores."""
    known = graph.rows
    if not len(known):
        return np.empty(0, dtype=np.int64), np.empty(0)
    slots = np.searchsorted(known, rows)
    slots[slots == len(known)] = 0
    keep = (known[slots] == rows) & allowed[slots]
    return slots[keep], scores[keep]


def _check(query: str, k: int, where: Where, strategy: str) -> None:
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
    if strategy not in get_args(StrategyName):
        known = ", ".join(get_args(StrategyName))
        raise ParameterError(f"strategy is one of {known}, got {strategy!r}")
    if where is not None and not callable(where) and not isinstance(where, Mapping):
        raise FilterError(f"a filter is a dict or a callable, got {type(where).__name__}")
