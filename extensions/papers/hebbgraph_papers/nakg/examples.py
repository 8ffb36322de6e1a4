"""Training examples: pairs that share tags, and questions from the feedback log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from hebbgraph.arrays import FloatArray, IntArray
from hebbgraph.graph.incidence import Postings
from numpy.typing import NDArray

__all__ = ["LearnedQuestion", "Pairs", "co_cited_pairs", "held_back", "tag_pairs"]

#: Two chunks are positives if they share a tag of at most ``RARE_DF`` chunks, or if one mentions
#: the other's title and at most ``TITLE_DF`` chunks hold that tag.
RARE_DF, TITLE_DF = 5, 20
#: Weight of a co-cited pair, times the credit of the feedback. Pairs found by tags weigh 1.
CO_CITED_WEIGHT = 4.0
#: Share of pairs and of questions held back for early stopping.
HELD_BACK = 0.2


@dataclass(frozen=True)
class LearnedQuestion:
    """One feedback, with chunks numbered as in the training data.

    Attributes
    ----------
    vector : ndarray of float32, shape (dimension,), optional
        Embedding of the question.
    cited : tuple of int
        Distinct chunks, in the order of the feedback.
    credit : float, in (0, 1]
        Weight of the feedback: shared among cited chunks, and capped per actor.
    """

    vector: NDArray[np.float32] | None
    cited: tuple[int, ...]
    credit: float


class Pairs(NamedTuple):
    """Weighted undirected pairs of chunks: ``first < second``, distinct, sorted."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    weights: NDArray[np.float32]

    @classmethod
    def gathered(cls, first: IntArray, second: IntArray, weights: FloatArray) -> Pairs:
        """Build from unordered pairs; duplicates keep the largest weight."""
        low, high = np.minimum(first, second), np.maximum(first, second)
        order = np.lexsort((-np.asarray(weights), high, low))
        low, high, weights = low[order], high[order], np.asarray(weights, dtype=np.float32)[order]
        is_first = np.ones(len(low), np.bool_)
        is_first[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
        keep = is_first & (low != high)
        return cls(low[keep].astype(np.int64), high[keep].astype(np.int64), weights[keep])

    @classmethod
    def joined(cls, parts: Sequence[Pairs]) -> Pairs:
        """Merge several sets of pairs."""
        columns = (np.concatenate(column) for column in zip(*parts, strict=True))
        return cls.gathered(*columns)

    def within(self, labels: IntArray) -> Pairs:
        """Return the pairs whose chunks share a cluster."""
        return self.where(labels[self.first] == labels[self.second])

    def where(self, keep: NDArray[np.bool_]) -> Pairs:
        """Return the pairs selected by a mask."""
        return Pairs(self.first[keep], self.second[keep], self.weights[keep])


def tag_pairs(postings: Postings, *, rare_df: int = RARE_DF, title_df: int = TITLE_DF) -> Pairs:
    """Return pairs of related chunks that need no labels, all of weight 1.

    Two chunks pair up if they share a tag that at most ``rare_df`` chunks hold, or if one
    mentions the other's title and at most ``title_df`` chunks hold that tag. A title that
    both chunks have does not pair them.

    Examples
    --------
    Chunk 0 has title 0, chunk 1 mentions it; chunks 1 and 2 share tag 5:

    >>> postings = Postings(np.array([0, 1, 3, 4]), np.array([0, 0, 5, 5], np.int32),
    ...                     np.array([True, False, False, False]))
    >>> pairs = tag_pairs(postings, rare_df=2, title_df=2)
    >>> list(zip(pairs.first.tolist(), pairs.second.tolist()))
    [(0, 1), (1, 2)]
    """
    chunks = np.repeat(np.arange(len(postings.indptr) - 1), np.diff(postings.indptr))
    order = np.lexsort((chunks, postings.tags))
    tags, chunks, is_title = postings.tags[order], chunks[order], postings.is_title[order]
    df = np.bincount(tags) if len(tags) else np.empty(0, np.int64)
    first, second = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    # The postings of a tag are adjacent, so compare neighbours at every distance.
    for gap in range(1, max(rare_df, title_df)):
        near, far = slice(None, -gap), slice(gap, None)
        if gap >= len(tags):
            break
        same = tags[near] == tags[far]
        n_holding = df[tags[near]]
        titles = is_title[near].astype(np.int8) + is_title[far]
        wanted = same & (
            ((n_holding <= rare_df) & (titles < 2)) | ((n_holding <= title_df) & (titles == 1))
        )
        first.append(chunks[near][wanted])
        second.append(chunks[far][wanted])
    low, high = np.concatenate(first), np.concatenate(second)
    return Pairs.gathered(low, high, np.ones(len(low)))


def co_cited_pairs(
    questions: Iterable[LearnedQuestion], *, weight: float = CO_CITED_WEIGHT
) -> Pairs:
    """Return the pairs of chunks cited together, weighted by credit.

    Examples
    --------
    >>> pairs = co_cited_pairs([LearnedQuestion(None, (4, 1), 0.5)], weight=4.0)
    >>> pairs.first.tolist(), pairs.second.tolist(), pairs.weights.tolist()
    ([1], [4], [2.0])
    """
    rows = [
        (*pair, weight * question.credit)
        for question in questions
        for pair in combinations(question.cited, 2)
    ]
    first, second, weights = np.array(rows, dtype=np.float64).reshape(-1, 3).T
    return Pairs.gathered(first.astype(np.int64), second.astype(np.int64), weights)


def held_back(n: int, seed: int, share: float = HELD_BACK) -> NDArray[np.bool_]:
    """Sample which of n examples to hold back: none of fewer than five, else at least one.

    Examples
    --------
    >>> int(held_back(10, seed=3).sum()), int(held_back(4, seed=3).sum())
    (2, 0)
    """
    mask = np.zeros(n, np.bool_)
    if n >= 5:
        drawn = np.random.default_rng(seed).permutation(n)[: max(1, round(share * n))]
        mask[drawn] = True
    return mask
