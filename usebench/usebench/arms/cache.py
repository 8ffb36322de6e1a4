"""Rankings of another retriever, rearranged by past citations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from usebench.arms.lessons import Arm, Lesson
from usebench.embedders import Embedder, Vectors
from usebench.protocol import Retriever
from usebench.records import Passage
from usebench.text import terms

__all__ = ["MostCited", "Nearness", "QueryCache", "SharedTerms", "SharedVectors"]


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
    embed : callable
        Maps a question to a vector of length 1.
    """

    def __init__(self, embed: Callable[[str], Vectors]) -> None:
        self._embed = embed
        self._past: list[Vectors] = []

    @classmethod
    def of(cls, embedder: Embedder) -> SharedVectors:
        """Return one that uses an embedder."""
        return cls(lambda question: embedder.embed([question])[0])

    def remember(self, question: str, /) -> None:
        """Add its vector."""
        self._past.append(self._embed(question))

    def to(self, question: str, /) -> Sequence[float]:
        """Return the similarity to each past question."""
        if not self._past:
            return []
        cosines: list[float] = (np.stack(self._past) @ self._embed(question)).tolist()
        return cosines


class _Rearranged(Arm):
    """Base of arms that rearrange the hits of another retriever."""

    def __init__(self, inner: Retriever) -> None:
        super().__init__()
        self.inner = inner

    def reset(self) -> None:
        """Reset the inner retriever, and forget all."""
        self.inner.reset()
        self.lessons = []
        self.unlearn()

    def add(self, passages: Sequence[Passage], /) -> None:
        """Add to the inner retriever."""
        self.inner.add(passages)

    def parts(self) -> Sequence[Any]:
        """Return what calls a model."""
        return [self.inner]


class QueryCache(_Rearranged):
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
        super().__init__(inner)
        self.threshold = threshold
        self._make = nearness
        self.unlearn()

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


class MostCited(_Rearranged):
    """Sorts the best ``2 k`` hits by how often each was cited, for any question."""

    def __init__(self, inner: Retriever) -> None:
        super().__init__(inner)
        self.unlearn()

    def unlearn(self) -> None:
        """Reset the counts."""
        self._counts: Counter[str] = Counter()

    def learn(self, lesson: Lesson, /) -> None:
        """Count the citations."""
        self._counts.update(lesson.cited)

    def search(self, question: str, k: int, /) -> list[str]:
        """Search, then sort by citations; ties keep their order."""
        hits = self.inner.search(question, 2 * k)
        return sorted(hits, key=lambda id_: -self._counts[id_])[:k]
