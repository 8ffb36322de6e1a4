"""Weighted sums of lexical and dense scores, with or without learning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from usebench.arms.base import Arm, Lesson
from usebench.arms.expansion import DocumentExpansion
from usebench.arms.vectors import ErmVectors
from usebench.embedders import Embedder
from usebench.records import Passage

__all__ = ["WeightedSum"]

_CANDIDATES = 100


class WeightedSum(Arm):
    """``weight`` times the cosine plus the rest times BM25, each scaled to [0, 1].

    It ranks the best hundred passages of each. Citations append their questions to the text
    (``expand``), move the passage's vector towards theirs (``move``), both, or do nothing.

    Parameters
    ----------
    embedder : Embedder
    weight : float, in [0, 1]
        The weight of the cosine.
    expand, move : bool
    """

    def __init__(
        self,
        embedder: Embedder,
        *,
        weight: float = 0.7,
        expand: bool = False,
        move: bool = False,
    ) -> None:
        super().__init__()
        self.words = DocumentExpansion()
        self.vectors = ErmVectors(embedder)
        self.weight = weight
        self.expand = expand
        self.move = move

    @property
    def learns(self) -> bool:
        """Whether citations change anything."""
        return self.expand or self.move

    def reset(self) -> None:
        """Remove all passages and lessons."""
        self.lessons = []
        self.words.reset()
        self.vectors.reset()

    def unlearn(self) -> None:
        """Restore original texts and vectors."""
        self.words.unlearn()
        self.vectors.unlearn()

    def add(self, passages: Sequence[Passage], /) -> None:
        """Index passages."""
        self.words.add(passages)
        self.vectors.add(passages)

    def learn(self, lesson: Lesson, /) -> None:
        """Expand texts, move vectors, or both."""
        if self.expand:
            self.words.learn(lesson)
        if self.move:
            self.vectors.learn(lesson)

    def search(self, question: str, k: int, /) -> list[str]:
        """Return the passages with the highest sum."""
        sums: dict[str, float] = {}
        lists = (
            (self.words.scores(question), 1 - self.weight),
            (self.vectors.scores(question), self.weight),
        )
        candidates = {id_ for scores, _ in lists for id_ in _highest(scores, _CANDIDATES)}
        for scores, weight in lists:
            values = {id_: scores.get(id_, 0.0) for id_ in candidates}
            low, high = min(values.values(), default=0.0), max(values.values(), default=0.0)
            for id_, score in values.items():
                scaled = (score - low) / (high - low) if high > low else 0.0
                sums[id_] = sums.get(id_, 0.0) + weight * scaled
        return _highest(sums, k)


def _highest(scores: Mapping[str, float], k: int) -> list[str]:
    return sorted(scores, key=lambda id_: (-scores[id_], id_))[:k]
