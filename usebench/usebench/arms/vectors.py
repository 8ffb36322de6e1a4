"""Arms that move the vectors of passages or questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from usebench.arms.lessons import Arm, Lesson
from usebench.drivers.static import Dense
from usebench.embedders import Embedder, Vectors
from usebench.ranking import best_rows, unit
from usebench.records import Passage

__all__ = ["ErmVectors", "LinearAdapter", "MovedQuestions", "Mover", "Rocchio"]


class _OnVectors(Arm):
    """Base of arms that move vectors of dense search."""

    def __init__(self, embedder: Embedder) -> None:
        super().__init__()
        self.dense = Dense(embedder)

    def reset(self) -> None:
        """Remove all passages and lessons."""
        self.lessons = []
        self.dense.reset()
        self.unlearn()

    def add(self, passages: Sequence[Passage], /) -> None:
        """Embed passages."""
        self.dense.add(passages)
        self.relearn(self.lessons)

    def question(self, text: str) -> Vectors:
        """Embed a question."""
        vector: Vectors = self.dense.embedder.embed([text])[0]
        return vector

    def parts(self) -> Sequence[Any]:
        """Return what calls a model."""
        return [self.dense]


class ErmVectors(_OnVectors):
    """Averages a passage's vector with those of the questions that cited it.

    ERM [1]_ does this to the keys of documents, with gates.

    References
    ----------
    .. [1] Evolving Retrieval Memory (2026), arXiv:2602.05152.
    """

    def unlearn(self) -> None:
        """Restore the passages' own vectors."""
        self._rows = {id_: row for row, id_ in enumerate(self.dense.ids)}
        self._sums = self.dense.vectors.copy()
        self._means = self.dense.vectors.copy()

    def learn(self, lesson: Lesson, /) -> None:
        """Add the question to the passages cited for it."""
        vector = self.question(lesson.question)
        for id_ in lesson.cited:
            row = self._rows.get(id_)
            if row is not None:
                self._sums[row] += vector
                self._means[row] = unit(self._sums[row])

    def search(self, question: str, k: int, /) -> list[str]:
        """Return the passages with the nearest moved vectors."""
        return best_rows(self.dense.ids, self._means @ self.question(question), k)

    def scores(self, question: str) -> dict[str, float]:
        """Return the scores of all passages."""
        cosines = self._means @ self.question(question)
        return dict(zip(self.dense.ids, cosines.tolist(), strict=True))


class Mover(Protocol):
    """Learns to move the vectors of questions."""

    def moved(self, question: Any, /) -> Any:
        """Return the moved vector of a question."""
        ...

    def teach(self, question: Any, cited: Sequence[Any], /) -> None:
        """Learn from the vectors of a question and of the passages cited for it."""
        ...


class MovedQuestions(_OnVectors):
    """Dense search with moved vectors of questions.

    Parameters
    ----------
    embedder : Embedder
    mover : callable
        Makes an untaught :class:`Mover`.
    """

    def __init__(self, embedder: Embedder, mover: Callable[[], Mover]) -> None:
        super().__init__(embedder)
        self._make = mover
        self.unlearn()

    def unlearn(self) -> None:
        """Start with a new mover."""
        self._mover = self._make()
        self._rows = {id_: row for row, id_ in enumerate(self.dense.ids)}

    def learn(self, lesson: Lesson, /) -> None:
        """Teach the mover."""
        cited = [self.dense.vectors[self._rows[id_]] for id_ in lesson.cited if id_ in self._rows]
        if cited:
            self._mover.teach(self.question(lesson.question), cited)

    def search(self, question: str, k: int, /) -> list[str]:
        """Search with the moved vector."""
        return self.dense.near(self._mover.moved(self.question(question)), k)


class Rocchio:
    """Moves a question towards the citations of the nearest past questions [1]_.

    Parameters
    ----------
    threshold : float
        Ignore past questions with a smaller cosine.
    beta : float
        Distance of the move at a cosine of 1; each past question is weighted by its cosine.
    nearest : int
        The number of past questions to use.

    References
    ----------
    .. [1] Rocchio (1971), Relevance Feedback in Information Retrieval, in: The SMART Retrieval
       System.
    """

    def __init__(self, *, threshold: float = 0.4, beta: float = 1.0, nearest: int = 3) -> None:
        self.threshold = threshold
        self.beta = beta
        self.nearest = nearest
        self._questions: list[Any] = []
        self._centroids: list[Any] = []

    def moved(self, question: Any, /) -> Any:
        """Return the moved vector of a question."""
        if not self._questions:
            return question
        cosines = np.stack(self._questions) @ question
        near = np.argsort(-cosines, kind="stable")[: self.nearest]
        near = near[cosines[near] >= self.threshold]
        if not near.size:
            return question
        pull = np.average(np.stack(self._centroids)[near], axis=0, weights=cosines[near])
        return _unit(question + self.beta * float(cosines[near].mean()) * pull)

    def teach(self, question: Any, cited: Sequence[Any], /) -> None:
        """Remember the question, and the centroid of its citations."""
        self._questions.append(question)
        self._centroids.append(_unit(np.mean(cited, axis=0)))


class LinearAdapter:
    """Moves a question by a matrix, trained online, as LlamaIndex's adapter does [1]_.

    The matrix starts as the identity. Each feedback triggers ``steps`` steps of Adam on batches of
    past pairs: softmax over the batch's passages of ``scale`` times the cosine.

    Parameters
    ----------
    rate : float
    steps, batch : int
    scale : float
    seed : int

    References
    ----------
    .. [1] LlamaIndex, "Finetuning an adapter on top of any black-box embedding model".
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
        self._pairs: list[tuple[Any, Any]] = []
        self._matrix: Any = None
        self._times = 0

    def moved(self, question: Any, /) -> Any:
        """Return the moved vector of a question."""
        return question if self._matrix is None else _unit(self._matrix @ question)

    def teach(self, question: Any, cited: Sequence[Any], /) -> None:
        """Add the pairs, and train."""
        self._pairs += [(question, vector) for vector in cited]
        if self._matrix is None:
            self._matrix = np.eye(len(question))
            self._mean = np.zeros_like(self._matrix)
            self._square = np.zeros_like(self._matrix)
        for _ in range(self.steps):
            self._step()

    def _step(self) -> None:
        drawn = self._rng.choice(len(self._pairs), min(self.batch, len(self._pairs)), False)
        questions = np.stack([self._pairs[row][0] for row in drawn])
        passages = np.stack([self._pairs[row][1] for row in drawn])
        logits = self.scale * (questions @ self._matrix.T) @ passages.T
        same = passages @ passages.T > 1 - 1e-6
        np.fill_diagonal(same, False)
        logits[same] = -np.inf  # the same passage is no negative for another question
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


def _unit(vector: Any) -> Any:
    return vector / (np.linalg.norm(vector) or 1.0)
