"""Lexical arms: questions expand passages, or cited passages expand questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from usebench.arms.base import Arm, Lesson
from usebench.arms.cache import SharedTerms
from usebench.lexical import Postings
from usebench.ranking import best
from usebench.records import Passage
from usebench.text import terms, terms_of_all

__all__ = ["DocumentExpansion", "RelevanceModel"]


class _Lexical(Arm):
    """Base of arms that index terms."""

    def __init__(self) -> None:
        super().__init__()
        self.reset()

    def reset(self) -> None:
        """Remove all passages and lessons."""
        self.lessons = []
        self._terms: dict[str, list[str]] = {}
        self.unlearn()

    def unlearn(self) -> None:
        """Index the original passages."""
        self._index = Postings()
        for id_, passage in self._terms.items():
            self._index.extend(id_, passage)

    def add(self, passages: Sequence[Passage], /) -> None:
        """Index passages."""
        texts = terms_of_all([passage.full_text for passage in passages])
        for passage, words in zip(passages, texts, strict=True):
            self._terms[passage.id] = words
            self._index.extend(passage.id, words)


class DocumentExpansion(_Lexical):
    """BM25 where each citation appends its question to the passage.

    doc2query [1]_ lets a model guess these questions.

    References
    ----------
    .. [1] Nogueira et al. (2019), Document Expansion by Query Prediction, arXiv:1904.08375.
    """

    def learn(self, lesson: Lesson, /) -> None:
        """Append the question to the passages cited for it."""
        words = terms(lesson.question)
        for id_ in lesson.cited:
            if id_ in self._terms:
                self._index.extend(id_, words)

    def search(self, question: str, k: int, /) -> list[str]:
        """Search the expanded passages."""
        return best(self.scores(question), k)

    def scores(self, question: str) -> dict[str, float]:
        """Return the scores of passages that share a term with a question."""
        return self._index.scores(Counter(terms(question)))


class RelevanceModel(_Lexical):
    """RM3 [1]_ with true feedback: a question takes words from the citations of similar questions.

    Words come from the citations of the ``nearest`` past questions with a similarity of at least
    ``threshold``, weighted by it; the ``words`` most likely ones get a share ``mix`` of the weight.

    References
    ----------
    .. [1] Abdul-Jaleel et al. (2004), UMass at TREC 2004: Novelty and HARD, TREC.
    """

    def __init__(
        self, *, nearest: int = 3, threshold: float = 0.2, words: int = 20, mix: float = 0.5
    ) -> None:
        self.nearest = nearest
        self.threshold = threshold
        self.words = words
        self.mix = mix
        super().__init__()

    def unlearn(self) -> None:
        """Forget all questions."""
        super().unlearn()
        self._near = SharedTerms()

    def learn(self, lesson: Lesson, /) -> None:
        """Remember the question."""
        self._near.remember(lesson.question)

    def search(self, question: str, k: int, /) -> list[str]:
        """Search with the weighted words."""
        return best(self._index.scores(self._expanded(question)), k)

    def _expanded(self, question: str) -> dict[str, float]:
        counts = Counter(terms(question))
        total = sum(counts.values()) or 1
        query = {term: count / total for term, count in counts.items()}
        near = self._near.to(question)
        rows = sorted(range(len(near)), key=lambda row: -near[row])[: self.nearest]
        model: dict[str, float] = {}
        for row in rows:
            if near[row] < self.threshold:
                continue
            for id_ in self.lessons[row].cited:
                passage = self._terms.get(id_, [])
                for term, count in Counter(passage).items():
                    model[term] = model.get(term, 0.0) + near[row] * count / len(passage)
        likeliest = sorted(model.items(), key=lambda item: (-item[1], item[0]))[: self.words]
        if not likeliest:
            return query
        mass = sum(weight for _, weight in likeliest)
        mixed = {term: (1 - self.mix) * weight for term, weight in query.items()}
        for term, weight in likeliest:
            mixed[term] = mixed.get(term, 0.0) + self.mix * weight / mass
        return mixed
