"""Searches that ignore feedback: a learner has to beat them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import bm25s
import numpy as np

from usebench.embedders import Embedder, Vectors
from usebench.lexical import K1, B
from usebench.protocol import Retriever
from usebench.ranking import best, best_rows
from usebench.records import Passage
from usebench.text import terms, terms_of_all

__all__ = ["Bm25", "Dense", "Fusion", "Static"]


class Static:
    """Base of retrievers that learn nothing."""

    learns = False

    def feedback(self, **details: Any) -> None:
        """Ignore feedback."""


class Bm25(Static):
    """BM25 in Lucene's form with English stemming, by the library bm25s [1]_.

    References
    ----------
    .. [1] Lù (2024), BM25S, arXiv:2407.03618.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Drop the index."""
        self._passages: dict[str, Passage] = {}
        self._ids: list[str] = []
        self._index: Any = None

    def add(self, passages: Sequence[Passage], /) -> None:
        """Index these and all earlier passages."""
        self._passages.update({passage.id: passage for passage in passages})
        self._ids = sorted(self._passages)
        # By default bm25s would use numba wherever it is installed.
        self._index = bm25s.BM25(method="lucene", k1=K1, b=B, backend="numpy", auto_compile=False)
        self._index.index(
            terms_of_all([self._passages[id_].full_text for id_ in self._ids]), show_progress=False
        )

    def search(self, question: str, k: int, /) -> list[str]:
        """Return the best passages that share a term with the question."""
        tokens = terms(question)
        rows = self._index.get_tokens_ids(tokens) if tokens else []
        if not rows:
            return []
        scores = self._index.get_scores_from_ids(rows)
        return best_rows(self._ids, scores, min(k, int((scores > 0).sum())))


class Dense(Static):
    """Cosine of the question's and the passages' vectors, over all passages.

    Parameters
    ----------
    embedder : Embedder
    """

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self.reset()

    def reset(self) -> None:
        """Drop the vectors."""
        self._passages: dict[str, Passage] = {}
        self.ids: list[str] = []
        self.vectors: Vectors = np.zeros((0, 0), dtype=np.float32)

    def add(self, passages: Sequence[Passage], /) -> None:
        """Embed all passages."""
        self._passages.update({passage.id: passage for passage in passages})
        self.ids = sorted(self._passages)
        texts = [self._passages[id_].full_text for id_ in self.ids]
        self.embedder.prepare(texts)
        self.vectors = self.embedder.embed(texts)

    def search(self, question: str, k: int, /) -> list[str]:
        """Return the nearest passages."""
        return self.near(self.embedder.embed([question])[0], k)

    def near(self, vector: Vectors, k: int) -> list[str]:
        """Return the passages nearest to a vector."""
        return best_rows(self.ids, self.vectors @ vector, k)


class Fusion(Static):
    """The sum over searches of ``1 / (60 + rank)`` [1]_.

    Parameters
    ----------
    searches : sequence of Retriever

    References
    ----------
    .. [1] Cormack et al. (2009), Reciprocal Rank Fusion outperforms Condorcet and individual Rank
       Learning Methods, SIGIR.
    """

    def __init__(self, searches: Sequence[Retriever]) -> None:
        self._searches = searches

    def reset(self) -> None:
        """Reset each."""
        for search in self._searches:
            search.reset()

    def add(self, passages: Sequence[Passage], /) -> None:
        """Add to each."""
        for search in self._searches:
            search.add(passages)

    def search(self, question: str, k: int, /) -> list[str]:
        """Return the passages with the highest sum."""
        summed: dict[str, float] = {}
        for search in self._searches:
            for rank, id_ in enumerate(search.search(question, max(k, 100)), 1):
                summed[id_] = summed.get(id_, 0.0) + 1 / (60 + rank)
        return best(summed, k)
