"""What others would do with the same citations, over the same index that learns nothing.

- ``ElementWeights``: a weight an element, moved towards what feedback says of it, as cognee has it
  [1]_, and blended into the score.
- ``MovedLearner``: questions' vectors moved by what citations taught; usebench has the movers
  (Rocchio, a linear adapter). Their defaults are the best of a few values on the development sets.

References
----------
.. [1] cognee, github.com/topoteretes/cognee, feedback weights (rate 0.1, start 0.5).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hebbgraph.arrays import FloatArray
from hebbgraph.hebbian_index import HebbianIndex
from hebbgraph.protocols import Embedder
from usebench.arms.vectors import Mover

from hebbgraph_bench.baselines import passage_text
from hebbgraph_bench.learning.learners import Ask
from hebbgraph_bench.learning.teachers import Event, Shown

__all__ = ["ElementWeights", "MovedLearner"]


class ElementWeights:
    """Weights of chunks that start at 0.5 and go a tenth of the way to 1 or 0 at each feedback.

    A cited chunk goes up; one that was shown and not cited goes down. Of the best ``2 k`` hits,
    the score is ``(1 - influence) * s + influence * w``, with ``s`` scaled to [0, 1].

    Parameters
    ----------
    unlearned : callable
        Of a :class:`~hebbgraph_bench.learning.learners.Lab`.
    influence : float, in [0, 1]
        cognee's default is 0: it learns and does not act on it.
    rate : float
    """

    def __init__(self, unlearned: Ask, *, influence: float, rate: float = 0.1) -> None:
        self._unlearned = unlearned
        self.influence = influence
        self.rate = rate
        self._weights: dict[str, float] = {}

    def ask(self, text: str, k: int, /) -> Shown:
        """Recall, then sort by the blend."""
        shown = self._unlearned(text, 2 * k)
        scores = [hit.score for hit in shown.recall.hits] if shown.recall else []
        low, high = min(scores, default=0.0), max(scores, default=0.0)
        blended = {
            id_: (1 - self.influence) * (score - low) / ((high - low) or 1.0)
            + self.influence * self._weights.get(id_, 0.5)
            for id_, score in zip(shown.ids, scores, strict=True)
        }
        return Shown(text, tuple(sorted(blended, key=lambda id_: -blended[id_])[:k]))

    def learn(self, event: Event, /) -> None:
        """Move the weights of what was shown."""
        for id_ in event.shown.ids:
            before = self._weights.get(id_, 0.5)
            self._weights[id_] = before + self.rate * ((id_ in event.cited) - before)


class MovedLearner:
    """hebbgraph without lessons, asked with vectors that were moved.

    Parameters
    ----------
    index : HebbianIndex
    embedder : Embedder
        The index's.
    mover : Mover
    """

    def __init__(self, index: HebbianIndex, embedder: Embedder, mover: Mover) -> None:
        self.index = index
        self.embedder = embedder
        self.mover = mover

    def ask(self, text: str, k: int, /) -> Shown:
        """Recall with the question's vector moved."""
        recall = self.index.recall(
            text, k=k, vector=self.mover.moved(self._question(text)).tolist()
        )
        return Shown(text, tuple(hit.chunk.id for hit in recall.hits), recall)

    def learn(self, event: Event, /) -> None:
        """Teach whoever moves."""
        recall = event.shown.recall
        texts = {hit.chunk.id: passage_text(hit.chunk) for hit in recall.hits} if recall else {}
        cited = [texts[id_] for id_ in event.cited if id_ in texts]
        if cited:
            vectors = [_unit(vector) for vector in self.embedder.embed_documents(cited)]
            self.mover.taught(self._question(event.shown.text), vectors)

    def _question(self, text: str) -> FloatArray:
        return _unit(self.embedder.embed_query(text))


def _unit(vector: Any) -> FloatArray:
    array = np.asarray(vector, dtype=np.float64)
    unit: FloatArray = array / (np.linalg.norm(array) or 1.0)
    return unit
