"""BM25 over passages that may grow, with weighted query terms, for arms.

bm25s, which the driver ``bm25`` uses, indexes once. This index is exact after every change, and
equals bm25s without changes (a test compares them).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping

__all__ = ["K1", "B", "Postings"]

K1, B = 1.2, 0.75


class Postings:
    """An inverted index with BM25 in Lucene's form [1]_.

    References
    ----------
    .. [1] Kamphuis et al. (2020), Which BM25 Do You Mean?, ECIR.

    Examples
    --------
    >>> index = Postings()
    >>> index.extend("a", ["petrel", "ship"])
    >>> index.extend("b", ["ship"])
    >>> sorted(index.scores({"petrel": 1.0}))
    ['a']
    """

    def __init__(self) -> None:
        self._postings: dict[str, dict[str, int]] = {}
        self._lengths: dict[str, int] = {}
        self._total = 0

    def extend(self, id_: str, terms: Iterable[str]) -> None:
        """Append terms to a passage, which may be new."""
        for term, count in Counter(terms).items():
            posting = self._postings.setdefault(term, {})
            posting[id_] = posting.get(id_, 0) + count
            self._lengths[id_] = self._lengths.get(id_, 0) + count
            self._total += count
        self._lengths.setdefault(id_, 0)

    def scores(self, query: Mapping[str, float]) -> dict[str, float]:
        """Score the passages that share a term with a query of weighted terms."""
        n = len(self._lengths)
        if not n:
            return {}
        average = self._total / n or 1.0
        scores: dict[str, float] = {}
        for term, weight in query.items():
            posting = self._postings.get(term)
            if not posting or weight <= 0:
                continue
            idf = math.log(1 + (n - len(posting) + 0.5) / (len(posting) + 0.5))
            for id_, tf in posting.items():
                norm = K1 * (1 - B + B * self._lengths[id_] / average)
                scores[id_] = scores.get(id_, 0.0) + weight * idf * tf / (tf + norm)
        return scores
