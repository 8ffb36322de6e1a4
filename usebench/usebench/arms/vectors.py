"""Arms that move the vectors of passages or questions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from usebench.arms.base import Arm, Lesson
from usebench.embedders import Embedder, Vectors
from usebench.ranking import best_rows, unit
from usebench.records import Passage
from usebench.searches import Dense

__all__ = ["ErmVectors", "Rocchio"]


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


class Rocchio(_OnVectors):
    """Moves a question's vector towards the citations of the nearest past questions [1]_.

    Parameters
    ----------
    embedder : Embedder
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

    def __init__(
        self, embedder: Embedder, *, threshold: float = 0.4, beta: float = 1.0, nearest: int = 3
    ) -> None:
        super().__init__(embedder)
        self.threshold = threshold
        self.beta = beta
        self.nearest = nearest
        self.unlearn()

    def unlearn(self) -> None:
        """Forget all questions."""
        self._rows = {id_: row for row, id_ in enumerate(self.dense.ids)}
        self._questions: list[Vectors] = []
        self._centroids: list[Vectors] = []

    def learn(self, lesson: Lesson, /) -> None:
        """Remember the question, and the centroid of its citations."""
        cited = [self.dense.vectors[self._rows[id_]] for id_ in lesson.cited if id_ in self._rows]
        if cited:
            self._questions.append(self.question(lesson.question))
            self._centroids.append(unit(np.mean(cited, axis=0)))

    def search(self, question: str, k: int, /) -> list[str]:
        """Search with the moved vector."""
        return self.dense.near(self.moved(self.question(question)), k)

    def moved(self, question: Vectors) -> Vectors:
        """Return the moved vector of a question."""
        if not self._questions:
            return question
        cosines = np.stack(self._questions) @ question
        near = np.argsort(-cosines, kind="stable")[: self.nearest]
        near = near[cosines[near] >= self.threshold]
        if not near.size:
            return question
        pull = np.average(np.stack(self._centroids)[near], axis=0, weights=cosines[near])
        return unit(question + self.beta * float(cosines[near].mean()) * pull)
