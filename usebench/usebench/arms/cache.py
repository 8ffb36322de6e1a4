"""Rankings of another retriever, rearranged by past citations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from usebench.arms.lessons import Arm, Lesson
from usebench.embedders import Embedder, Vectors
from usebench.protocol import Retriever
from usebench.records import Passage
from usebench.text import terms

__all__ = ["MostCited", "Nearness", "QueryCache", "SharedTerms", "SharedVectors"]


class Nearness(Protocol):
    """How near a question is to past ones."""

    def remember(self, question: str, /) -> None:
        """Take a past question in."""
        ...

    def to(self, question: str, /) -> Sequence[float]:
        """Return one nearness a past question, in order."""
        ...


class SharedTerms:
    """The share of terms that two questions have in common (Jaccard)."""

    def __init__(self) -> None:
        self._past: list[frozenset[str]] = []

    def remember(self, question: str, /) -> None:
        """Keep its terms."""
        self._past.append(frozenset(terms(question)))

    def to(self, question: str, /) -> Sequence[float]:
        """Compare."""
        asked = frozenset(terms(question))
        return [len(asked & past) / (len(asked | past) or 1) for past in self._past]


class SharedVectors:
    """The cosine of two questions' vectors.

    Parameters
    ----------
    embed : callable
        From a question to a vector of length 1.
    """

    def __init__(self, embed: Callable[[str], Vectors]) -> None:
        self._embed = embed
        self._past: list[Vectors] = []

    @classmethod
    def of(cls, embedder: Embedder) -> SharedVectors:
        """Make one of an embedder."""
        return cls(lambda question: embedder.embed([question])[0])

    def remember(self, question: str, /) -> None:
        """Keep its vector."""
        self._past.append(self._embed(question))

    def to(self, question: str, /) -> Sequence[float]:
        """Compare."""
        if not self._past:
            return []
        cosines: list[float] = (np.stack(self._past) @ self._embed(question)).tolist()
        return cosines


class _Rearranged(Arm):
    """Another retriever, asked first."""

    def __init__(self, inner: Retriever) -> None:
        super().__init__()
        self.inner = inner

    def reset(self) -> None:
        """Reset the other and forget all."""
        self.inner.reset()
        self.lessons = []
        self.unlearn()

    def add(self, passages: Sequence[Passage], /) -> None:
        """Add to the other."""
        self.inner.add(passages)

    @property
    def model_calls(self) -> int:
        """Those of the other."""
        return getattr(self.inner, "model_calls", 0)

    @property
    def model_seconds(self) -> float:
        """That of the other."""
        return getattr(self.inner, "model_seconds", 0.0)


class QueryCache(_Rearranged):
    """Puts the citations of the nearest past question first, before the other's hits.

    Parameters
    ----------
    inner : Retriever
    nearness : callable
        Makes a :class:`Nearness`.
    threshold : float
        A past question less near than this is passed over.
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
        """Remember the question; its citations are among the lessons."""
        self._near.remember(lesson.question)

    def search(self, question: str, k: int, /) -> list[str]:
        """Look up, then search."""
        hits = list(self.inner.search(question, k))
        near = self._near.to(question)
        if near:
            nearest = int(np.argmax(near))
            if near[nearest] >= self.threshold:
                hits = list(dict.fromkeys([*self.lessons[nearest].cited, *hits]))
        return hits[:k]


class MostCited(_Rearranged):
    """Sorts the other's best ``2 k`` hits by how often each was cited, whatever was asked."""

    def __init__(self, inner: Retriever) -> None:
        super().__init__(inner)
        self.unlearn()

    def unlearn(self) -> None:
        """Count from zero."""
        self._times: Counter[str] = Counter()

    def learn(self, lesson: Lesson, /) -> None:
        """Count."""
        self._times.update(lesson.cited)

    def search(self, question: str, k: int, /) -> list[str]:
        """Search, then sort; hits that were cited equally often keep their order."""
        hits = self.inner.search(question, 2 * k)
        return sorted(hits, key=lambda id_: -self._times[id_])[:k]
