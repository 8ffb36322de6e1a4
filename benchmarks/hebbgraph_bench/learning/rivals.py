"""What others would do with the same citations, over the same index that learns nothing.

- ``ElementWeights``: a weight an element, moved towards what feedback says of it, as cognee has it
  [1]_, and blended into the score.
- ``Rocchio``: the question's vector moved towards what past questions like it cited [2]_.
- ``LinearAdapter``: a matrix for questions' vectors, trained on pairs of question and cited chunk
  with the others of a batch as negatives, as LlamaIndex fine-tunes its linear adapter [3]_.

Their defaults are the best of a few values on the development sets.

References
----------
.. [1] cognee, github.com/topoteretes/cognee, feedback weights (rate 0.1, start 0.5).
.. [2] Rocchio (1971), Relevance Feedback in Information Retrieval, in: The SMART Retrieval System.
.. [3] LlamaIndex, "Finetuning an adapter on top of any black-box embedding model".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from hebbgraph.arrays import FloatArray
from hebbgraph.hebbian_index import HebbianIndex
from hebbgraph.protocols import Embedder

from hebbgraph_bench.baselines import passage_text
from hebbgraph_bench.learning.learners import Ask
from hebbgraph_bench.learning.teachers import Event, Shown

__all__ = ["ElementWeights", "LinearAdapter", "MovedLearner", "Mover", "Rocchio"]


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


class Mover(Protocol):
    """Moves the vectors of questions by what it was taught."""

    def moved(self, question: FloatArray, /) -> FloatArray:
        """Return where a question's vector goes."""
        ...

    def taught(self, question: FloatArray, cited: Sequence[FloatArray], /) -> None:
        """Take in a question's vector and those of what it cited."""
        ...


class Rocchio:
    """Moves a question by the mean of what the nearest past questions cited, each by its cosine.

    Parameters
    ----------
    threshold : float
        Past questions less near than this are passed over.
    beta : float
        How far, at a cosine of 1.
    nearest : int
        Past questions that take part.
    """

    def __init__(self, *, threshold: float = 0.4, beta: float = 1.0, nearest: int = 3) -> None:
        self.threshold = threshold
        self.beta = beta
        self.nearest = nearest
        self._questions: list[FloatArray] = []
        self._centroids: list[FloatArray] = []

    def moved(self, question: FloatArray, /) -> FloatArray:
        """Return where a question's vector goes."""
        if not self._questions:
            return question
        cosines = np.stack(self._questions) @ question
        near = np.argsort(-cosines, kind="stable")[: self.nearest]
        near = near[cosines[near] >= self.threshold]
        if not near.size:
            return question
        pull = np.average(np.stack(self._centroids)[near], axis=0, weights=cosines[near])
        return _unit(question + self.beta * float(cosines[near].mean()) * pull)

    def taught(self, question: FloatArray, cited: Sequence[FloatArray], /) -> None:
        """Remember the question, and where what it cited lies."""
        self._questions.append(question)
        self._centroids.append(_unit(np.mean(cited, axis=0)))


class LinearAdapter:
    """Moves a question by a matrix that is trained along the way.

    It starts as the identity. After each feedback it takes ``steps`` steps of Adam on batches of
    past pairs: softmax over the batch's chunks of ``scale`` times the cosine.

    Parameters
    ----------
    rate : float
    steps, batch : int
    scale : float
    seed : int
    """

    def __init__(
        self,
        *,
        rate: float = 1e-3,
        steps: int = 4,
        batch: int = 32,
        scale: float = 20.0,
        seed: int = 0,
    ) -> None:
        self.rate = rate
        self.steps = steps
        self.batch = batch
        self.scale = scale
        self._rng = np.random.default_rng(seed)
        self._pairs: list[tuple[FloatArray, FloatArray]] = []
        self._matrix: FloatArray | None = None
        self._times = 0

    def moved(self, question: FloatArray, /) -> FloatArray:
        """Return where a question's vector goes."""
        return question if self._matrix is None else _unit(self._matrix @ question)

    def taught(self, question: FloatArray, cited: Sequence[FloatArray], /) -> None:
        """Keep the pairs, and train."""
        self._pairs += [(question, vector) for vector in cited]
        if self._matrix is None:
            self._matrix = np.eye(len(question))
            self._mean = np.zeros_like(self._matrix)
            self._square = np.zeros_like(self._matrix)
        for _ in range(self.steps):
            self._step()

    def _step(self) -> None:
        assert self._matrix is not None
        drawn = self._rng.choice(len(self._pairs), min(self.batch, len(self._pairs)), False)
        questions = np.stack([self._pairs[at][0] for at in drawn])
        passages = np.stack([self._pairs[at][1] for at in drawn])
        logits = self.scale * (questions @ self._matrix.T) @ passages.T
        same = passages @ passages.T > 1 - 1e-6
        np.fill_diagonal(same, False)
        logits[same] = -np.inf  # the same chunk cited by another question is no negative
        shares = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        shares -= np.eye(len(drawn))
        gradient = self.scale / len(drawn) * (shares @ passages).T @ questions
        self._times += 1
        self._mean = 0.9 * self._mean + 0.1 * gradient
        self._square = 0.999 * self._square + 0.001 * gradient**2
        mean = self._mean / (1 - 0.9**self._times)
        square = self._square / (1 - 0.999**self._times)
        self._matrix = self._matrix - self.rate * mean / (np.sqrt(square) + 1e-8)


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
