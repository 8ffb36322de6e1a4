"""The rank step of a judge: a second look at the first hits and the paths that found them.

A judge is called once per recall, with all of these hits. It either names the passages that are
needed, which then come first, in its order; or it scores all. Its scores may lie on any scale, so
only their order counts: the hit that it puts first gets the highest of the recall's own scores, the
second the next one, and so on. The fused score is a weighted mean of that and the hit's own score,
so scores keep their meaning. A reranker is a judge that scores texts and sees no paths.
"""

from __future__ import annotations

import inspect
import threading
from typing import Any

import numpy as np

from hebbgraph.arrays import FloatArray
from hebbgraph.calling import call_with_timeout
from hebbgraph.embedders import passage_text
from hebbgraph.protocols import Judge
from hebbgraph.recall.conversation import in_full
from hebbgraph.recall.query import in_short
from hebbgraph.recall.staleness import below_replacements
from hebbgraph.recall.steps import RankStep
from hebbgraph.records import Hit, Recall
from hebbgraph.settings import RerankSettings

__all__ = ["JudgeStep", "as_judge", "certainty", "fused_scores"]

#: Start no new call while this many earlier ones have not returned.
_MAX_STALLED = 4


def fused_scores(scores: FloatArray, reranked: FloatArray, weight: float) -> FloatArray:
    """Fuse a recall's scores with those of a reranker.

    Parameters
    ----------
    scores : ndarray of float, shape (n,), descending
    reranked : ndarray of float, shape (n,)
        On any scale, higher is better. Ties keep the recall's order.
    weight : float, in [0, 1]
        Of the reranker.

    Examples
    --------
    >>> scores = np.array([0.75, 0.5, 0.25])
    >>> fused_scores(scores, np.array([-3.0, 7.0, 0.5]), 0.5).tolist()
    [0.5, 0.625, 0.375]
    """
    by_rank = np.empty_like(scores)
    by_rank[np.argsort(-reranked, kind="stable")] = scores
    fused: FloatArray = (1.0 - weight) * scores + weight * by_rank
    return fused


class JudgeStep(RankStep):
    """Asks a judge about the first hits of each recall.

    Parameters
    ----------
    judge : Judge, or a model for :func:`as_judge`
    settings : RerankSettings
    below : float, in [0, 1]
        Judge only recalls with less :func:`certainty`.
    reranks : bool
        Whether it is a reranker, which gets texts without paths.
    """

    def __init__(
        self, judge: Any, settings: RerankSettings, *, below: float = 1.0, reranks: bool = False
    ) -> None:
        self.settings = settings
        self.below = below
        self._judge = _reranker(judge) if reranks else as_judge(judge)
        self._reranks = reranks
        self._stalled: list[threading.Event] = []

    def hits(self, k: int) -> int:
        """Return at least the number of hits that the judge sees."""
        return max(k, self.settings.first)

    def finish(self, recall: Recall, k: int) -> Recall:
        """Return the recall in the judge's order, or with a note if the judge failed."""
        hits = recall.hits
        first = [hit for hit in hits[: self.settings.first] if hit.score > 0]
        if len(first) < 2 or (self.below < 1 and certainty(recall, k) >= self.below):
            return recall
        try:
            verdict = self._ask(in_full(recall.query, recall.history), first)
            if not (self._reranks or isinstance(verdict, str)):
                verdict = list(verdict)  # it may be a generator
            named = None if self._reranks else _named_ids(verdict, first)
            scores = _scores(verdict, len(first)) if named is None else _by_place(named, first)
            weight = self.settings.weight if named is None else 1.0
        except Exception as error:
            note = f"not {'reranked' if self._reranks else 'judged'}: {in_short(error)}"
            return recall.model_copy(update={"notes": (*recall.notes, note)})
        fused = fused_scores(np.array([hit.score for hit in first]), scores, weight)
        entries = zip(first, fused.tolist(), scores.tolist(), strict=True)
        order = sorted(entries, key=lambda entry: (-round(entry[1], 9), -entry[2], entry[0].rank))
        reordered = [
            hit.model_copy(update={"score": score, "reranked": judged})
            for hit, score, judged in order
        ]
        judged_hits = (*reordered, *hits[len(first) :])
        if any(hit.stale is not None for hit in hits):
            judged_hits = below_replacements(judged_hits, hits)
        return recall.model_copy(update={"hits": judged_hits, "judged": named or ()})

    def _ask(self, question: str, hits: list[Hit]) -> Any:
        self._stalled = [call for call in self._stalled if not call.is_set()]
        if len(self._stalled) >= _MAX_STALLED:
            raise TimeoutError(f"{len(self._stalled)} earlier calls have not returned yet")
        returned = threading.Event()

        def call() -> Any:
            try:
                verdict = self._judge(question, hits)
                return _awaited(verdict) if inspect.isawaitable(verdict) else verdict
            finally:
                returned.set()

        try:
            return call_with_timeout(self.settings.timeout_seconds, call)
        except TimeoutError:
            if not returned.is_set():
                self._stalled.append(returned)
            raise


def certainty(recall: Recall, k: int) -> float:
    """Return how sure a recall is of its first k hits.

    It is the recall's confidence times one minus the ratio of two mean scores: that of the other
    hits and that of the first k. It rises as an index learns, since learning lifts few hits.

    Returns
    -------
    float, in [0, 1]
        1 if there are no more than k hits.
    """
    scores = np.array([hit.score for hit in recall.hits])
    if len(scores) <= k:
        return 1.0
    sure = 1.0 if recall.confidence is None else recall.confidence
    return float(sure * (1.0 - scores[k:].mean() / max(float(scores[:k].mean()), 1e-9)))


def as_judge(model: Any) -> Judge:
    """Return a judge that asks a model, or a callable unchanged.

    Parameters
    ----------
    model : object
        With ``invoke`` or ``complete``, a language model of LangChain or LlamaIndex: asked once
        which passages are needed. With ``predict``, a cross-encoder: scores pairs of the question
        and a passage, after the path that found it. Else a :class:`~hebbgraph.protocols.Judge`.
    """
    if hasattr(model, "invoke") or hasattr(model, "complete"):  # LlamaIndex's LLMs have predict too
        from hebbgraph.recall.listwise import ListwiseJudge

        return ListwiseJudge(model)
    if hasattr(model, "predict"):
        return lambda question, hits: model.predict([(question, _with_path(hit)) for hit in hits])
    judge: Judge = model
    return judge


def _reranker(model: Any) -> Judge:
    """Return a judge that passes texts without paths to a reranker."""
    if (predict := getattr(model, "predict", None)) is not None:
        return lambda question, hits: predict([(question, passage_text(h.chunk)) for h in hits])
    return lambda question, hits: model(question, [passage_text(hit.chunk) for hit in hits])


def _with_path(hit: Hit) -> str:
    """Return a passage, preceded by the path to it if that leads over other nodes."""
    passage = passage_text(hit.chunk)
    return f"{hit.path_text}\n{passage}" if len(hit.path) > 2 else passage


def _named_ids(verdict: Any, hits: list[Hit]) -> tuple[str, ...] | None:
    """Return the distinct ids that a judge named; None if it scored instead."""
    if isinstance(verdict, str):
        raise TypeError(f"expected a list of ids, or of scores; got {verdict!r:.80}")
    if not all(isinstance(chunk_id, str) for chunk_id in verdict):
        return None
    known = {hit.chunk.id for hit in hits}
    if unknown := [chunk_id for chunk_id in verdict if chunk_id not in known]:
        raise ValueError(f"expected ids of its candidates, got {unknown[0]!r:.80}")
    return tuple(dict.fromkeys(verdict))


def _by_place(named: tuple[str, ...], hits: list[Hit]) -> FloatArray:
    """Return 1 for the hit named first, 1/2 for the second, and so on; 0 for hits not named."""
    scores = {chunk_id: 1.0 / place for place, chunk_id in enumerate(named, 1)}
    return np.array([scores.get(hit.chunk.id, 0.0) for hit in hits])


def _awaited(verdict: Any) -> Any:
    """Wait for the verdict of a judge that is a coroutine function."""
    import asyncio

    async def wait() -> Any:
        return await verdict

    return asyncio.run(wait())


def _scores(scores: Any, expected: int) -> FloatArray:
    array = np.asarray(scores, dtype=np.float64)
    if array.shape == (expected, 1):
        array = array[:, 0]
    if array.shape != (expected,):
        raise ValueError(f"expected {expected} scores, got the shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError("a score is NaN or infinite")
    return array
