"""From a question to a Recall: read :meth:`RecallVerbs.recall`."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from hebbgraph.arrays import Float32Array
from hebbgraph.embedders import agreed_model, embed_question, unit_vector
from hebbgraph.errors import (
    ConnectionLostError,
    LessonError,
    NotAnIndexError,
    NotFoundError,
    ParameterError,
    brief,
    check_share,
    check_whole,
)
from hebbgraph.filters import exists
from hebbgraph.formulas.confidence import NOTHING_KNOWN
from hebbgraph.protocols import Embedder, Tagger
from hebbgraph.recall.hits import cut, filled_up, make_hits, numbered, spelled, where_callable
from hebbgraph.recall.question import read_question
from hebbgraph.recall.snapshot import Snapshot
from hebbgraph.recall.strategies import Ranking, RankStep, Request, Strategy, named_strategy
from hebbgraph.records import Chunk, Hit, Recall, plain
from hebbgraph.records.base import MAX_K, MAX_SEEDS, check_name
from hebbgraph.settings import Settings
from hebbgraph.store.chunks import rows_of
from hebbgraph.store.database import Caches, Database, Session
from hebbgraph.store.meta import read_json
from hebbgraph.store.vectors import VectorCache
from hebbgraph.text.query import usable_question

Where: TypeAlias = Mapping[str, Any] | Callable[[Chunk], bool] | None
_NOTHING = "nothing known: the index seems to hold nothing about this question"
_TOO_SHORT = "too short: the question names nothing to search for; ask what it is about, too"
_SLIP = "no chunk holds {!r}; words that begin with {!r} were searched for in its place"
_NONE_PASSES = "no chunk passes the filter"
_NO_EMBEDDER = "vector search is off: the index has vectors, but was opened without the embedder"
_NO_VECTORS = "vector search is off: no chunk has a vector; add chunks with an embedder"
_OPEN_TAGS = "tags are being completed: an add is under way, or was interrupted"


@dataclass(frozen=True, kw_only=True)
class _Options:
    """The options of one recall, checked."""

    k: int  #: hits that the caller gets
    depth: int  #: hits from which steps choose them
    filter: Mapping[str, Any] | None
    passes: Callable[[Chunk], bool] | None  #: cuts hits
    seeds: dict[str, float] | None  #: scores from -1 to 1, by id
    vector: Float32Array | None  #: of unit length
    strategy: Strategy
    steps: Sequence[RankStep]
    min_score: float | None
    id: str


@dataclass(eq=False, repr=False)
class RecallVerbs:
    """``recall`` and ``explain``, and what they need of an open namespace."""

    _database: Database
    namespace: str
    settings: Settings
    embedder: Embedder | None
    tagger: Tagger | None
    _vectors: VectorCache = field(init=False)
    _caches: Caches = field(init=False, default_factory=Caches)
    _stale_text: str = field(init=False, default="")

    def recall(
        self,
        question: str,
        k: int = 10,
        *,
        where: Where = None,
        seeds: Iterable[tuple[str, float]] | None = None,
        vector: Sequence[float] | None = None,
        strategy: str | Strategy = "spreading",
        steps: Sequence[RankStep] = (),
        min_score: float | None = None,
        recall_id: str | None = None,
    ) -> Recall:
        """Return the k most active chunks for a question; a lost connection is tried once more.

        Parameters
        ----------
        question : str
        k : int, from 1 to 10,000
            As many hits are returned if so many chunks pass the filter.
        where : dict or callable, optional
            A metadata filter (:mod:`hebbgraph.filters`): chunks that it excludes neither receive
            nor pass activation. A callable from a chunk to bool only cuts hits, in the order of
            their ranks; it is no access rule.
        seeds : iterable of (chunk id, score), optional
            Results of a search of your own, higher is better. They replace vector search; words
            and the graph are added. Unknown ids are ignored.
        vector : sequence of float, optional
            The question's embedding, if you have it already.
        strategy : str or Strategy
            ``"spreading"``, the name of one that another distribution offers, or an object of your
            own.
        steps : sequence of RankStep, optional
            Steps of your own after the ranking.
        min_score : float, in [0, 1], optional
            Leave out hits of a lower score; then there may be fewer than k.
        recall_id : str, optional
            The id of the recall; by default a new one.

        Raises
        ------
        ParameterError, FilterError
            For an argument out of range.
        EmbeddingError
            If the embedder fails.
        """
        self._check_text_version()
        if not isinstance(question, str):
            raise ParameterError(f"a question is a str, got {type(question).__name__}")
        text, note = usable_question(question)
        if not text.strip():
            raise ParameterError("the question is empty; ask something")
        check_whole(k, "k", MAX_K)
        check_share(min_score, "min_score")
        if not isinstance(steps, Sequence) or not all(hasattr(step, "finish") for step in steps):
            raise ParameterError(f"steps is a list of RankStep objects, got {steps!r:.80}")
        if recall_id is not None:
            check_name(recall_id, "recall_id")
        options = _Options(
            k=k,
            depth=max([k, *(step.depth(k) for step in steps)]),
            filter=None if callable(where) else where,
            passes=where if callable(where) else None,
            seeds=None if seeds is None else _checked_seeds(seeds),
            vector=None if vector is None else unit_vector(vector),
            strategy=named_strategy(strategy),
            steps=steps,
            min_score=min_score,
            id=recall_id or uuid.uuid4().hex,
        )
        try:
            return self._recall(text, options, note)
        except ConnectionLostError:
            return self._recall(text, options, note)

    def _recall(self, text: str, options: _Options, note: str | None) -> Recall:
        seeds, unit, notes = options.seeds, options.vector, [note] if note else []
        if unit is None and seeds is None and self.embedder is not None:
            unit = embed_question(self.embedder, text)
        tags = self._tags_in(text, notes)
        with self._database.read() as session:
            n_ranked = options.depth if options.passes is None else MAX_K
            request = self._request(
                session, text, n_ranked, options.filter, vector=unit, seeds=seeds, tags=tags
            )
            ranking = self._ranked(request, options)
            hits = make_hits(request, ranking, options.min_score)
            notes += self._notes(request, ranking, options, hits)
        asked, snapshot = request.question, request.snapshot
        recall = Recall.model_construct(
            id=options.id,
            namespace=self.namespace,
            strategy=options.strategy.name,
            question=text,
            hits=hits,
            cues=asked.cue_records(snapshot.n_chunks),
            notes=tuple(notes),
            confidence=ranking.confidence,
            vector=None if unit is None else tuple(unit.tolist()),
            terms=asked.terms(snapshot.n_chunks),
            active=dict(ranking.active),
            shares=request.shares,
            where=plain(options.filter) if options.passes is None else "callable",  # type: ignore[arg-type]
            changes=snapshot.counts.changes,
            created=time.time(),
        )
        for step in options.steps:
            recall = numbered(step.finish(recall, options.k), options.depth)
        return numbered(recall, options.k)

    def explain(self, recall: Recall, chunk_id: str) -> Hit:
        """Return how a chunk ranks for the question of a recall on today's index.

        Its rank is 0 if nothing speaks for it. Seeds, steps and a filter that was a function
        are not recorded in a recall, so they have no part.

        Raises
        ------
        NotFoundError
            If the index does not hold the chunk.
        ParameterError
            If the recall was ranked by a strategy that has no name here.
        """
        self._check_text_version()
        self._check_recall(recall)
        unit = None if recall.vector is None else np.array(recall.vector, np.float32)
        where = None if recall.where == "callable" else recall.where
        ranker = named_strategy(recall.strategy)
        with self._database.read() as session:
            row = rows_of(session, [chunk_id]).get(chunk_id)
            if row is None:
                raise NotFoundError(f"the index holds no chunk {chunk_id!r}")
            tags = [cue.tag for cue in recall.cues]  # a tagger may have named some of them
            request = self._request(session, recall.question, MAX_K, where, vector=unit, tags=tags)
            ranking = cut(request, ranker.rank(request), MAX_K)
            at = np.flatnonzero(ranking.rows == row)
            rank = int(at[0]) + 1 if len(at) else 0
            score = ranking.scores[at] if rank else np.zeros(1)
            one = replace(ranking, rows=np.array([row], np.int64), scores=score)
            hit = make_hits(request, one, None)[0]
        return hit.model_copy(update={"rank": rank})

    def _check_recall(self, recall: Recall) -> None:
        if not isinstance(recall, Recall):
            raise ParameterError(f"recall is a Recall, got {type(recall).__name__}")
        if recall.namespace != self.namespace:
            raise LessonError(
                f"the recall is of namespace {recall.namespace!r}, this is {self.namespace!r}"
            )

    def _check_text_version(self) -> None:
        if self._stale_text:
            raise NotAnIndexError(self._stale_text)

    def _ranked(self, request: Request, options: _Options) -> Ranking:
        """Rank, cut to ``depth``, and let the steps change the order."""
        ranking = options.strategy.rank(request)
        if request.allowed is not None and not request.allowed(ranking.rows).all():
            raise ParameterError(
                f"strategy {options.strategy.name!r} must return allowed rows only"
            )
        ranking = cut(request, ranking, request.k)
        if ranking.pads and options.min_score is None and len(ranking.rows) < request.k:
            ranking = filled_up(request, ranking, request.k)
        if options.passes is not None:
            ranking = where_callable(request, ranking, options.passes, options.depth)
        for step in options.steps:
            ranking = step.rank(request, ranking)
        return ranking

    # -- before the transaction -------------------------------------------------------

    def _tags_in(self, text: str, notes: list[str]) -> list[str]:
        """Ask the tagger what a question is about; a failure is a note."""
        asks = getattr(self.tagger, "tag_question", None)
        if asks is None:
            return []
        try:
            return list(map(str, asks(text)))
        except Exception as error:
            notes.append(f"no tags by the tagger: {brief(error)}")
            return []

    # -- within it --------------------------------------------------------------------

    def _request(
        self,
        session: Session,
        text: str,
        n_ranked: int,
        where: Mapping[str, Any] | None,
        *,
        vector: Float32Array | None,
        seeds: dict[str, float] | None = None,
        tags: list[str],
    ) -> Request:
        """Return a question to one state of the index."""
        snapshot = Snapshot(session, self._caches, self.settings.stop_tags)
        passing, _ = snapshot.passing(where)
        rows = rows_of(session, seeds) if seeds else {}
        by_row = None if seeds is None else {row: seeds[id_] for id_, row in rows.items()}
        language = self.settings.language
        asked = read_question(snapshot, text, language, vector=vector, seeds=by_row, tags=tags)
        search = None
        if vector is not None:
            agreed_model(read_json(session, "embedder"), self.embedder)
            search = self._vectors.search(session)
        return Request(snapshot, asked, self.settings, n_ranked, passing, search)

    def _notes(
        self, request: Request, ranking: Ranking, options: _Options, hits: Sequence[Hit]
    ) -> list[str]:
        session, notes = request.snapshot.session, list(ranking.notes)
        question = request.question
        if question.slips:
            typed = spelled(request)
            notes += (_SLIP.format(typed[word], near) for word, near in question.slips.items())
        if question.vector is None and question.seeds is None and request.snapshot.counts.vectors:
            notes.append(_NO_EMBEDDER)
        if question.vector is not None and not request.snapshot.counts.vectors:
            notes.append(_NO_VECTORS)
        allowed = request.allowed
        unsure = ranking.confidence is not None and ranking.confidence < NOTHING_KNOWN
        if allowed is not None and not allowed.count(request.snapshot.n_chunks):
            notes.append(_NONE_PASSES)
            _, fields = request.snapshot.passing(options.filter)
            notes += (f"no chunk has a field {f!r}" for f in fields if not exists(session, f))
        elif unsure and not any(hit.score > hit.untaught + 1e-6 for hit in hits[:1]):  # learned
            notes.append(_TOO_SHORT if question.says_nothing else _NOTHING)
        if session.meta.get("open_tags", "0") != "0":
            notes.append(_OPEN_TAGS)
        return notes


def _checked_seeds(seeds: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Return scores by id, from -1 to 1; only their order and distances count."""
    try:
        pairs = list(seeds.items() if isinstance(seeds, Mapping) else seeds)
        scores = {str(id_): float(score) for id_, score in pairs}
    except (TypeError, ValueError, OverflowError) as error:
        raise ParameterError(f"seeds are pairs of chunk id and score: {error}") from error
    if len(scores) > MAX_SEEDS:
        raise ParameterError(f"at most {MAX_SEEDS} seeds, got {len(scores)}")
    if not all(abs(score) < 1e100 for score in scores.values()):
        raise ParameterError("the score of a seed is NaN, infinite, or as large")
    largest = max(map(abs, scores.values()), default=0.0) or 1.0
    return {id_: score / largest for id_, score in scores.items()}  # so that nothing overflows
