"""A cache: the citations of the most similar past question come first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from usebench.arms.base import Arm, Lesson
from usebench.embedders import Embedder, Vectors
from usebench.protocol import Retriever
from usebench.records import Passage
from usebench.text import terms

__all__ = ["Nearness", "QueryCache", "SharedTerms", "SharedVectors"]


class Nearness(Protocol):
    """Similarity of a question to past ones."""

    def remember(self, question: str, /) -> None:
        """Add a past question."""
        ...

    def to(self, question: str, /) -> Sequence[float]:
        """Return the similarity to each past question, in order."""
        ...


class SharedTerms:
    """Jaccard similarity of the terms of two questions."""

    def __init__(self) -> None:
        self._past: list[frozenset[str]] = []

    def remember(self, question: str, /) -> None:
        """Add its terms."""
        self._past.append(frozenset(terms(question)))

    def to(self, question: str, /) -> Sequence[float]:
        """Return the similarity to each past question."""
        query = frozenset(terms(question))
        return [len(query & past) / (len(query | past) or 1) for past in self._past]


class SharedVectors:
    """Cosine of the vectors of two questions.

    Parameters
    ----------
    embedder : Embedder
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._past: list[Vectors] = []

    def remember(self, question: str, /) -> None:
        """Add its vector."""
        self._past.append(self._embedder.embed([question])[0])

    def to(self, question: str, /) -> Sequence[float]:
        """Return the similarity to each past question."""
        if not self._past:
            return []
        cosines: list[float] = (np.stack(self._past) @ self._embedder.embed([question])[0]).tolist()
        return cosines


class QueryCache(Arm):
    """Puts the citations of the most similar past question before the hits.

    Parameters
    ----------
    inner : Retriever
    nearness : callable
        Makes a :class:`Nearness`.
    threshold : float
        Ignore past questions that are less similar.
    """

    def __init__(
        self,
        inner: Retriever,
        nearness: Callable[[], Nearness] = SharedTerms,
        *,
        threshold: float = 0.3,
    ) -> None:
        super().__init__()
        self.inner = inner
        self.threshold = threshold
        self._make = nearness
        self.unlearn()

    def reset(self) -> None:
        """Reset the inner retriever, and forget all."""
        self.inner.reset()
        self.lessons = []
        self.unlearn()

    def add(self, passages: Sequence[Passage], /) -> None:
        """Add to the inner retriever."""
        self.inner.add(passages)

    def unlearn(self) -> None:
        """Forget all questions."""
        self._near = self._make()

    def learn(self, lesson: Lesson, /) -> None:
        """Remember the question; ``lessons`` holds its citations."""
        self._near.remember(lesson.question)

    def search(self, question: str, k: int, /) -> list[str]:
        """Look up past questions, and search."""
        hits = list(self.inner.search(question, k))
        near = self._near.to(question)
        if near:
            nearest = int(np.argmax(near))
            if near[nearest] >= self.threshold:
                hits = list(dict.fromkeys([*self.lessons[nearest].cited, *hits]))
        return hits[:k]
