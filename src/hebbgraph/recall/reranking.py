"""The rank step of a reranker: its scores, fused with those of the recall.

A reranker's scores may lie on any scale, so only their order counts. The hit that it puts first is
given the highest of the recall's own scores, the second the next one, and so on; the fused score
is a weighted mean of that and the hit's own score. So only the order
of the reranker matters, whether it returns logits or probabilities, and scores keep their meaning.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from hebbgraph.arrays import FloatArray
from hebbgraph.calling import call_with_timeout
from hebbgraph.embedders import passage_text
from hebbgraph.protocols import Reranker
from hebbgraph.recall.conversation import in_full
from hebbgraph.recall.query import in_short
from hebbgraph.recall.staleness import below_replacements
from hebbgraph.recall.steps import RankStep
from hebbgraph.records import Recall
from hebbgraph.settings import RerankSettings

__all__ = ["Rerank", "fused_scores"]

#: No new call starts while this many earlier ones have not returned.
_MOST_STALLED = 4


def fused_scores(own: FloatArray, reranked: FloatArray, weight: float) -> FloatArray:
    """Fuse a recall's scores with those of a reranker.

    Parameters
    ----------
    own : ndarray of float, shape (n,), descending
    reranked : ndarray of float, shape (n,)
        On any scale, higher is better. Equal ones keep the recall's order.
    weight : float, in [0, 1]
        Of the reranker.

    Examples
    --------
    >>> own = np.array([0.75, 0.5, 0.25])
    >>> fused_scores(own, np.array([-3.0, 7.0, 0.5]), 0.5).tolist()
    [0.5, 0.625, 0.375]
    """
    by_rank = np.empty_like(own)
    by_rank[np.argsort(-reranked, kind="stable")] = own
    fused: FloatArray = (1.0 - weight) * own + weight * by_rank
    return fused


class Rerank(RankStep):
    """Asks a reranker about the first hits of each recall.

    Parameters
    ----------
    reranker : Reranker, or an object with ``predict``
    settings : RerankSettings
    """

    def __init__(self, reranker: Any, settings: RerankSettings) -> None:
        self.settings = settings
        self._score = _scorer(reranker)
        self._stalled: list[threading.Event] = []

    def hits(self, k: int) -> int:
        """Return how many hits the reranker sees, or more."""
        return max(k, self.settings.first)

    def finish(self, recall: Recall, k: int) -> Recall:
        """Return the hits in the fused order, or a note if the reranker gave no scores."""
        hits = recall.hits
        first = [hit for hit in hits[: self.settings.first] if hit.score > 0]
        if len(first) < 2:
            return recall
        try:
            question = in_full(recall.query, recall.history)
            scores = self._scores(question, [passage_text(hit.chunk) for hit in first])
        except Exception as error:
            note = f"not reranked: {in_short(error)}"
            return recall.model_copy(update={"notes": (*recall.notes, note)})
        fused = fused_scores(np.array([hit.score for hit in first]), scores, self.settings.weight)
        scored = zip(first, fused.tolist(), scores.tolist(), strict=True)
        order = sorted(scored, key=lambda entry: (-round(entry[1], 9), entry[0].rank))
        seen = [
            hit.model_copy(update={"score": score, "reranked": reranker_score, "rank": rank})
            for rank, (hit, score, reranker_score) in enumerate(order, 1)
        ]
        reranked = (*seen, *hits[len(first) :])
        if any(hit.stale is not None for hit in hits):
            reranked = below_replacements(reranked, hits)
        return recall.model_copy(update={"hits": reranked})

    def _scores(self, question: str, texts: list[str]) -> FloatArray:
        self._stalled = [call for call in self._stalled if not call.is_set()]
        if len(self._stalled) >= _MOST_STALLED:
            raise TimeoutError(f"{len(self._stalled)} earlier calls have not returned yet")
        returned = threading.Event()

        def call() -> Any:
            try:
                scores = self._score(question, texts)
                return _awaited(scores) if inspect.isawaitable(scores) else scores
            finally:
                returned.set()

        try:
            scores = call_with_timeout(self.settings.timeout_seconds, call)
        except TimeoutError:
            if not returned.is_set():
                self._stalled.append(returned)
            raise
        return _checked(scores, len(texts))


def _awaited(scores: Any) -> Any:
    """Wait for the scores of a reranker that is a coroutine function."""
    import asyncio

    async def wait() -> Any:
        return await scores

    return asyncio.run(wait())


def _scorer(reranker: Any) -> Reranker:
    """Return what maps a question and texts to scores; a cross-encoder takes pairs."""
    predict: Callable[..., Any] | None = getattr(reranker, "predict", None)
    if predict is None:
        given: Reranker = reranker
        return given
    return lambda question, texts: predict([(question, text) for text in texts])


def _checked(scores: Any, expected: int) -> FloatArray:
    array = np.asarray(scores, dtype=np.float64)
    if array.shape == (expected, 1):
        array = array[:, 0]
    if array.shape != (expected,):
        raise ValueError(f"expected {expected} scores, got the shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError("a score is NaN or infinite")
    return array
